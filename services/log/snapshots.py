"""Reading the hash `snap` of a shard: the newest intact snapshot, else the one before it."""

from collections.abc import Mapping
from typing import NamedTuple
from zlib import crc32

from services.log.entry import NO_ENTRY, parse_id, parse_snapshot_line
from services.log.port import Damaged, Loaded


class _Head(NamedTuple):
    out_id: str
    tables: int


def read_snapshot(shard: int, fields: Mapping[bytes, bytes]) -> Loaded:
    """What recovery starts from. Raises `Damaged` where no snapshot's head can be trusted."""
    if b"new" not in fields:
        return Loaded(NO_ENTRY, {}, ())
    candidates = []
    newest, older = _head(fields.get(b"new")), _head(fields.get(b"old"))
    if newest is not None:
        candidates.append(_newest_tables(newest, fields))
    if older is not None:
        candidates.append(_older_tables(older, fields))
    # A missing table cannot be named, so a snapshot with fewer tables than its head says is no
    # candidate; between two, the one with fewer damaged tables, and of equals the newer.
    complete = [loaded for loaded, missing in candidates if not missing]
    if not complete:
        raise Damaged(f"snapshot of shard {shard:02d}")
    return min(complete, key=lambda loaded: len(loaded.damaged))


def _head(line: bytes | None) -> _Head | None:
    text, _, crc = (line or b"").rpartition(b" ")
    parts = text.split(b" ")
    if len(parts) != 4 or b"%08x" % crc32(text) != crc:
        return None
    return _Head(parts[0].decode(), int(parts[3]))


def _newest_tables(head: _Head, fields: Mapping[bytes, bytes]) -> tuple[Loaded, bool]:
    """The newest snapshot, and whether tables are missing from it."""
    lines = {field[2:]: line for field, line in fields.items() if field[:2] == b"t:"}
    return _gather(head, lines)


def _older_tables(head: _Head, fields: Mapping[bytes, bytes]) -> tuple[Loaded, bool]:
    """The snapshot before the newest: what the newest wrote stands as it was before."""
    rewritten = set(fields.get(b"dirty", b"").split())
    lines = {}
    for field, line in fields.items():
        name = field[2:]
        if field[:2] == b"u:" or (field[:2] == b"t:" and name not in rewritten):
            lines[name] = line
    return _gather(head, lines)


def _gather(head: _Head, lines: Mapping[bytes, bytes]) -> tuple[Loaded, bool]:
    tables: dict[str, bytes] = {}
    damaged = []
    for name, line in lines.items():
        try:
            out_id, packed = parse_snapshot_line(name, line)
            intact = parse_id(out_id) <= parse_id(head.out_id)
        except ValueError:
            intact, packed = False, None
        if not intact:
            damaged.append(name.decode(errors="replace"))
        elif packed is not None:
            tables[name.decode()] = packed
    missing = len(tables) + len(damaged) < head.tables
    return Loaded(head.out_id, tables, tuple(sorted(damaged))), missing
