"""How a call ends: once, counted, and within its deadline."""

import asyncio
from collections.abc import Callable
from typing import Final

from services.gateway.doors.ends import CANCELLED, DETAILS, End, end_of
from services.gateway.doors.entry import LAST_WORDS_MAX_S, LAST_WORDS_S
from services.gateway.doors.observed import Observed
from services.http2.server import ServerCall
from services.http2.status import OK, Code, Status, reset_of_code
from services.http2.stream import NOBODY

_TOO_LATE: Final = End(Code.DEADLINE_EXCEEDED, "deadline exceeded")
_LEFT: Final = End(Code.UNAVAILABLE, "this gateway is going away; ask elsewhere")


class Ending:
    """Of one call. Whoever ends it first decides how."""

    __slots__ = ("_deadline", "_loop", "_observed", "call", "on_end", "over")

    def __init__(self, call: ServerCall, observed: Observed, timeout_s: float | None) -> None:
        self.call = call
        self.over = False
        self.on_end: Callable[[], None] = _nothing
        """Called once, when the call has ended in any way but by its own end in order."""
        self._observed = observed
        self._loop = asyncio.get_running_loop()
        self._deadline = (
            self._loop.call_later(timeout_s, self.by, _TOO_LATE) if timeout_s is not None else None
        )

    def in_order(self) -> None:
        """With status OK."""
        if self._ended(OK.code):
            self._end(OK)
            self._let_go()

    def by(self, end: End) -> None:
        """With this status."""
        if self._ended(end.code):
            details = ((DETAILS, end.details),) if end.details else ()
            self._end(Status(end.code, end.message, details))
            self.on_end()
            self._let_go()

    def by_error(self, error: Exception) -> None:
        """With what a client may know of it."""
        if not self.over:
            self.by(end_of(error))

    def by_status(self, status: Status) -> None:
        """The client's messages cannot be read."""
        self.by(End(status.code, status.message))

    def by_client(self) -> None:
        """It has gone, and hears nothing of it."""
        if self._ended(CANCELLED):
            self.on_end()
            self._let_go()

    def by_going(self) -> None:
        """The connection is being closed."""
        self.by(_LEFT)

    def _ended(self, code: int) -> bool:
        if self.over:
            return False
        self.over = True
        if self._deadline is not None:
            self._deadline.cancel()
        self._observed.ended(code)
        return True

    def _let_go(self) -> None:
        """Stream and events hold each other, and would wait for the collector, whose oldest
        generation practically never runs."""
        self.on_end = _nothing
        self.call.stream.events = NOBODY

    def _end(self, status: Status) -> None:
        self.call.end(status)
        if self.call.stream.stuck:
            self._wait(status.code, self._loop.time() + LAST_WORDS_MAX_S)

    def _wait(self, code: int, until_s: float) -> None:
        waiting = self.call.stream.waiting
        self._loop.call_later(LAST_WORDS_S, self._cut, code, waiting, until_s)

    def _cut(self, code: int, before: int, until_s: float) -> None:
        """A reader that takes nothing gets no last words; one that reads on is waited for."""
        stream = self.call.stream
        if not stream.stuck:
            return
        moves = stream.waiting < before or stream.held_up
        if moves and self._loop.time() < until_s:
            self._wait(code, until_s)
        else:
            stream.reset(reset_of_code(code))


def _nothing() -> None:
    """Nobody is to be told."""
