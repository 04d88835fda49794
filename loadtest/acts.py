"""What a seat does when the plan asks its table for an action: a legal act by what it holds.

Collecting, sparing and choosing lots are those of `services.bots`; here they are bent towards the
mix that is planned.
"""

import random
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from pit.v1 import play_pb2, table_pb2

from loadtest import remembered
from loadtest.plan import Kind
from loadtest.view import OwnView
from services.bots import hands
from services.bots.acts import Act, MakeOffer, Ring, TakeBack, command_of
from services.bots.careful import BULL_KEPT_FROM, CAREFUL
from services.bots.memory import Memory
from services.bots.strategy import JUST_RECEIVED_S, OpenOffer, Sight, offer_of_size
from services.client.view import NOBODY

LOT_MAX: Final = 4
NO_CARDS: Final = 0
_SIZE: Final = attrgetter("size")


class Mind:
    """What one seat remembers and wants."""

    __slots__ = ("acted_at", "bell", "chance", "memory", "rang", "spare")

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.memory = Memory()
        self.bell = hands.NO_LANE
        """The corner that its hand is."""
        self.rang = False
        """It has rung for this hand."""
        self.spare = NO_CARDS
        """What of its hand it gives away."""
        self.acted_at = 0.0

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
        self.bell, self.rang = remembered.corner(view), False
        memory = self.memory
        if view.hand and view.suits and (memory.fruitless or memory.target == hands.NO_LANE):
            memory.collect(CAREFUL.target(self.sight(view, now)), self.chance)
        self.spare = _spare(memory.target, view)

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
        if minds[seat].bell != hands.NO_LANE and not minds[seat].rang:
            minds[seat].rang = True
            return seat, Ring(minds[seat].bell), Kind.BELL
    if kind is Kind.WITHDRAW:
        for seat in able:
            if views[seat].offer_lot:
                return seat, TakeBack(), kind
        kind = Kind.OPEN
    if kind is Kind.REFUSED:
        seat = able[0]
        return seat, _impossible(views[seat], minds[seat].chance), kind
    first, second = (_trade, _open) if kind is Kind.TRADE else (_open, _trade)
    for act_of, counts_as in ((first, kind), (second, _other(kind))):
        for seat in able:
            act = act_of(minds[seat], views[seat], now)
            if act is not None:
                return seat, act, counts_as
    return None


def _other(kind: Kind) -> Kind:
    return Kind.OPEN if kind is Kind.TRADE else Kind.TRADE


def _spare(target: int, view: OwnView) -> int:
    if target not in view.suits:
        return NO_CARDS
    without = hands.spare(view.hand, target, keeps_bull=False)
    if view.deck.lot(view.hand - without).count < BULL_KEPT_FROM:
        return without
    return hands.spare(view.hand, target, keeps_bull=True)


def _lot(mind: Mind, view: OwnView, size: int, now: float) -> int:
    """The lot of this size best got rid of, but not the one just received; `NO_CARDS` for none."""
    memory = mind.memory
    fresh = memory.giver != NOBODY and now - memory.traded_at < JUST_RECEIVED_S
    for lot in remembered.lots(mind.spare, view.suits, size, view.rules.mixed_lots):
        if not fresh or lot != memory.received:
            return lot
    return NO_CARDS


def answerable(view: OwnView) -> tuple[OpenOffer, ...]:
    """Others' open offers that this seat may meet."""
    own = view.seat
    return tuple(
        OpenOffer(number, seat.offer_size)
        for number, seat in enumerate(view.seats)
        if seat.offer_size and number != own and seat.offer_directed_at in (NOBODY, own)
    )


def _trade(mind: Mind, view: OwnView, now: float) -> Act | None:
    """Meet an open offer: the largest first, since it moves most cards."""
    offers = answerable(view)
    for offer in sorted(offers, key=_SIZE, reverse=True):
        lot = _lot(mind, view, offer.size, now)
        if lot:
            return MakeOffer(lot)
    for offer in offers:  # what was just received goes to somebody else than its giver
        act = offer_of_size(mind.sight(view, now, offers), mind.spare, offer.size)
        if act is not None and act.directed_at == offer.seat:
            return act
    return None


def _open(mind: Mind, view: OwnView, now: float) -> Act | None:
    """Offer a size that nobody offers, so that it stays open."""
    met = {offer.size for offer in answerable(view)}
    sizes = [size for size in range(LOT_MAX, 0, -1) if size not in met]
    own = view.seats[view.seat].offer_size
    if own in sizes:  # called out again, but rather not in the same size
        sizes.remove(own)
        sizes.append(own)
    for size in sizes:
        lot = _lot(mind, view, size, now)
        if lot:
            return MakeOffer(lot)
    return None


def _impossible(view: OwnView, chance: random.Random) -> Act:
    """A lot that the seat has not got: refused whatever the rules."""
    lots = [
        view.deck.pack(table_pb2.Cards(counts=[table_pb2.CardCount(commodity=one, count=LOT_MAX)]))
        for one in (view.deck.commodities[lane] for lane in view.suits)
    ]
    return MakeOffer(chance.choice([lot for lot in lots if not view.deck.holds(view.hand, lot)]))


def message_of(act: Act, view: OwnView, chance: random.Random) -> play_pb2.Command:
    """The command that asks for it."""
    if isinstance(act, MakeOffer):
        return remembered.offer(act, view, chance)
    return command_of(act, view, chance)
