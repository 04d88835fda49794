"""One seat at one table: its stream, kept up through resumes, and its commands on their way."""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Final

from grpc import StatusCode
from pit.v1 import play_pb2, table_pb2

from loadtest.acts import Mind
from loadtest.connections.port import Listener, Stream
from loadtest.outcomes import Outcomes
from loadtest.plan import Kind
from loadtest.record import Record
from loadtest.shared import Shared
from loadtest.table import LoadTable
from loadtest.view import OwnView
from services.client.backoff import Backoff
from services.client.exchange import Place
from services.client.happenings import (
    Drain,
    Effective,
    Happening,
    InLog,
    OutOfStep,
    RetryAfter,
    Settled,
    Started,
    WasReset,
)
from services.client.kept import TRIED_AGAIN
from services.client.protocol import SeatProtocol
from services.client.view import TableView

IN_FLIGHT_MAX: Final = 8
"""Commands that a seat sends without waiting: half of what the exchange takes."""


class LoadSeat:
    """See the module's text. Its listener methods are called by its stream."""

    def __init__(
        self, shared: Shared, table: LoadTable, place: Place, group: int, chance: random.Random
    ) -> None:
        self.place = place
        self.table = table
        self.group = group
        self.mind = Mind(chance)
        self.protocol = SeatProtocol(place.table, place.seat_token, view_of=self._view_of)
        self._shared = shared
        self._samples = shared.samples
        self._counts = shared.samples.counts
        self._course = shared.course
        self.number = place.seat
        self._stream: Stream | None = None
        self._backoff = Backoff(chance)
        self._asked_at = 0.0
        """When the stream that is not attached yet was opened."""
        self._lost_at = 0.0
        self._snapshot: table_pb2.Snapshot | None = None
        self.outcomes = Outcomes(shared.samples, shared.course)
        self._timer: asyncio.TimerHandle | None = None
        self._leaving = False
        self._heard_number = 0
        self.limit = ""
        """The exchange's limit that the newest stream has met, if it has met one."""

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
    def able(self) -> bool:
        """Whether it may act."""
        return self.protocol.attached and self.outcomes.waiting < IN_FLIGHT_MAX

    @property
    def waits(self) -> bool:
        """Some command of its own is on its way."""
        return self.outcomes.waiting > 0

    def ended(self, code: StatusCode, reason: str, wait_s: float) -> None:
        self._stream = None
        self.protocol.attached = False
        if self._leaving:
            return
        self.limit = reason if code is StatusCode.RESOURCE_EXHAUSTED else ""
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
        self.outcomes.sent(command, kind, intended_at, now)
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

    # ------------------------------------------------------------------ what comes down

    def received(self, message: bytes) -> None:
        try:
            now = time.monotonic()
            self._samples.messages += 1
            if message != self.table.told or not self._take_told(now):
                self._take(message, now)
            if now >= self._course.look_at:
                self._shared.look(now)
        except Exception as failure:  # told aloud: whoever called us would only end the stream
            self._shared.failed(failure)

    def _take_told(self, now: float) -> bool:
        """Seats that nothing concerns are sent equal bytes: only the first has them parsed."""
        protocol, table = self.protocol, self.table
        view, records = protocol.view, table.told_records
        if view is None or not protocol.attached or not records:
            return False
        if records[0].seq != view.seq + 1:
            return False
        protocol.epoch, protocol.log_us = table.told_epoch, table.told_log_us
        for record in records:
            self._follow(view, record, now)
        if not records[0].missing:
            table.close_records(now)
        return True

    def _follow(self, view: TableView, record: Record, now: float) -> None:
        """The next event, told as it is to everybody."""
        view.seq = record.seq
        self._samples.events += 1
        number = self.number
        if number in record.sides:
            self.table.saw(number, record, now)
        else:
            record.missing &= ~(1 << number)

    def _take(self, message: bytes, now: float) -> None:
        """Take a message apart."""
        protocol, table = self.protocol, self.table
        parts = play_pb2.PlayResponse.FromString(message).batch.tables
        told: list[Record] | None = [] if len(parts) == 1 else None
        epoch = b""
        for part in parts:
            epoch = part.epoch
            protocol.log_us = part.log_us
            for item in part.items:
                public = item.public
                if not public:
                    self._take_other(item, epoch, now)
                    told = None
                    continue
                own = item.own if item.HasField("own") else None
                record = self._take_event(public, own, epoch, now)
                if own is not None or record is None or record.public != public:
                    told = None
                elif told is not None:
                    told.append(record)
        if told:
            table.told, table.told_records = message, told
            table.told_epoch, table.told_log_us = epoch, protocol.log_us
        table.close_records(now)

    def _take_other(self, item: play_pb2.Item, epoch: bytes, now: float) -> None:
        """Take an item that is no event."""
        for happening in self.protocol.take_item(item, epoch):
            _ON[type(happening)](self, happening, now)
        if self.protocol.has_outgoing:
            self._flush()

    def _take_event(
        self, public: bytes, own: play_pb2.Own | None, epoch: bytes, now: float
    ) -> Record | None:
        """Take an event; its record, where one is kept."""
        protocol, table = self.protocol, self.table
        view = protocol.view
        if view is None or not protocol.attached:
            return None  # of a stream that is to be ended
        seq = view.seq + 1
        record = table.known(seq, public)
        if record is None:
            event = play_pb2.PublicItem.FromString(public).event
            if event.seq != seq:
                protocol.attached = False
                self._on_out_of_step(OutOfStep(), now)
                return None
            if table.public is not None:
                record = table.record_of(event, public, self.number, now)
        protocol.epoch = epoch
        if record is None:
            view.seq = seq
            self._samples.events += 1
            table.begin_when_all_agree()
        elif own is None:
            self._follow(view, record, now)
        else:
            view.seq = seq
            self._samples.events += 1
            self._take_own(record, own, now)
        return record

    def _take_own(self, record: Record, own: play_pb2.Own, now: float) -> None:
        """The seat has caused the event, or is shown cards beside it."""
        table, seat, kind, number = self.table, self.number, record.kind, own.number
        concerned = table.saw(seat, record, now, own.received, own.given)
        if concerned:
            if kind == "traded":
                giver = record.partner if record.seat == seat else record.seat
                self.mind.traded(self.view(), record.cards[seat][0], giver, now)
            elif kind == "dealt":
                self.mind.dealt(self.view(), now)
        if not number:
            return
        self._check_number(number, record)
        pending = self.protocol.take_effect(number, record.seq)
        if pending is not None:
            sent = self.outcomes.effective(pending.command, kind == "traded", now)
            table.caused(record, sent.intended_at, sent.sent_at)
            if sent.kind is not None:
                self._shared.answered(self)
        if self.protocol.has_outgoing:
            self._flush()

    def _view_of(self, snapshot: table_pb2.Snapshot) -> OwnView:
        self._snapshot = snapshot
        return OwnView(snapshot)

    def view(self) -> OwnView:
        view = self.protocol.view
        assert isinstance(view, OwnView)
        return view

    def _check_number(self, number: int, record: Record) -> None:
        """Commands have their effects in the order of their numbers, once each."""
        if number <= self._heard_number:
            check = "trades" if record.kind == "traded" else "sequences"
            self.table.fail(check, f"event {record.seq}: command {number} of "
                            f"seat {self.number} has an effect again")  # fmt: skip
        self._heard_number = number

    def _on_settled(self, settled: Settled, now: float) -> None:
        """By an answer: an effect that is seen settles a command by itself."""
        outcome = settled.outcome
        sent = self.outcomes.settled(settled.command, outcome, now)
        if isinstance(outcome, Effective):
            record = self.table.record(outcome.seq)
            if record is not None:
                self.table.caused(record, sent.intended_at, sent.sent_at)
        if sent.kind is not None:
            self._shared.answered(self)

    def _on_accepted(self, accepted: InLog, now: float) -> None:
        self.outcomes.accepted(accepted.number, now)

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
    Settled: LoadSeat._on_settled,
    InLog: LoadSeat._on_accepted,
    Started: LoadSeat._on_started,
    WasReset: LoadSeat._on_reset,
    OutOfStep: LoadSeat._on_out_of_step,
    RetryAfter: LoadSeat._on_retry_after,
    Drain: LoadSeat._on_drain,
}
_: type[Listener] = LoadSeat
