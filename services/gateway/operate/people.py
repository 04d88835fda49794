"""What operators do about persons: find, ban, rename. Names and bans live outside the log."""

from collections.abc import Callable
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from pit.v1 import operate_pb2

from services.gateway.errors import Refusal, Refused
from services.gateway.names import NAME_CHARACTERS_MAX, checked_name
from services.gateway.operate.desk import EVER_S, Desk, needed_reason
from services.gateway.operate.orders import Ban
from services.gateway.operate.store import RedisOperateStore
from services.gateway.operate.tables import TableActs
from services.gateway.resource_names import parse_person, person_name
from services.gateway.session.roles import Caller

FOUND_MAX: Final = 50
"""More are not looked at one by one: ask for more of the name."""


class PeopleActs:
    def __init__(
        self,
        store: RedisOperateStore,
        desk: Desk,
        tables: TableActs,
        wall: Callable[[], float],
    ) -> None:
        self._store = store
        self._desk = desk
        self._tables = tables
        self._wall = wall

    async def find(
        self, caller: Caller, request: operate_pb2.FindPersonRequest
    ) -> operate_pb2.FindPersonResponse:
        query = request.query
        if not 1 <= len(query) <= NAME_CHARACTERS_MAX:
            rule = f"people/{{person}} or 1 to {NAME_CHARACTERS_MAX} characters of a name"
            raise Refused.field("query", rule)
        if query.startswith("people/"):
            person = parse_person(query, "query")
            name = await self._store.name(person)
            found = {} if name is None else {person: name}
        else:
            found = await self._store.people_named(query, FOUND_MAX)
        seated, bans = await self._tables.seated(), await self._store.bans()
        return operate_pb2.FindPersonResponse(
            people=[
                _person(person, name, seated.get(person, []), bans.get(person), self._wall())
                for person, name in found.items()
            ]
        )

    async def ban(
        self, caller: Caller, request: operate_pb2.BanPersonRequest
    ) -> operate_pb2.BanPersonResponse:
        reason = needed_reason(request.reason)
        person = parse_person(request.person)
        if not request.HasField("until") or not 0 <= request.until.seconds <= EVER_S:
            raise Refused.field("until", "when the ban ends; a time in the past lifts it")
        until_s = request.until.seconds
        await self._known_name(person)
        act = self._desk.act(
            caller, "ban", request.person, reason, request.request_id, until=until_s
        )
        async with act:
            now_s = self._wall()
            bans = await self._store.bans()
            if until_s > now_s:
                await self._store.ban(person, Ban(until_s, reason))
            over = {each for each, ban in bans.items() if ban.until_s <= now_s} - {person}
            if until_s <= now_s:
                over.add(person)
            if over:
                await self._store.lift_bans(over)
        return operate_pb2.BanPersonResponse()

    async def rename(
        self, caller: Caller, request: operate_pb2.RenamePersonRequest
    ) -> operate_pb2.RenamePersonResponse:
        reason = needed_reason(request.reason)
        person = parse_person(request.person)
        name = checked_name(request.display_name, "display_name")
        before = await self._known_name(person)
        act = self._desk.act(
            caller, "rename", request.person, reason, request.request_id, before=before, now=name
        )
        async with act:
            await self._store.rename(person, name)
        return operate_pb2.RenamePersonResponse()

    async def _known_name(self, person: str) -> str:
        """Raises `Refused` where nobody has signed in as this person."""
        name = await self._store.name(person)
        if name is None:
            raise Refused(Refusal.PERSON_NOT_FOUND)
        return name


def _person(
    person: str, name: str, tables: list[str], ban: Ban | None, now_s: float
) -> operate_pb2.Person:
    found = operate_pb2.Person(name=person_name(person), display_name=name, tables=sorted(tables))
    if ban is not None and ban.until_s > now_s:
        found.banned = True
        found.banned_until.CopyFrom(Timestamp(seconds=ban.until_s))
        found.ban_reason = ban.reason
    return found
