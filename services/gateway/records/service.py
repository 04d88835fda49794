"""`RecordService`: one's own games, and what one may see of any."""

import re
from typing import Final

from pit.v1 import record_pb2

from engine.rejections import Rejection
from services.archive.index import NEWEST, Place
from services.archive.summary import Summary
from services.gateway.directory import Directory
from services.gateway.errors import Refused
from services.gateway.lobby.checks import page_size, page_start, page_token
from services.gateway.names import NameBook
from services.gateway.records.reader import GameReader
from services.gateway.records.told import (
    EVENTS_MAX,
    Told,
    game_message,
    may_see,
    seen_messages,
    tell,
)
from services.gateway.resource_names import parse_table
from services.gateway.session.roles import Caller
from services.log.codec import TABLE_ID

_PLACE: Final = re.compile(rf"[0-9]{{1,18}}\.{TABLE_ID.pattern}")
"""Log time, as many digits as the index can count, and a game."""
TABLES_AT_ONCE_MAX: Final = 16
"""Tables in play that are looked up one by one because the archive does not know of them yet:
twice as many as one stream shows."""


class RecordService:
    def __init__(
        self, reader: GameReader, directory: Directory, names: NameBook, shards: int
    ) -> None:
        self._reader = reader
        self._directory = directory
        self._names = names
        self._shards = shards

    async def list_games(
        self, caller: Caller, request: record_pb2.ListGamesRequest
    ) -> record_pb2.ListGamesResponse:
        size = page_size(request.page_size)
        after = _place(request.page_token)
        found = await self._reader.newest_of(caller.person, after, size + 1)
        found += await self._not_archived(caller.person, {summary.game for summary in found})
        found = [summary for summary in found if _is_behind(summary, after)]
        found.sort(key=lambda summary: (summary.start_ms, summary.game), reverse=True)
        page = found[:size]
        await self._names.learn_all(
            person for summary in page for person in summary.persons if person
        )
        return record_pb2.ListGamesResponse(
            games=[game_message(summary, self._names) for summary in page],
            next_page_token=_token(page[-1]) if len(found) > size else "",
        )

    async def _not_archived(self, person: str, known: set[str]) -> list[Summary]:
        """Games at which somebody sits now (a fifth of a second ago: see `Directory`), of which the
        archive does not say so yet. A table that is stopped hides no other."""
        lines = await self._directory.lines()
        tables = [
            line.table
            for line in lines.values()
            if person in line.persons and line.table not in known
        ]
        found = []
        for table in sorted(tables)[:TABLES_AT_ONCE_MAX]:
            try:
                summary = (await self._reader.scroll(table)).summary
            except Refused as refused:
                if refused.why is not Rejection.TABLE_STOPPED:
                    raise
                continue
            if person in summary.players:
                found.append(summary)
        return found

    async def get_game(
        self, caller: Caller, request: record_pb2.GetGameRequest
    ) -> record_pb2.GetGameResponse:
        table = parse_table(request.name, self._shards, "name")
        if request.after_seq < 0:
            raise Refused.field("after_seq", "0 or more")
        if not 0 <= request.page_size <= EVENTS_MAX:
            raise Refused.field("page_size", f"0 to {EVENTS_MAX}")
        count = request.page_size or EVENTS_MAX
        scroll = await self._reader.scroll(table)
        if not may_see(scroll, caller.person):
            raise Refused(Rejection.TABLE_NOT_FOUND)
        told = tell(scroll, caller.person, request.after_seq, count)
        await self._names.learn_all(told.persons())
        return await self._reader.in_thread(lambda: self._response(told))

    def _response(self, told: Told) -> record_pb2.GetGameResponse:
        return record_pb2.GetGameResponse(
            game=game_message(told.summary, self._names),
            events=seen_messages(told, self._names),
            next_after_seq=told.seen[-1].seq if told.more else None,
        )


def _is_behind(summary: Summary, after: Place) -> bool:
    return (summary.start_ms, summary.game) < (after.start_ms, after.game)


def _token(summary: Summary) -> str:
    return page_token(f"{summary.start_ms}.{summary.game}")


def _place(token: str) -> Place:
    """Raises `Refused`."""
    start_ms, _, game = page_start(token, _PLACE).partition(".")
    return Place(int(start_ms), game) if game else NEWEST
