"""A table's answer to an act. Of one that has closed since, its record has the answer."""

from typing import Final

from engine.commands import RequestCommand
from engine.events import RequestAnswered
from engine.rejections import Rejection
from services.archive.source import Game
from services.gateway.errors import Refused
from services.gateway.hub import Hub
from services.gateway.records.reader import GameReader
from services.gateway.session.limits import Rank
from services.log.codec import Undecodable, unpack_record

NOBODY_THERE: Final = Rejection.TABLE_NOT_FOUND
"""A closed table leaves memory, and what it remembered of requests goes with it."""


class Answers:
    def __init__(self, hub: Hub, games: GameReader) -> None:
        self._hub = hub
        self._games = games

    async def ask(self, table: str, command: RequestCommand) -> RequestAnswered:
        """Raises `Refused`, with the table's rejection where it gave one, now or before."""
        try:
            return await self._hub.ask(table, command, Rank.FIRST)
        except Refused as refused:
            answer = None
            if refused.why is NOBODY_THERE:
                answer = await self.recorded(table, command.request)
            if answer is None:
                raise
        if answer.content != command.content:
            raise Refused(Rejection.REQUEST_REUSED)
        if answer.rejection:
            raise Refused.by_table(answer.rejection, answer.parameters)
        return answer

    async def recorded(self, table: str, request: bytes) -> RequestAnswered | None:
        """What the table's record says became of a request. Raises `Refused` where it cannot be
        read just now."""
        game = await self._games.game(table)
        return await self._games.in_thread(lambda: _answer_in(game, request))


def _answer_in(game: Game, request: bytes) -> RequestAnswered | None:
    for kept in game.records:
        if request in kept.record:  # as it stands there: most records need not be read
            try:
                items = unpack_record(game.name, kept.record).items
            except Undecodable:
                continue
            for item in items:
                if isinstance(item, RequestAnswered) and item.kept and item.request == request:
                    return item
    return None
