"""All tables of one worker in play: the plan's actions go out, ended tables are replaced.

One timer drives everything; no seat has a task of its own.
"""

import asyncio
import heapq
import random
import time
from collections import deque
from collections.abc import Coroutine
from itertools import count
from typing import Any, Final

from grpc import StatusCode
from pit.v1 import table_pb2

from loadtest import outcomes
from loadtest.acts import choose, message_of
from loadtest.checks import Checks
from loadtest.connections.port import Connections, Metadata
from loadtest.course import Course
from loadtest.health import LATE_S
from loadtest.messages import Orders
from loadtest.opening import Opener
from loadtest.plan import Kind, Plan
from loadtest.samples import Samples
from loadtest.scenarios import CHURN_SHARE_PER_S
from loadtest.seat import LoadSeat
from loadtest.slot import Slot
from loadtest.table import LoadTable
from services.bots.acts import SayReady, command_of
from services.client.errors import Refused
from services.client.exchange import Exchange

TICK_S: Final = 0.001
"""The plan is looked at so often; what is due then goes out in one write a connection."""
READY_S: Final = (0.1, 0.6)
"""Bounds of the time to sort a hand or to look at a result."""
START_SPREAD_S: Final = 8.0
"""Games begin over this time, so that their rounds do not end together."""
BELL_S: Final = 1.0
"""The same where all are to open at once, and no operators are there to open them."""
SLOTS_TRIED_MAX: Final = 64
"""Tables asked in turn for one action before it is dropped: none of them has its exchange open."""
WAITING_TRIED_MAX: Final = 4
"""Tables asked in turn whose seats all wait for the exchange, before the action is held."""
STALE_S: Final = 0.5
"""What the warm-up could not do in time is dropped: the measurement begins without a backlog."""
ACTIONS_PER_TICK_MAX: Final = 100
"""A generator that has fallen behind must still read what comes, or it never catches up."""
ACTIONS_BETWEEN_MAX: Final = 20
"""The same between two messages: reading is what there is to do then."""
ATTACH_PATIENCE_S: Final = 60.0
REPLACE_PAUSE_S: Final = 1.0
"""Before another try to open a table that was refused."""
THINKS: Final = 0
"""A timer's purpose; the others are what to be ready for."""
_READY_IN: Final[dict[int, int]] = {
    table_pb2.READY_FOR_START: table_pb2.PHASE_SEATING,
    table_pb2.READY_FOR_OPEN: table_pb2.PHASE_SORTING,
    table_pb2.READY_FOR_NEXT: table_pb2.PHASE_BETWEEN,
}


class Crowd:
    """See the module's text. It is what its seats share, and who plays at its tables."""

    def __init__(self, orders: Orders, opener: Opener, connections: Connections) -> None:
        self.connections = connections
        self.samples = Samples()
        self.checks = Checks()
        self.course = Course()
        self.slots = [Slot(number) for number in range(orders.tables)]
        self.running = False
        self.failure: Exception | None = None
        self._orders = orders
        self._opener = opener
        self._chance = random.Random(f"{orders.seed} {orders.number} seats")
        self._plan = Plan(
            f"{orders.seed} {orders.number} plan",
            orders.tables,
            () if orders.think_time_s else orders.stages,
            orders.warmup_s,
            orders.share,
        )
        self._begins_at = float("inf")
        self._held: deque[tuple[Kind, float]] = deque()
        """Actions whose time has come while every seat waits for the exchange."""
        self._timers: list[tuple[float, int, LoadSeat, int]] = []
        self._numbers = count()
        self._slot_of: dict[LoadTable, Slot] = {}
        self._credentials: dict[LoadSeat, Exchange] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        churns = orders.scenario == "churn"
        self._cuts_per_tick = (
            CHURN_SHARE_PER_S * orders.tables * orders.wish.seats * TICK_S if churns else 0.0
        )
        self._cuts_due = 0.0
        self._ticks_at = 0.0
        self._between = False
        """The plan is looked at between two messages."""
        self._tick_handle: asyncio.TimerHandle | None = None

    # ------------------------------------------------------------------ tables

    async def open(self, slot: Slot) -> None:
        """Put a new table into a slot. Raises `Refused`, `TimeoutError`."""
        orders = self._orders
        seated = await self._opener.open(slot.number)
        table = LoadTable(
            seated[0][1].table, len(seated), self.checks, self.samples, self.course, self
        )
        slot.table, slot.began = table, asyncio.Event()
        slot.seats, slot.minds, slot.idle = [], [], []
        self._slot_of[table] = slot
        for number, (exchange, place) in enumerate(seated):
            chance = random.Random(self._chance.getrandbits(64))
            group = number * orders.addresses + slot.number % orders.addresses
            seat = LoadSeat(self, table, place, group, chance)
            self._credentials[seat] = exchange
            slot.seats.append(seat)
            slot.minds.append(seat.mind)
            slot.idle.append(seat)
            seat.connect()
        try:
            async with asyncio.timeout(ATTACH_PATIENCE_S):
                await slot.began.wait()
        except TimeoutError:
            for seat in slot.seats:
                if seat.limit:
                    message = "the stream of a seat was not let in"
                    raise Refused(StatusCode.RESOURCE_EXHAUSTED, seat.limit, message) from None
            raise

    def began(self, table: LoadTable) -> None:
        slot = self._slot_of[table]
        slot.began.set()
        self.samples.counts["tables_opened"] += 1
        if self.running:
            self._start_table(slot, time.monotonic())

    def over(self, table: LoadTable) -> None:
        self.samples.counts["games"] += 1
        slot = self._slot_of[table]
        self._clear(slot)
        if self.running:
            self.start_task(self._replace(slot))

    def _clear(self, slot: Slot) -> None:
        table = slot.table
        if table is None:
            return
        slot.table = None
        self._slot_of.pop(table, None)
        for seat in slot.seats:
            seat.leave()
            self._credentials.pop(seat, None)

    async def _replace(self, slot: Slot) -> None:
        while self.running:
            try:
                await self.open(slot)
            except (Refused, TimeoutError) as failure:
                why = failure.reason if isinstance(failure, Refused) else "ATTACH_TIMEOUT"
                self.samples.counts[f"error OPEN_TABLE {why}"] += 1
                self._clear(slot)
                await asyncio.sleep(REPLACE_PAUSE_S)
            else:
                return

    def drop_broken(self) -> None:
        """Leave tables at which a check has failed: nothing more is to be learnt there."""
        for slot in self.slots:
            if slot.table is not None and slot.table.broken:
                self._clear(slot)

    def start_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ------------------------------------------------------------------ what seats ask

    def metadata(self, seat: LoadSeat) -> Metadata:
        return self._credentials[seat].credentials.metadata()

    def answered(self, seat: LoadSeat) -> None:
        """One of its actions has its outcome."""
        if self._orders.think_time_s and self.running:
            pause_s = self._chance.expovariate(1 / self._orders.think_time_s)
            self._later(time.monotonic() + pause_s, seat, THINKS)

    def lost(self, seat: LoadSeat, why: str) -> None:
        self.samples.counts[f"error LOST {why}"] += 1

    def must_be_ready(self, table: LoadTable, seat: int, ready_for: int) -> None:
        slot = self._slot_of.get(table)
        if slot is not None:
            at = time.monotonic() + self._chance.uniform(*READY_S)
            self._later(at, slot.seats[seat], ready_for)

    def _later(self, at: float, seat: LoadSeat, purpose: int) -> None:
        heapq.heappush(self._timers, (at, next(self._numbers), seat, purpose))

    # ------------------------------------------------------------------ the course

    def go(self, at: float) -> None:
        """Begin the plan, and the games."""
        orders = self._orders
        self.running = True
        self._begins_at = at
        warm_at = at + orders.warmup_s
        seconds = sum(stage.seconds for stage in orders.stages)
        self.course.begins_at, self.course.ends_at = warm_at, warm_at + seconds
        spread_s = BELL_S if orders.scenario == "opening-bell" else START_SPREAD_S
        spread_s = min(spread_s, max(BELL_S, orders.warmup_s))
        for slot in self.slots:
            if slot.table is not None and orders.starts_at_s:
                slot.table.starts_at = at
            elif slot.table is not None:
                self._start_table(slot, at + self._chance.uniform(0.0, spread_s))
        self._ticks_at = self.course.look_at = time.monotonic()
        self._tick()

    def _start_table(self, slot: Slot, at: float) -> None:
        if slot.table is None:
            return
        slot.table.starts_at = at
        thinks_s = self._orders.think_time_s
        for seat in slot.seats:
            self._later(at, seat, table_pb2.READY_FOR_START)
            if thinks_s:
                self._later(at + self._chance.uniform(0, thinks_s), seat, THINKS)

    def stop(self) -> None:
        """No new actions; those that are held may still be sent."""
        self.running = False
        self.course.look_at = float("inf")
        if self._tick_handle is not None:
            self._tick_handle.cancel()
            self._tick_handle = None
        for task in tuple(self._tasks):
            task.cancel()

    def failed(self, failure: Exception) -> None:
        """A fault of ours: the run is over, and says so."""
        self.failure = self.failure or failure

    def _tick(self) -> None:
        """The loop's timer: it comes when the loop has read all that there was to read."""
        now = time.monotonic()
        if self.course.measured(now):
            self.samples.latency("loop_lag", now - self._ticks_at)
        try:
            self._play(now, ACTIONS_PER_TICK_MAX)
        except Exception as failure:
            self.failed(failure)
            return
        self._ticks_at = time.monotonic() + TICK_S
        self._tick_handle = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def look(self, now: float) -> None:
        """A seat has taken a message, and it is `course.look_at` or later: a loop that has much to
        read would keep the plan waiting. What is sent now leaves now, too."""
        self._between = True
        self._play(now, ACTIONS_BETWEEN_MAX)
        self._between = False

    def _play(self, now: float, most: int) -> None:
        """Do what is due."""
        if self.course.measured(now):
            self.samples.latency("plan_lag", max(0.0, now - self.course.look_at))
        self.course.look_at = now + TICK_S
        self.place_held()
        plan, begins_at = self._plan, self._begins_at
        for _ in range(most):
            intended_at, kind = begins_at + plan.at_s, plan.kind
            if intended_at > now:
                break
            stale = now - intended_at > STALE_S and intended_at < self.course.begins_at
            if not stale and not self._place(kind, intended_at, held=False):
                self._held.append((kind, intended_at))
            plan.advance()
        timers = self._timers
        while timers and timers[0][0] <= now:
            at, _, seat, purpose = heapq.heappop(timers)
            self._wake(seat, purpose, at)
        if self._cuts_per_tick:
            self._churn()

    def place_held(self) -> int:
        """Send what had to wait for the exchange; how many actions still do."""
        held = self._held
        while held and self._place(*held[0], held=True):
            held.popleft()
        return len(held)

    def give_up_held(self, now: float) -> int:
        """How many actions could not be sent to the end. They have waited until now, at least."""
        for kind, intended_at in self._held:
            outcomes.never_sent(self.samples, self.course, kind, intended_at, now)
        return len(self._held)

    def _churn(self) -> None:
        """Some seats lose their stream."""
        self._cuts_due += self._cuts_per_tick
        while self._cuts_due >= 1:
            self._cuts_due -= 1
            slot = self._chance.choice(self.slots)
            if slot.table is not None and slot.table.public is not None:
                self._chance.choice(slot.seats).cut()

    # ------------------------------------------------------------------ acting

    def _place(self, kind: Kind, intended_at: float, *, held: bool) -> bool:
        """Let some table do it; false while all that could are waiting for the exchange.

        In the warm-up, while games begin one after the other, what finds its table closed is
        dropped: else those already open would have to do it all.
        """
        waiting = 0
        warming = intended_at < self.course.begins_at
        for _ in range(1 if warming else min(SLOTS_TRIED_MAX, len(self.slots))):
            slot = self.slots[self._plan.slot()]
            table = slot.table
            if table is None or not table.open:
                continue
            able = slot.able()
            if not able:
                waiting += 1
                if waiting >= WAITING_TRIED_MAX:
                    return False
            elif self._act(slot, kind, able, intended_at, held):
                return True
        if not waiting:
            self._count("unplaced", intended_at)
        return warming or not waiting

    def _act(self, slot: Slot, kind: Kind, able: list[int], intended_at: float, held: bool) -> bool:
        assert slot.table is not None
        chosen = choose(kind, slot.minds, slot.table.seated, able, time.monotonic())
        if chosen is None:
            return False
        number, act, really = chosen
        seat = slot.seats[number]
        seat.act(message_of(act, seat.view(), seat.mind.chance), really, intended_at)
        slot.acted(seat)
        if self._between:
            seat.send_now()
        self.samples.acted += 1
        self._count("sent", intended_at)
        if not held and time.monotonic() - intended_at > LATE_S:
            self._count("late", intended_at)
        return True

    def _wake(self, seat: LoadSeat, purpose: int, at: float) -> None:
        """A seat's own time has come: to be ready, or to act after thinking."""
        if purpose == THINKS:
            self._think(seat, at)
            return
        table = seat.table
        if table.public is None or not seat.able or table.broken:
            return
        if table.public.phase == _READY_IN[purpose]:
            act = SayReady(table_pb2.ReadyFor.ValueType(purpose))
            seat.act(command_of(act, seat.view(), seat.mind.chance), None, at)
            slot = self._slot_of.get(table)
            if slot is not None:
                slot.acted(seat)

    def _think(self, seat: LoadSeat, at: float) -> None:
        """A seat without a plan has thought for long enough."""
        slot = self._slot_of.get(seat.table)
        if slot is None:
            return
        ready = seat.table.open and seat.able
        if not ready or not self._act(slot, self._plan.any_kind(), [seat.number], at, held=False):
            self._later(time.monotonic() + self._orders.think_time_s, seat, THINKS)

    def _count(self, name: str, intended_at: float) -> None:
        if self.course.measured(intended_at):
            self.samples.counts[name] += 1
