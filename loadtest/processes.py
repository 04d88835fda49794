"""Other processes of this machine: how ours are started, and what any of them uses."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

TERMINAL: Final = (signal.SIGINT, signal.SIGHUP)
"""What a terminal sends to all processes at once: Ctrl-C, and that its window is closed."""


@contextmanager
def deaf_to_the_terminal() -> Iterator[None]:
    """For processes that are started meanwhile, from their first moment on: who started them tells
    them when to end. In the main thread only."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in TERMINAL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def cpu_s(pid: int) -> float:
    """Processor seconds of a process so far, its threads' included; 0 where this cannot be
    known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def rss_bytes(pid: int) -> int:
    """Memory that a process holds; 0 where this cannot be known."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
