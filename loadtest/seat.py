"""One seat at one table: its stream, kept up through resumes, and its commands on their way."""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Final, Protocol

from google.rpc import code_pb2
from grpc import StatusCode
from pit.v1 import play_pb2, table_pb2

from loadtest.acts import Mind
from loadtest.checks import Checks
from loadtest.connections.port import Connections, Listener, Stream
from loadtest.plan import Kind
from loadtest.samples import Samples
from loadtest.table import LoadTable, Window
from loadtest.view import OwnView
from services.client.backoff import Backoff
from services.client.exchange import Place
from services.client.happenings import (
    Drain,
    Effective,
    Happened,
    Happening,
    InLog,
    OutOfStep,
    Rejected,
    RetryAfter,
    Settled,
    Started,
    Unknown,
    WasReset,
)
from services.client.items import PublicItems
from services.client.kept import TRIED_AGAIN
from services.client.protocol import SeatProtocol

IN_FLIGHT_MAX: Final = 8
"""Commands that a seat sends without waiting: half of what the exchange takes."""

BUSY_S: Final = 1e9
"""Puts a seat with a command on its way behind all others."""


class Shared(Protocol):
    """What the seats of a worker have in common."""

    connections: Connections
    samples: Samples
    checks: Checks
    items: PublicItems
    window: Window
    look_at: float
    """When the plan is to be looked at again (monotonic)."""

    def look(self, now: float) -> None:
        """It is `look_at`, or later. Called between two messages."""

    def metadata(self, seat: "LoadSeat") -> tuple[tuple[str, str], ...]: ...

    def answered(self, seat: "LoadSeat") -> None:
        """One of its actions has its outcome."""

    def failed(self, failure: Exception) -> None:
        """A fault of ours."""

    def lost(self, seat: "LoadSeat", why: str) -> None:
        """The seat is gone for good, unasked."""


class _Sent:
    """An action on its way."""

    __slots__ = ("accepted", "command", "intended_at", "kind", "sent_at")

    def __init__(
        self, command: play_pb2.Command, kind: Kind | None, intended_at: float, sent_at: float
    ) -> None:
        self.command = command
        self.kind = kind
        """`None` for a Ready, which is no action."""
        self.intended_at = intended_at
        self.sent_at = sent_at
        self.accepted = False


class LoadSeat:
    """See the module's text. Its listener methods are called by its stream."""

    def __init__(
        self, shared: Shared, table: LoadTable, place: Place, group: int, chance: random.Random
    ) -> None:
        self.place = place
        self.table = table
        self.group = group
        self.mind = Mind(chance)
        self.protocol = SeatProtocol(place.table, place.seat_token, shared.items, self._view_of)
        self._shared = shared
        self._samples = shared.samples
        self._counts = shared.samples.counts
        self.number = place.seat
        self._stream: Stream | None = None
        self._backoff = Backoff(chance)
        self._asked_at = 0.0
        """When the stream that is not attached yet was opened."""
        self._lost_at = 0.0
        self._snapshot: table_pb2.Snapshot | None = None
        self._sent: dict[int, _Sent] = {}
        """By the identity of its command."""
        self._timer: asyncio.TimerHandle | None = None
        self._leaving = False
        self._heard_number = 0

    # ------------------------------------------------------------------ the stream's life

    def connect(self) -> None:
        """Open a stream: the first, or one that resumes the last."""
        self._timer = None
        if self._leaving:
            return
        self._asked_at = time.monotonic()
        shared = self._shared
        self._stream = shared.connections.open(self.group, self, shared.metadata(self))
        self._stream.send(self.protocol.attach())

    def leave(self) -> None:
        """End the stream in order, and do not come back."""
        self._leaving = True
        self._cancel_timer()
        if self._stream is not None:
            self._stream.finish()

    def cut(self) -> None:
        """Lose the stream as a phone does, and come back."""
        if self._stream is not None:
            self._stream.abandon()
            self._resume(0.0)

    @property
    def gone(self) -> bool:
        return self._leaving and self._stream is None

    @property
    def settled(self) -> bool:
        """Nothing on its way, and attached unless it is gone for good."""
        return self._leaving or (self.protocol.attached and not self.protocol.in_flight)

    @property
    def detached(self) -> bool:
        """It has lost its stream, and not come back yet."""
        return not self._leaving and not self.protocol.attached

    @property
    def rank(self) -> float:
        """Of those that may act: who waits for nothing first, then who has been idle longest."""
        acted_at = self.mind.acted_at
        return acted_at + BUSY_S if self.protocol.in_flight else acted_at

    @property
    def able(self) -> bool:
        """Whether it may act."""
        protocol = self.protocol
        return protocol.attached and protocol.in_flight < IN_FLIGHT_MAX

    def ended(self, code: StatusCode, reason: str, wait_s: float) -> None:
        self._stream = None
        self.protocol.attached = False
        if self._leaving:
            return
        self._counts["streams_ended"] += 1
        if code in TRIED_AGAIN or code is StatusCode.OK or code is StatusCode.UNAUTHENTICATED:
            self._resume(wait_s)
        else:
            self._leaving = True
            self._shared.lost(self, f"{code.name} {reason}")

    def _resume(self, wait_s: float) -> None:
        self._stream = None
        self.protocol.attached = False
        self._lost_at = self._lost_at or time.monotonic()
        self._later(self._backoff.delay_s(wait_s), self.connect)

    def _later(self, delay_s: float, action: Callable[[], None]) -> None:
        self._cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(delay_s, action)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ------------------------------------------------------------------ acting

    def act(self, command: play_pb2.Command, kind: Kind | None, intended_at: float) -> None:
        """Send a command that was to be sent at `intended_at`."""
        now = time.monotonic()
        self.mind.acted_at = now
        self._sent[id(command)] = _Sent(command, kind, intended_at, now)
        self.protocol.submit(command, intended_at)
        self._flush()

    def _flush(self) -> None:
        stream = self._stream
        if stream is not None:
            for message in self.protocol.outgoing():
                stream.send(message)

    def send_now(self) -> None:
        """Do not wait for the end of the loop's turn."""
        if self._stream is not None:
            self._stream.flush()

    def _retry(self) -> None:
        self._timer = None
        self.protocol.retry()
        self._flush()

    def unanswered(self, now: float) -> int:
        """How many of its actions have no outcome. They have waited until now, at least."""
        waiting = [sent for sent in self._sent.values() if sent.kind is not None]
        for sent in waiting:
            if sent.command.HasField("offer") and not sent.accepted:
                self._accepted(sent, now)
        return len(waiting)

    # ------------------------------------------------------------------ what comes down

    def received(self, message: bytes) -> None:
        try:
            self._take(message)
        except Exception as failure:  # told aloud: whoever called us would only end the stream
            self._shared.failed(failure)

    def _take(self, message: bytes) -> None:
        now = time.monotonic()
        table = self.table
        self._counts["messages"] += 1
        if message != table.told or not self._take_told(now):
            self._take_parsed(message, now)
        table.close_records(now)
        if self.protocol.has_outgoing:
            self._flush()
        if now >= self._shared.look_at:
            self._shared.look(now)

    def _take_told(self, now: float) -> bool:
        """Seats that nothing concerns are sent equal bytes: only the first has them parsed."""
        protocol, table, number = self.protocol, self.table, self.number
        view = protocol.view
        epoch, log_us, events = table.told_parts
        if view is None or not protocol.attached or events[0].seq != view.seq + 1:
            return False
        protocol.log_us = log_us
        self._counts["events"] += len(events)
        for event in events:
            protocol.follow_event(event, epoch)
            table.followed(number, event, now)
        return True

    def _take_parsed(self, message: bytes, now: float) -> None:
        protocol, table, number, counts = self.protocol, self.table, self.number, self._counts
        parts = play_pb2.PlayResponse.FromString(message).batch.tables
        for part in parts:
            protocol.log_us, epoch = part.log_us, part.epoch
            items, followed = part.items, []
            for item in items:
                event = protocol.follow(item, epoch)
                if event is None:
                    for happening in protocol.take_item(item, epoch):
                        _ON[type(happening)](self, happening, now)
                else:
                    counts["events"] += 1
                    table.followed(number, event, now)
                    followed.append(event)
            if followed and len(followed) == len(items) and len(parts) == 1:
                table.told, table.told_parts = message, (epoch, protocol.log_us, followed)

    def _view_of(self, snapshot: table_pb2.Snapshot) -> OwnView:
        self._snapshot = snapshot
        return OwnView(snapshot)

    def view(self) -> OwnView:
        view = self.protocol.view
        assert isinstance(view, OwnView)
        return view

    def _on_event(self, happened: Happened, now: float) -> None:
        self._counts["events"] += 1
        table, seat = self.table, self.place.seat
        record = table.saw(seat, happened, now)
        if happened.number:
            self._check_number(happened)
        if record is not None and record.kind == "traded":
            traded = happened.event.traded
            giver = traded.partner if traded.seat == seat else traded.seat
            self.mind.traded(self.view(), record.cards[seat][0], giver, now)
        elif record is not None and record.kind == "dealt":
            self.mind.dealt(self.view(), now)

    def _check_number(self, happened: Happened) -> None:
        """Commands have their effects in the order of their numbers, once each."""
        if happened.number <= self._heard_number:
            check = "trades" if happened.event.HasField("traded") else "sequences"
            self.table.fail(check, f"event {happened.event.seq}: command {happened.number} of "
                            f"seat {self.place.seat} has an effect again")  # fmt: skip
        self._heard_number = happened.number

    def _on_settled(self, settled: Settled, now: float) -> None:
        sent = self._sent.pop(id(settled.command))
        outcome = settled.outcome
        if isinstance(outcome, Effective):
            self.table.caused(outcome.seq, settled.sent_at, sent.sent_at)
        if sent.kind is not None:
            self._outcome_of_action(settled, sent, now)
            self._shared.answered(self)
        if isinstance(outcome, Unknown):
            self._counts["error UNKNOWN_OUTCOME"] += 1
        elif isinstance(outcome, Rejected) and outcome.code == code_pb2.INTERNAL:
            self._counts[f"error {outcome.reason}"] += 1

    def _outcome_of_action(self, settled: Settled, sent: _Sent, now: float) -> None:
        samples, outcome = self._samples, settled.outcome
        if not self._shared.window.measured(settled.sent_at):
            return
        if isinstance(outcome, Rejected):
            self._counts[f"refused {outcome.reason}"] += 1
        elif isinstance(outcome, Effective) and settled.command.HasField("offer"):
            samples.counts["done traded" if outcome.traded else "done open"] += 1
        elif isinstance(outcome, Effective):
            self._counts[f"done {sent.kind.value if sent.kind else ''}"] += 1
        if settled.command.HasField("offer") and not isinstance(outcome, Unknown):
            if not sent.accepted:
                self._accepted(sent, now)
            if isinstance(outcome, Effective):
                samples.latency("effective", now - settled.sent_at)
                samples.latency("service_effective", now - sent.sent_at)

    def _on_accepted(self, accepted: InLog, now: float) -> None:
        for sent in self._sent.values():
            if sent.command.number == accepted.number and not sent.accepted:
                sent.accepted = True
                if sent.command.HasField("offer"):
                    self._accepted(sent, now)

    def _accepted(self, sent: _Sent, now: float) -> None:
        if self._shared.window.measured(sent.intended_at):
            self._samples.latency("accepted", now - sent.intended_at)
            self._samples.latency("service_accepted", now - sent.sent_at)

    def _on_started(self, started: Started, now: float) -> None:
        self._attached(now)
        if not started.resumed:
            self._know_afresh(now)

    def _on_reset(self, reset: WasReset, now: float) -> None:
        name = play_pb2.ResetReason.Name(play_pb2.ResetReason.ValueType(reset.reason))
        self._counts[f"reset {name.removeprefix('RESET_REASON_')}"] += 1
        self._counts["undone"] += len(reset.undone)
        self._attached(now)
        self._know_afresh(now)

    def _attached(self, now: float) -> None:
        if self._asked_at:
            name = "resume" if self._lost_at else "attach"
            since = self._lost_at or self._asked_at
            self._samples.latency(name, now - since)
            self._counts[f"{name}es" if name == "attach" else "resumes"] += 1
        self._asked_at = self._lost_at = 0.0
        self._backoff.succeeded()

    def _know_afresh(self, now: float) -> None:
        view = self.view()
        assert self._snapshot is not None
        self._heard_number = 0
        self.table.snapshot(self.place.seat, view, self._snapshot)
        if view.hand:
            self.mind.dealt(view, now)

    def _on_out_of_step(self, out_of_step: OutOfStep, now: float) -> None:
        """The exchange broke its promise: what came is not what had to come next."""
        self.table.fail("sequences", f"seat {self.place.seat} was told something that does not "
                        f"follow event {self.view().seq}")  # fmt: skip
        self.cut()

    def _on_retry_after(self, retry: RetryAfter, now: float) -> None:
        self._counts["retries"] += 1
        self._later(retry.delay_s, self._retry)

    def _on_drain(self, drain: Drain, now: float) -> None:
        self._later(self._backoff.delay_s(drain.delay_s), self.cut)

    def _on_other(self, happening: Happening, now: float) -> None:
        """A pong: nobody here asks for one."""


_ON: Final[dict[type, Callable[..., None]]] = {
    Happened: LoadSeat._on_event,
    Settled: LoadSeat._on_settled,
    InLog: LoadSeat._on_accepted,
    Started: LoadSeat._on_started,
    WasReset: LoadSeat._on_reset,
    OutOfStep: LoadSeat._on_out_of_step,
    RetryAfter: LoadSeat._on_retry_after,
    Drain: LoadSeat._on_drain,
}
_: type[Listener] = LoadSeat
