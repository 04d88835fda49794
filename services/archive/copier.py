"""Copies one shard's event stream into games, and notices when the store's history went back.

The position in the store (`pit:{07}:arch`) is written only after everything up to it is on disk.
So a copier that dies is followed by one that reads some entries again: each game's file says up
to which entry it holds, and what it holds already is passed over.
"""

from collections import deque

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from engine.events import Event, GameEnded, Note, ScoreAdjusted, TableClosed
from services.archive import frames
from services.archive.frames import Digest, Frame, Head, Kept, Seal, Spoiled, Torn, Undone, id_order
from services.archive.passing import changes_nothing
from services.archive.port import Archive
from services.log.codec import Undecodable, unpack_record
from services.log.port import Chunk, Damaged, OutEntry, ReaderLog

log = structlog.get_logger()

REMEMBERED_ENTRIES = 20_000
"""How far back a fork of the history can be found; a store loses about two seconds at worst."""
NOTHING = "0-0"


class HistoryLost(Exception):
    """The store lost more than can be followed; a person must look at it."""


class _Game:
    """What must be known of a game's file to append to it."""

    __slots__ = ("digest", "last_id")

    def __init__(self) -> None:
        self.digest = Digest()
        self.last_id = NOTHING

    def read(self, frame: Frame, body: bytes) -> None:
        if isinstance(frame, Seal):
            return
        self.digest.add(body)
        if isinstance(frame, Kept | Spoiled):
            self.last_id = frame.out_id
        elif isinstance(frame, Undone):
            self.last_id = min(self.last_id, frame.after_id, key=id_order)


class ShardCopier:
    """Not shared between threads."""

    def __init__(
        self, shard: int, store_id: str, archive: Archive, source: ReaderLog, key: Ed25519PrivateKey
    ) -> None:
        self.shard = shard
        self.last_id = source.archived_up_to(shard)
        self.pending_bytes = 0
        self._flushed_id = self.last_id
        self._store_id = store_id
        self._archive = archive
        self._source = source
        self._key = key
        self._games: dict[str, _Game] = {}
        self._unusable: set[str] = set()
        self._pending: dict[str, bytearray] = {}
        self._recent: deque[tuple[str, bytes]] = deque(maxlen=REMEMBERED_ENTRIES)

    def step(self, count: int) -> int:
        """Take over the next entries, at most `count`; how many there were."""
        entries = self._source.out_after(self.shard, self.last_id, count, 0)
        if not entries:
            return 0
        if not self._follows(entries[0]):
            self._go_back(entries[0])
            entries = self._source.out_after(self.shard, self.last_id, count, 0)
        for entry in entries:
            self._take(entry)
        return len(entries)

    def check_history(self) -> None:
        """Ask whether the newest entry taken is still there; call when idle and after a pause."""
        if self._recent and not self._stands(*self._recent[-1]):
            self._go_back(None)

    def flush(self) -> None:
        """Bring everything taken to disk, then tell the store. Raises `OSError`; call again."""
        if self._pending:
            try:
                self._archive.append({game: bytes(piece) for game, piece in self._pending.items()})
            except OSError:
                self._start_over()
                raise
            self._pending.clear()
            self.pending_bytes = 0
        if self._flushed_id != self.last_id:
            self._source.archived(self.shard, self.last_id)
            self._flushed_id = self.last_id

    def _start_over(self) -> None:
        """Some pieces may be on disk in part: forget, and read again from the last flush."""
        self._games.clear()
        self._pending.clear()
        self.pending_bytes = 0
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
        for chunk in entry.chunks:
            self._take_chunk(entry, chunk)
        self.last_id = entry.id
        self._recent.append((entry.id, entry.nonce))

    def _take_chunk(self, entry: OutEntry, chunk: Chunk) -> None:
        name, items = chunk.table, self._items(chunk)
        if items == ():
            return
        game = self._game(name)
        if game is None or id_order(entry.id) <= id_order(game.last_id):
            return
        game.last_id = entry.id
        if items is None:
            log.error("record_spoiled", game=name, entry=entry.id)
            self._put(name, game, Spoiled(entry.id))
            return
        self._put(name, game, Kept(entry.id, entry.now_ms, chunk.body))
        if any(isinstance(item, GameEnded | ScoreAdjusted | TableClosed) for item in items):
            self._put_packed(name, frames.pack(game.digest.seal(self._key)))
        if any(isinstance(item, TableClosed) for item in items):
            del self._games[name]

    def _items(self, chunk: Chunk) -> tuple[Event | Note, ...] | None:
        """What a record tells; empty where it is no part of a game, `None` where it is spoiled."""
        if not chunk.intact:
            return None
        try:
            record = unpack_record(chunk.table, chunk.body)
        except Undecodable:
            return None
        return () if changes_nothing(record) else record.items

    def _put(self, name: str, game: _Game, frame: Frame) -> None:
        self._put_packed(name, game.digest.append(frame))

    def _put_packed(self, name: str, packed: bytes) -> None:
        self._pending.setdefault(name, bytearray()).extend(packed)
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
        if game.digest.frames == 0:
            self._put(name, game, Head(frames.FORMAT, name, self._store_id))
        return game

    def _read(self, name: str) -> _Game:
        game = _Game()
        intact_bytes = None
        for part in frames.unpack(name, self._archive.read(name) or b""):
            if isinstance(part, Torn):
                intact_bytes = part.length
                break
            frame, body = part
            if isinstance(frame, Head) and frame.store_id != self._store_id:
                raise Damaged(f"{name}: belongs to another store")
            game.read(frame, body)
        if intact_bytes is not None:
            self._archive.cut(name, intact_bytes)
        return game

    # -------------------------------------------------------------- history that went back

    def _stands(self, entry_id: str, nonce: bytes) -> bool:
        found = self._source.out_after(self.shard, _just_before(entry_id), 1, 0)
        return bool(found) and (found[0].id, found[0].nonce) == (entry_id, nonce)

    def _go_back(self, next_entry: OutEntry | None) -> None:
        """Mark what the store lost as undone, and go on from the last entry it still has."""
        self.flush()
        while self._recent and not self._stands(*self._recent[-1]):
            self._recent.pop()
        if self._recent:
            fork = self._recent[-1][0]
        elif next_entry is not None and id_order(next_entry.before_id) < id_order(self.last_id):
            fork = next_entry.before_id
        else:
            raise HistoryLost(f"shard {self.shard}: the store lost more than can be followed")
        log.warning("history_went_back", shard=self.shard, last=self.last_id, fork=fork)
        for name in self._archive.games(self.shard):
            game = self._game(name)
            if game is not None and id_order(game.last_id) > id_order(fork):
                self._put(name, game, Undone(fork))
                game.last_id = fork
        self.last_id = fork
        self.flush()


def _just_before(entry_id: str) -> str:
    epoch, number = id_order(entry_id)
    return f"{epoch}-{number - 1}" if number else f"{epoch - 1}-{2**64 - 1}"
