"""How processes that must not pause run Python's garbage collector."""

import gc
from typing import Final

YOUNG: Final = 2_000
"""New objects that are looked through at a time. Each costs about half a microsecond, most of it
for memory that is far away: a pause of a millisecond, where the 20,000 and 50,000 of before were
pauses of 8 and of 25."""
MIDDLING: Final = 100
"""Times that the young are looked through before those that were left over are: 200,000 new objects
that have stayed. A gateway whose players have come takes a quarter of an hour to have as many."""
OLD: Final = 100


def settle_collector() -> None:
    """Look no more at what there is, and seldom at what stays. Called once all is set up."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLING, OLD)
