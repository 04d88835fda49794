"""Invariants of a table: called after every event in tests, and by matchers at every snapshot."""

from engine.cards import BEAR, BULL, ONE, SUIT_SIZE, holds, size
from engine.commands import NOBODY
from engine.limits import MARKS_KEPT, REQUESTS_KEPT
from engine.shown import Phase
from engine.table import Table


class InvariantBroken(AssertionError):
    """A table is what no table can be; the message begins with the invariant's name."""


def _demand(holds_true: object, invariant: str, words: str) -> None:
    if not holds_true:
        raise InvariantBroken(f"{invariant}: {words}")


def check(table: Table) -> None:
    """Raise `InvariantBroken` unless all is as it must be."""
    begun = table.phase in (Phase.SORTING, Phase.OPEN, Phase.BETWEEN)
    _demand(table.round or not begun, "phase", "a round is played and was not dealt")
    if table.round:
        _check_cards(table)
    trades = table.phase == Phase.OPEN and not table.frozen_at_ms
    trading_round = table.round if trades else None
    _demand(table.trading_round == trading_round, "phase", "offers are taken in a wrong round")
    _check_offers(table)
    _check_seats(table)
    _demand(len(table.requests) <= REQUESTS_KEPT, "limits", "too many requests remembered")
    _demand(len(table.marks) <= MARKS_KEPT, "limits", "too many marks remembered")


def _check_cards(table: Table) -> None:
    """I1: every card exactly once. I5: hand sizes are those of the deal."""
    pack = sum(SUIT_SIZE * ONE[lane] for lane in table.suits)
    if table.rules.bull_and_bear:
        pack += ONE[BULL] + ONE[BEAR]
    _demand(sum(seat.hand for seat in table.seats) == pack, "I1", "the hands are not the pack")
    playing = [index for index, seat in enumerate(table.seats) if not seat.dropped]
    first = playing.index(table.dealer) + 1
    for turn in range(len(playing)):
        index = playing[(first + turn) % len(playing)]
        dealt = SUIT_SIZE + (table.rules.bull_and_bear and turn < 2)
        held = size(table.seats[index].hand)
        _demand(held == dealt, "I5", f"seat {index} holds {held} cards, was dealt {dealt}")
    for index, seat in enumerate(table.seats):
        if seat.dropped:
            _demand(not seat.hand, "I1", f"seat {index} does not play and holds cards")


def _check_offers(table: Table) -> None:
    """I2: lots are lots. Offers are open only while the exchange is, and found where they lie."""
    found = {(n, index) for n, index in enumerate(table.anyone) if index != NOBODY}
    for key, waiting in table.directed.items():
        _demand(waiting, "I4", "an empty list of directed offers was kept")
        found |= {(key, index) for index in waiting}
    for index, seat in enumerate(table.seats):
        if not seat.offer_size:
            _demand(seat.offer_lot == 0, "I4", f"seat {index} has cards in no offer")
            continue
        legal = table.lots.get(seat.offer_lot) == seat.offer_size
        _demand(legal, "I2", f"the open offer of seat {index} is no lot of its size")
        _demand(holds(seat.hand, seat.offer_lot), "I1", f"seat {index} offers cards it has not")
        _demand(table.phase == Phase.OPEN, "I4", "an offer is open while the exchange is closed")
        key = seat.offer_size
        if seat.offer_directed_at != NOBODY:
            key += 8 * seat.offer_directed_at
        _demand((key, index) in found, "I4", f"the open offer of seat {index} cannot be found")
        found.remove((key, index))
    _demand(not found, "I4", "an offer that has ended can still be found")


def _check_seats(table: Table) -> None:
    # None where it was over, and dumped, before places were kept.
    placed = table.phase == Phase.ENDED and any(seat.place for seat in table.seats)
    persons = [seat.person for seat in table.seats if seat.person]
    _demand(len(persons) == len(set(persons)), "seats", "a person sits twice")
    for index, seat in enumerate(table.seats):
        _demand(seat.holder in (0, seat.attach), "seats", f"seat {index} is held by an old stream")
        _demand(not (seat.bot and seat.bot_wanted), "seats", f"seat {index} wants a second bot")
        _demand(seat.person or not seat.absence, "seats", f"nobody is away from empty seat {index}")
        _demand(
            not placed or seat.dropped == (not seat.place), "seats", f"seat {index} has no place"
        )
        for numbers in seat.numbers:
            begun = numbers.generation or not numbers.last
            _demand(begun, "I8", f"seat {index} has numbers and no generation")
            gone = [number for number in numbers.refusals if number > numbers.last]
            _demand(not gone, "I8", f"seat {index} was refused what it has not asked")
