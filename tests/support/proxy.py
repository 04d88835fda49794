"""A TCP proxy that does what networks do: delay, stall, cut, lose replies, deliver late.

It runs an event loop in a thread of its own, so that synchronous tests can use it.

    with Proxy(server.port) as proxy:
        log = RedisOwnerLog(proxy.url)
        proxy.hold_next_request()      # the sender gets no reply: its connection is cut
        ...
        proxy.release()                # the bytes arrive at the server after all
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")

CHUNK_BYTES = 1 << 16


class _Link:
    """One client's connection and the one to the server that belongs to it."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client = client
        self.server = server
        self.detached = False
        """The client is gone, the server's side is kept for bytes that come late."""
        self.late_replies: asyncio.Queue[bytes] = asyncio.Queue()

    def cut(self) -> None:
        for side in (self.client, self.server):
            reset(side)


class Proxy:
    """Listens on `port` of the loopback and forwards to `target_port`; a context manager."""

    def __init__(self, target_port: int) -> None:
        self.delay_s = 0.0
        """How long each piece of a stream is kept, in both directions."""
        self.connections = 0
        """How many were ever made."""
        self.port = 0
        self._target_port = target_port
        self._links: set[_Link] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._replies_to_lose = 0
        self._hold_next = False
        self._held: list[tuple[_Link, bytes]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = self._run(self._listen())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._run(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # ------------------------------------------------------------------ faults

    def stall(self) -> None:
        """Nothing gets through, connections stay open."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def resume(self) -> None:
        self._loop.call_soon_threadsafe(self._flowing.set)

    def cut(self) -> None:
        """Reset every connection; new ones are served."""
        self._run(self._cut())

    def lose_replies(self, number: int = 1) -> None:
        """The next replies are lost, and the client's connection with each."""
        self._replies_to_lose = number

    def hold_next_request(self) -> None:
        """The next bytes of a client are kept, and its connection is cut."""
        self._hold_next = True

    @property
    def held(self) -> int:
        """How many requests are kept."""
        return len(self._held)

    def release(self) -> list[bytes]:
        """Deliver what is held; what the server answered, which nobody else hears."""
        return self._run(self._release())

    # ------------------------------------------------------------------ inside

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self) -> asyncio.Server:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            server, to_server = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            reset(to_client)
            return
        link = _Link(to_client, to_server)
        self._links.add(link)
        for work in (self._forward_requests(client, link), self._forward_replies(server, link)):
            task = self._loop.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward_requests(self, client: asyncio.StreamReader, link: _Link) -> None:
        while data := await self._piece(client):
            if self._hold_next:
                self._hold_next = False
                link.detached = True
                self._held.append((link, data))
                reset(link.client)
                return
            link.server.write(data)
        if not link.detached:
            link.cut()
            self._links.discard(link)

    async def _forward_replies(self, server: asyncio.StreamReader, link: _Link) -> None:
        while data := await self._piece(server):
            if link.detached:
                link.late_replies.put_nowait(data)
            elif self._replies_to_lose:
                self._replies_to_lose -= 1
                break
            else:
                link.client.write(data)
        link.cut()
        self._links.discard(link)

    async def _piece(self, stream: asyncio.StreamReader) -> bytes:
        try:
            data = await stream.read(CHUNK_BYTES)
        except OSError:
            return b""
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        await self._flowing.wait()
        return data

    async def _release(self) -> list[bytes]:
        replies = []
        held, self._held = self._held, []
        for link, data in held:
            link.server.write(data)
            replies.append(await asyncio.wait_for(link.late_replies.get(), 5))
            link.cut()
        return replies

    async def _cut(self) -> None:
        for link in self._links:
            link.cut()
        self._links.clear()

    async def _shut(self) -> None:
        self._server.close()
        self._flowing.set()
        await self._cut()
        for link, _ in self._held:
            link.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def reset(side: asyncio.StreamWriter) -> None:
    """Close a connection so that its peer sees a reset, not an end."""
    connection = side.get_extra_info("socket")
    if connection is not None and not side.is_closing():
        linger = struct.pack("ii", 1, 0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    side.close()
