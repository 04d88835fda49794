"""Commands as tests ask for them."""

from pit.v1 import play_pb2

from engine.cards import LOT_MAX, ONE, SUIT_SIZE, count
from support.front import Seated


def lot_of(seat: Seated, cards: int = 1) -> int:
    """Some cards of one commodity this seat holds, packed."""
    lane = next(lane for lane in seat.view.suits if count(seat.view.hand, lane) >= cards)
    return cards * ONE[lane]


def offer(seat: Seated, cards: int = 1, **fields: object) -> play_pb2.Command:
    """An offer of cards that this seat holds."""
    assert 1 <= cards <= LOT_MAX
    lot = seat.view.deck.lot(lot_of(seat, cards))
    return play_pb2.Command(offer=play_pb2.Offer(lot=lot, **fields))


def withdraw() -> play_pb2.Command:
    return play_pb2.Command(withdraw=play_pb2.Withdraw())


def false_bell(seat: Seated) -> play_pb2.Command:
    """A bell without a corner."""
    lane = next(
        lane
        for lane in range(len(seat.view.deck.commodities))
        if count(seat.view.hand, lane) < SUIT_SIZE - 1
    )
    commodity = seat.view.deck.commodities[lane]
    return play_pb2.Command(ring_bell=play_pb2.RingBell(commodity=commodity))


def numbered(seat: Seated, number: int, command: play_pb2.Command) -> play_pb2.PlayRequest:
    """A command with a number of the test's own choosing, past the client's protocol."""
    command.number = number
    command.round = seat.view.round
    command.seen_seq = seat.view.seq
    return play_pb2.PlayRequest(command=command)


def rejected(items: list[play_pb2.Item]) -> list[tuple[int, str, bool]]:
    """(number, reason, consumed) of the rejections among items."""
    return [
        (item.rejected.number, item.rejected.reason, item.rejected.consumed)
        for item in items
        if item.HasField("rejected")
    ]


def ping(client_us: int = 7) -> play_pb2.PlayRequest:
    return play_pb2.PlayRequest(ping=play_pb2.StreamPing(client_us=client_us))
