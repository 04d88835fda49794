"""Strategies: pure functions of what a seat has seen, with chance given from outside.

`target` says which commodity to collect, asked after each deal and each own trade; `act` says
what to do now, or `None` to wait. Neither keeps anything: what is remembered is in `Memory`,
and holds nothing that a player at that seat would not know.
"""

import random
from collections.abc import Callable

from engine.value import value
from services.bots import hands
from services.bots.acts import Act, MakeOffer
from services.bots.memory import Memory
from services.client.view import NOBODY, TableView

JUST_RECEIVED_S = 4.0
"""For so long a lot is not offered to the seat it came from. After that it is a lot like any
other: with one card to spare and nobody else to take it, holding it for ever stalls the round."""


@value
class OpenOffer:
    """Another seat's offer that this seat may answer."""

    seat: int
    size: int


@value
class Sight:
    """What a strategy is given. `now` and times in `memory` are seconds of one clock."""

    view: TableView
    memory: Memory
    now: float
    offers: tuple[OpenOffer, ...]
    """Offers that this seat may answer, oldest first."""
    may_call_out: bool
    """There is no own open offer, or it has been standing long enough without an answer."""
    skill: float
    """1.0: no mistakes; 0.0: what is given and collected is left to chance."""
    chance: random.Random


@value
class Strategy:
    name: str
    target: Callable[[Sight], int]
    act: Callable[[Sight], Act | None]
    pace: float
    """Factor on all reaction times."""


def answer(sight: Sight, spare: int) -> Act | None:
    """Meet an open offer with a lot of its size: the largest first, since it moves most cards."""
    for offer in sorted(sight.offers, key=lambda one: -one.size):
        act = offer_of_size(sight, spare, offer.size)
        if act is not None:
            return act
    return None


def call_out(sight: Sight, spare: int) -> Act | None:
    """Make an own offer: the largest lot first, one card less each time nobody bites."""
    view = sight.view
    if not sight.may_call_out:
        return None
    top = hands.largest(spare, view.suits, view.rules.mixed_lots)
    for step in range(top):
        size = top - (sight.memory.unanswered + step) % top
        act = offer_of_size(sight, spare, size)
        if act is not None:
            return None if _stands_already(view, act) else act
    return None


def offer_of_size(sight: Sight, spare: int, size: int) -> MakeOffer | None:
    """The lot of this size best got rid of, addressed so that it does not go back to its giver."""
    view = sight.view
    lots = list(hands.lots(spare, view.suits, size, view.rules.mixed_lots, sight.chance))
    if sight.chance.random() > sight.skill:
        sight.chance.shuffle(lots)
    for lot in lots:
        if not _just_received(sight, lot):
            return MakeOffer(lot)
    for lot in lots:
        seat = _someone_else(sight, size)
        if seat != NOBODY:
            return MakeOffer(lot, directed_at=seat)
    return None


def _just_received(sight: Sight, lot: int) -> bool:
    memory = sight.memory
    return (
        lot == memory.received
        and memory.giver != NOBODY
        and sight.now - memory.traded_at < JUST_RECEIVED_S
    )


def _someone_else(sight: Sight, size: int) -> int:
    """A seat that is not the giver: one with an open offer of this size, else any; `NOBODY`
    where the rules do not let an offer be directed."""
    view, giver = sight.view, sight.memory.giver
    if not view.rules.directed_offers:
        return NOBODY
    for offer in sight.offers:
        if offer.size == size and offer.seat != giver:
            return offer.seat
    others = [
        number
        for number, seat in enumerate(view.seats)
        if number not in (view.seat, giver) and not seat.dropped and seat.cards
    ]
    return sight.chance.choice(others) if others else NOBODY


def _stands_already(view: TableView, act: MakeOffer) -> bool:
    own = view.seats[view.seat]
    return view.offer_lot == act.lot and own.offer_directed_at == act.directed_at
