"""How commands come together on their way into the log."""

import asyncio
from collections.abc import Mapping
from contextlib import asynccontextmanager

import pytest

from services.gateway.appender import GATHER_TURNS, Appender
from services.log.linger import FROM_PER_S, WINDOW_S
from services.log.port import LogError

TABLE = "00" + "a" * 20


class Log:
    """Takes everything at once, and counts."""

    def __init__(self) -> None:
        self.appends = 0

    async def append(self, entries: Mapping[int, bytes]) -> Mapping[int, str | LogError]:
        self.appends += 1
        return dict.fromkeys(entries, f"{self.appends}-0")


class Receipt:
    answer_due = False

    def landed(self, error: LogError | None) -> None:
        assert error is None


class Appending:
    def __init__(self) -> None:
        self.now_s = 0.0
        self.log = Log()
        self.appender = Appender(self.log, "g1", 1, lambda: self.now_s)  # type: ignore[arg-type]

    def put(self, commands: int = 1) -> None:
        for _ in range(commands):
            self.appender.put(0, TABLE, b"command", Receipt())


@asynccontextmanager
async def appending():  # type: ignore[no-untyped-def]
    made = Appending()
    task = asyncio.create_task(made.appender.append_forever())
    await asyncio.sleep(0)
    yield made
    task.cancel()


@pytest.mark.parametrize("busy", [False, True])
async def test_at_a_busy_time_what_comes_within_a_few_turns_is_appended_together(
    busy: bool,
) -> None:
    async with appending() as made:
        for _ in range(4):
            made.put(int((2 if busy else 0.5) * FROM_PER_S * WINDOW_S))
            made.now_s += WINDOW_S
            await made.appender.appended()
        before = made.log.appends
        for _ in range(1 + GATHER_TURNS):
            made.put()
            await asyncio.sleep(0)
        await made.appender.appended()
        assert made.log.appends - before == (1 if busy else 1 + GATHER_TURNS)
