"""The end of a call whose last message is larger than what its client takes at once."""

from collections.abc import Callable
from typing import Any

from services.gateway.doors.entry import LAST_WORDS_MAX_S, LAST_WORDS_S
from services.gateway.doors.h2.ending import Ending
from services.gateway.doors.observed import Observed
from services.gateway.observer import UNOBSERVED
from services.http2 import frames
from support.wires import Client, Wire, data_frame

SIZE = 300_000
WHOLE = SIZE + frames.PREFIX_BYTES


class Clock:
    """Of the ending alone; it goes when the test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._due: list[tuple[Callable[..., None], tuple[Any, ...]]] = []

    def time(self) -> float:
        return self.now_s

    def call_later(self, delay_s: float, act: Callable[..., None], *arguments: Any) -> None:
        assert delay_s == LAST_WORDS_S
        self._due.append((act, arguments))

    def go(self) -> None:
        """To the next time that something is due."""
        self.now_s += LAST_WORDS_S
        due, self._due = self._due, []
        for act, arguments in due:
            act(*arguments)


async def answered() -> tuple[Wire, Clock, int]:
    """A call that has ended in order, with a large answer."""
    wire = Wire()
    client = Client(wire, opened=False)
    stream = client.begin()
    await client.talk()
    [echo] = wire.calls
    ending = Ending(echo.call, Observed(None, UNOBSERVED), None)
    clock = Clock()
    ending._loop = clock  # type: ignore[assignment]
    echo.call.stream.send(bytes(SIZE))
    ending.in_order()
    await wire.feed(data_frame(stream, b"", ended=True))
    return wire, clock, stream


def taken(wire: Wire, stream: int) -> int:
    return len(wire.read.data[stream])


async def more(wire: Wire, stream: int, increment: int) -> None:
    """The client reads so much."""
    await wire.feed(frames.window_update(0, increment), frames.window_update(stream, increment))


async def test_who_reads_steadily_gets_all_and_the_status() -> None:
    wire, clock, stream = await answered()
    for _ in range(20):
        await more(wire, stream, 20_000)
        clock.go()
    assert taken(wire, stream) == WHOLE
    assert wire.read.status == "0"
    assert not wire.read.resets


async def test_who_stops_reading_is_reset() -> None:
    wire, clock, stream = await answered()
    await more(wire, stream, 20_000)
    clock.go()
    await wire.feed(b"")
    assert not wire.read.resets
    clock.go()
    await wire.feed(b"")
    assert list(wire.read.resets) == [stream]
    assert not wire.closed


async def test_while_the_socket_takes_nothing_no_reader_is_judged() -> None:
    wire, clock, stream = await answered()
    wire.connection.pause_writing()
    for _ in range(5):
        clock.go()
        await wire.feed(b"")
    assert not wire.read.resets
    wire.connection.resume_writing()
    await more(wire, stream, WHOLE)
    assert taken(wire, stream) == WHOLE
    assert wire.read.status == "0"


async def test_who_takes_a_byte_at_a_time_is_reset_after_a_minute() -> None:
    wire, clock, stream = await answered()
    for _ in range(int(LAST_WORDS_MAX_S / LAST_WORDS_S) - 1):
        await more(wire, stream, 1)
        clock.go()
    assert not wire.read.resets
    await more(wire, stream, 1)
    clock.go()
    await wire.feed(b"")
    assert list(wire.read.resets) == [stream]
