"""What all methods of the lobby share.

Whatever changes a table goes through its log as a command with a request id, and is answered when
the table has answered; lists are read from the shards' lobby lines.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pit.v1 import lobby_pb2

from engine.commands import Leave, OpenSeated, OpenTable, RequestCommand
from engine.events import RequestAnswered
from engine.rejections import Rejection
from services.gateway.admission import Admission
from services.gateway.convert.tables import table_message
from services.gateway.directory import Directory
from services.gateway.errors import Refused
from services.gateway.hub import Hub
from services.gateway.identity.store import PeopleStore
from services.gateway.identity.tokens import SignedTokens
from services.gateway.identity.transfer import TransferCodes
from services.gateway.lobby.checks import may_see
from services.gateway.lobby.limits import OPENED_KEPT_S
from services.gateway.names import NameBook
from services.gateway.resource_names import parse_table
from services.gateway.session.limits import Rank
from services.gateway.session.roles import Caller
from services.log.codec import LobbyLine

RANKS: Final[Mapping[type[RequestCommand], Rank]] = {
    OpenTable: Rank.OPENING,
    OpenSeated: Rank.OPENING,
    Leave: Rank.FIRST,
}


class Desk:
    def __init__(
        self,
        hub: Hub,
        directory: Directory,
        tokens: SignedTokens,
        names: NameBook,
        store: PeopleStore,
        admission: Admission,
        transfers: TransferCodes,
        wall: Callable[[], float],
    ) -> None:
        self._hub = hub
        self._directory = directory
        self._tokens = tokens
        self._names = names
        self._store = store
        self._admission = admission
        self._transfers = transfers
        self._wall = wall
        self._shards = hub.shards

    async def _ask(self, table: str, command: RequestCommand) -> RequestAnswered:
        """The table's answer. Raises `Refused` with its rejection."""
        rank = RANKS.get(type(command), Rank.TRADING)
        return await self._hub.ask(table, command, rank)

    async def _note_opened(self, owner: str, table: str) -> dict[str, int]:
        """Count a table to its owner's; all that may still be open, with the times they were
        opened at. A repeat changes nothing."""
        return await self._store.table_opened(owner, table, int(self._wall()), OPENED_KEPT_S)

    async def _line(self, caller: Caller, name: str, field: str = "table") -> LobbyLine:
        """The line of a table that the caller may know of. Raises `Refused`."""
        line = await self._directory.line(parse_table(name, self._shards, field))
        if line is None or not may_see(line, caller):
            raise Refused(Rejection.TABLE_NOT_FOUND)
        return line

    async def _table(self, table: str) -> lobby_pb2.Table | None:
        line = await self._directory.line(table)
        if line is None:
            return None
        await self._learn_names([line])
        return table_message(line, self._names)

    async def _learn_names(self, lines: Iterable[LobbyLine]) -> None:
        await self._names.learn_all(person for line in lines for person in line.persons if person)
