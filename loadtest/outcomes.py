"""What becomes of one seat's commands: how long each took, and what it came to."""

from google.rpc import code_pb2
from pit.v1 import play_pb2

from loadtest.course import Course
from loadtest.plan import Kind
from loadtest.samples import Samples
from services.client.happenings import Effective, Outcome, Rejected, Unknown


class Sent:
    """A command on its way."""

    __slots__ = ("accepted", "command", "intended_at", "kind", "offers", "sent_at")

    def __init__(
        self, command: play_pb2.Command, kind: Kind | None, intended_at: float, sent_at: float
    ) -> None:
        self.command = command
        self.kind = kind
        """`None` for a Ready, which is no action."""
        self.intended_at = intended_at
        self.sent_at = sent_at
        self.offers = kind is not None and command.HasField("offer")
        self.accepted = False


class Outcomes:
    """Of one seat. Times are monotonic seconds."""

    __slots__ = ("_counts", "_course", "_samples", "_sent")

    def __init__(self, samples: Samples, course: Course) -> None:
        self._samples = samples
        self._counts = samples.counts
        self._course = course
        self._sent: dict[int, Sent] = {}
        """By the identity of its command: a command may change its number."""

    @property
    def waiting(self) -> int:
        """Commands without an outcome."""
        return len(self._sent)

    def sent(
        self, command: play_pb2.Command, kind: Kind | None, intended_at: float, now: float
    ) -> None:
        self._sent[id(command)] = Sent(command, kind, intended_at, now)

    def accepted(self, number: int, now: float) -> None:
        """The first word of a command, perhaps: it is in the log."""
        for sent in self._sent.values():
            if sent.command.number == number and not sent.accepted:
                sent.accepted = True
                if sent.offers:
                    self._first_word(sent, now)

    def effective(self, command: play_pb2.Command, traded: bool | None, now: float) -> Sent:
        """It has had its effect. `traded`: what an offer came to."""
        sent = self._sent.pop(id(command))
        if sent.kind is None or not self._course.measured(sent.intended_at):
            return sent
        if not sent.offers:
            self._counts[f"done {sent.kind.value}"] += 1
            return sent
        self._counts["done traded" if traded else "done open"] += 1
        if not sent.accepted:
            self._first_word(sent, now)
        samples = self._samples
        samples.latency("effective", now - sent.intended_at)
        samples.latency("service_effective", now - sent.sent_at)
        return sent

    def settled(self, command: play_pb2.Command, outcome: Outcome, now: float) -> Sent:
        """It has its outcome by an answer, not by an event."""
        if isinstance(outcome, Effective):
            return self.effective(command, outcome.traded, now)
        sent = self._sent.pop(id(command))
        if isinstance(outcome, Unknown):
            self._counts["error UNKNOWN_OUTCOME"] += 1
        elif outcome.code == code_pb2.INTERNAL:
            self._counts[f"error {outcome.reason}"] += 1
        if (
            sent.kind is not None
            and isinstance(outcome, Rejected)
            and self._course.measured(sent.intended_at)
        ):
            self._counts[f"refused {outcome.reason}"] += 1
            if sent.offers and not sent.accepted:
                self._first_word(sent, now)
        return sent

    def unanswered(self, now: float) -> int:
        """How many of its actions have no outcome. They have waited until now, at least."""
        waiting = 0
        for sent in self._sent.values():
            if sent.kind is None:
                continue
            waiting += 1
            if sent.offers and not sent.accepted:
                self._first_word(sent, now)
            if sent.offers and self._course.measured(sent.intended_at):
                for name in _after_first_word(sent.kind):
                    self._samples.latency(name, now - sent.intended_at)
                    self._samples.latency(f"service_{name}", now - sent.sent_at)
        return waiting

    def _first_word(self, sent: Sent, now: float) -> None:
        if self._course.measured(sent.intended_at):
            self._samples.latency("accepted", now - sent.intended_at)
            self._samples.latency("service_accepted", now - sent.sent_at)


def never_sent(
    samples: Samples, course: Course, kind: Kind, intended_at: float, now: float
) -> None:
    """An action that no seat could send. An offer's latencies are what it has waited, at least."""
    if kind in (Kind.OPEN, Kind.TRADE) and course.measured(intended_at):
        for name in ("accepted", *_after_first_word(kind)):
            samples.latency(name, now - intended_at)


def _after_first_word(kind: Kind) -> tuple[str, ...]:
    """What else is measured of an offer of this kind; nothing of one that is to be refused."""
    if kind is Kind.TRADE:
        return "effective", "trade"
    return ("effective",) if kind is Kind.OPEN else ()
