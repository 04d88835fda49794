"""What a seat does when the plan asks its table for an action: a legal act by what it holds.

Collecting, sparing and choosing lots are those of `services.bots`; here they are bent towards the
mix that is planned.
"""

import random
from collections.abc import Sequence
from typing import Final

from pit.v1 import play_pb2

from loadtest import remembered
from loadtest.plan import Kind
from loadtest.view import OwnView
from services.bots import hands
from services.bots.acts import Act, MakeOffer, Ring, TakeBack, command_of
from services.bots.careful import CAREFUL, spare
from services.bots.memory import Memory
from services.bots.strategy import JUST_RECEIVED_S, OpenOffer, Sight, offer_of_size
from services.client.view import NOBODY

NO_CARDS: Final = 0
_SIZES: Final = tuple(range(remembered.LOT_MAX, 0, -1))
"""The largest first: it moves most cards."""


class Mind:
    """What one seat remembers and wants."""

    __slots__ = ("bell", "chance", "lots", "memory", "rings", "spare")

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.memory = Memory()
        self.bell = hands.NO_LANE
        """The corner that its hand is."""
        self.rings = False
        """It has a corner, and has not rung for it."""
        self.spare = NO_CARDS
        """What of its hand it gives away."""
        self.lots = remembered.NO_LOTS
        """Of those cards."""

    def dealt(self, view: OwnView, now: float) -> None:
        """A new hand, or one known afresh."""
        self.memory.forget()
        self._decide(view, now)

    def traded(self, view: OwnView, received: int, giver: int, now: float) -> None:
        """Own cards changed hands."""
        memory = self.memory
        memory.received, memory.giver, memory.traded_at = received, giver, now
        target = memory.target
        gained = target != hands.NO_LANE and (
            hands.spare(received, target, keeps_bull=False) != received
        )
        memory.fruitless = 0 if gained else memory.fruitless + 1
        self._decide(view, now)

    def _decide(self, view: OwnView, now: float) -> None:
        self.bell = remembered.corner(view)
        self.rings = self.bell != hands.NO_LANE
        memory, suits = self.memory, view.suits
        if view.hand and suits and (memory.fruitless or memory.target == hands.NO_LANE):
            memory.collect(CAREFUL.target(self.sight(view, now)), self.chance)
        self.spare = spare(view.hand, memory.target) if memory.target in suits else NO_CARDS
        self.lots = remembered.lots(self.spare, suits, view.rules.mixed_lots)

    def sight(self, view: OwnView, now: float, offers: tuple[OpenOffer, ...] = ()) -> Sight:
        return Sight(view, self.memory, now, offers, True, 1.0, self.chance)


Chosen = tuple[int, Act, Kind]
"""The seat, what it does, and what that counts as."""


def choose(
    kind: Kind,
    minds: Sequence[Mind],
    views: Sequence[OwnView],
    able: Sequence[int],
    now: float,
) -> Chosen | None:
    """Who does what; `able` are the seats that may act, the one idle for longest first.

    A corner is rung whatever was planned. Where what was planned cannot be, an offer is made.
    """
    for seat in able:
        mind = minds[seat]
        if mind.rings:
            mind.rings = False
            return seat, Ring(mind.bell), Kind.BELL
    if kind is Kind.WITHDRAW:
        for seat in able:
            if views[seat].offer_lot:
                return seat, TakeBack(), kind
        kind = Kind.OPEN
    if kind is Kind.REFUSED:
        seat = able[0]
        return seat, _impossible(views[seat], minds[seat].chance), kind
    if kind is Kind.TRADE:
        return _first_trade(minds, views, able, now) or _first_open(minds, views, able, now)
    return _first_open(minds, views, able, now) or _first_trade(minds, views, able, now)


def _first_trade(
    minds: Sequence[Mind], views: Sequence[OwnView], able: Sequence[int], now: float
) -> Chosen | None:
    for seat in able:
        act = _trade(minds[seat], views[seat], now)
        if act is not None:
            return seat, act, Kind.TRADE
    return None


def _first_open(
    minds: Sequence[Mind], views: Sequence[OwnView], able: Sequence[int], now: float
) -> Chosen | None:
    for seat in able:
        act = _open(minds[seat], views[seat], now)
        if act is not None:
            return seat, act, Kind.OPEN
    return None


def _lot(mind: Mind, size: int, now: float) -> int:
    """The lot of this size best got rid of, but not the one just received; `NO_CARDS` for none."""
    memory = mind.memory
    for lot in mind.lots[size]:
        if lot != memory.received:
            return lot
        if memory.giver == NOBODY or now - memory.traded_at >= JUST_RECEIVED_S:
            return lot
    return NO_CARDS


def _answerable(view: OwnView) -> tuple[OpenOffer, ...]:
    """Others' open offers that this seat may meet."""
    own = view.seat
    return tuple(
        OpenOffer(number, seat.offer_size)
        for number, seat in enumerate(view.seats)
        if seat.offer_size and number != own and seat.offer_directed_at in (NOBODY, own)
    )


def _sizes_met(view: OwnView) -> int:
    """A bit for each size of which this seat may meet an open offer."""
    own, met, number = view.seat, 0, -1
    for seat in view.seats:
        number += 1
        size = seat.offer_size
        if size and number != own:
            aim = seat.offer_directed_at
            if aim in (NOBODY, own):
                met |= 1 << size
    return met


def _trade(mind: Mind, view: OwnView, now: float) -> Act | None:
    """Meet an open offer: the largest first, since it moves most cards."""
    met = _sizes_met(view)
    if not met:
        return None
    for size in _SIZES:
        if met >> size & 1:
            lot = _lot(mind, size, now)
            if lot:
                return MakeOffer(lot)
    offers = _answerable(view)
    for offer in offers:  # what was just received goes to somebody else than its giver
        act = offer_of_size(mind.sight(view, now, offers), mind.spare, offer.size)
        if act is not None and act.directed_at == offer.seat:
            return act
    return None


def _open(mind: Mind, view: OwnView, now: float) -> Act | None:
    """Offer a size that nobody offers, so that it stays open. Called out again, it is rather not
    in the same size."""
    met = _sizes_met(view)
    own = view.seats[view.seat].offer_size
    for size in _SIZES:
        if size != own and not met >> size & 1:
            lot = _lot(mind, size, now)
            if lot:
                return MakeOffer(lot)
    if own and not met >> own & 1:
        lot = _lot(mind, own, now)
        if lot:
            return MakeOffer(lot)
    return None


def _impossible(view: OwnView, chance: random.Random) -> Act:
    """A lot that the seat has not got: refused whatever the rules."""
    deck = view.deck
    lacking = [lot for lot in remembered.fours(deck, view.suits) if not deck.holds(view.hand, lot)]
    return MakeOffer(chance.choice(lacking))


def message_of(act: Act, view: OwnView, chance: random.Random) -> play_pb2.Command:
    """The command that asks for it."""
    if isinstance(act, MakeOffer):
        return remembered.offer(act, view, chance)
    return command_of(act, view, chance)
