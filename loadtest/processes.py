"""What other processes of this machine use, as far as the system tells."""

import os
from pathlib import Path
from typing import Final

TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def cpu_s(pid: int) -> float:
    """Processor seconds of a process so far, its threads' included; 0 where this cannot be
    known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def rss_bytes(pid: int) -> int:
    """Memory that a process holds; 0 where this cannot be known."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
