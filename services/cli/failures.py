"""What goes wrong where a person looks: what, why, what to do, and the exit code."""

import sys
from contextlib import suppress
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of `pit`; the same table stands in `services/cli/README.md` and `pit --help`."""

    GOOD = 0
    BUG = 1
    USAGE = 2
    UNREACHABLE = 3
    LATE = 4
    CHECK_FAILED = 5
    NOT_FOUND = 6
    IN_USE = 7
    CHILD_ENDED = 8
    REFUSED = 9
    NOT_WRITTEN = 10
    TOO_SLOW = 99
    INTERRUPTED = 130


MEANINGS = {
    Exit.GOOD: "done, and every check held",
    Exit.BUG: "a fault of ours; the traceback says where",
    Exit.USAGE: "wrong arguments, or a PIT_* variable that is unknown or wrong",
    Exit.UNREACHABLE: "store or gateway cannot be reached, or is not one of this exchange",
    Exit.LATE: "the load tester itself was late, or sent nothing: its figures say nothing",
    Exit.CHECK_FAILED: "verify, doctor, restore, the load tester or the demo found something wrong",
    Exit.NOT_FOUND: "no such game, table or file",
    Exit.IN_USE: "a port, a directory or a store is in use, or holds something else",
    Exit.CHILD_ENDED: "a process that the demo or the load tester started ended by itself",
    Exit.REFUSED: "the exchange refused what an operator, or a load test, asked for",
    Exit.NOT_WRITTEN: "a file, or the output, could not be written: no room for it, say",
    Exit.TOO_SLOW: "a gate of the load tester failed, or it has become slower",
    Exit.INTERRUPTED: "interrupted",
}


class Failure(Exception):
    """An expected failure: printed as three short parts, never as a traceback."""

    def __init__(self, code: Exit, what: str, why: str = "", remedy: str = "") -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.why = why
        self.remedy = remedy

    def text(self) -> str:
        lines = [f"pit: {self.what}"]
        if self.why:
            lines.append(f"  why:    {self.why}")
        if self.remedy:
            lines.append(f"  remedy: {self.remedy}")
        return "\n".join(lines)


def say(text: str) -> None:
    """On standard error. Where nobody takes it, a full disk say, the work goes on all the same."""
    if sys.stderr is not None:  # it is none where it was closed by whoever started us
        with suppress(OSError):
            print(text, file=sys.stderr, flush=True)
