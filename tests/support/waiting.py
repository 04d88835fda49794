"""Waiting for what tells nobody: another process, a file, a count on a hot path."""

import asyncio
import socket
import time
from collections.abc import Callable

WAIT_S = 40.0
"""Far more than anything takes, for a machine that is busy with other things."""
LOOK_S = 0.02


def wait_until(
    holds: Callable[[], object], seconds: float = WAIT_S, why: Callable[[], object] = str
) -> None:
    """Look until it is true. Raises an `AssertionError`, with what `why` says, when it never is."""
    until_s = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until_s, f"it never became true {why()}"
        time.sleep(LOOK_S)


async def until(holds: Callable[[], object], seconds: float = WAIT_S) -> None:
    """The same, while the loop's other tasks go on. Raises `TimeoutError`."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(LOOK_S)


def listens(port: int) -> bool:
    """Whether something listens on this port of the loopback."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
