"""A connection's life: a timely beginning, whether the peer is still there, an end in two steps.

    OPEN --retire--> LEAVING --ping answered, or 1 s--> LEFT --no calls, or grace over--> closed
         GOAWAY(2^31-1), PING         GOAWAY(newest call)

The first GOAWAY asks for no new calls, the second says which were still heard of: a call that
crosses the first on its way is not lost (RFC 9113, 6.8).
"""

import random
from enum import Enum
from typing import TYPE_CHECKING, Final

from services.http2 import frames
from services.http2.frames import Violation
from services.http2.status import Code, Status

if TYPE_CHECKING:
    from services.http2.connection import Connection

TICK_S: Final = 1.0
"""How often every connection is looked at."""
AGE_SPREAD: Final = 0.1
"""Connections that began together do not end together."""
_KEEPALIVE: Final = b"are you?"
_LEAVING: Final = b"leaving "


class _State(Enum):
    OPEN = 1
    LEAVING = 2
    """The first GOAWAY is sent."""
    LEFT = 3
    """The second is sent: new calls are refused."""


class Life:
    """Of one connection."""

    __deletable__ = ("_connection",)

    def __init__(self, connection: "Connection", now_s: float) -> None:
        self.heard = False
        """The peer has sent anything since the last tick."""
        self.write_stalled = False
        """The socket takes nothing at the moment."""
        self.half_read_s = 0.0
        """For how long no frame has become whole. Set to 0 by each."""
        self.peer_left = False
        """The peer begins, or takes, no more calls."""
        self.now_s = now_s
        """Of the last tick."""
        self._connection = connection
        self._state = _State.OPEN
        self._begun_s = self._heard_s = self._idle_since_s = now_s
        spread = random.uniform(1 - AGE_SPREAD, 1 + AGE_SPREAD)
        self._age_s = connection.limits.age_s * spread
        self._pinged_s = 0.0
        self._stalled_for_s = 0.0
        self._left_s = 0.0
        self._gone_by_s = 0.0

    def let_go(self) -> None:
        """The connection is lost: there is nothing left to look after."""
        del self._connection

    @property
    def refusing(self) -> bool:
        """Whether new calls of the peer are refused."""
        return self._state is _State.LEFT

    @property
    def leaving(self) -> bool:
        """Whether the connection is on its way to its end."""
        return self._state is not _State.OPEN or self.peer_left

    def tick(self, now_s: float) -> None:
        """Called about every second."""
        connection, limits = self._connection, self._connection.limits
        passed_s, self.now_s = now_s - self.now_s, now_s
        if connection.held:  # it waits for us, and not we for it
            self._begun_s = now_s
            return
        if self.heard:
            self.heard = False
            self._heard_s = now_s
            self._pinged_s = 0.0
        self._stalled_for_s = self._stalled_for_s + passed_s if self.write_stalled else 0.0
        self.half_read_s = self.half_read_s + passed_s if connection.half_read else 0.0
        if not connection.control.settled:
            if now_s - self._begun_s > limits.handshake_s:
                connection.abort()
        elif self._stalled_for_s > limits.write_stalled_s:
            connection.abort()
        elif self.half_read_s > limits.block_s:
            connection.fail(Violation(frames.ENHANCE_YOUR_CALM, "frame not finished in time"))
        elif self._state is not _State.OPEN:
            self._tick_leaving(now_s)
        elif limits.age_s and now_s - self._begun_s > self._age_s:
            self.retire(limits.age_grace_s)
        elif connection.streams:
            self._keep_alive(now_s)
        elif limits.idle_s and now_s - self._idle_since_s > limits.idle_s:
            self.retire(limits.age_grace_s)

    def _keep_alive(self, now_s: float) -> None:
        connection, limits = self._connection, self._connection.limits
        if self._pinged_s:
            if now_s - self._pinged_s > limits.keepalive_timeout_s:
                connection.abort()
        elif now_s - self._heard_s > limits.keepalive_s:
            self._pinged_s = now_s
            connection.write(connection.engine.ping(_KEEPALIVE))

    # -------------------------------------------------------------- the end

    def retire(self, grace_s: float) -> None:
        """End the connection when its calls have ended, and in any case after `grace_s`."""
        if self._state is not _State.OPEN:
            self._gone_by_s = min(self._gone_by_s, self.now_s + grace_s)
            return
        connection = self._connection
        self._state = _State.LEAVING
        self._left_s = self.now_s
        self._gone_by_s = self.now_s + grace_s
        connection.write(frames.go_away(frames.STREAM_BITS, frames.NO_ERROR))
        connection.write(connection.engine.ping(_LEAVING))
        for stream in tuple(connection.streams.values()):
            stream.events.going_away(now=False)

    def _tick_leaving(self, now_s: float) -> None:
        if now_s > self._gone_by_s:
            self._connection.cut()
        elif self._state is _State.LEAVING and now_s - self._left_s >= TICK_S:
            self._leave()

    def _leave(self) -> None:
        self._state = _State.LEFT
        connection = self._connection
        connection.write(frames.go_away(connection.control.highest, frames.NO_ERROR))
        connection.shut_if_done()

    def ping_answered(self, content: bytes) -> None:
        if content == _LEAVING and self._state is _State.LEAVING:
            self._leave()

    def peer_goes_away(self, last_stream: int, code: int, why: str) -> None:
        """The peer serves none of our calls above `last_stream`; those before go on."""
        self.peer_left = True
        connection = self._connection
        text = f"the peer goes away ({code}) {why}".rstrip()
        for stream in tuple(connection.streams.values()):
            if connection.is_ours(stream.number) and stream.number > last_stream:
                connection.was_reset(stream, Status(Code.UNAVAILABLE, text))
        connection.shut_if_done()

    def without_streams(self) -> None:
        """The last call has ended."""
        self._idle_since_s = self.now_s
        if self.refusing or self.peer_left:
            connection = self._connection
            connection.loop.call_soon(connection.shut_if_done)
