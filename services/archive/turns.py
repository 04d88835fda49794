"""Whose turn it is to be brought to disk: a few shards at a time, evenly, and none waits long.

Every running game is a file to be synced. All at once they would keep disk and processors from the
players for a moment each time.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from services.archive.copier import ShardCopier

FILES_A_SECOND: Final = 200
"""As many files are synced, where that suffices: with few games a record is on disk at once."""
ROUND_S: Final = 10.0
"""However many games there are, every shard's turn comes within this time: so old a record may be
before it is on disk. The log keeps the last minute anyway."""
FILES_AT_ONCE: Final = 50
"""Shards with few games go together, up to about this many files."""
PENDING_ENTRIES_MAX: Final = 2_048
"""A shard that writes more has its turn earlier: whoever reads a game reads as many in the log."""
PENDING_BYTES_MAX: Final = 8 * 1024 * 1024
"""Of all shards together; bounds memory while catching up."""


class Turns:
    """Times are those of one clock that never goes back, in seconds."""

    def __init__(self, copiers: Sequence[ShardCopier]) -> None:
        self._copiers = copiers
        self._queue = deque(copiers)
        """The one whose turn comes next is first."""
        self._next_s = float("-inf")

    def due(self, now_s: float) -> Sequence[ShardCopier]:
        """Those to be flushed now."""
        if sum(copier.pending_bytes for copier in self._copiers) >= PENDING_BYTES_MAX:
            return self._copiers
        if now_s < self._next_s:
            busiest = max(self._copiers, key=lambda copier: copier.pending_entries)
            return [busiest] if busiest.pending_entries >= PENDING_ENTRIES_MAX else []
        due: list[ShardCopier] = []
        files = 0
        for _ in self._copiers:
            copier = self._queue[0]
            self._queue.rotate(-1)
            if copier.is_ahead:
                due.append(copier)
                files += copier.pending_games
                if files >= FILES_AT_ONCE:
                    break
        return due

    def taken(self, shards: int, files: int, now_s: float) -> None:
        """So much was flushed: the next ones wait accordingly."""
        share_s = ROUND_S * shards / len(self._copiers)
        self._next_s = now_s + min(files / FILES_A_SECOND, share_s)
