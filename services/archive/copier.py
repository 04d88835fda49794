"""Copies one shard's event stream into games, and notices when the store's history went back.

The position in the store (`pit:{07}:arch`) is written only after everything up to it is on disk.
So a copier that dies is followed by one that reads some entries again: each game's file says up
to which entry it holds, and what it holds already is passed over.
"""

import time
from collections import deque
from collections.abc import Collection, Sequence
from typing import Final

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from engine.events import GameEnded, ScoreAdjusted, TableClosed
from services.archive import frames
from services.archive.frames import Digest, Frame, Head, Kept, Seal, Spoiled, Torn, Undone, id_order
from services.archive.index import GameIndex
from services.archive.passing import TELLING, changes_nothing
from services.archive.port import Archive
from services.archive.source import from_content
from services.archive.summary import CHANGING, Summary, summary_of
from services.log.codec import Undecodable, kinds_in_record, unpack_record
from services.log.port import Chunk, Damaged, OutEntry, ReaderLog

log = structlog.get_logger()

REMEMBERED_ENTRIES = 20_000
"""How far back a fork of the history can be found; a store loses about two seconds at worst."""
NOTHING = "0-0"
SEALED: Final = frozenset({GameEnded, ScoreAdjusted, TableClosed})
"""After these a game is sealed: what it brought is settled, for now. All are `CHANGING`."""


class HistoryLost(Exception):
    """The store lost more than can be followed; a person must look at it."""


class _Game:
    """What must be known of a game's file to append to it, and of the game for the index."""

    __slots__ = ("digest", "last", "pending", "summary")

    def __init__(self, name: str) -> None:
        self.digest = Digest()
        self.last = id_order(NOTHING)
        """The newest entry the file tells of."""
        self.pending: list[bytes] = []
        """What is to be appended to the file."""
        self.summary = Summary(name)

    def read(self, frame: Frame, body: bytes) -> None:
        if isinstance(frame, Seal):
            return
        self.digest.add(body)
        if isinstance(frame, Kept | Spoiled):
            self.last = id_order(frame.out_id)
        elif isinstance(frame, Undone):
            self.last = min(self.last, id_order(frame.after_id))


class ShardCopier:
    """Not shared between threads."""

    def __init__(
        self,
        shard: int,
        store_id: str,
        archive: Archive,
        source: ReaderLog,
        key: Ed25519PrivateKey,
        index: GameIndex,
    ) -> None:
        self.shard = shard
        self.last_id = source.archived_up_to(shard)
        self.pending_bytes = 0
        self.pending_entries = 0
        self.on_disk_s = time.monotonic()
        """When everything that was in the log then is on disk; at first, when this began."""
        self.damaged = False
        """The log's next entry cannot be read: nothing after it can be followed."""
        self._read_s = self.on_disk_s
        self._flushed_id = self.last_id
        self._store_id = store_id
        self._archive = archive
        self._source = source
        self._key = key
        self._index = index
        self._games: dict[str, _Game] = {}
        self._changed: dict[str, Summary] = {}
        self._unusable: set[str] = set()
        self._pending: dict[str, _Game] = {}
        self._recent: deque[tuple[str, bytes]] = deque(maxlen=REMEMBERED_ENTRIES)

    def take(self, entries: Sequence[OutEntry]) -> None:
        """Take over the log's next entries. Where they do not follow upon the last one taken, what
        the store lost is marked as undone, and the next ones are others."""
        if entries and not self._follows(entries[0]):
            self._go_back(entries[0])
            return
        for entry in entries:
            self._take(entry)
        self.pending_entries += len(entries)

    def has_read_all(self, moment_s: float) -> None:
        """Nothing beyond what was taken stood in the log at that moment, by the monotonic clock."""
        self._read_s = moment_s
        if not self.is_ahead:
            self.on_disk_s = moment_s

    def check_history(self) -> None:
        """Ask whether the newest entry taken is still there; call when idle and after a pause."""
        if self._recent and not self._stands(*self._recent[-1]):
            self._go_back(None)

    def flush(self) -> None:
        """Bring everything taken to disk, then tell the store. Raises `OSError`; call again."""
        flush([self], self._index)

    @property
    def changed(self) -> Collection[Summary]:
        """Games whose line in the index is older than their file."""
        return self._changed.values()

    @property
    def pending_games(self) -> int:
        """How many files the next `append` writes to."""
        return len(self._pending)

    @property
    def is_ahead(self) -> bool:
        """Whether more was taken than the store was told."""
        return self._flushed_id != self.last_id

    def append(self) -> None:
        """Bring the records taken to disk. Raises `OSError`; everything is then read again."""
        if self._pending:
            try:
                pieces = {name: b"".join(game.pending) for name, game in self._pending.items()}
                self._archive.append(pieces)
            except OSError:
                self._start_over()
                raise
            for game in self._pending.values():
                game.pending.clear()
            self._pending.clear()
            self.pending_bytes = 0

    def tell(self) -> None:
        """Tell the store that everything taken is on disk, and in the index."""
        self._changed.clear()
        if self.is_ahead:
            self._source.archived(self.shard, self.last_id)
            self._flushed_id = self.last_id
        self.pending_entries = 0
        self.on_disk_s = self._read_s

    def _start_over(self) -> None:
        """Some pieces may be on disk in part: forget, and read again from the last flush."""
        self._games.clear()
        self._changed.clear()
        self._pending.clear()
        self.pending_bytes = self.pending_entries = 0
        self._read_s = self.on_disk_s
        self.last_id = self._flushed_id
        while self._recent and self._recent[-1][0] != self.last_id:
            self._recent.pop()

    def _follows(self, entry: OutEntry) -> bool:
        if self._recent:
            return (entry.before_id, entry.before_nonce) == self._recent[-1]
        if self.last_id == NOTHING or id_order(entry.before_id) > id_order(self.last_id):
            if entry.before_id != self.last_id:
                log.warning("archive_gap", shard=self.shard, after=self.last_id, next=entry.id)
            return True
        return entry.before_id == self.last_id

    def _take(self, entry: OutEntry) -> None:
        place = id_order(entry.id)
        for chunk in entry.chunks:
            self._take_chunk(entry, place, chunk)
        self.last_id = entry.id
        nonce = entry.nonce
        if self._recent and self._recent[-1][1] == nonce:
            nonce = self._recent[-1][1]  # one object for all entries of an owner
        self._recent.append((entry.id, nonce))

    def _take_chunk(self, entry: OutEntry, place: tuple[int, int], chunk: Chunk) -> None:
        name, kinds = chunk.table, _kinds(chunk)
        if kinds is not None and kinds <= TELLING and _only_tells(chunk):
            return
        game = self._games.get(name) or self._game(name)
        if game is None or place <= game.last:
            return
        if game.summary.closed_ms:
            log.error("game_closed", game=name, entry=entry.id)  # its sealed record is not touched
            return
        game.last = place
        if kinds is None:
            log.error("record_spoiled", game=name, entry=entry.id)
            self._put(name, game, Spoiled(entry.id))
            return
        self._put(name, game, Kept(entry.id, entry.now_ms, chunk.body))
        if kinds.isdisjoint(CHANGING):
            return
        if game.summary.take_packed(chunk.body):
            self._changed[name] = game.summary
        if not kinds.isdisjoint(SEALED):
            self._put_packed(name, game, frames.pack(game.digest.seal(self._key)))
        if TableClosed in kinds:
            del self._games[name]

    def _put(self, name: str, game: _Game, frame: Frame) -> None:
        self._put_packed(name, game, game.digest.append(frame))

    def _put_packed(self, name: str, game: _Game, packed: bytes) -> None:
        if not game.pending:
            self._pending[name] = game
        game.pending.append(packed)
        self.pending_bytes += len(packed)

    def _game(self, name: str) -> _Game | None:
        game = self._games.get(name)
        if game is None and name not in self._unusable:
            if name in self._pending:
                self.flush()
            game = self._open(name)
        return game

    def _open(self, name: str) -> _Game | None:
        try:
            game = self._read(name)
        except Damaged as error:
            # Nothing of a damaged file is cut or continued: a person decides what it is worth.
            log.error("game_unusable", problem=str(error))
            self._unusable.add(name)
            return None
        self._games[name] = game
        self._changed[name] = game.summary
        if game.digest.frames == 0:
            self._put(name, game, Head(frames.FORMAT, name, self._store_id))
        return game

    def _read(self, name: str) -> _Game:
        game = _Game(name)
        intact_bytes = None
        content = self._archive.read(name) or b""
        for part in frames.unpack(name, content):
            if isinstance(part, Torn):
                intact_bytes = part.length
                break
            frame, body = part
            if isinstance(frame, Head) and frame.store_id != self._store_id:
                raise Damaged(f"{name}: belongs to another store")
            game.read(frame, body)
        if intact_bytes is not None:
            self._archive.cut(name, intact_bytes)
        game.summary = summary_of(from_content(name, content, None))
        return game

    # -------------------------------------------------------------- history that went back

    def _stands(self, entry_id: str, nonce: bytes) -> bool:
        found = self._source.out_after(self.shard, _just_before(entry_id), 1, 0)
        return bool(found) and (found[0].id, found[0].nonce) == (entry_id, nonce)

    def _go_back(self, next_entry: OutEntry | None) -> None:
        """Mark what the store lost as undone, and go on from the last entry it still has."""
        self.flush()  # and so every game of this shard is in its file
        while self._recent and not self._stands(*self._recent[-1]):
            self._recent.pop()
        if self._recent:
            fork = self._recent[-1][0]
        elif next_entry is not None and id_order(next_entry.before_id) < id_order(self.last_id):
            fork = next_entry.before_id
        else:
            raise HistoryLost(f"shard {self.shard}: the store lost more than can be followed")
        log.warning("history_went_back", shard=self.shard, last=self.last_id, fork=fork)
        undone = [game for game in self._archive.games(self.shard) if self._is_beyond(game, fork)]
        for name in undone:
            game = self._game(name)
            if game is not None:
                self._put(name, game, Undone(fork))
        self.append()
        for name in undone:
            self._games.pop(name, None)
            self._game(name)  # as it is now, for the index
        self.last_id = fork
        self.flush()

    def _is_beyond(self, name: str, fork: str) -> bool:
        """Whether a game's file tells of entries after `fork`."""
        game = self._games.get(name)
        if game is None:
            game = _Game(name)
            try:
                for part in frames.unpack(name, self._archive.read(name) or b""):
                    if not isinstance(part, Torn):
                        game.read(*part)
            except Damaged:
                return False  # a damaged file is not written to
        return game.last > id_order(fork)


def _kinds(chunk: Chunk) -> set[type] | None:
    """What is in a record; `None` where it is spoiled."""
    if not chunk.intact:
        return None
    try:
        return kinds_in_record(chunk.body)
    except Undecodable:
        return None


def _only_tells(chunk: Chunk) -> bool:
    try:
        return changes_nothing(unpack_record(chunk.table, chunk.body))
    except Undecodable:
        return False  # it is kept as it stands, and `verify` says more


def _just_before(entry_id: str) -> str:
    epoch, number = id_order(entry_id)
    return f"{epoch}-{number - 1}" if number else f"{epoch - 1}-{2**64 - 1}"


def step(copiers: Sequence[ShardCopier], source: ReaderLog, count: int) -> list[ShardCopier]:
    """Take over what is new in these shards, at most `count` entries a shard, in one round trip.
    Gives those that may have more."""
    asked_s = time.monotonic()
    readable = [copier for copier in copiers if not copier.damaged]
    try:
        news = _news(readable, source, count)
    except Damaged:
        count = 1  # up to the entry that cannot be read, and no further
        news = _news_of_each(readable, source, count)
    busy = []
    for copier in readable:
        if copier.damaged:
            continue
        entries = news.get(copier.shard, [])
        copier.take(entries)
        if len(entries) == count or (entries and copier.last_id != entries[-1].id):
            busy.append(copier)
        else:
            copier.has_read_all(asked_s)
    return busy


def _news(
    copiers: Sequence[ShardCopier], source: ReaderLog, count: int
) -> dict[int, list[OutEntry]]:
    after = {copier.shard: copier.last_id for copier in copiers}
    return source.news(after, count) if after else {}


def _news_of_each(
    copiers: Sequence[ShardCopier], source: ReaderLog, count: int
) -> dict[int, list[OutEntry]]:
    """The same, shard by shard: one that cannot be read is left alone, and said aloud."""
    news: dict[int, list[OutEntry]] = {}
    for copier in copiers:
        try:
            news |= _news([copier], source, count)
        except Damaged as error:
            copier.damaged = True
            log.error("shard_damaged", shard=copier.shard, after=copier.last_id, what=str(error))
    return news


def flush(copiers: Sequence[ShardCopier], index: GameIndex) -> None:
    """Records to disk, then the index in one transaction, then the store is told: whoever finds
    a position in the index or the store finds everything up to it. Raises `OSError`; call again.
    """
    for copier in copiers:
        copier.append()
    summaries = [summary for copier in copiers for summary in copier.changed]
    positions = {copier.shard: copier.last_id for copier in copiers if copier.is_ahead}
    if summaries or positions:
        index.write(summaries, positions)
    for copier in copiers:
        copier.tell()
