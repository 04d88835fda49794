"""What a seat may ask of the worker it is played by."""

from typing import TYPE_CHECKING, Protocol

from loadtest.checks import Checks
from loadtest.connections.port import Connections
from loadtest.course import Course
from loadtest.samples import Samples

if TYPE_CHECKING:
    from loadtest.seat import LoadSeat


class Shared(Protocol):
    """What the seats of a worker have in common."""

    connections: Connections
    samples: Samples
    checks: Checks
    course: Course

    def look(self, now: float) -> None:
        """The plan is to be looked at: it is `course.look_at`, or later. Called between two
        messages."""

    def metadata(self, seat: "LoadSeat") -> tuple[tuple[str, str], ...]: ...

    def answered(self, seat: "LoadSeat") -> None:
        """One of its actions has its outcome."""

    def failed(self, failure: Exception) -> None:
        """A fault of ours."""

    def lost(self, seat: "LoadSeat", why: str) -> None:
        """The seat is gone for good, unasked."""
