"""The last minute of every table's records, undecoded, for clients that were gone for a moment."""

from collections import deque
from typing import Final

from engine.events import Record
from services.gateway.resource_names import shard_of
from services.log.codec import unpack_record

KEEP_S: Final = 60.0
"""Longer than any reconnect that is worth resuming event by event."""
BYTES_MAX: Final = 64 * 1024 * 1024
"""Of records and their book-keeping; the oldest go first."""
OVERHEAD_BYTES: Final = 200
"""What keeping a record costs beside its bytes."""
REPLAY_EVENTS_MAX: Final = 1_000
"""A client further behind is better served with a snapshot."""


class Ring:
    """Records by table, forgotten by age and by size."""

    def __init__(self, keep_s: float = KEEP_S, bytes_max: int = BYTES_MAX) -> None:
        self._keep_s = keep_s
        self._bytes_max = bytes_max
        self._bytes = 0
        self._order: deque[tuple[float, str, int]] = deque()
        self._tables: dict[str, deque[bytes]] = {}

    def add(self, table: str, body: bytes, now_s: float) -> None:
        size = len(body) + OVERHEAD_BYTES
        self._order.append((now_s, table, size))
        self._bytes += size
        records = self._tables.get(table)
        if records is None:
            records = self._tables[table] = deque()
        records.append(body)
        oldest_s = now_s - self._keep_s
        while self._order and (self._order[0][0] < oldest_s or self._bytes > self._bytes_max):
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        _, table, size = self._order.popleft()
        self._bytes -= size
        records = self._tables.get(table)
        if records is None:
            return
        records.popleft()
        if not records:
            del self._tables[table]

    def forget_shard(self, shard: int) -> None:
        """The history these records belong to is no more."""
        kept = [entry for entry in self._order if shard_of(entry[1]) != shard]
        self._order = deque(kept)
        self._bytes = sum(size for _, _, size in kept)
        for table in [table for table in self._tables if shard_of(table) == shard]:
            del self._tables[table]

    def holding(self, table: str, seq: int) -> Record | None:
        """The record that holds event `seq`; `None` where it is gone."""
        for body in reversed(self._tables.get(table, ())):
            record = unpack_record(table, body)
            if 0 < record.first_seq <= seq:
                return record
        return None

    def after(self, table: str, seq: int, head_seq: int) -> list[Record] | None:
        """Records that hold every event after `seq`; `None` where some are gone."""
        if seq == head_seq:
            return []
        if head_seq - seq > REPLAY_EVENTS_MAX:
            return None
        found: list[Record] = []
        for body in reversed(self._tables.get(table, ())):
            record = unpack_record(table, body)
            if record.first_seq == 0:
                continue
            found.append(record)
            if record.first_seq <= seq + 1:
                return found[::-1]
        return None
