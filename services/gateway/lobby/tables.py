"""Opening a table, and what its owner may do."""

from typing import Final

from pit.v1 import lobby_pb2

from engine import commands
from engine.commands import AbsentPolicy, Visibility
from engine.rejections import Rejection
from engine.shown import Phase
from services.gateway.convert.commands import content_hash
from services.gateway.convert.rules import rules_asked_for
from services.gateway.convert.tables import table_message
from services.gateway.errors import Refusal, Refused
from services.gateway.identity.tokens import invite_digest
from services.gateway.lobby.checks import member, request_id, seat_number
from services.gateway.lobby.desk import Desk
from services.gateway.lobby.limits import OPENING_S, TABLES_MAX
from services.gateway.names import checked_name, checked_reason
from services.gateway.resource_names import parse_person, parse_table, table_id
from services.gateway.session.roles import Caller, Role

OVER: Final = (int(Phase.ENDED), int(Phase.CLOSED))


def opening(
    owner: str,
    request_bytes: bytes,
    request: lobby_pb2.CreateTableRequest,
    invite_hash: bytes,
    start_at_s: int = 0,
) -> commands.OpenTable:
    """The command that opens the table asked for. `invite_hash` is of the code it gets if it is
    private. Raises `Refused` where the request is wrong by itself."""
    rules = rules_asked_for(request.preset, request.switches)
    if not rules.seats_min <= request.seats <= rules.seats_max:
        raise Refused(Rejection.SEATS_RANGE, min=rules.seats_min, max=rules.seats_max)
    visibility = member(Visibility, request.visibility or Visibility.PUBLIC, "visibility")
    absent_policy = member(AbsentPolicy, request.absent_policy or AbsentPolicy.BOT, "absent_policy")
    if absent_policy == AbsentPolicy.WAIT and visibility != Visibility.PRIVATE:
        raise Refused.field("absent_policy", "to wait for whoever is away needs a private table")
    return commands.OpenTable(
        request_bytes,
        content_hash(request.SerializeToString(deterministic=True)),
        owner,
        rules,
        request.seats,
        checked_name(request.display_name, "display_name"),
        visibility,
        absent_policy,
        request.bots,
        request.for_bots,
        invite_hash if visibility == Visibility.PRIVATE else b"",
        start_at_s,
    )


class Tables(Desk):
    async def create_table(
        self, caller: Caller, request: lobby_pb2.CreateTableRequest
    ) -> lobby_pb2.CreateTableResponse:
        if request.for_bots and caller.role is Role.PLAYER:
            raise Refused(Refusal.ROLE_NOT_ALLOWED, role=Role.BOT.value)
        request_bytes = request_id(caller, request.request_id, needed=True)
        table = table_id(caller.person, request_bytes, self._shards)
        invite = self._tokens.invite_code(table)
        command = opening(caller.person, request_bytes, request, invite_digest(invite))
        await self._count_table(caller, table)
        await self._ask(table, command)
        line = await self._directory.line(table)
        if line is None:
            return lobby_pb2.CreateTableResponse()
        await self._learn_names([line])
        return lobby_pb2.CreateTableResponse(
            table=table_message(line, self._names),
            invite_code=self._tokens.invite_code_again(table, b"", line.invite_hash),
        )

    async def _count_table(self, caller: Caller, table: str) -> None:
        """Refuse one too many whose game is not over. Counted before it is opened, so that many
        opened at once are no way around. Raises `Refused`."""
        most = TABLES_MAX.get(self._admission.profile(caller).name, 0)
        if not most:
            return
        now_s = int(self._wall())
        opened = await self._note_opened(caller.person, table)
        if len(opened) <= most:
            return
        lines = await self._directory.lines()
        over = []
        for name, at_s in opened.items():
            line = lines.get(name)
            is_over = at_s < now_s - OPENING_S if line is None else line.phase in OVER
            if is_over and name != table:
                over.append(name)
        if len(opened) - len(over) > most:
            over.append(table)
        await self._store.tables_over(caller.person, over)
        if table in over:
            raise Refused(Refusal.TABLE_LIMIT, max=most)

    async def start_table(
        self, caller: Caller, request: lobby_pb2.StartTableRequest
    ) -> lobby_pb2.StartTableResponse:
        table = parse_table(request.table, self._shards)
        request_bytes = request_id(caller, request.request_id, needed=False)
        await self._ask(table, commands.Start(request_bytes, content_hash(b"start"), caller.person))
        return lobby_pb2.StartTableResponse()

    async def rotate_invite(
        self, caller: Caller, request: lobby_pb2.RotateInviteRequest
    ) -> lobby_pb2.RotateInviteResponse:
        """A new code; all earlier ones are worthless. A repeat is shown the same one, until the
        next is made."""
        line = await self._line(caller, request.table)
        if line.visibility != Visibility.PRIVATE:
            raise Refused.field("table", "only a private table has an invite code")
        table = line.table
        request_bytes = request_id(caller, request.request_id, needed=False)
        invite = self._tokens.invite_code(table, request_bytes)
        command = commands.RotateInvite(
            request_bytes, content_hash(b"rotate"), caller.person, invite_digest(invite)
        )
        await self._ask(table, command)
        line = await self._line(caller, request.table)
        return lobby_pb2.RotateInviteResponse(
            invite_code=self._tokens.invite_code_again(table, request_bytes, line.invite_hash)
        )

    async def remove_seat(
        self, caller: Caller, request: lobby_pb2.RemoveSeatRequest
    ) -> lobby_pb2.RemoveSeatResponse:
        table = (await self._line(caller, request.table)).table
        seat = seat_number(request.seat)
        reason = checked_reason(request.reason, "reason", 0)
        request_bytes = request_id(caller, request.request_id, needed=False)
        meant = parse_person(request.person, bots=True) if request.person else ""
        content = content_hash(f"remove {seat} {meant} {reason}".encode())
        command = commands.RemoveSeat(
            request_bytes, content, caller.person, seat, reason, "", meant
        )
        await self._ask(table, command)
        return lobby_pb2.RemoveSeatResponse()
