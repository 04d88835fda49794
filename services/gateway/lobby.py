"""`LobbyService`: finding a table and sitting down.

Whatever changes a table goes through its log as a command with a request id, and is answered when
the table has answered; lists are read from the shards' lobby lines.
"""

import base64
import secrets
from collections.abc import Iterable, Mapping
from hashlib import blake2b, sha256
from typing import Final

from pit.v1 import lobby_pb2

from engine import commands
from engine.commands import NOBODY, AbsentPolicy, RequestCommand, Visibility
from engine.events import RequestAnswered
from engine.rejections import Rejection
from engine.rules import PRESETS
from engine.shown import Phase
from services.gateway.admission import Admission
from services.gateway.convert.commands import content_hash
from services.gateway.convert.rules import rule_set_message, rules_asked_for
from services.gateway.convert.tables import table_message
from services.gateway.directory import Directory
from services.gateway.errors import Refusal, Refused
from services.gateway.hub import Hub
from services.gateway.identity.tokens import SignedTokens
from services.gateway.names import NameBook, checked_name
from services.gateway.resource_names import parse_table, table_id, table_name
from services.gateway.session.limits import Rank
from services.gateway.session.roles import Caller, Role, SeatClaim
from services.log.codec import LobbyLine, pack_command

PAGE_SIZE: Final = 50
PAGE_SIZE_MAX: Final = 100
REQUEST_ID_BYTES: Final = 16
QUICK_PRESET: Final = "classic"
QUICK_SEATS: Final = 4
QUICK_TRIES_MAX: Final = 4
"""Tables fill up while one looks; after so many, open a new one."""
INVITE_CHARACTERS_MAX: Final = 64
RANKS: Final[Mapping[type[RequestCommand], Rank]] = {
    commands.OpenTable: Rank.OPENING,
    commands.Leave: Rank.FIRST,
}
SEAT_MAX: Final = 31
"""Beyond any table; a larger number is no seat whatever the rules."""


class LobbyService:
    def __init__(
        self,
        hub: Hub,
        directory: Directory,
        tokens: SignedTokens,
        names: NameBook,
        admission: Admission,
    ) -> None:
        self._admission = admission
        self._hub = hub
        self._directory = directory
        self._tokens = tokens
        self._names = names
        self._shards = hub.shards

    # -------------------------------------------------------------- reading

    async def list_rules(
        self, caller: Caller, request: lobby_pb2.ListRulesRequest
    ) -> lobby_pb2.ListRulesResponse:
        rule_sets = [rule_set_message(rules) for rules in PRESETS.values()]
        return lobby_pb2.ListRulesResponse(rule_sets=rule_sets)

    async def list_tables(
        self, caller: Caller, request: lobby_pb2.ListTablesRequest
    ) -> lobby_pb2.ListTablesResponse:
        size = page_size(request.page_size)
        after = _page_start(request.page_token)
        lines = await self._directory.lines()
        found = sorted(
            line.table
            for line in lines.values()
            if line.table > after and _listed(line) and _matches(line, request.filter)
        )
        page = [lines[table] for table in found[:size]]
        await self._learn_names(page)
        return lobby_pb2.ListTablesResponse(
            tables=[table_message(line, self._names) for line in page],
            next_page_token=_page_token(found[size - 1]) if len(found) > size else "",
        )

    async def get_table(
        self, caller: Caller, request: lobby_pb2.GetTableRequest
    ) -> lobby_pb2.GetTableResponse:
        line = await self._directory.line(parse_table(request.name, self._shards, "name"))
        if line is None or not _may_see(line, caller):
            raise Refused(Rejection.TABLE_NOT_FOUND)
        await self._learn_names([line])
        return lobby_pb2.GetTableResponse(
            table=table_message(line, self._names), rule_set=rule_set_message(line.rules)
        )

    # -------------------------------------------------------------- tables and seats

    async def create_table(
        self, caller: Caller, request: lobby_pb2.CreateTableRequest
    ) -> lobby_pb2.CreateTableResponse:
        request_id = _request_id(caller, request.request_id, needed=True)
        table = table_id(caller.person, request_id, self._shards)
        visibility = request.visibility or Visibility.PUBLIC
        private = visibility == Visibility.PRIVATE
        invite = self._tokens.invite_code(table) if private else ""
        if request.for_bots and caller.role is Role.PLAYER:
            raise Refused(Refusal.ROLE_NOT_ALLOWED, role=Role.BOT.value)
        rules = rules_asked_for(request.preset, request.switches)
        if not rules.seats_min <= request.seats <= rules.seats_max:
            raise Refused(Rejection.SEATS_RANGE, min=rules.seats_min, max=rules.seats_max)
        command = commands.OpenTable(
            request_id,
            content_hash(request.SerializeToString(deterministic=True)),
            caller.person,
            rules,
            request.seats,
            checked_name(request.display_name, "display_name"),
            _member(Visibility, visibility, "visibility"),
            _member(AbsentPolicy, request.absent_policy or AbsentPolicy.BOT, "absent_policy"),
            request.bots,
            request.for_bots,
            sha256(invite.encode()).digest() if private else b"",
        )
        await self._ask(table, command)
        return lobby_pb2.CreateTableResponse(table=await self._table(table), invite_code=invite)

    async def join_table(
        self, caller: Caller, request: lobby_pb2.JoinTableRequest
    ) -> lobby_pb2.JoinTableResponse:
        match request.WhichOneof("where"):
            case "table":
                table, invite_hash = parse_table(request.table, self._shards), b""
            case "invite_code":
                table, invite_hash = self._invited(request.invite_code)
            case _:
                raise Refused.field("where", "a table or an invite code")
        wish = NOBODY
        if request.HasField("seat"):
            wish = request.seat
            if not 0 <= wish <= SEAT_MAX:
                raise Refused(Rejection.SEAT_RANGE)
        request_id = _request_id(caller, request.request_id, needed=False)
        seat, token = await self._join(caller, table, request_id, wish, invite_hash)
        return lobby_pb2.JoinTableResponse(
            table=await self._table(table), seat=seat, seat_token=token
        )

    async def quick_join(
        self, caller: Caller, request: lobby_pb2.QuickJoinRequest
    ) -> lobby_pb2.QuickJoinResponse:
        if request.preset and request.preset not in PRESETS:
            raise Refused.field("preset", "one of " + ", ".join(PRESETS))
        wanted = lobby_pb2.TableFilter(preset=request.preset, joinable=True)
        lines = (await self._directory.lines()).values()
        fitting = [line for line in lines if _listed(line) and _matches(line, wanted)]
        fitting.sort(key=lambda line: (-sum(map(bool, line.persons)), line.table))
        for line in fitting[:QUICK_TRIES_MAX]:
            try:
                return await self._quick_seat(caller, line.table)
            except Refused as refused:
                if refused.why is Refusal.TABLE_UNAVAILABLE:
                    raise
        created = await self.create_table(
            caller,
            lobby_pb2.CreateTableRequest(
                request_id=secrets.token_bytes(REQUEST_ID_BYTES),
                display_name=request.preset or QUICK_PRESET,
                preset=request.preset or QUICK_PRESET,
                seats=QUICK_SEATS,
                bots=True,
            ),
        )
        return await self._quick_seat(caller, parse_table(created.table.name, self._shards))

    async def _quick_seat(self, caller: Caller, table: str) -> lobby_pb2.QuickJoinResponse:
        request_id = secrets.token_bytes(REQUEST_ID_BYTES)
        seat, token = await self._join(caller, table, request_id, NOBODY, b"")
        return lobby_pb2.QuickJoinResponse(
            table=await self._table(table), seat=seat, seat_token=token
        )

    async def leave_table(
        self, caller: Caller, request: lobby_pb2.LeaveTableRequest
    ) -> lobby_pb2.LeaveTableResponse:
        table = parse_table(request.table, self._shards)
        request_id = _request_id(caller, request.request_id, needed=False)
        await self._ask(table, commands.Leave(request_id, content_hash(b"leave"), caller.person))
        return lobby_pb2.LeaveTableResponse()

    async def start_table(
        self, caller: Caller, request: lobby_pb2.StartTableRequest
    ) -> lobby_pb2.StartTableResponse:
        table = parse_table(request.table, self._shards)
        request_id = _request_id(caller, request.request_id, needed=False)
        await self._ask(table, commands.Start(request_id, content_hash(b"start"), caller.person))
        return lobby_pb2.StartTableResponse()

    # -------------------------------------------------------------- one's own seats and tables

    async def list_my_seats(
        self, caller: Caller, request: lobby_pb2.ListMySeatsRequest
    ) -> lobby_pb2.ListMySeatsResponse:
        """With a fresh seat token for each: what a person needs who has lost everything else."""
        lines = await self._directory.lines()
        found = sorted(
            (line.table, seat)
            for line in lines.values()
            if line.phase != Phase.CLOSED
            for seat, person in enumerate(line.persons)
            if person == caller.person
        )
        return lobby_pb2.ListMySeatsResponse(
            seats=[
                lobby_pb2.MySeat(
                    table=table_name(table),
                    seat=seat,
                    seat_token=self._tokens.seat(SeatClaim(caller.person, table, seat, bot=False)),
                )
                for table, seat in found
            ]
        )

    async def rotate_invite(
        self, caller: Caller, request: lobby_pb2.RotateInviteRequest
    ) -> lobby_pb2.RotateInviteResponse:
        """A new code; all earlier ones are worthless. A repeat is shown the same one."""
        table = await self._seen(caller, request.table)
        request_id = _request_id(caller, request.request_id, needed=False)
        invite = self._tokens.invite_code(table, request_id)
        command = commands.RotateInvite(
            request_id, content_hash(b"rotate"), caller.person, sha256(invite.encode()).digest()
        )
        await self._ask(table, command)
        return lobby_pb2.RotateInviteResponse(invite_code=invite)

    async def remove_seat(
        self, caller: Caller, request: lobby_pb2.RemoveSeatRequest
    ) -> lobby_pb2.RemoveSeatResponse:
        table = await self._seen(caller, request.table)
        if not 0 <= request.seat <= SEAT_MAX:
            raise Refused(Rejection.SEAT_RANGE)
        request_id = _request_id(caller, request.request_id, needed=False)
        content = content_hash(b"remove %d" % request.seat)
        command = commands.RemoveSeat(request_id, content, caller.person, request.seat, "", "")
        await self._ask(table, command)
        return lobby_pb2.RemoveSeatResponse()

    # -------------------------------------------------------------- helpers

    async def _join(
        self, caller: Caller, table: str, request_id: bytes, wish: int, invite_hash: bytes
    ) -> tuple[int, str]:
        content = content_hash(b"join %d " % wish + invite_hash)
        command = commands.Join(request_id, content, caller.person, wish, invite_hash)
        seat = (await self._ask(table, command)).seat
        claim = SeatClaim(caller.person, table, seat, bot=False)
        return seat, self._tokens.seat(claim)

    async def _ask(self, table: str, command: RequestCommand) -> RequestAnswered:
        """The table's answer. Raises `Refused` with its rejection."""
        rank = RANKS.get(type(command), Rank.TRADING)
        answer = await self._hub.request(table, command.request, pack_command(command), rank)
        if answer.rejection:
            raise Refused.by_table(answer.rejection, answer.parameters)
        return answer

    async def _seen(self, caller: Caller, name: str) -> str:
        """The id of a table that the caller may know of. Raises `Refused`."""
        table = parse_table(name, self._shards)
        line = await self._directory.line(table)
        if line is None or not _may_see(line, caller):
            raise Refused(Rejection.TABLE_NOT_FOUND)
        return table

    async def _table(self, table: str) -> lobby_pb2.Table | None:
        line = await self._directory.line(table)
        if line is None:
            return None
        await self._learn_names([line])
        return table_message(line, self._names)

    async def _learn_names(self, lines: Iterable[LobbyLine]) -> None:
        unknown = self._names.unknown(person for line in lines for person in line.persons if person)
        if unknown:
            await self._names.learn(unknown)

    def _invited(self, code: str) -> tuple[str, bytes]:
        table, dash, _ = code.partition("-")
        if len(code) > INVITE_CHARACTERS_MAX or not dash:
            raise Refused.field("invite_code", "as it was given")
        return (
            parse_table("tables/" + table, self._shards, "invite_code"),
            sha256(code.encode()).digest(),
        )


def _member(kind: type[Visibility] | type[AbsentPolicy], number: int, field: str) -> int:
    if number not in kind._value2member_map_:
        raise Refused.field(field, "no such value")
    return number


def _request_id(caller: Caller, given: bytes, *, needed: bool) -> bytes:
    """Each person's own: the same bytes from somebody else are another request."""
    if not given and not needed:
        return secrets.token_bytes(REQUEST_ID_BYTES)
    if len(given) != REQUEST_ID_BYTES:
        raise Refused.field("request_id", f"{REQUEST_ID_BYTES} bytes")
    return blake2b(caller.person.encode() + given, digest_size=REQUEST_ID_BYTES).digest()


def page_size(asked: int) -> int:
    """Entries of one page of a list. Raises `Refused`."""
    if not 0 <= asked <= PAGE_SIZE_MAX:
        raise Refused.field("page_size", f"0 to {PAGE_SIZE_MAX}")
    return asked or PAGE_SIZE


def _page_token(table: str) -> str:
    return base64.urlsafe_b64encode(table.encode()).decode()


def _page_start(token: str) -> str:
    try:
        start = base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode("ascii")
    except ValueError:
        raise Refused.field("page_token", "as it was given") from None
    if start and not (len(start) == 22 and start.isalnum()):
        raise Refused.field("page_token", "as it was given")
    return start


def _listed(line: LobbyLine) -> bool:
    return line.visibility == Visibility.PUBLIC and line.phase != Phase.CLOSED


def _may_see(line: LobbyLine, caller: Caller) -> bool:
    """A private table does not exist for those who neither own it nor sit there."""
    return (
        line.visibility != Visibility.PRIVATE
        or caller.person == line.owner
        or caller.person in line.persons
    )


def _matches(line: LobbyLine, wanted: lobby_pb2.TableFilter) -> bool:
    if wanted.preset and line.preset != wanted.preset:
        return False
    if not wanted.joinable:
        return True
    return line.phase == Phase.SEATING and not line.for_bots and not all(line.persons)
