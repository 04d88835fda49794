"""What must be true of events and of what was shown beside them: pure, one function a promise."""

from typing import Final

from pit.v1 import table_pb2

from loadtest.record import Record
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


def nothing_shown(
    event: table_pb2.Event, seat: int, received: table_pb2.Cards, given: table_pb2.Cards
) -> Fault | None:
    """No cards beside an event that is not the seat's own."""
    if not received.ByteSize() and not given.ByteSize():
        return None
    kind = event.WhichOneof("kind")
    return "hidden", (
        f"event {event.seq}: seat {seat} was shown cards beside {kind}, which is not its own"
    )


def trade(public: TableView, record: Record) -> Fault | None:
    """Two different seats, and the partner's open offer of that size that allows it. The view is
    as it was before the event."""
    partner = public.seats[record.partner]
    if (
        record.seat != record.partner
        and partner.offer_size == record.size
        and partner.offer_directed_at in (NOBODY, record.seat)
    ):
        return None
    return "trades", (
        f"event {record.seq}: seat {record.seat} traded {record.size} with seat {record.partner}, "
        f"who offered {partner.offer_size}"
    )


def opened(public: TableView, record: Record) -> Fault | None:
    """No open offer would have met it: else there was to be a trade."""
    size, seat, aim, number = record.size, record.seat, record.aim, -1
    for other in public.seats:
        number += 1
        if (
            other.offer_size == size
            and number != seat
            and aim in (NOBODY, number)
            and other.offer_directed_at in (NOBODY, seat)
        ):
            return "trades", (
                f"event {record.seq}: the offer of seat {seat} stays open, though seat "
                f"{number} offers {size} too"
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
    ours, theirs = record.cards[record.seat], record.cards[record.partner]
    if ours[0] != theirs[1] or ours[1] != theirs[0]:
        return "trades", f"event {record.seq}: what one side gave is not what the other got"
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
