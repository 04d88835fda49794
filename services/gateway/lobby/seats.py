"""Sitting down, and one's own seats."""

from typing import Final

from google.protobuf.duration_pb2 import Duration
from pit.v1 import lobby_pb2

from engine import commands
from engine.commands import NOBODY
from engine.rejections import Rejection
from engine.rules import PRESETS
from engine.shown import Phase
from services.gateway.convert.commands import content_hash
from services.gateway.errors import Refusal, Refused
from services.gateway.identity.limits import TRANSFER_CODE_S
from services.gateway.identity.tokens import INVITE_CHARACTERS_MAX, INVITE_RULE, invite_digest
from services.gateway.lobby.checks import derived_id, listed, matches, request_id, seat_number
from services.gateway.lobby.limits import QUICK_KEPT_S, QUICK_TRIES_MAX
from services.gateway.lobby.tables import Tables
from services.gateway.resource_names import parse_table, table_name
from services.gateway.session.roles import Caller, Role, SeatClaim
from services.log import keys

QUICK_PRESET: Final = "classic"
QUICK_SEATS: Final = 4


class Seats(Tables):
    async def join_table(
        self, caller: Caller, request: lobby_pb2.JoinTableRequest
    ) -> lobby_pb2.JoinTableResponse:
        wish = seat_number(request.seat) if request.HasField("seat") else NOBODY
        request_bytes = request_id(caller, request.request_id, needed=False)
        match request.WhichOneof("where"):
            case "table":
                table = parse_table(request.table, self._shards)
                seat, token = await self._join(caller, table, request_bytes, wish, b"")
            case "invite_code":
                table, invite_hash = self._invited(request.invite_code)
                self._admission.invite(caller)
                try:
                    seat, token = await self._join(caller, table, request_bytes, wish, invite_hash)
                except Refused as refused:
                    if refused.why is Rejection.TABLE_NOT_FOUND:
                        self._admission.wrong_invite(caller)
                    raise
            case _:
                raise Refused.field("where", "a table or an invite code")
        return lobby_pb2.JoinTableResponse(
            table=await self._table(table), seat=seat, seat_token=token
        )

    def _invited(self, code: str) -> tuple[str, bytes]:
        table, dash, _ = code.partition("-")
        if len(code) > INVITE_CHARACTERS_MAX or not dash:
            raise Refused.field("invite_code", INVITE_RULE)
        try:
            parsed = parse_table("tables/" + table, self._shards, "invite_code")
        except Refused:
            raise Refused.field("invite_code", INVITE_RULE) from None
        return parsed, invite_digest(code)

    async def _join(
        self, caller: Caller, table: str, request_bytes: bytes, wish: int, invite_hash: bytes
    ) -> tuple[int, str]:
        content = content_hash(b"join %d " % wish + invite_hash)
        command = commands.Join(request_bytes, content, caller.person, wish, invite_hash)
        seat = (await self._ask(table, command)).seat
        claim = SeatClaim(caller.person, table, seat, bot=False)
        return seat, self._tokens.seat(claim)

    # -------------------------------------------------------------- any table

    async def quick_join(
        self, caller: Caller, request: lobby_pb2.QuickJoinRequest
    ) -> lobby_pb2.QuickJoinResponse:
        """A repeat looks first where the request has looked last: it may sit there."""
        if request.preset and request.preset not in PRESETS:
            raise Refused.field("preset", "one of " + ", ".join(PRESETS))
        request_bytes = request_id(caller, request.request_id, needed=False)
        looked_at = keys.quick_seat(request_bytes.hex())
        before = await self._store.noted(looked_at)
        tables = [before] if before else []
        tables += await self._fitting(request.preset)
        for table in tables[:QUICK_TRIES_MAX]:
            try:
                return await self._quick_seat(caller, table, request_bytes)
            except Refused as refused:
                if refused.why is Refusal.TABLE_UNAVAILABLE:
                    raise
        created = await self.create_table(
            caller,
            lobby_pb2.CreateTableRequest(
                request_id=request_bytes,
                display_name=request.preset or QUICK_PRESET,
                preset=request.preset or QUICK_PRESET,
                seats=QUICK_SEATS,
                bots=True,
            ),
        )
        table = parse_table(created.table.name, self._shards)
        return await self._quick_seat(caller, table, request_bytes)

    async def _fitting(self, preset: str) -> list[str]:
        """Tables with a free seat, the fullest first. Read anew: two who come together are to
        meet."""
        wanted = lobby_pb2.TableFilter(preset=preset, joinable=True)
        lines = (await self._directory.lines(age_max_s=0)).values()
        fitting = [line for line in lines if listed(line) and matches(line, wanted)]
        fitting.sort(key=lambda line: (-sum(map(bool, line.persons)), line.table))
        return [line.table for line in fitting]

    async def _quick_seat(
        self, caller: Caller, table: str, request_bytes: bytes
    ) -> lobby_pb2.QuickJoinResponse:
        await self._store.note(keys.quick_seat(request_bytes.hex()), table, QUICK_KEPT_S)
        here = derived_id(request_bytes + table.encode())
        seat, token = await self._join(caller, table, here, NOBODY, b"")
        return lobby_pb2.QuickJoinResponse(
            table=await self._table(table), seat=seat, seat_token=token
        )

    # -------------------------------------------------------------- one's own

    async def list_my_seats(
        self, caller: Caller, request: lobby_pb2.ListMySeatsRequest
    ) -> lobby_pb2.ListMySeatsResponse:
        """With a fresh seat token for each: what a person needs who has lost everything else.
        Read anew, so that who has just sat down or left finds it so."""
        lines = await self._directory.lines(age_max_s=0)
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

    async def leave_table(
        self, caller: Caller, request: lobby_pb2.LeaveTableRequest
    ) -> lobby_pb2.LeaveTableResponse:
        table = parse_table(request.table, self._shards)
        request_bytes = request_id(caller, request.request_id, needed=False)
        await self._ask(table, commands.Leave(request_bytes, content_hash(b"leave"), caller.person))
        return lobby_pb2.LeaveTableResponse()

    async def create_transfer_code(
        self, caller: Caller, request: lobby_pb2.CreateTransferCodeRequest
    ) -> lobby_pb2.CreateTransferCodeResponse:
        if caller.role is not Role.PLAYER:
            raise Refused(Refusal.ROLE_NOT_ALLOWED, role=Role.PLAYER.value)
        line = await self._line(caller, request.table)
        if caller.person not in line.persons:
            raise Refused(Rejection.NOT_SEATED)
        seat = line.persons.index(caller.person)
        code = await self._transfers.create(SeatClaim(caller.person, line.table, seat, bot=False))
        return lobby_pb2.CreateTransferCodeResponse(
            code=code, expires_in=Duration(seconds=TRANSFER_CODE_S)
        )

    async def redeem_transfer_code(
        self, request: lobby_pb2.RedeemTransferCodeRequest, address: str
    ) -> lobby_pb2.RedeemTransferCodeResponse:
        return await self._transfers.redeem(request, address)
