"""A snapshot in the making: the tables of a shard as they were at one place of the log."""

from collections.abc import Mapping
from typing import Final

from engine.check import InvariantBroken, check
from engine.state import dump
from engine.table import Table
from services.log.codec import pack_table
from services.log.port import InPosition, Snapshot
from services.matcher.limits import SAVED_TABLES

STOPPED: Final = ["stopped"]
"""What a snapshot keeps of a table that was stopped, so that it stays stopped."""


class Saving:
    """Begun between two turns, when memory is what the log holds, and filled a few tables at a
    time while turns go on. Whoever is about to change a table that is still `left` packs it first
    (`Shard.about_to_change`): so all are as they were at `out_id`, and no turn waits for a shard.
    """

    def __init__(
        self,
        out_id: str,
        position: InPosition,
        now_ms: int,
        dirty: set[str],
        gone: set[str],
        events: int,
    ) -> None:
        self.out_id = out_id
        self.position = position
        self.now_ms = now_ms
        self.left = dirty
        self.gone = gone
        self.events = events
        """Since the snapshot before."""
        self.packed: list[tuple[str, bytes]] = []
        self.broken: list[tuple[str, str]] = []
        """Tables that no table can be, and why: told, and stored all the same."""

    def pack_some(self, tables: Mapping[str, Table]) -> None:
        """Pack a few of those that are left."""
        for _ in range(min(SAVED_TABLES, len(self.left))):
            self.pack(next(iter(self.left)), tables)

    def pack_all(self, tables: Mapping[str, Table]) -> None:
        while self.left:
            self.pack(next(iter(self.left)), tables)

    def pack(self, name: str, tables: Mapping[str, Table]) -> None:
        """Pack a table that is left; one that is not held was stopped."""
        self.left.discard(name)
        table = tables.get(name)
        if table is None:
            self.packed.append((name, pack_stopped()))
            return
        try:
            check(table)
        except InvariantBroken as broken:
            self.broken.append((name, str(broken)))
        self.packed.append((name, pack_table(dump(table))))

    def names(self) -> set[str]:
        """All tables it speaks of."""
        return self.left | self.gone | {name for name, _ in self.packed}

    def snapshot(self, shard: int, nonce: bytes, newest_id: str) -> Snapshot:
        """What is to be stored, once nothing is left, while `newest_id` is the newest entry."""
        return Snapshot(
            shard=shard,
            nonce=nonce,
            expected_id=newest_id,
            out_id=self.out_id,
            position=self.position,
            now_ms=self.now_ms,
            tables=tuple(self.packed),
            gone=tuple(self.gone),
        )


def pack_stopped() -> bytes:
    return pack_table(STOPPED)
