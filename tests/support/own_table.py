"""A table as one person sees it, without an exchange: views, events and a seat to press keys at."""

from pit.v1 import table_pb2

from engine.cards import BEAR, BULL, pack
from engine.rules import PRESETS
from services.client.happenings import Happened
from services.client.view import TableView
from services.gateway.convert.rules import rule_set_message
from services.play.model import Model

NAMES = ("Ada", "Bo", "", "Cy")
SECOND_US = 1_000_000
HAND = pack({0: 1, 2: 5, 3: 2, BULL: 1, BEAR: 1})
"""One wheat, five corn, two rye, Bull and Bear."""


def view_of(
    phase: int = table_pb2.PHASE_OPEN, preset: str = "blitz", hand: int = HAND
) -> TableView:
    """Round 2 at Ada's table, seen from her seat; ten seconds have passed."""
    snapshot = table_pb2.Snapshot(
        table="tables/00aaaaaaaaaaaaaaaaaaaa",
        seq=20,
        phase=phase,  # type: ignore[arg-type]
        rule_set=rule_set_message(PRESETS[preset]),
        display_name="Ada's table",
        owner="people/p0",
        round=2,
        dealer=1,
        seat=0,
        opens_at_us=13 * SECOND_US,
        round_ends_at_us=75 * SECOND_US,
        next_deal_at_us=18 * SECOND_US,
    )
    for seat, name in enumerate(NAMES):
        snapshot.seats.add(
            seat=seat,
            person=f"people/p{seat}" if name else "",
            display_name=name,
            bot=not name,
            connected=True,
            score=(85, -20, 0, 110)[seat],
            cards=10 if seat < 2 else 9,
        )
    view = TableView(snapshot)
    view.suits = (0, 1, 2, 3)
    view.hand = hand
    return view


def happen(
    model: Model,
    view: TableView,
    received: int = 0,
    given: int = 0,
    number: int = 0,
    **kind: object,
) -> Happened:
    """The next event at the table, taken by view and model."""
    event = table_pb2.Event(seq=view.seq + 1, **kind)  # type: ignore[arg-type]
    happened = Happened(event, number, shown(view, received), shown(view, given))
    view.apply(event, happened.received, happened.given)
    model.take(happened, view, 10 * SECOND_US)
    return happened


def shown(view: TableView, cards: int) -> table_pb2.Cards:
    """Packed counts as the message that shows them."""
    lot = view.deck.lot(cards)
    message = table_pb2.Cards(bull=lot.bull, bear=lot.bear)
    if lot.count:
        message.counts.add(commodity=lot.commodity, count=lot.count)
    message.counts.extend(lot.mixed)
    return message
