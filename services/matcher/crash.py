"""Named places at which a test may end the process, as a `kill -9` there would."""

import os
import signal
from typing import Final

LABELS: Final = (
    "acquired",
    "loaded",
    "deciding",
    "decided",
    "before-commit",
    "after-commit",
    "saving",
    "before-snapshot",
    "after-snapshot",
    "before-release",
    "released",
)


class CrashPoints:
    """`label:n` ends the process at the n-th passing of that place; empty: never."""

    def __init__(self, at: str = "") -> None:
        self._label, _, times = at.partition(":")
        if self._label and self._label not in LABELS:
            raise ValueError(f"PIT_CRASH_AT: no such place {self._label!r}; one of {LABELS}")
        self._left = int(times or "1")

    def passing(self, label: str) -> None:
        if label == self._label:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
