"""Playing again with the same people.

The vote is the old table's affair (`engine.decide.rematch`). Once it is agreed, whoever asks first
opens the new table, whose id follows from the old one's, so that all find the same.
"""

from pit.v1 import lobby_pb2

from engine import commands
from engine.commands import Visibility
from services.gateway.convert.commands import content_hash
from services.gateway.identity.tokens import invite_digest
from services.gateway.lobby.checks import derived_id, request_id
from services.gateway.lobby.seats import Seats
from services.gateway.resource_names import parse_table, table_id
from services.gateway.session.roles import Caller
from services.log.codec import LobbyLine


class Rematches(Seats):
    async def rematch(
        self, caller: Caller, request: lobby_pb2.RematchRequest
    ) -> lobby_pb2.RematchResponse:
        table = parse_table(request.table, self._shards)
        request_bytes = request_id(caller, request.request_id, needed=False)
        command = commands.VoteRematch(
            request_bytes,
            content_hash(b"rematch %d" % request.yes),
            caller.person,
            request.yes,
            table_id(table, _opening_id(table), self._shards),
        )
        seat = (await self._ask(table, command)).seat
        line = await self._directory.line(table)
        if line is None or not line.rematch_table or not request.yes:
            return lobby_pb2.RematchResponse()
        await self._open_again(line, caller)
        seat, token = await self._seat_again(caller, line, seat, request_bytes)
        return lobby_pb2.RematchResponse(
            table=await self._table(line.rematch_table), seat=seat, seat_token=token
        )

    async def _open_again(self, line: LobbyLine, caller: Caller) -> None:
        """The new table, with those in their seats who have said yes and not left since.

        It counts to its owner's tables, but is never one too many: the one before it is over.
        """
        playing = [person for person in line.rematch if person] or [caller.person]
        command = commands.OpenSeated(
            _opening_id(line.table),
            content_hash(b"rematch"),
            line.owner if line.owner in playing else playing[0],
            line.rules,
            line.seats,
            line.display_name,
            line.visibility,
            line.absent_policy,
            line.bots_allowed,
            line.for_bots,
            self._invite_hash(line),
            0,
            line.rematch,
        )
        await self._note_opened(command.person, line.rematch_table)
        await self._ask(line.rematch_table, command)

    async def _seat_again(
        self, caller: Caller, line: LobbyLine, seat: int, request_bytes: bytes
    ) -> tuple[int, str]:
        """Who said yes sits there already. Who was not asked, or has left since, takes the old
        seat, as long as it is free."""
        table = line.rematch_table
        here = derived_id(request_bytes + table.encode())
        return await self._join(caller, table, here, seat, self._invite_hash(line))

    def _invite_hash(self, line: LobbyLine) -> bytes:
        """Of the new table's first code. Its owner makes one that can be told."""
        if line.visibility != Visibility.PRIVATE:
            return b""
        return invite_digest(self._tokens.invite_code(line.rematch_table))


def _opening_id(table: str) -> bytes:
    """Id of the request that opens the table after this one."""
    return derived_id(b"rematch of " + table.encode())
