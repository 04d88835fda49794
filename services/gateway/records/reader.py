"""A game's records, wherever they are: on disk up to a certain entry, and beyond it in the log.

Files are read in a thread of their own, one request after the other, so that the loop never waits
for a disk. What the log is asked for is bounded: while an archiver runs it is never more than
about ten seconds behind.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from engine.rejections import Rejection
from engine.value import value
from services.archive import keys
from services.archive.directory import DirectoryArchive
from services.archive.frames import id_order
from services.archive.index import GameIndex, Place
from services.archive.source import Game, add_live, from_content
from services.archive.summary import Summary
from services.gateway.errors import Refusal, Refused
from services.gateway.records.scroll import NOTHING, Scroll, Scrolls
from services.gateway.resource_names import shard_of
from services.log.port import GatewayLog, OutEntry

READ_COUNT: Final = 64
"""Entries in one reply: 3 MiB where every turn was full."""
ENTRIES_MAX: Final = 4_096
"""Entries read from the log for one request, twice what an archiver lets come together before it
brings a shard to disk. One that is further behind must catch up first."""
WAITING_MAX: Final = 64
"""Requests that wait for the disk; with more of them, later ones had better come later."""

Found = TypeVar("Found")


@value
class Archived:
    """What is on disk of a game. The records go on in the log after `up_to`."""

    content: bytes
    up_to: str


class GameReader:
    """Reads archive and log for one gateway."""

    def __init__(self, root: Path | None, log_port: GatewayLog) -> None:
        """Without a directory `root` there is only the log."""
        self._root = root
        self._log = log_port
        self._archive = DirectoryArchive(root) if root is not None else None
        self._index = GameIndex(root) if root is not None else None
        self._thread = ThreadPoolExecutor(1, "records")
        self._waiting = 0
        self._scrolls = Scrolls()
        """Used in the thread only."""

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def in_thread(self, work: Callable[[], Found]) -> Found:
        """Whatever takes longer than a turn of the loop should. Raises `Refused` where too much
        waits already, or the disk fails."""
        if self._waiting >= WAITING_MAX:
            raise Refused(Refusal.TABLE_UNAVAILABLE)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except OSError as error:
            raise Refused(Refusal.TABLE_UNAVAILABLE) from error
        finally:
            self._waiting -= 1

    async def game(self, table: str) -> Game:
        """All records of a game, in order; none where neither archive nor log knows it.

        `content` is its file as the archive has it, seals and all. Raises `Refused` where the two
        cannot be joined just now; what is damaged stands in `findings`.
        """
        archived = await self.in_thread(lambda: self._archived(table))
        game = await self.in_thread(lambda: self._unpacked(table, archived.content))
        if game.torn is not None:
            # An append that is under way, or broke off: it is beyond `up_to`, so in the log, too.
            game.findings.remove(game.torn)
            game.torn = None
        start = max(archived.up_to, _last_id(game), key=id_order)
        async for entries in self._pages(shard_of(table), start):
            add_live(game, entries)
        return game

    async def scroll(self, table: str) -> Scroll:
        """Everything that has happened in a game. Raises `Refused` as `game` does, and where a
        record is damaged or missing."""
        scroll, start = await self.in_thread(lambda: self._unrolled(table))
        live = Game(table, [], 0, [])
        async for entries in self._pages(shard_of(table), start):
            add_live(live, entries)
        if live.records:

            def written_on() -> Scroll:
                longer = scroll.copy()
                longer.take(live.records)
                return longer

            scroll = await self.in_thread(written_on)
        if scroll.damaged or live.findings:
            raise Refused(Rejection.TABLE_STOPPED)
        if scroll.missing:
            # The store lost its newest entries and the archive has yet to mark them as undone, or
            # there is no archive here that has what the log has let go.
            raise Refused(Refusal.TABLE_UNAVAILABLE)
        return scroll

    async def newest_of(self, person: str, after: Place, count: int) -> list[Summary]:
        """Games of a person that the archive knows, newest first, as they are now. Raises
        `Refused`."""
        if (index := self._index) is None:
            return []

        def look_up() -> tuple[dict[int, str], list[Summary]]:
            return index.positions(), index.newest_of(person, after, count)

        positions, found = await self.in_thread(look_up)
        going_on: dict[int, dict[str, Summary]] = {}
        for summary in found:
            if not summary.closed_ms:
                going_on.setdefault(shard_of(summary.game), {})[summary.game] = summary
        for shard, summaries in going_on.items():
            async for entries in self._pages(shard, positions.get(shard, NOTHING)):
                for chunk in (chunk for entry in entries for chunk in entry.chunks):
                    if chunk.intact and chunk.table in summaries:
                        summaries[chunk.table].take_packed(chunk.body)
        return found

    # -------------------------------------------------------------- on disk, in the thread

    def _archived(self, table: str) -> Archived:
        # In this order: a file read after the position has all up to it, and perhaps more.
        up_to = self._copied_up_to(shard_of(table))
        content = self._archive.read(table) if self._archive is not None else None
        return Archived(content or b"", up_to)

    def _unrolled(self, table: str) -> tuple[Scroll, str]:
        """What is on disk, and after which entry the log has the rest."""
        archived = self._archived(table)
        scroll = self._scrolls.unroll(table, archived.content)
        return scroll, max(archived.up_to, scroll.last_id, key=id_order)

    def _copied_up_to(self, shard: int) -> str:
        return self._index.positions().get(shard, NOTHING) if self._index is not None else NOTHING

    def _unpacked(self, table: str, content: bytes) -> Game:
        return from_content(table, content, self._key())

    def _key(self) -> Ed25519PublicKey | None:
        return keys.public_key(self._root) if self._root is not None else None

    # -------------------------------------------------------------- in the log

    async def _pages(self, shard: int, after: str) -> AsyncIterator[list[OutEntry]]:
        """A shard's output after an entry, up to its present end. Raises `Refused`."""
        read = 0
        while entries := await self._log.out_after(shard, after, READ_COUNT):
            yield entries
            after = entries[-1].id
            read += len(entries)
            if len(entries) < READ_COUNT:
                return
            if read >= ENTRIES_MAX:
                raise Refused(Refusal.TABLE_UNAVAILABLE)


def _last_id(game: Game) -> str:
    return game.records[-1].out_id if game.records else NOTHING
