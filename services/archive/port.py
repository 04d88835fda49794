"""Where the records of games are kept: one growing file a game, behind a small port."""

from collections.abc import Iterator, Mapping
from typing import Protocol


class Archive(Protocol):
    """One byte string a game, only ever appended to. A game's name is its table's id.

    One process at a time writes; any number may read while it does.
    """

    def append(self, pieces: Mapping[str, bytes]) -> None:
        """Append to each game's file; when this returns all of it survives a power cut.

        Raises `OSError`: some pieces may then be there in part, which `cut` mends.
        """

    def read(self, game: str) -> bytes | None:
        """Everything appended so far, perhaps with a torn end; `None` where there is no file."""

    def cut(self, game: str, length: int) -> None:
        """Drop what follows the first `length` bytes: the torn end of an append."""

    def games(self, shard: int | None = None) -> Iterator[str]:
        """Names of all games, or of one shard's, in order."""

    def forget(self, older_than_days: int) -> list[str]:
        """Remove games not appended to for so long; which ones."""
