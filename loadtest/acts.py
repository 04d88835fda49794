"""What a seat does when the plan asks its table for an action: a legal act by what it holds.

Collecting, sparing and choosing lots are those of `services.bots`; here they are bent towards the
mix that is planned.
"""

import random
from collections.abc import Sequence
from typing import Final

from pit.v1 import table_pb2

from loadtest.plan import Kind
from loadtest.view import OwnView, size_of
from services.bots import hands
from services.bots.acts import Act, MakeOffer, Ring, TakeBack
from services.bots.careful import BULL_KEPT_FROM, CAREFUL
from services.bots.memory import Memory
from services.bots.strategy import OpenOffer, Sight, answer, offer_of_size
from services.client.happenings import Happened
from services.client.view import NOBODY

LOT_MAX: Final = 4
NO_CARDS: Final = 0


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

    def hand_changed(self, view: OwnView, happened: Happened | None, now: float) -> None:
        """A deal, an own trade, or a hand known afresh."""
        if happened is None:
            self.memory.forget()
        else:
            self.memory.saw(view, happened, now)
        self.bell, self.rang = hands.bell(view.hand, view.suits, view.rules), False
        if view.hand and view.suits:
            self.memory.collect(CAREFUL.target(self.sight(view, now)), self.chance)
        self.spare = _spare(self.memory.target, view)

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


def answerable(view: OwnView) -> tuple[OpenOffer, ...]:
    """Others' open offers that this seat may meet."""
    own = view.seat
    return tuple(
        OpenOffer(number, seat.offer_size)
        for number, seat in enumerate(view.seats)
        if seat.offer_size and number != own and seat.offer_directed_at in (NOBODY, own)
    )


def _trade(mind: Mind, view: OwnView, now: float) -> Act | None:
    """Meet an open offer."""
    offers = answerable(view)
    if not offers:
        return None
    act = answer(mind.sight(view, now, offers), mind.spare)
    if isinstance(act, MakeOffer) and act.directed_at != NOBODY:
        aimed = [offer for offer in offers if offer.seat == act.directed_at]
        return act if aimed and aimed[0].size == size_of(view.deck.lot(act.lot)) else None
    return act


def _open(mind: Mind, view: OwnView, now: float) -> Act | None:
    """Offer a size that nobody offers, so that it stays open."""
    met = {offer.size for offer in answerable(view)}
    sizes = [size for size in range(LOT_MAX, 0, -1) if size not in met]
    own = view.seats[view.seat].offer_size
    if own in sizes:  # called out again, but rather not in the same size
        sizes.remove(own)
        sizes.append(own)
    sight, spare = mind.sight(view, now), mind.spare
    for size in sizes:
        act = offer_of_size(sight, spare, size)
        if act is not None and act.directed_at == NOBODY:
            return act
    return None


def _impossible(view: OwnView, chance: random.Random) -> Act:
    """A lot that the seat has not got: refused whatever the rules."""
    lots = [
        view.deck.pack(table_pb2.Cards(counts=[table_pb2.CardCount(commodity=one, count=LOT_MAX)]))
        for one in (view.deck.commodities[lane] for lane in view.suits)
    ]
    return MakeOffer(chance.choice([lot for lot in lots if not view.deck.holds(view.hand, lot)]))
