"""A gateway's records of scripted games: archive, log and service, without processes."""

import asyncio
from pathlib import Path
from typing import Any

from pit.v1 import record_pb2

from engine.events import Record
from services.gateway.directory import Directory
from services.gateway.identity.memory import MemoryPeopleStore
from services.gateway.names import NameBook
from services.gateway.records.reader import GameReader
from services.gateway.records.service import RecordService
from services.gateway.session.roles import Caller, Role
from services.log.codec import pack_lobby_line
from services.log.memory import MemoryGatewayLog
from services.matcher.lobby import lobby_line
from support.archiving import Archiving
from support.whole_game import GAME, WholeGame


def caller(person: str) -> Caller:
    return Caller(person, "sid", Role.PLAYER, 1e12)


class Recorded:
    """Games written to one shard, as far as a test wants them archived and trimmed."""

    def __init__(self, root: Path, *, archive: bool = True) -> None:
        self.root = root
        self.archiving = Archiving(root)
        self.store = self.archiving.store
        log = MemoryGatewayLog(self.store)
        self.reader = GameReader(root if archive else None, log)
        self.people = MemoryPeopleStore()
        self.directory = Directory(log, 1, iter(range(10**9)).__next__)
        self.service = RecordService(self.reader, self.directory, NameBook(self.people), 1)

    def close(self) -> None:
        self.reader.close()
        self.archiving.archive.close()

    def write(self, game: WholeGame, name: str = GAME, *, after: int = 0, up_to: int = -1) -> None:
        """Records of the game from the one after `after` to `up_to`, under a name of its own."""
        for now_ms, record in game.records[after : None if up_to < 0 else up_to]:
            self.archiving.writer.write(now_ms, Record(name, record.first_seq, record.items))

    def show_in_lobby(self, game: WholeGame, name: str = GAME) -> None:
        line = lobby_line(game.table)
        line.table = name  # type: ignore[misc]
        self.store.shard(0).lobby[name] = pack_lobby_line(line)

    def split(self, game: WholeGame, archived: int, *, trimmed: bool = False) -> None:
        """The first records are in the archive, the others in the log alone."""
        self.write(game, up_to=archived)
        self.archiving.copy()
        if trimmed:
            self.archiving.trim()
        self.write(game, after=archived)

    async def get(self, person: str, name: str = GAME, **fields: Any) -> record_pb2.GetGameResponse:
        request = record_pb2.GetGameRequest(name=f"tables/{name}", **fields)
        return await self.service.get_game(caller(person), request)

    async def list(self, person: str, **fields: Any) -> record_pb2.ListGamesResponse:
        return await self.service.list_games(caller(person), record_pb2.ListGamesRequest(**fields))

    async def whole(self, person: str, page_size: int = 0) -> record_pb2.GetGameResponse:
        """All pages put together."""
        found = await self.get(person, page_size=page_size)
        page = found
        while page.HasField("next_after_seq"):
            page = await self.get(person, after_seq=page.next_after_seq, page_size=page_size)
            found.events.extend(page.events)
        found.ClearField("next_after_seq")
        return found


def now(work: Any) -> Any:
    """The outcome of asynchronous work, in a test that is not."""
    return asyncio.run(work)
