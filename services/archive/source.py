"""A game's records, wherever they are: first the archive's, then what the live log has beyond."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, get_args

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from engine.events import Event, Note, Record
from services.archive import frames
from services.archive.account import Finding
from services.archive.frames import Digest, Head, Kept, Seal, Spoiled, Torn, Undone, id_order
from services.archive.port import Archive
from services.log.codec import TABLE_ID
from services.log.port import Damaged, OutEntry, ReaderLog

READ_COUNT = 1_000
NOTHING = "0-0"


@dataclass(slots=True)
class Game:
    """What is known of one game, before anything is replayed."""

    name: str
    records: list[Kept]
    sealed: int
    """How many of `records`, from the first, a valid seal covers."""
    findings: list[Finding]
    archived: int = 0
    """How many of `records` came from the archive."""
    content: bytes = b""
    """The file in the archive."""
    torn: Finding | None = None
    """That the file breaks off: its writer died, or is just writing."""


NOTES: Final = frozenset(get_args(Note))


def numbered(record: Record) -> Iterator[tuple[int, Event]]:
    """The events of a record with their numbers."""
    seq = record.first_seq
    for item in record.items:
        if type(item) not in NOTES:
            yield seq, item  # type: ignore[misc]  # what is no note is an event
            seq += 1


def from_archive(name: str, archive: Archive, key: Ed25519PublicKey | None) -> Game:
    """The archived part of a game; empty where the archive has none of it."""
    return from_content(name, archive.read(name) or b"", key)


def from_content(name: str, content: bytes, key: Ed25519PublicKey | None) -> Game:
    """A game from the bytes of its file."""
    game = Game(name, [], 0, [], content=content)
    reading = _Reading(game, key)
    try:
        for part in frames.unpack(name, content):
            if isinstance(part, Torn):
                game.torn = Finding("damage", 0, f"the file breaks off at byte {part.length}")
                game.findings.append(game.torn)
            else:
                reading.take(*part)
    except Damaged as error:
        _find(game, "damage", str(error))
    game.archived = len(game.records)
    return game


class _Reading:
    def __init__(self, game: Game, key: Ed25519PublicKey | None) -> None:
        self._game = game
        self._key = key
        self._digest = Digest()

    def take(self, frame: frames.Frame, body: bytes) -> None:
        game = self._game
        if (self._digest.frames == 0) != isinstance(frame, Head):
            _find(game, "damage", "the file does not begin with its head, once")
        if isinstance(frame, Seal):
            self._take_seal(frame)
            return
        self._digest.add(body)
        if isinstance(frame, Head):
            if (frame.format, frame.game) != (frames.FORMAT, game.name):
                _find(game, "damage", f"this is the file of {frame.game}")
        elif isinstance(frame, Kept):
            if game.records and id_order(frame.out_id) <= id_order(game.records[-1].out_id):
                _find(game, "order", f"entry {frame.out_id} stands after a later one")
            game.records.append(frame)
        elif isinstance(frame, Spoiled):
            _find(game, "damage", f"the record of entry {frame.out_id} was spoiled in the log")
        else:
            _undo(game, frame)

    def _take_seal(self, seal: Seal) -> None:
        if self._key is None:
            problem = "there is no public key to check it with"
        else:
            problem = self._digest.confirms(seal, self._key)
        if problem:
            _find(self._game, "seal", problem)
        else:
            self._game.sealed = len(self._game.records)


def _undo(game: Game, frame: Undone) -> None:
    while game.records and id_order(game.records[-1].out_id) > id_order(frame.after_id):
        game.records.pop()
    game.sealed = min(game.sealed, len(game.records))


def _find(game: Game, kind: str, text: str) -> None:
    game.findings.append(Finding(kind, 0, text))


def add_live(game: Game, entries: Iterable[OutEntry]) -> None:
    """Append what the live log has of `game` beyond its archived part."""
    for entry in entries:
        if not game.records or id_order(entry.id) > id_order(game.records[-1].out_id):
            add_entry(game, entry)
    if game.torn is not None and len(game.records) > game.archived:
        # The log goes on where the file breaks off: the archiver is writing, or will mend it.
        game.findings.remove(game.torn)
        game.torn = None


def add_entry(game: Game, entry: OutEntry) -> None:
    for chunk in entry.chunks:
        if chunk.table != game.name:
            continue
        if chunk.intact:
            game.records.append(Kept(entry.id, entry.now_ms, chunk.body))
        else:
            _find(game, "damage", f"the record of entry {entry.id} is spoiled in the log")


def live_entries(log: ReaderLog, shard: int, after: str = NOTHING) -> Iterator[OutEntry]:
    """A shard's entries up to the present end of its stream."""
    while entries := log.out_after(shard, after, READ_COUNT, 0):
        yield from entries
        after = entries[-1].id


def find(name: str, archive: Archive, key: Ed25519PublicKey | None, log: ReaderLog | None) -> Game:
    """One game; its `records` are empty where neither archive nor log knows it."""
    if not TABLE_ID.fullmatch(name):
        return Game(name, [], 0, [])
    game = from_archive(name, archive, key)
    if log is not None:
        after = game.records[-1].out_id if game.records else NOTHING
        add_live(game, live_entries(log, int(name[:2]), after))
    return game


def find_all(
    archive: Archive, key: Ed25519PublicKey | None, log: ReaderLog | None
) -> Iterator[Game]:
    """Every game of archive and live log; one shard's at a time are in memory beyond one game."""
    shards = range(log.meta().shards) if log is not None else range(100)
    for shard in shards:
        fresh: dict[str, list[OutEntry]] = {}
        if log is not None:
            for entry in live_entries(log, shard):
                for table in {chunk.table for chunk in entry.chunks}:
                    fresh.setdefault(table, []).append(entry)
        for name in sorted({*archive.games(shard), *fresh}):
            game = from_archive(name, archive, key)
            add_live(game, iter(fresh.get(name, ())))
            yield game
