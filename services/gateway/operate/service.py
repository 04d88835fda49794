"""`OperateService`, put together. Served on the internal port only."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from google.protobuf.message import Message
from pit.v1 import operate_pb2

from services.gateway.gateway import Gateway
from services.gateway.lobby.checks import given_id
from services.gateway.methods import Method, Stream, Unary, complete
from services.gateway.operate.answers import Answers
from services.gateway.operate.desk import Desk, check_operator
from services.gateway.operate.event_tables import EventTables
from services.gateway.operate.exchange import ExchangeActs
from services.gateway.operate.export import Exports
from services.gateway.operate.people import PeopleActs
from services.gateway.operate.store import RedisOperateStore
from services.gateway.operate.tables import TableActs
from services.gateway.session.roles import Caller

FILES: Final = (operate_pb2.DESCRIPTOR,)


def operate_methods(gateway: Gateway, store: RedisOperateStore, store_id: str) -> dict[str, Method]:
    """All methods of the internal port by path, each for operators alone."""
    desk = Desk(store, gateway.name_book)
    tables = TableActs(
        gateway.hub,
        gateway.directory,
        gateway.name_book,
        desk,
        Answers(gateway.hub, gateway.games),
    )
    events = EventTables(gateway.hub, desk, gateway.wall_s)
    people = PeopleActs(store, desk, tables, gateway.wall_s)
    exchange = ExchangeActs(store, desk, gateway.directory, gateway.shards)
    served: dict[str, tuple[type[Message], Callable[[Caller, Any], Awaitable[Message]]]] = {
        "ListShards": (operate_pb2.ListShardsRequest, exchange.list_shards),
        "DrainShard": (operate_pb2.DrainShardRequest, exchange.drain_shard),
        "GetMaintenance": (operate_pb2.GetMaintenanceRequest, exchange.get_maintenance),
        "SetMaintenance": (operate_pb2.SetMaintenanceRequest, exchange.set_maintenance),
        "Announce": (operate_pb2.AnnounceRequest, tables.announce),
        "ListAllTables": (operate_pb2.ListAllTablesRequest, tables.list_all),
        "CreateTables": (operate_pb2.CreateTablesRequest, events.create),
        "FreezeTable": (operate_pb2.FreezeTableRequest, tables.freeze),
        "ResumeTable": (operate_pb2.ResumeTableRequest, tables.resume),
        "VoidRound": (operate_pb2.VoidRoundRequest, tables.void_round),
        "AdjustScore": (operate_pb2.AdjustScoreRequest, tables.adjust_score),
        "CloseTable": (operate_pb2.CloseTableRequest, tables.close),
        "FindPerson": (operate_pb2.FindPersonRequest, people.find),
        "RemovePerson": (operate_pb2.RemovePersonRequest, tables.remove_person),
        "BanPerson": (operate_pb2.BanPersonRequest, people.ban),
        "RenamePerson": (operate_pb2.RenamePersonRequest, people.rename),
        "ListDeadLetters": (operate_pb2.ListDeadLettersRequest, exchange.list_dead_letters),
        "ListAudit": (operate_pb2.ListAuditRequest, exchange.list_audit),
    }
    methods: dict[str, Method] = {
        f"OperateService/{name}": Unary(request, _ForOperators(answer))
        for name, (request, answer) in served.items()
    }
    exports = Exports(gateway.games, gateway.name_book, desk, gateway.shards, store_id)
    methods["OperateService/ExportGame"] = Stream(operate_pb2.ExportGameRequest, exports.export)
    return complete(FILES, methods)


class _ForOperators:
    """A method that a caller of any other role is refused."""

    def __init__(self, answer: Callable[[Caller, Any], Awaitable[Message]]) -> None:
        self._answer = answer

    async def __call__(self, caller: Caller, request: Any) -> Message:
        check_operator(caller)
        # A field that is wrong is told whatever the state, so before anything is looked up.
        given_id(getattr(request, "request_id", b""), needed=False)
        return await self._answer(caller, request)
