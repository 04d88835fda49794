"""A port that speaks TLS, where a connection has its place from when it is accepted.

An event loop's own TLS server tells of nobody before the handshake is done, so that whoever never
finishes one is counted nowhere. So connections are accepted here, and led through it one by one.
"""

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, Final

from services.http2.connection import address_of

if TYPE_CHECKING:
    from services.http2.server import Server

BACKLOG: Final = 4_096
"""Connections that wait to be accepted: everybody comes back at once after a failure."""
ACCEPT_A_TURN_MAX: Final = 32
"""Of those in one turn of the loop: a handshake costs more than a millisecond."""
NO_DESCRIPTORS_S: Final = 1.0
"""How long nobody is accepted when the process has no descriptor left for them."""


class TlsPort:
    """Accepts for a server. What it accepts is given to the server when it speaks TLS."""

    def __init__(self, server: "Server", context: ssl.SSLContext) -> None:
        self._server = server
        self._context = context
        self._listening: list[socket.socket] = []
        self._shaking: set[asyncio.Task[None]] = set()

    async def open(self, host: str, port: int) -> int:
        """Listen; the port. Raises `OSError` where the address cannot be had."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        try:
            for family, _, _, _, address in dict.fromkeys(found):
                self._listening.append(
                    socket.create_server(address, family=family, backlog=BACKLOG)
                )
        except OSError:
            self.close()
            raise
        for listening in self._listening:
            listening.setblocking(False)
            loop.add_reader(listening, self._accept, listening)
        return int(self._listening[0].getsockname()[1])

    def close(self) -> None:
        """Accept nobody more, and give up the handshakes there are."""
        loop = asyncio.get_running_loop()
        for listening in self._listening:
            loop.remove_reader(listening)
            listening.close()
        self._listening.clear()
        for task in self._shaking:
            task.cancel()

    def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(ACCEPT_A_TURN_MAX):
            try:
                accepted, peer = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                loop.remove_reader(listening)
                loop.call_later(NO_DESCRIPTORS_S, self._accept_again, listening)
                return
            address = address_of(peer)
            if not self._server.enters(address):
                accepted.close()
                continue
            task = loop.create_task(self._shake(accepted, address))
            self._shaking.add(task)
            task.add_done_callback(self._shaking.discard)

    def _accept_again(self, listening: socket.socket) -> None:
        if listening in self._listening:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    async def _shake(self, accepted: socket.socket, address: str) -> None:
        connection = self._server.connection()
        try:
            accepted.setblocking(False)
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=self._server.limits.handshake_s,
            )
        except OSError:
            pass  # it was no handshake, or not in time
        finally:
            if not connection.settled:
                self._server.leaves(address)
