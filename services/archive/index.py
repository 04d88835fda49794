"""Which games somebody played: a small database beside the records, made from them alone.

It holds nothing that the records do not tell. A game it does not know is read again when the
archiver starts, so it may be deleted at any time (`pit restore` does); then it is made anew.

It also says how far each shard is copied: whoever reads a game's file has all of it up to there,
and finds the rest in the live log.

SQLite with a rollback journal and not a write-ahead log: a reader needs no right to write.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from engine.value import value
from services.archive.port import Archive
from services.archive.source import from_archive
from services.archive.summary import Summary, pack_summary, summary_of, unpack_summary
from services.log.codec import Undecodable

FILE: Final = "games.sqlite"
VERSION: Final = 1
"""A database of another version is made anew."""
MENDED_AT_ONCE: Final = 50
"""Read in well under a second."""
BUSY_S: Final = 2.0
"""How long one side waits for the other; a transaction of the archiver takes milliseconds."""

_TABLES: Final = """
CREATE TABLE games (game TEXT PRIMARY KEY, summary BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE players (
    person TEXT, start_ms INTEGER, game TEXT, PRIMARY KEY (person, start_ms, game)
) WITHOUT ROWID;
CREATE TABLE shards (shard INTEGER PRIMARY KEY, out_id TEXT NOT NULL);
"""
_NO_PLAYER: Final = "DELETE FROM players WHERE person = ? AND start_ms = ? AND game = ?"
_NEWEST_OF: Final = """
SELECT summary FROM players JOIN games USING (game)
WHERE person = ? AND (start_ms, game) < (?, ?)
ORDER BY start_ms DESC, game DESC LIMIT ?
"""


@value
class Place:
    """A game's place in the list of somebody's games, newest first."""

    start_ms: int
    game: str


NEWEST: Final = Place(2**62, "")
"""Before all games."""


class GameIndex:
    """Not shared between threads. Every method raises `OSError` where the database fails."""

    def __init__(self, root: Path, *, writing: bool = False) -> None:
        self._path = root / FILE
        self._writing = writing
        self._database: sqlite3.Connection | None = None

    # -------------------------------------------------------------- for the archiver

    def write(self, summaries: Iterable[Summary], positions: Mapping[int, str]) -> None:
        """Keep these games, and how far each shard is on disk: all of it or nothing."""
        with self._explained() as database, database:
            for summary in summaries:
                before, players = _players_before(database, summary.game), _players(summary)
                if before != players:  # mostly they are the same, and most of the rows are theirs
                    database.executemany(_NO_PLAYER, before)
                    database.executemany("INSERT INTO players VALUES (?, ?, ?)", players)
                row = (summary.game, pack_summary(summary))
                database.execute("REPLACE INTO games VALUES (?, ?)", row)
            database.executemany("REPLACE INTO shards VALUES (?, ?)", positions.items())

    def known(self) -> set[str]:
        """Names of all games in it."""
        with self._explained() as database:
            return {game for (game,) in database.execute("SELECT game FROM games")}

    def forget(self, games: Iterable[str]) -> None:
        with self._explained() as database, database:
            for game in games:
                database.executemany(_NO_PLAYER, _players_before(database, game))
                database.execute("DELETE FROM games WHERE game = ?", (game,))

    # -------------------------------------------------------------- for whoever asks

    def newest_of(self, person: str, after: Place, count: int) -> list[Summary]:
        """Games that somebody played, newest first, from behind `after` on."""
        with self._explained() as database:
            rows = database.execute(_NEWEST_OF, (person, after.start_ms, after.game, count))
            return [unpack_summary(packed) for (packed,) in rows]

    def summaries(self) -> dict[str, Summary]:
        """All games, by name."""
        with self._explained() as database:
            rows = database.execute("SELECT game, summary FROM games")
            return {game: unpack_summary(packed) for game, packed in rows}

    def positions(self) -> dict[int, str]:
        """By shard: the newest entry of its output that is on disk. What is read afterwards, of
        the index or of files, holds everything up to there."""
        with self._explained() as database:
            return dict(database.execute("SELECT shard, out_id FROM shards"))

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    # -------------------------------------------------------------- inside

    @contextmanager
    def _explained(self) -> Iterator[sqlite3.Connection]:
        try:
            if self._database is None:
                self._database = self._to_write() if self._writing else self._to_read()
            yield self._database
        except (sqlite3.Error, Undecodable) as error:
            self.close()
            if self._writing and not isinstance(error, sqlite3.OperationalError):
                remove(self._path.parent)  # it is damaged, and nothing but a copy
            raise OSError(f"{self._path}: {error}") from None
        if not self._writing:
            self.close()  # the file may be made anew, and then this one is nobody's

    def _to_write(self) -> sqlite3.Connection:
        database = _connected(self._path, "rwc")
        if _version(database) == VERSION:
            return database
        database.close()
        remove(self._path.parent)
        database = _connected(self._path, "rwc")
        database.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
        return database

    def _to_read(self) -> sqlite3.Connection:
        if self._path.exists():
            database = _connected(self._path, "ro")
            if _version(database) == VERSION:
                return database
            database.close()
        nothing = sqlite3.connect(":memory:")
        nothing.executescript(_TABLES)
        return nothing


def _players(summary: Summary) -> list[tuple[str, int, str]]:
    """A game's rows in `players`."""
    return [(person, summary.start_ms, summary.game) for person in summary.players]


def _players_before(database: sqlite3.Connection, game: str) -> list[tuple[str, int, str]]:
    """Those that are there; none where the game is not known yet."""
    found = database.execute("SELECT summary FROM games WHERE game = ?", (game,)).fetchone()
    return _players(unpack_summary(found[0])) if found else []


def mend(index: GameIndex, archive: Archive) -> Iterator[int]:
    """Make the index agree with the files: all that is needed after an upgrade, a restore or a
    lost index. Yields after every few games, so that its caller can do other work between; the
    number is how many games were missing in all."""
    there = set(archive.games())
    known = index.known()
    index.forget(known - there)
    missing = sorted(there - known)
    for first in range(0, len(missing), MENDED_AT_ONCE):
        games = missing[first : first + MENDED_AT_ONCE]
        index.write([summary_of(from_archive(game, archive, None)) for game in games], {})
        yield len(missing)


def remove(root: Path) -> None:
    """Forget the index of the archive in `root`, with what an interrupted write left of it."""
    for path in (root / FILE, root / (FILE + "-journal")):
        path.unlink(missing_ok=True)


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", timeout=BUSY_S, uri=True)


def _version(database: sqlite3.Connection) -> int:
    [version] = database.execute("PRAGMA user_version").fetchone()
    return int(version)
