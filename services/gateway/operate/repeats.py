"""What may differ between an operator's act and a repeat of it under the same request id."""

from collections.abc import Iterable

LIFTED = "0"
"""The end of a ban that is lifted: no ban's repeat."""


def asked(parameters: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Without what is found anew each time: a person's name before, and when a ban ends, which is
    reckoned from now."""
    return frozenset(
        (name, figure)
        for name, figure in parameters
        if name != "before" and (name != "until" or figure == LIFTED)
    )
