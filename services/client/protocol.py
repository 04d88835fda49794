"""The protocol of one seat, without any I/O: bytes in, happenings and bytes out.

    first = protocol.attach()                  the first message of every stream
    protocol.submit(command, now)              an act; gives its number
    for happening in protocol.receive(data, now): ...
    for message in protocol.outgoing(): ...    what to send now, in order; ask after each call

A seat's life may span many streams. What must outlive a stream is kept here: where in the
table's history the client stands (epoch, seq), the generation of its command numbers, and the
commands without an outcome, in the order of their numbers:

    submitted -> sent -> settled               by an event with its number, an Effective, a Rejected
                  |
                  +-> refused, number not used up -> sent again with the same number

Numbers must arrive without a gap. So when the exchange refuses number n without using it up, it
also refuses every later number that was on its way; once all those refusals are in, the client
goes back to n and sends on from there. But a refusal may be of a command that is in the log all
the same, where only the store's word about it was lost. Then n and those after it have outcomes
instead, and sending goes on when nothing is refused any more.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from google.rpc import code_pb2
from pit.v1 import play_pb2, table_pb2

from services.client.backoff import Backoff
from services.client.happenings import (
    Drain,
    Effective,
    Happened,
    Happening,
    InLog,
    Outcome,
    OutOfStep,
    Pong,
    Rejected,
    RetryAfter,
    Settled,
    Started,
    Undone,
    Unknown,
    WasReset,
)
from services.client.items import PublicItems
from services.client.view import TableView

IN_FLIGHT_MAX: Final = 16
"""The exchange remembers the last sixteen answers of a seat; more could not be settled."""
CONFIRMED_KEPT: Final = 256
"""Confirmed commands kept for a reset: a store loses at most about two seconds of them."""
RETRIED_CODES: Final = frozenset({code_pb2.UNAVAILABLE, code_pb2.RESOURCE_EXHAUSTED})

_NO_CARDS = table_pb2.Cards()


class InFlightFull(Exception):
    """Sixteen commands are without an outcome; wait for one."""


class Pending:
    """A command without an outcome."""

    __slots__ = ("answered", "command", "refused", "sent_at", "tries")

    def __init__(self, command: play_pb2.Command, sent_at: float) -> None:
        self.command = command
        self.sent_at = sent_at
        self.tries = 0
        self.refused: play_pb2.Rejected | None = None
        self.answered = False
        """It is known to be effective, and its event is on the way."""


class SeatProtocol:
    """See the module's text."""

    def __init__(
        self,
        table: str,
        seat_token: str,
        items: PublicItems | None = None,
        view_of: Callable[[table_pb2.Snapshot], TableView] = TableView,
    ) -> None:
        """`view_of` makes the view of a snapshot: programs that play many seats keep less."""
        self._view_of = view_of
        self.table = table
        self.seat_token = seat_token
        self.view: TableView | None = None
        """The table as this seat knows it; `None` before the first attach."""
        self.attached = False
        """Whether this stream's Attach has been answered."""
        self.log_us = 0
        """Log time when the newest message was sent: what deadlines are to be compared with."""
        self.retries = 0
        """Commands that were sent again."""
        self._items = items or PublicItems()
        self.epoch = b""
        """Of the batch that brought the last event or snapshot: other items may come from a
        history that the view does not belong to."""
        self._generation = 0
        self._next_number = 1
        self._pending: dict[int, Pending] = {}
        self._confirmed: deque[tuple[play_pb2.Command, int]] = deque(maxlen=CONFIRMED_KEPT)
        """Commands, and the event that each was confirmed with."""
        self._outgoing: list[bytes] = []
        self._held = False
        """A command has been refused without using its number up: nothing new is sent."""
        self._going_back = False
        """While held: all refusals are in, and a `retry` or a new stream is on its way."""
        self._backoff = Backoff()

    # ------------------------------------------------------------------ out

    def attach(self) -> bytes:
        """The first message of a new stream. Whatever was to be sent on the old one is not."""
        self.attached = False
        self._outgoing.clear()
        attach = play_pb2.Attach(
            table=self.table, seat_token=self.seat_token, resume=self._resume()
        )
        return play_pb2.PlayRequest(attach=attach).SerializeToString()

    def _resume(self) -> play_pb2.Resume | None:
        """Where this client stands, once it stands anywhere."""
        if self.view is None:
            return None
        return play_pb2.Resume(epoch=self.epoch, seq=self.view.seq, generation=self._generation)

    def submit(self, command: play_pb2.Command, now: float) -> int:
        """Give the command its number, round and place in time, and send it when possible."""
        if self.view is None:
            raise RuntimeError("commands come after the first attach")
        if len(self._pending) >= IN_FLIGHT_MAX:
            raise InFlightFull
        command.number = self._next_number
        command.round = self.view.round
        command.seen_seq = self.view.seq
        self._next_number += 1
        pending = Pending(command, now)
        self._pending[command.number] = pending
        if self.attached and not self._held:
            self._send(pending)
        return command.number

    def refresh_access(self, access_token: str) -> None:
        refresh = play_pb2.RefreshAccess(access_token=access_token)
        self._outgoing.append(play_pb2.PlayRequest(refresh_access=refresh).SerializeToString())

    def ping(self, client_us: int) -> None:
        ping = play_pb2.StreamPing(client_us=client_us)
        self._outgoing.append(play_pb2.PlayRequest(ping=ping).SerializeToString())

    def outgoing(self) -> list[bytes]:
        """What is to be sent now, in this order."""
        messages, self._outgoing = self._outgoing, []
        return messages

    @property
    def has_outgoing(self) -> bool:
        return bool(self._outgoing)

    @property
    def in_flight(self) -> int:
        """Commands without an outcome."""
        return len(self._pending)

    def _count_try(self, pending: Pending) -> None:
        pending.tries += 1
        pending.refused = None
        if pending.tries > 1:
            self.retries += 1

    def _send(self, pending: Pending) -> None:
        self._count_try(pending)
        self._outgoing.append(_command_request(pending.command))

    def retry(self) -> None:
        """Send again what was refused without using its number up, and what was held back."""
        self._held = self._going_back = False
        if self.attached:
            for pending in self._pending.values():
                if pending.refused is not None or pending.tries == 0:
                    self._send(pending)

    # ------------------------------------------------------------------ in

    def receive(self, data: bytes) -> Iterator[Happening]:
        """Take one message. The view moves on with each happening that is taken."""
        for part in play_pb2.PlayResponse.FromString(data).batch.tables:
            yield from self.take(part)

    def take(self, part: play_pb2.TableBatch) -> Iterator[Happening]:
        """Take what a message says of this table."""
        self.log_us = part.log_us
        for item in part.items:
            yield from self.take_item(item, part.epoch)

    def take_item(self, item: play_pb2.Item, epoch: bytes) -> Iterator[Happening]:
        """Take one item of a batch of this epoch."""
        return self._event(item, epoch) if item.public else self._other(item, epoch)

    def take_effect(self, number: int, seq: int) -> Pending | None:
        """For programs that play thousands of seats and take events themselves, which keeps `epoch`
        and the view's `seq` to them: event `seq` is the effect of the command of this number. That
        command, if it is without an outcome."""
        if number not in self._pending:
            return None
        pending = self._pop_effective(number, seq)
        self._let_go()
        return pending

    def _event(self, item: play_pb2.Item, epoch: bytes) -> Iterator[Happening]:
        view = self.view
        if view is None or not self.attached:
            return  # of a stream that is to be ended, see below
        event = self._items.event(item.public)
        if event.seq != view.seq + 1:
            # Of another history than ours, or one is missing. Resuming from what we hold shows.
            self.attached = False
            yield OutOfStep()
            return
        self.epoch = epoch
        number, received, given = 0, _NO_CARDS, _NO_CARDS
        if item.HasField("own"):
            own = item.own
            number, received, given = own.number, own.received, own.given
        view.apply(event, received, given)
        yield Happened(event, number, received, given)
        if number in self._pending:
            traded = None
            if event.HasField("traded") or event.HasField("offer_opened"):  # else: one came back
                traded = event.HasField("traded")
            yield self._told(number, Effective(event.seq, traded))

    def _other(self, item: play_pb2.Item, epoch: bytes) -> Iterator[Happening]:
        kind = item.WhichOneof("kind")
        if kind == "attached":
            if item.attached.HasField("snapshot"):
                self.epoch = epoch
            yield from self._on_attached(item.attached)
        elif kind == "reset":
            self.epoch = epoch
            yield from self._on_reset(item.reset)
        elif kind == "rejected":
            yield from self._on_rejected(item.rejected)
        elif kind == "effective":
            if item.effective.number in self._pending:
                yield self._told(item.effective.number, Effective(item.effective.seq, None))
        elif kind == "accepted":
            yield InLog(item.accepted.number)
        elif kind == "draining":
            yield Drain(item.draining.retry_after_ms / 1000)
        elif kind == "pong":
            yield Pong(item.pong.client_us, item.pong.server_us)

    def _on_attached(self, attached: play_pb2.Attached) -> Iterator[Happening]:
        resumed = not attached.HasField("snapshot")
        if not resumed:
            self.view = self._view_of(attached.snapshot)
        self.attached = True
        yield Started(resumed)
        yield from self._take_stand(attached.generation, attached.next_number, attached.answers)

    def _on_reset(self, reset: play_pb2.Reset) -> Iterator[Happening]:
        undone: tuple[Undone, ...] = ()
        if reset.reason != play_pb2.RESET_REASON_GAP:
            same = reset.generation == self._generation
            undone = tuple(
                Undone(command, seq)
                for command, seq in self._confirmed
                if not same or command.number > reset.last_number
            )
            self._confirmed.clear()
        self.view = self._view_of(reset.snapshot)
        self.attached = True
        yield WasReset(reset.reason, undone)
        yield from self._take_stand(reset.generation, reset.last_number + 1, reset.answers)

    def _take_stand(
        self, generation: int, next_number: int, answers: Iterable[play_pb2.Answer]
    ) -> Iterator[Happening]:
        """Settle what the exchange has answered, then send again what it has not seen."""
        same = generation == self._generation
        answered = {answer.number: answer for answer in answers} if same else {}
        left: list[Pending] = []
        for number, pending in list(self._pending.items()):
            if same and number < next_number:
                yield from self._settle_by(answered.get(number), pending)
            elif pending.tries == 0 or (same and number == next_number + len(left)):
                pending.answered = False  # if it was, its effect is undone, and it never happened
                left.append(pending)
            else:
                yield self._settle(number, Unknown("HISTORY"))
        kept = [pending for pending in self._pending.values() if pending.answered]
        self._generation = generation
        self._next_number = next_number
        self._pending = {pending.command.number: pending for pending in kept}
        self._renumber(left)
        self._backoff.succeeded()
        self._held = self._going_back = False
        for pending in left:
            self._send(pending)

    def _settle_by(self, answer: play_pb2.Answer | None, pending: Pending) -> Iterator[Happening]:
        number = pending.command.number
        if answer is None:
            yield self._settle(number, Unknown("FORGOTTEN"))
        elif answer.HasField("rejected"):
            yield self._settle(number, _rejection(answer.rejected))
        elif self.view is not None and answer.effective.seq > self.view.seq:
            pending.answered = True
        else:
            yield self._settle(number, Effective(answer.effective.seq, None))

    def _on_rejected(self, rejected: play_pb2.Rejected) -> Iterator[Happening]:
        pending = self._pending.get(rejected.number)
        if pending is None or pending.answered:
            return
        if rejected.consumed:
            yield self._told(rejected.number, _rejection(rejected))
            return
        self._held = True
        pending.refused = rejected
        sent = self._from_first_refused()
        if all(one.refused is not None for one in sent):
            yield from self._go_back_to(sent[0])

    def _from_first_refused(self) -> list[Pending]:
        """The first command that is refused, and all others sent after it."""
        sent = [one for one in self._pending.values() if one.tries and not one.answered]
        while sent and sent[0].refused is None:
            del sent[0]
        return sent

    def _let_go(self) -> None:
        """After an outcome: what was refused before it may have got in all the same, and then no
        further refusal comes that would end the holding back. What is refused still has been so
        for an earlier number, which is used up now."""
        if not self._held or self._going_back:
            return
        if all(one.refused is not None for one in self._from_first_refused()):
            self.retry()

    def _go_back_to(self, first: Pending) -> Iterator[Happening]:
        """All refusals are in: wait and repeat, resume, or do without the refused command."""
        refused = first.refused
        assert refused is not None
        if refused.retry_after_ms or refused.code in RETRIED_CODES:
            yield self._wait(refused.retry_after_ms / 1000)
        elif refused.reason == "NUMBER_OUT_OF_RANGE":
            self._going_back = True
            yield OutOfStep()
        else:
            number = first.command.number
            later = [one for one in self._pending.values() if one.command.number > number]
            yield self._settle(number, _rejection(refused))
            for one in later:
                del self._pending[one.command.number]
            self._next_number = number
            self._renumber(later)
            self.retry()

    def _wait(self, at_least_s: float = 0.0) -> RetryAfter:
        """Nothing is sent until the user calls `retry`."""
        self._held = self._going_back = True
        return RetryAfter(self._backoff.delay_s(at_least_s))

    def _renumber(self, commands: list[Pending]) -> None:
        for pending in commands:
            pending.command.number = self._next_number
            self._pending[self._next_number] = pending
            self._next_number += 1

    def _told(self, number: int, outcome: Outcome) -> Settled:
        """The exchange has told an outcome, which may be of a refused command."""
        settled = self._settle(number, outcome)
        self._let_go()
        return settled

    def _settle(self, number: int, outcome: Outcome) -> Settled:
        if isinstance(outcome, Effective):
            pending = self._pop_effective(number, outcome.seq)
        else:
            pending = self._pending.pop(number)
        return Settled(pending.command, outcome, pending.sent_at, pending.tries)

    def _pop_effective(self, number: int, seq: int) -> Pending:
        pending = self._pending.pop(number)
        self._confirmed.append((pending.command, seq))
        self._backoff.succeeded()
        return pending

    def abandon(self, reason: str) -> list[Settled]:
        """No stream will follow: every command without an outcome stays without one."""
        return [self._settle(number, Unknown(reason)) for number in list(self._pending)]


_COMMAND_FIELD: Final = b"\x12"
"""Field 2 of a `PlayRequest`; the command's size and the command follow."""
_SIZES: Final = tuple(bytes([size]) for size in range(1 << 7))
"""As protobuf writes them: what is smaller takes one byte, and no command of ours is larger."""


def _command_request(command: play_pb2.Command) -> bytes:
    """A serialised `PlayRequest`, without the copy of the command that one would be made of."""
    data = command.SerializeToString()
    if len(data) < len(_SIZES):
        return _COMMAND_FIELD + _SIZES[len(data)] + data
    return play_pb2.PlayRequest(command=command).SerializeToString()


def _rejection(rejected: play_pb2.Rejected) -> Rejected:
    return Rejected(rejected.code, rejected.reason, dict(rejected.parameters), rejected.message)
