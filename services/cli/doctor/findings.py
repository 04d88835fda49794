"""What an examination finds: a verdict, what was seen, and what to do."""

from enum import Enum

from engine.value import value


class Verdict(Enum):
    OK = "ok"
    WARNING = "warning"
    """Play goes on; something is not as it should be."""
    FAIL = "fail"
    """Play stands still, or what is acknowledged may be lost."""


@value
class Finding:
    check: str
    verdict: Verdict
    text: str
    fix: str = ""


def ok(check: str, text: str) -> Finding:
    return Finding(check, Verdict.OK, text)


def graded(
    check: str, measured: float, warn_from: float, fail_from: float, text: str, fix: str
) -> Finding:
    """A figure that is the worse the greater it is."""
    if measured >= fail_from:
        return Finding(check, Verdict.FAIL, text, fix)
    if measured >= warn_from:
        return Finding(check, Verdict.WARNING, text, fix)
    return ok(check, text)
