"""Who counts what a gateway does."""

from collections.abc import Sequence
from typing import Final, Protocol

MethodName = tuple[str, str, str]
"""Type, service and name of a method: `unary`, `pit.v1.LobbyService`, `GetTable`."""


class Observer(Protocol):
    def opened(self, role: str) -> None:
        """A stream of a seat begins."""

    def ended(self, role: str, reason: str) -> None:
        """It has ended; `reason` is empty where the client ended it."""

    def attached(self, kind: str, outcome: str) -> None:
        """A `fresh` or `resume` client, or the gateway `again`, has asked for a seat."""

    def refused(self, reason: str) -> None:
        """A command of a stream was refused by the gateway."""

    def limited(self, scope: str) -> None: ...

    def slow_reader(self) -> None: ...

    def history_reset(self) -> None: ...

    def queues(self, longest: int) -> None:
        """Now and then: events in the longest queue."""

    def appended(self, took_s: float) -> None:
        """A batch is in the log, whose first command came this long ago."""

    def traded(self, since_s: float) -> None:
        """A trade whose completing offer came at this time goes out with the next `flushed`."""

    def flushed(self, items: Sequence[int], now_s: float, read_s: float) -> None:
        """One turn's messages are on their way; how many items each has.

        `read_s`: when that was read from the log which they tell of; 0 for nothing.
        """

    def call_began(self, method: MethodName) -> None: ...

    def call_ended(self, method: MethodName, code: int, took_s: float) -> None: ...


class Unobserved:
    """Nobody counts."""

    def opened(self, role: str) -> None: ...

    def ended(self, role: str, reason: str) -> None: ...

    def attached(self, kind: str, outcome: str) -> None: ...

    def refused(self, reason: str) -> None: ...

    def limited(self, scope: str) -> None: ...

    def slow_reader(self) -> None: ...

    def history_reset(self) -> None: ...

    def queues(self, longest: int) -> None: ...

    def appended(self, took_s: float) -> None: ...

    def traded(self, since_s: float) -> None: ...

    def flushed(self, items: Sequence[int], now_s: float, read_s: float) -> None: ...

    def call_began(self, method: MethodName) -> None: ...

    def call_ended(self, method: MethodName, code: int, took_s: float) -> None: ...


UNOBSERVED: Final = Unobserved()
