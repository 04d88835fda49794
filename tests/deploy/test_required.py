"""What tests need is asked for in one way, so that CI fails where it is missing."""

import re
from pathlib import Path

from support.require import INSTALL, NOT_EVERYWHERE

TESTS = Path(__file__).parents[1]
CI = TESTS.parent / ".ci" / "run"
OF_THE_SYSTEM = ("sys.platform", "/proc/")
"""What no CI could install."""


def texts() -> dict[str, str]:
    return {
        str(path.relative_to(TESTS)): path.read_text()
        for path in TESTS.rglob("*.py")
        if path != Path(__file__)
    }


def test_ci_requires_whatever_a_test_needs() -> None:
    [line] = re.findall(r"^export PIT_REQUIRE=(.*)$", CI.read_text(), re.MULTILINE)
    asked = {
        tool
        for text in texts().values()
        for tool in re.findall(r"\b(?:need|missing)\(\"(\w+)\"\)", text)
    }
    assert asked
    assert asked == set(line.split(",")) | NOT_EVERYWHERE
    assert asked <= set(INSTALL)


def test_nothing_else_is_skipped() -> None:
    skips = [
        (name, line.strip())
        for name, text in texts().items()
        for line in text.splitlines()
        if re.search(r"pytest\.skip\(|mark\.skip|importorskip", line)
        and not any(reason in line for reason in OF_THE_SYSTEM)
    ]
    assert [name for name, _ in skips] == ["support/require.py"], skips
