"""From a fresh lease to a shard in memory: the newest snapshot, then `evolve` over the log."""

from typing import Final

import structlog

from engine.events import Record
from engine.evolve import evolve
from engine.shown import Phase
from engine.state import load
from engine.table import Table
from services.log.chain import Held, Verdict, take
from services.log.codec import Undecodable, unpack_record, unpack_table
from services.log.port import Acquired, Chunk, OwnerLog
from services.matcher.clock import LogClock
from services.matcher.saving import STOPPED
from services.matcher.shard import Shard

PAGE_ENTRIES: Final = 256

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class UnreadableShard(Exception):
    """This matcher must not own the shard: a newer version wrote it, or its history has a gap."""


def recover(
    owner_log: OwnerLog, number: int, nonce: bytes, acquired: Acquired, monotonic_s: float
) -> Shard:
    """The shard just acquired, as the log tells it.

    What is damaged stops its table and no other. Raises `UnreadableShard`, and whatever the log
    raises; nothing is lost by trying again.
    """
    clock = LogClock(acquired.now_ms, monotonic_s)
    shard = Shard(number, nonce, acquired, clock)
    loaded = owner_log.load(number)
    for name, packed in loaded.tables.items():
        _load_table(shard, name, packed)
    for name in loaded.damaged:
        _stop(shard, name, "snapshot damaged")
    _replay(owner_log, shard, loaded.out_id)
    shard.snapshot_id = loaded.out_id
    return shard


def _load_table(shard: Shard, name: str, packed: bytes) -> None:
    try:
        plain = unpack_table(packed)
        if plain == STOPPED:
            shard.stop(name, "stopped earlier")
            return
        shard.keep(name, load(plain))
    except Undecodable as undecodable:
        if undecodable.reason == "version":
            raise UnreadableShard(f"shard {shard.number:02d}: a newer version wrote it") from None
        _stop(shard, name, "snapshot undecodable")
    except Exception:
        _stop(shard, name, "snapshot unusable")


def _replay(owner_log: OwnerLog, shard: Shard, after: str) -> None:
    """`evolve` over everything between the snapshot and our own barrier."""
    barrier = shard.written.id
    before: Held | None = None
    while before is None or before.id != barrier:
        at = before.id if before else after
        entries = owner_log.out_after(shard.number, at, PAGE_ENTRIES)
        if not entries:
            raise UnreadableShard(f"shard {shard.number:02d}: its history ends at {at}")
        if before is None:  # a snapshot knows the id it was made at, not the nonce
            before = Held(at, entries[0].before_nonce)
        taken, before, verdict = take(before, entries)
        for entry in taken:
            for chunk in entry.chunks:
                _evolve_chunk(shard, chunk)
        if verdict is not Verdict.ACCEPT:
            raise UnreadableShard(f"shard {shard.number:02d}: nothing follows {before.id}")


def _evolve_chunk(shard: Shard, chunk: Chunk) -> None:
    name = chunk.table
    if name in shard.stopped:
        return
    if not chunk.intact:
        _stop(shard, name, "record damaged")
        return
    try:
        record = unpack_record(name, chunk.body)
    except Undecodable as undecodable:
        if undecodable.reason == "version":
            raise UnreadableShard(f"shard {shard.number:02d}: a newer version wrote it") from None
        _stop(shard, name, "record undecodable")
        return
    try:
        _evolve_record(shard, name, record)
    except Exception:
        log.exception("replay failed", table=name)
        _stop(shard, name, "record unusable")


def _evolve_record(shard: Shard, name: str, record: Record) -> None:
    if record.first_seq == 0:  # answers of a table that was stopped: nothing to remember
        return
    table = shard.tables.get(name) or Table(name)
    if record.first_seq != table.seq + 1:
        raise ValueError("record out of order")
    for item in record.items:
        evolve(table, item)
    if table.seq == 0:  # answers of a table that does not exist
        return
    shard.events_since_snapshot += table.seq + 1 - record.first_seq
    shard.keep(name, table)
    shard.dirty.add(name)
    if table.phase == Phase.CLOSED:
        shard.drop(name)


def _stop(shard: Shard, name: str, reason: str) -> None:
    log.error("table stopped", shard=shard.number, table=name, reason=reason)
    shard.stop(name, reason)
