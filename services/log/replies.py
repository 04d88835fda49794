"""Replies on a connection that redis-py has made, without its streams.

Connecting, signing in and TLS are the library's. After that a call through its streams costs about
50 us, nearly all of it in locks, time limits and buffers; here the bytes go straight to the
transport, and what comes goes straight to the parser.
"""

import asyncio
import select
from typing import Any

import hiredis

READY_TURNS = 2
"""Turns of the loop within which what has come to the socket has been read."""


class Replies(asyncio.Protocol):
    """One connection's replies. Of one event loop; one call at a time."""

    def __init__(self, transport: asyncio.Transport) -> None:
        """`transport`: connected, and with no reply due."""
        self.lost = ""
        """Why nothing more may be sent; empty while something may."""
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._parser = hiredis.Reader()
        self._found: list[Any] = []
        self._wanted = 0
        self._waiting: asyncio.Future[None] | None = None
        self._readable = select.poll()
        self._readable.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        transport.set_protocol(self)

    async def usable(self) -> bool:
        """Whether a command may be sent: a server that has closed the connection is found out
        before, and a reply that nobody waited for is not taken for the next one."""
        if self.lost:
            return False
        if self._readable.poll(0):
            for _ in range(READY_TURNS):
                await asyncio.sleep(0)
            # Under TLS something may have come that was for nobody to see, and is read by now.
            return not self.lost and not self._readable.poll(0)
        return True

    async def call(self, data: bytes, replies: int, timeout_s: float) -> list[Any]:
        """Send `data`, and wait for so many replies; `hiredis.ReplyError` stands for an error.

        There are fewer where the connection was lost or the time is over: `lost` says why.
        """
        if not replies:
            return []
        waiting = self._waiting = self._loop.create_future()
        self._wanted = replies
        timer = self._loop.call_later(timeout_s, self._drop, "no reply in time")
        self._transport.write(data)
        try:
            await waiting
        except asyncio.CancelledError:
            self._drop("not waited for")
            raise
        finally:
            timer.cancel()
            self._waiting = None
            self._wanted = 0
            found, self._found = self._found, []
        return found

    # ---------------------------------------------------------------- the transport's

    def data_received(self, data: bytes) -> None:
        parser, found = self._parser, self._found
        try:
            parser.feed(data)
            while (reply := parser.gets(False)) is not False:
                found.append(reply)
        except hiredis.ProtocolError as error:
            self._drop(str(error))
            return
        if len(found) > self._wanted:
            del found[self._wanted :]
            self._drop("a reply that nobody asked for")
        elif len(found) == self._wanted:
            self._done()

    def connection_lost(self, error: Exception | None) -> None:
        self._drop(str(error or "the server has closed the connection"))

    # ---------------------------------------------------------------- the end of a call

    def _drop(self, why: str) -> None:
        """Wait for nothing more, and send nothing more."""
        self.lost = self.lost or why
        self._transport.abort()
        self._done()

    def _done(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
