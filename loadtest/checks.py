"""What every run must show, by what clients saw alone."""

from collections import Counter
from typing import Final

CHECKS: Final = {
    "sequences": "every seat saw every event of its table once, in order, and the same as others",
    "cards": "all cards of a table were somewhere exactly once, in hands of constant size",
    "trades": "no trade was lost, doubled or made without two offers of one size",
    "hidden": "nobody was shown a card that it has not held, but at a corner",
    "winners": "all seats of a finished game agree who won, and the scores say so",
    "answered": "every action had an outcome, and every seat its stream, soon after the end",
    "errors": "nothing came to an error, but of the kinds that the scenario makes on purpose",
}
"""By name, what holds while it is true."""
EXAMPLES_MAX: Final = 20
"""Failures told in words; all are counted."""


class Checks:
    """Counts what was checked and what failed."""

    def __init__(self) -> None:
        self.checked: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.examples: list[str] = []

    def fail(self, name: str, table: str, what: str) -> None:
        assert name in CHECKS, name
        self.failed[name] += 1
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(f"{name}: {table}: {what}")

    def add(self, other: "Checks") -> None:
        self.checked += other.checked
        self.failed += other.failed
        self.examples += other.examples[: EXAMPLES_MAX - len(self.examples)]

    def results(self) -> dict[str, bool]:
        return {name: not self.failed[name] for name in CHECKS}
