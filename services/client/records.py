"""Games afterwards: one's own, and any that one may see.

async for game in exchange.records.games():
    async for seen in exchange.records.events(game.name):
        ...
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from pit.v1 import record_pb2, record_pb2_grpc

PAGE_SIZE: Final = 100

Call = Callable[[Any, Any], Awaitable[Any]]
"""What `Exchange` makes short calls with."""


class Records:
    """`RecordService`. Every method raises `Refused`."""

    def __init__(self, call: Call) -> None:
        self._call = call

    async def list_games(self, page_token: str = "") -> record_pb2.ListGamesResponse:
        """A page of our own games, newest first, running ones too."""
        request = record_pb2.ListGamesRequest(page_size=PAGE_SIZE, page_token=page_token)
        found: record_pb2.ListGamesResponse = await self._call(
            lambda channel: record_pb2_grpc.RecordServiceStub(channel).ListGames, request
        )
        return found

    async def get_game(self, name: str, after_seq: int = 0) -> record_pb2.GetGameResponse:
        """A game as it is now, and a page of its events after `after_seq`."""
        request = record_pb2.GetGameRequest(name=name, after_seq=after_seq)
        found: record_pb2.GetGameResponse = await self._call(
            lambda channel: record_pb2_grpc.RecordServiceStub(channel).GetGame, request
        )
        return found

    async def games(self) -> AsyncIterator[record_pb2.Game]:
        """All our own games, newest first."""
        page = await self.list_games()
        while True:
            for game in page.games:
                yield game
            if not page.next_page_token:
                return
            page = await self.list_games(page.next_page_token)

    async def events(self, name: str, after_seq: int = 0) -> AsyncIterator[record_pb2.SeenEvent]:
        """What happened after `after_seq`, up to now."""
        while True:
            page = await self.get_game(name, after_seq)
            for seen in page.events:
                yield seen
            if not page.HasField("next_after_seq"):
                return
            after_seq = page.next_after_seq
