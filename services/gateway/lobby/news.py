"""`WatchTables`: the list of tables as it changes.

The lobby is looked at once for all who watch, and compared with what it was. Each watcher is told
of the tables its filter asks for. What waits for a slow reader is one state a table, the newest:
no more than the list itself.
"""

import asyncio
from collections.abc import Iterable

import structlog
from pit.v1 import lobby_pb2

from services.gateway.convert.tables import table_message
from services.gateway.directory import Directory
from services.gateway.errors import Refusal, Refused
from services.gateway.lobby.checks import listed, matches
from services.gateway.lobby.limits import LOOK_EVERY_S, NEWS_TABLES_MAX
from services.gateway.names import NameBook
from services.gateway.resource_names import table_name
from services.gateway.session.expiry import token_over
from services.gateway.session.limits import HEARTBEAT_S
from services.gateway.session.port import Exchange
from services.gateway.session.roles import Caller
from services.log.codec import LobbyLine
from services.log.port import LogError

log = structlog.get_logger()


class TableWatch:
    """One `WatchTables` stream."""

    table = ""
    """None of its own."""

    def __init__(
        self, exchange: Exchange, names: NameBook, caller: Caller, wanted: lobby_pb2.TableFilter
    ) -> None:
        self.caller = caller
        self.end_reason = ""
        self._exchange = exchange
        self._names = names
        self._wanted = wanted
        self._known: set[str] = set()
        """Tables the client holds."""
        self._waiting: dict[str, LobbyLine | None] = {}
        """By table, its newest state; `None` where it is no longer in this list."""
        self._begun = False
        """Whether the list as it was at the beginning is among what waits, or was told."""
        self._told = asyncio.Event()
        self._refused: Refused | None = None
        self.expiry_asked = False

    # -------------------------------------------------------------- from the lobby

    def tell(self, lines: Iterable[LobbyLine], gone: Iterable[str]) -> None:
        """These are new or not as they were; those are no more. The first time: all there are."""
        for line in lines:
            if listed(line) and matches(line, self._wanted):
                self._waiting[line.table] = line
            else:
                self._drop(line.table)
        for table in gone:
            self._drop(table)
        if self._waiting or not self._begun:
            self._told.set()
        self._begun = True

    def _drop(self, table: str) -> None:
        if table in self._known:
            self._waiting[table] = None
        else:
            self._waiting.pop(table, None)

    # -------------------------------------------------------------- to the door

    async def next_news(self) -> lobby_pb2.WatchTablesResponse:
        """The next message; an empty one when nothing has happened for a while. Raises `Refused`
        at the end of the stream."""
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                await self._told.wait()
        except TimeoutError:
            return lobby_pb2.WatchTablesResponse(complete=self._begun)
        if self._refused is not None:
            raise self._refused
        taken = list(self._waiting)[:NEWS_TABLES_MAX]
        news = {table: self._waiting.pop(table) for table in taken}
        if not self._waiting:
            self._told.clear()
        self._known |= news.keys()
        lines = [line for line in news.values() if line is not None]
        gone = [table for table, line in news.items() if line is None]
        self._known.difference_update(gone)
        complete = not self._waiting
        await self._names.learn_all(each for line in lines for each in line.persons if each)
        return lobby_pb2.WatchTablesResponse(
            changed=[table_message(line, self._names) for line in lines],
            gone=[table_name(table) for table in gone],
            complete=complete,
        )

    # -------------------------------------------------------------- as any stream of the gateway

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def tick(self, now_s: float, wall_s: float) -> None:
        """Called about every second."""
        if token_over(self, self._exchange, wall_s):
            self.end(Refused(Refusal.TOKEN_EXPIRED))

    def drain(self) -> None:
        """It is ended when all are; there is nothing to take elsewhere."""

    def end(self, refused: Refused) -> None:
        self.end_reason = refused.why.name
        self._refused = refused
        self._told.set()


class TableNews:
    """Looks at the lobby while anybody watches it."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._watches: set[TableWatch] = set()
        self._lines: dict[str, LobbyLine] = {}
        self._somebody = asyncio.Event()

    async def begin(self, watch: TableWatch) -> None:
        """Tell it what there is, and from now on what changes. Raises `LogError`."""
        lines = await self._directory.lines()
        if not self._watches:
            self._lines = lines
        self._watches.add(watch)
        self._somebody.set()
        watch.tell(lines.values(), ())

    def leave(self, watch: TableWatch) -> None:
        self._watches.discard(watch)
        if not self._watches:
            self._somebody.clear()

    async def tell_forever(self) -> None:
        while True:
            await self._somebody.wait()
            try:
                await self.look()
            except LogError as error:
                log.warning("tables_unknown", error=type(error).__name__)
            await asyncio.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Compare the lobby with what it was. Raises `LogError`."""
        before, lines = self._lines, await self._directory.lines()
        self._lines = lines
        # A line whose bytes have not changed is the very same object.
        changed = [line for table, line in lines.items() if before.get(table) is not line]
        gone = before.keys() - lines.keys()
        if changed or gone:
            for watch in self._watches:
                watch.tell(changed, gone)
