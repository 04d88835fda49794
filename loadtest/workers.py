"""The generator's processes, as seen by the one that started them."""

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Final, Self

from loadtest.messages import Done, Failed, FromWorker, Orders, Stop, ToWorker
from loadtest.processes import deaf_to_the_terminal
from loadtest.usage import Limited, Unreachable

END_S: Final = 10.0


class WorkerFailed(Exception):
    """A worker ended by a fault of ours, or was killed; the text is its traceback, or how."""


class Workers:
    """Started together; a context manager that leaves none behind."""

    def __init__(self, orders: Sequence[Orders]) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy grpc's threads
        self._pipes: dict[Connection, int] = {}
        self._processes: dict[int, BaseProcess] = {}
        self._done: set[int] = set()
        """Who has said its last word."""
        for one in orders:
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(one, theirs), daemon=True)
            with deaf_to_the_terminal():
                process.start()
            theirs.close()
            self._pipes[ours] = one.number
            self._processes[one.number] = process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        if failed is not None:  # of one, or of ours: the others leave in order
            self.tell(Stop())
        until = time.monotonic() + END_S
        for process in self._processes.values():
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        for pipe in self._pipes:
            pipe.close()

    def tell(self, message: ToWorker) -> None:
        for pipe in self._pipes:
            with suppress(OSError):  # it has ended; what it said last is still to be read
                pipe.send(message)

    def hear(self, timeout_s: float) -> Iterator[tuple[int, FromWorker]]:
        """What workers have said, with who said it. Raises `Limited`, `Unreachable`,
        `WorkerFailed`."""
        for pipe in wait(list(self._pipes), timeout_s):
            assert isinstance(pipe, Connection)
            number = self._pipes[pipe]
            try:
                message: FromWorker = pipe.recv()
            except (EOFError, OSError):  # the latter in the middle of a message
                del self._pipes[pipe]
                pipe.close()
                if number not in self._done:
                    raise WorkerFailed(self._how_it_ended(number)) from None
                continue
            if isinstance(message, Done):
                self._done.add(number)
            elif isinstance(message, Failed):
                if message.refused:
                    raise Limited(message.refused, message.what)
                raise (Unreachable if message.unreachable else WorkerFailed)(message.what)
            yield number, message

    def _how_it_ended(self, number: int) -> str:
        process = self._processes[number]
        process.join(END_S)
        return (
            f"process {number} of the generator ended with code {process.exitcode} before it had "
            "told all it measured: it was killed, or ran out of memory"
        )

    @property
    def left(self) -> int:
        """Workers that have not ended."""
        return len(self._pipes)


def _work(orders: Orders, pipe: Connection) -> None:
    """Imports what a worker needs only where it runs."""
    from loadtest.worker import work  # noqa: PLC0415 (grpc, uvloop: not in the parent)

    work(orders, pipe)
