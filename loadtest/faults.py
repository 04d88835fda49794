"""Which errors a run may have: none but those that its scenario makes on purpose."""

from collections.abc import Mapping
from typing import Final

from loadtest.options import Scenario

MADE: Final[Mapping[Scenario, frozenset[str]]] = {
    "gateway-kill": frozenset({"OPEN_TABLE"}),
    "matcher-kill": frozenset({"OPEN_TABLE"}),
}
"""Kinds by scenario. A call that opens a table may be lost with the process that was to answer it;
nobody sits there yet, and it is made again. A seat that is lost, or a command of which nobody knows
what became of it, is forgiven nowhere: a player would have felt it."""


def made_by(scenario: Scenario, errors: Mapping[str, int]) -> dict[str, int]:
    """Those of the errors that the scenario makes, by name: its first word is the kind."""
    kinds = MADE.get(scenario, frozenset())
    return {name: number for name, number in errors.items() if name.partition(" ")[0] in kinds}
