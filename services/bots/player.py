"""One bot at one table: when it acts, and through which strategy. No I/O and no clock of its own.

The driver tells it what happened (`began`, `saw`, `settled`) and calls `act(now)` when `wake_at`
has come; `now` is seconds of any steady clock.
"""

import random
from typing import Final

from pit.v1 import table_pb2

from engine.cards import size
from services.bots.acts import Act, MakeOffer, Ring, SayReady
from services.bots.memory import Memory
from services.bots.pace import COMMAND_MIN_S, HUMAN, Pace, calm_times
from services.bots.strategy import OpenOffer, Sight, Strategy
from services.client.happenings import Happened
from services.client.view import NOBODY, TableView

NEVER: Final = float("inf")
LOOKS_AGAIN_S: Final = 1.0
"""A bot that had nothing to do looks again after this long, whatever happens meanwhile."""

_READY: Final[dict[int, table_pb2.ReadyFor.ValueType]] = {
    table_pb2.PHASE_SEATING: table_pb2.READY_FOR_START,
    table_pb2.PHASE_SORTING: table_pb2.READY_FOR_OPEN,
    table_pb2.PHASE_BETWEEN: table_pb2.READY_FOR_NEXT,
}


class Player:
    """See the module's text."""

    def __init__(
        self, strategy: Strategy, pace: Pace, chance: random.Random, skill: float = 1.0
    ) -> None:
        self.wake_at = NEVER
        """When `act` is to be called."""
        self.memory = Memory()
        self._strategy = strategy
        self._fast = pace.times(strategy.pace)
        self._human = HUMAN.times(strategy.pace)
        self._chance = chance
        self._skill = skill
        self._bell_at = 0.0
        self._acted_at = -COMMAND_MIN_S
        self._waiting = False
        """A command is without an outcome: one thing at a time."""
        self._patience_s = 0.0
        self._times = 1.0
        """How much slower than usual this table is played."""

    # ------------------------------------------------------------------ what is told

    def began(self, view: TableView, now: float) -> None:
        """The seat is attached, or its view is new: look at everything afresh."""
        self.memory.forget()
        self._take_in(view)
        for number, seat in enumerate(view.seats):
            if seat.offer_size and number != view.seat:
                self.memory.seen_at[number] = now
        self._waiting = False
        self._hand_changed(view, now)
        self.wake_at = now + self._reaction_s(view)

    def saw(self, view: TableView, happened: Happened, now: float) -> None:
        """Something happened at the table; the view holds it already."""
        self.memory.saw(view, happened, now)
        self._take_in(view)
        kind = happened.event.WhichOneof("kind")
        if kind == "offer_opened":
            if happened.event.offer_opened.seat == view.seat:
                self._patience_s = self._pace(view).waits_s(self._chance)
            else:
                self._wake(now + self._pace(view).offer_s(self._chance))
        elif kind == "traded":
            traded = happened.event.traded
            if view.seat in (traded.seat, traded.partner):
                self._hand_changed(view, now)
                self.wake_at = now + self._pace(view).offer_s(self._chance)
        elif kind in ("dealt", "exchange_opened", "round_scored", "round_void"):
            if kind in ("dealt", "exchange_opened"):
                self._hand_changed(view, now)
            self.wake_at = now + self._reaction_s(view)

    def sent(self, now: float) -> None:
        """The act that `act` gave is on its way."""
        self._waiting = True
        self._acted_at = now

    def settled(self, now: float) -> None:
        """It has its outcome."""
        self._waiting = False
        self._wake(now + LOOKS_AGAIN_S * self._times)

    # ------------------------------------------------------------------ what it wants

    def act(self, view: TableView, now: float) -> Act | None:
        """What to do now, if anything; sets the next `wake_at` in any case."""
        self.wake_at = now + LOOKS_AGAIN_S * self._times
        if self._waiting:
            return None
        soonest = self._acted_at + COMMAND_MIN_S
        if now < soonest:
            self.wake_at = soonest
            return None
        if view.phase == table_pb2.PHASE_OPEN:
            return self._trade(view, now)
        return self._ready(view)

    def _trade(self, view: TableView, now: float) -> Act | None:
        stands_until = self.memory.offered_at + self._patience_s if view.offer_lot else now
        sight = self._sight(view, now, may_call_out=now >= stands_until)
        act = self._strategy.act(sight)
        if isinstance(act, Ring) and now < self._bell_at:
            self.wake_at = self._bell_at
            return None
        if isinstance(act, MakeOffer):
            readable_at = self._readable_at(view, act)
            if now < readable_at:
                self.wake_at = readable_at
                return None
            if view.offer_lot:
                self.memory.unanswered += 1
        if act is None and view.offer_lot and now < stands_until:
            self._wake(stands_until)
        return act

    def _ready(self, view: TableView) -> Act | None:
        ready_for = _READY.get(view.phase)
        own = view.seats[view.seat]
        if ready_for is None or ready_for in own.ready:
            self.wake_at = NEVER
            return None
        if ready_for == table_pb2.READY_FOR_OPEN and not view.rules.opens_when_sorted:
            self.wake_at = NEVER
            return None
        return SayReady(ready_for)

    # ------------------------------------------------------------------ inside

    def _hand_changed(self, view: TableView, now: float) -> None:
        self._bell_at = now + self._pace(view).bell_s(self._chance)
        if view.hand and view.suits:
            sight = self._sight(view, now, may_call_out=False)
            self.memory.collect(self._strategy.target(sight), self._chance)

    def _sight(self, view: TableView, now: float, may_call_out: bool) -> Sight:
        seen_at = self.memory.seen_at
        answerable = [
            number
            for number, seat in enumerate(view.seats)
            if seat.offer_size
            and number != view.seat
            and seat.offer_directed_at in (NOBODY, view.seat)
        ]
        answerable.sort(key=lambda number: seen_at.get(number, now))
        offers = tuple(OpenOffer(number, view.seats[number].offer_size) for number in answerable)
        return Sight(view, self.memory, now, offers, may_call_out, self._skill, self._chance)

    def _readable_at(self, view: TableView, act: MakeOffer) -> float:
        """When every open offer that this one could meet has been there for a reaction time:
        nobody is to be answered sooner, not even by coincidence."""
        wanted = size(act.lot)
        met = [
            self.memory.seen_at.get(number, 0.0)
            for number, seat in enumerate(view.seats)
            if seat.offer_size == wanted
            and number != view.seat
            and act.directed_at in (NOBODY, number)
            and seat.offer_directed_at in (NOBODY, view.seat)
        ]
        return max(met, default=0.0) + self._pace(view).offer_min_s

    def _take_in(self, view: TableView) -> None:
        people = any(seat.person for seat in view.seats)
        self._times = calm_times(view.rules.idle_s) if people else 1.0

    def _pace(self, view: TableView) -> Pace:
        """The pace asked for, but a human one where a person sits, calm where the rules are."""
        if not any(seat.person for seat in view.seats):
            return self._fast
        return self._human.calmer(self._times) if self._times > 1 else self._human

    def _reaction_s(self, view: TableView) -> float:
        pace = self._pace(view)
        trading = view.phase == table_pb2.PHASE_OPEN
        return pace.offer_s(self._chance) if trading else pace.readies_s(self._chance)

    def _wake(self, at: float) -> None:
        self.wake_at = min(self.wake_at, at)
