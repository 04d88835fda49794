"""`CreateTables`: the tables of an event, all starting at one wall time."""

from collections.abc import Callable
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from pit.v1 import lobby_pb2, operate_pb2, table_pb2

from engine import commands
from services.gateway.errors import Refusal, Refused
from services.gateway.hub import Hub
from services.gateway.lobby.checks import derived_id, given_id, request_id
from services.gateway.lobby.tables import opening
from services.gateway.operate.desk import Desk
from services.gateway.operate.tables import ask_all
from services.gateway.resource_names import table_id, table_name
from services.gateway.session.limits import Rank
from services.gateway.session.roles import Caller

COUNT_MAX: Final = 500
"""Their names fill 14 KB: an answer stays as small as any other."""
START_WITHIN_S: Final = 30 * 24 * 3600
"""An hour further away is a wrong unit rather than a plan."""
LATE_S: Final = 60
"""Clocks differ, and a request may have been under way: so much is no mistake yet."""


class EventTables:
    def __init__(self, hub: Hub, desk: Desk, wall: Callable[[], float]) -> None:
        self._hub = hub
        self._desk = desk
        self._wall = wall

    async def create(
        self, caller: Caller, request: operate_pb2.CreateTablesRequest
    ) -> operate_pb2.CreateTablesResponse:
        """A repeat opens what is missing, and names the same tables."""
        given = given_id(request.request_id, needed=True)
        if not 1 <= request.count <= COUNT_MAX:
            raise Refused.field("count", f"1 to {COUNT_MAX}")
        start_at_s = _start_at_s(request, self._wall())
        if request.template.visibility == table_pb2.VISIBILITY_PRIVATE:
            raise Refused.field("template.visibility", "public or unlisted")
        try:
            opened = [
                self._one(caller, request.template, given, number, start_at_s)
                for number in range(request.count)
            ]
        except Refused as refused:
            if refused.why is not Refusal.INVALID_FIELD:
                raise
            field = refused.parameters["field"]
            raise Refused.field(f"template.{field}", refused.parameters["rule"]) from None
        act = self._desk.act(
            caller, "create-tables", "", "", given,
            count=request.count, start_at=start_at_s, name=request.template.display_name,
        )  # fmt: skip
        async with act:
            await ask_all(self._hub, opened, Rank.OPENING)
        return operate_pb2.CreateTablesResponse(tables=[table_name(table) for table, _ in opened])

    def _one(
        self,
        caller: Caller,
        template: lobby_pb2.CreateTableRequest,
        given: bytes,
        number: int,
        start_at_s: int,
    ) -> tuple[str, commands.OpenTable]:
        """The table with this number: wholly derived, so that a repeat finds it."""
        one = lobby_pb2.CreateTableRequest()
        one.CopyFrom(template)
        one.display_name = f"{template.display_name} {number + 1}".strip()
        of_one = request_id(caller, derived_id(b"%d " % number + given), needed=True)
        command = opening(caller.person, of_one, one, b"", start_at_s)
        return table_id(caller.person, command.request, self._hub.shards), command


def _start_at_s(request: operate_pb2.CreateTablesRequest, now_s: float) -> int:
    """0 for tables that their players start. Raises `Refused`."""
    if not request.HasField("start_at"):
        return 0
    start_at: Timestamp = request.start_at
    at_s = start_at.seconds + (start_at.nanos > 0)
    if not now_s - LATE_S <= at_s <= now_s + START_WITHIN_S:
        days = START_WITHIN_S // (24 * 3600)
        raise Refused.field("start_at", f"from now on, at most {days} days ahead")
    return at_s
