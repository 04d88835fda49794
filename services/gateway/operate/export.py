"""`ExportGame`: a game's records as a file, from archive and live log alike."""

from collections.abc import AsyncGenerator
from typing import Final

from pit.v1 import operate_pb2

from engine.rejections import Rejection
from services.archive.exported import file_of
from services.archive.summary import summary_of
from services.gateway.errors import Refused
from services.gateway.lobby.checks import given_id
from services.gateway.names import NameBook
from services.gateway.operate.desk import Desk, check_operator, optional_reason
from services.gateway.records.reader import GameReader
from services.gateway.records.told import game_message
from services.gateway.resource_names import parse_table
from services.gateway.session.roles import Caller

PIECE_BYTES: Final = 64 * 1024
"""A few frames of the transport; a game of hours has some hundred of them."""


class Exports:
    def __init__(
        self, reader: GameReader, names: NameBook, desk: Desk, shards: int, store_id: str
    ) -> None:
        self._reader = reader
        self._names = names
        self._desk = desk
        self._shards = shards
        self._store_id = store_id

    async def export(
        self, caller: Caller, request: operate_pb2.ExportGameRequest
    ) -> AsyncGenerator[operate_pb2.ExportGameResponse, None]:
        """Of a game in play, too: its file then ends where the game is."""
        check_operator(caller)
        given_id(request.request_id, needed=False)
        reason = optional_reason(request.reason)
        table = parse_table(request.game, self._shards, "game")
        game = await self._reader.game(table)
        if not game.content and not game.records:
            raise Refused(Rejection.TABLE_NOT_FOUND)
        async with self._desk.act(caller, "export", request.game, reason, request.request_id):
            summary = await self._reader.in_thread(lambda: summary_of(game))
            await self._names.learn_all(person for person in summary.persons if person)
            content = await self._reader.in_thread(lambda: file_of(game, self._store_id))
        yield operate_pb2.ExportGameResponse(game=game_message(summary, self._names))
        for start in range(0, len(content), PIECE_BYTES):
            yield operate_pb2.ExportGameResponse(record=content[start : start + PIECE_BYTES])
