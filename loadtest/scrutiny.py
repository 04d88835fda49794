"""What must be true of events and of what was shown beside them: pure, one function a promise."""

from typing import Final

from pit.v1 import table_pb2

from loadtest.record import Record
from services.client.happenings import Happened
from services.client.view import NOBODY, TableView

SUIT_SIZE: Final = 9
Fault = tuple[str, str]
"""The check that fails, and why."""


def shape(event: table_pb2.Event) -> Fault | None:
    """Nothing stands in it that this schema does not know: it could be anything."""
    told = event.ByteSize()
    event.DiscardUnknownFields()
    if event.ByteSize() != told:
        return "hidden", f"event {event.seq} says more than the schema has"
    return None


def difference(kind: str, event: table_pb2.Event, seat: int) -> Fault:
    """A seat was told `event` where others were told another one of this kind."""
    kinds = {kind, event.WhichOneof("kind") or ""}
    check = "sequences"
    if "traded" in kinds:
        check = "trades"
    elif "game_ended" in kinds:
        check = "winners"
    what = " and ".join(sorted(kinds))
    return check, f"event {event.seq} is {what}, told differently to seat {seat} and to others"


def nothing_shown(happened: Happened, seat: int) -> Fault | None:
    """No cards beside an event that is not the seat's own."""
    if not happened.received.ByteSize() and not happened.given.ByteSize():
        return None
    event = happened.event
    kind = event.WhichOneof("kind")
    return "hidden", (
        f"event {event.seq}: seat {seat} was shown cards beside {kind}, which is not its own"
    )


def trade(public: TableView, event: table_pb2.Event) -> Fault | None:
    """Two different seats, and the partner's open offer of that size that allows it. The view is
    as it was before the event."""
    traded = event.traded
    partner = public.seats[traded.partner]
    if (
        traded.seat != traded.partner
        and partner.offer_size == traded.size
        and partner.offer_directed_at in (NOBODY, traded.seat)
    ):
        return None
    return "trades", (
        f"event {event.seq}: seat {traded.seat} traded {traded.size} with seat {traded.partner}, "
        f"who offered {partner.offer_size}"
    )


def opened(public: TableView, event: table_pb2.Event) -> Fault | None:
    """No open offer would have met it: else there was to be a trade."""
    offer = event.offer_opened
    aim = offer.directed_at if offer.HasField("directed_at") else NOBODY
    for number, other in enumerate(public.seats):
        if (
            other.offer_size == offer.size
            and number != offer.seat
            and aim in (NOBODY, number)
            and other.offer_directed_at in (NOBODY, offer.seat)
        ):
            return "trades", (
                f"event {event.seq}: the offer of seat {offer.seat} stays open, though seat "
                f"{number} offers {offer.size} too"
            )
    return None


def pack(record: Record, public: TableView, when: str) -> Fault | None:
    """All hands together are the pack."""
    suits = [
        table_pb2.CardCount(commodity=public.deck.commodities[lane], count=SUIT_SIZE)
        for lane in public.suits
    ]
    both = public.rules.bull_and_bear
    whole = public.deck.pack(table_pb2.Cards(counts=suits, bull=both, bear=both))
    if sum(hand for hand, _ in record.cards.values()) != whole:
        return "cards", f"the hands {when} are not the pack"
    return None


def both_sides(record: Record) -> Fault | None:
    """What one side of a trade gave is what the other got."""
    event = record.event
    assert event is not None
    ours, theirs = (record.cards[side] for side in (event.traded.seat, event.traded.partner))
    if ours != theirs[::-1]:
        return "trades", f"event {event.seq}: what one side gave is not what the other got"
    return None


def corner(record: Record, public: TableView) -> Fault | None:
    """The cards shown are those that the winner held."""
    event = record.event
    assert event is not None
    held = record.cards[event.cornered.seat][0]
    if public.deck.pack(event.cornered.hand) != held:
        return "cards", f"event {event.seq}: the corner shows other cards than were held"
    return None


def winner(record: Record) -> Fault | None:
    """The first place of a game that was won has the highest total."""
    event = record.event
    assert event is not None
    ended = event.game_ended
    if ended.end != table_pb2.GAME_END_WON:
        return None
    best = [seat for seat, place in enumerate(ended.places) if place == 1]
    if best and all(ended.totals[seat] == max(ended.totals) for seat in best):
        return None
    return "winners", f"the first place is seat {best}, the totals {list(ended.totals)}"
