"""Forged games: as somebody would write them who can renew every checksum, but no signature."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from engine import events
from engine.events import Event, Note, Record
from services.archive.audit import Verdict, audit
from services.archive.directory import DirectoryArchive
from services.archive.frames import Head, Kept, Seal
from services.archive.source import Game, find
from services.log.codec import pack_record, unpack_record
from support.archiving import KEY, Archiving, written
from support.whole_game import GAME, WholeGame

Items = list[Event | Note]


def in_memory(game: WholeGame) -> Game:
    records = [
        Kept(f"1-{number}", now_ms, pack_record(record))
        for number, (now_ms, record) in enumerate(game.records, 1)
    ]
    return Game(GAME, records, 0, [])


def put(root: Path, content: bytes) -> Verdict:
    path = root / "00" / f"{GAME}.pit"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return audit(find(GAME, DirectoryArchive(root), KEY.public_key(), None))


def forge(archiving: Archiving, change: Callable[[Items], bool]) -> bytes:
    """The game with `change` made to the first record where it takes effect; checksums fresh."""
    kept_frames = archiving.kept()
    head = next(frame for frame in kept_frames if isinstance(frame, Head))
    seal = next(frame for frame in kept_frames if isinstance(frame, Seal))
    records = [frame for frame in kept_frames if isinstance(frame, Kept)]
    seq = 1
    changed = False
    for place, kept in enumerate(records):
        record = unpack_record(GAME, kept.record)
        items = list(record.items)
        if not changed:
            changed = change(items)
        shift = seq - record.first_seq
        items = [renumbered(item, shift) for item in items]
        forged = Record(GAME, seq, tuple(items))
        records[place] = replace(kept, record=pack_record(forged))
        seq += sum(not isinstance(item, Note) for item in items)
    assert changed
    return written(head, records, seal=seal)


def renumbered(item: Event | Note, shift: int) -> Event | Note:
    if isinstance(item, events.Answered | events.RequestAnswered):
        return replace(item, seq=item.seq + shift)
    return item
