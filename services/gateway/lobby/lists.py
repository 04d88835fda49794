"""Looking at tables and rules."""

from pit.v1 import lobby_pb2

from engine.rules import PRESETS
from services.gateway.convert.rules import rule_set_message
from services.gateway.convert.tables import table_message
from services.gateway.lobby.checks import listed, matches, page_size, page_start, page_token
from services.gateway.lobby.desk import Desk
from services.gateway.session.roles import Caller


class Lists(Desk):
    async def list_rules(
        self, caller: Caller, request: lobby_pb2.ListRulesRequest
    ) -> lobby_pb2.ListRulesResponse:
        rule_sets = [rule_set_message(rules) for rules in PRESETS.values()]
        return lobby_pb2.ListRulesResponse(rule_sets=rule_sets)

    async def list_tables(
        self, caller: Caller, request: lobby_pb2.ListTablesRequest
    ) -> lobby_pb2.ListTablesResponse:
        size = page_size(request.page_size)
        after = page_start(request.page_token)
        lines = await self._directory.lines()
        found = sorted(
            line.table
            for line in lines.values()
            if line.table > after and listed(line) and matches(line, request.filter)
        )
        page = [lines[table] for table in found[:size]]
        await self._learn_names(page)
        return lobby_pb2.ListTablesResponse(
            tables=[table_message(line, self._names) for line in page],
            next_page_token=page_token(found[size - 1]) if len(found) > size else "",
        )

    async def get_table(
        self, caller: Caller, request: lobby_pb2.GetTableRequest
    ) -> lobby_pb2.GetTableResponse:
        line = await self._line(caller, request.name, "name")
        await self._learn_names([line])
        return lobby_pb2.GetTableResponse(
            table=table_message(line, self._names), rule_set=rule_set_message(line.rules)
        )
