"""The null server as a process of its own, in the place of an exchange."""

import asyncio
import multiprocessing
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final

from loadtest.processes import deaf_to_the_terminal
from loadtest.usage import Unreachable

START_S: Final = 20.0
END_S: Final = 5.0


class NullExchange:
    """A `LocalExchange` without anything behind it."""

    operators = ("", "")
    banner = "null server: answers at once and keeps nothing"

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._port = 0

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with deaf_to_the_terminal():
            self._process.start()
        theirs.close()
        if not self._pipe.poll(START_S):
            raise Unreachable("the null server did not start")
        self._port = self._pipe.recv()

    def check(self) -> None:
        if self._process is not None and not self._process.is_alive():
            raise Unreachable("the null server has ended by itself")

    def kill(self, role: str) -> str:
        raise NotImplementedError("a null server has no parts")

    def cpu_s(self) -> Mapping[str, float]:
        """Asked of itself."""
        if self._pipe is None:
            return {}
        self._pipe.send(None)
        return {"null": self._pipe.recv()}

    def rss_bytes(self) -> Mapping[str, int]:
        return {}

    def stream_entries(self) -> Mapping[str, int]:
        return {}

    def end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.join(END_S)
        if self._pipe is not None:
            self._pipe.close()


def _serve(pipe: Connection) -> None:
    try:
        import uvloop  # noqa: PLC0415 (not there on Windows)
    except ImportError:
        asyncio.run(_serve_forever(pipe))
    else:
        uvloop.run(_serve_forever(pipe))


async def _serve_forever(pipe: Connection) -> None:
    from loadtest.null.server import NullServer  # noqa: PLC0415 (only in its own process)

    server = NullServer()
    pipe.send(await server.open())

    def tell_cpu() -> None:
        pipe.recv()
        pipe.send(time.process_time())

    asyncio.get_running_loop().add_reader(pipe.fileno(), tell_cpu)
    await asyncio.Event().wait()
