"""What operators do at tables: everything becomes a command in the table's log."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from google.protobuf.message import Message
from pit.v1 import operate_pb2, table_pb2

from engine import commands
from engine.limits import (
    ADJUSTMENT_MAX,
    ANNOUNCEMENT_KEY_BYTES_MAX,
    ANNOUNCEMENT_PARAMETER_BYTES_MAX,
    ANNOUNCEMENT_PARAMETERS_MAX,
    SEATS_MAX,
)
from engine.rejections import Rejection
from engine.shown import Phase
from services.gateway.convert.commands import content_hash
from services.gateway.convert.tables import table_message
from services.gateway.directory import Directory
from services.gateway.errors import Code, Refusal, Refused
from services.gateway.hub import Hub
from services.gateway.lobby.checks import page_size, page_start, page_token, request_id
from services.gateway.names import NameBook, hidden
from services.gateway.operate.answers import Answers
from services.gateway.operate.desk import CHUNK, Desk, needed_reason, optional_reason, unclear
from services.gateway.resource_names import parse_person, parse_table, table_name
from services.gateway.session.limits import Rank
from services.gateway.session.roles import Caller


class TableActs:
    def __init__(
        self, hub: Hub, directory: Directory, names: NameBook, desk: Desk, answers: Answers
    ) -> None:
        self._hub = hub
        self._answers = answers
        self._directory = directory
        self._names = names
        self._desk = desk

    # -------------------------------------------------------------- one table

    async def freeze(
        self, caller: Caller, request: operate_pb2.FreezeTableRequest
    ) -> operate_pb2.FreezeTableResponse:
        reason = needed_reason(request.reason)
        table = await self._known(caller, request.table, request.request_id)
        act = self._desk.act(caller, "freeze", request.table, reason, request.request_id)
        async with act as own_id:
            command = commands.Freeze(own_id, _content(request), "", reason, caller.person)
            answer = await self._answers.ask(table, command)
        return operate_pb2.FreezeTableResponse(seq=answer.seq)

    async def resume(
        self, caller: Caller, request: operate_pb2.ResumeTableRequest
    ) -> operate_pb2.ResumeTableResponse:
        reason = optional_reason(request.reason)
        table = await self._known(caller, request.table, request.request_id)
        act = self._desk.act(caller, "resume", request.table, reason, request.request_id)
        async with act as own_id:
            command = commands.Unfreeze(own_id, _content(request), "", caller.person)
            answer = await self._answers.ask(table, command)
        return operate_pb2.ResumeTableResponse(seq=answer.seq)

    async def void_round(
        self, caller: Caller, request: operate_pb2.VoidRoundRequest
    ) -> operate_pb2.VoidRoundResponse:
        reason = needed_reason(request.reason)
        if request.round < 1:
            raise Refused.field("round", "the round being played, from 1 on")
        table = await self._known(caller, request.table, request.request_id)
        act = self._desk.act(
            caller, "void-round", request.table, reason, request.request_id, round=request.round
        )
        async with act as own_id:
            command = commands.VoidRound(
                own_id, _content(request), "", request.round, reason, caller.person
            )
            answer = await self._answers.ask(table, command)
        return operate_pb2.VoidRoundResponse(seq=answer.seq)

    async def adjust_score(
        self, caller: Caller, request: operate_pb2.AdjustScoreRequest
    ) -> operate_pb2.AdjustScoreResponse:
        reason = needed_reason(request.reason)
        if not 0 <= request.seat < SEATS_MAX:
            raise Refused.field("seat", f"0 to {SEATS_MAX - 1}")
        if not 0 < abs(request.delta) <= ADJUSTMENT_MAX:
            raise Refused.field("delta", f"1 to {ADJUSTMENT_MAX} points, up or down")
        table = await self._known(caller, request.table, request.request_id)
        act = self._desk.act(
            caller, "adjust-score", request.table, reason, request.request_id,
            seat=request.seat, delta=request.delta,
        )  # fmt: skip
        async with act as own_id:
            command = commands.AdjustScore(
                own_id, _content(request), "",
                request.seat, request.delta, reason, caller.person,
            )  # fmt: skip
            answer = await self._answers.ask(table, command)
        return operate_pb2.AdjustScoreResponse(seq=answer.seq)

    async def close(
        self, caller: Caller, request: operate_pb2.CloseTableRequest
    ) -> operate_pb2.CloseTableResponse:
        reason = needed_reason(request.reason)
        table = await self._known(caller, request.table, request.request_id)
        act = self._desk.act(caller, "close", request.table, reason, request.request_id)
        async with act as own_id:
            command = commands.CloseTable(own_id, _content(request), "", reason, caller.person)
            answer = await self._answers.ask(table, command)
        return operate_pb2.CloseTableResponse(seq=answer.seq)

    async def remove_person(
        self, caller: Caller, request: operate_pb2.RemovePersonRequest
    ) -> operate_pb2.RemovePersonResponse:
        reason = needed_reason(request.reason)
        person = parse_person(request.person)
        table = await self._known(caller, request.table, request.request_id)
        line = await self._directory.line(table)
        if line is None or person not in line.persons:
            return await self._removed_before(caller, table, request)
        seat = line.persons.index(person)
        act = self._desk.act(
            caller, "remove", request.person, reason, request.request_id,
            table=request.table, seat=seat,
        )  # fmt: skip
        async with act as own_id:
            command = commands.RemoveSeat(
                own_id, _content(request), "", seat, reason, caller.person, person
            )
            answer = await self._answers.ask(table, command)
        return operate_pb2.RemovePersonResponse(seat=answer.seat, seq=answer.seq)

    async def _removed_before(
        self, caller: Caller, table: str, request: operate_pb2.RemovePersonRequest
    ) -> operate_pb2.RemovePersonResponse:
        """What a repeat is answered; nobody is removed. Raises `Refused`."""
        if not request.request_id:
            raise Refused(Refusal.PERSON_NOT_FOUND)
        command = commands.RemoveSeat(
            request_id(caller, request.request_id, needed=True),
            _content(request), "", SEATS_MAX, request.reason, caller.person,
        )  # fmt: skip
        try:
            answer = await self._answers.ask(table, command)
        except Refused as refused:
            if unclear(refused):
                raise
            raise Refused(Refusal.PERSON_NOT_FOUND) from None
        act = self._desk.act(
            caller, "remove", request.person, request.reason, request.request_id,
            table=request.table, seat=answer.seat,
        )  # fmt: skip
        async with act:  # it is done already: what was said of its outcome is put right
            return operate_pb2.RemovePersonResponse(seat=answer.seat, seq=answer.seq)

    # -------------------------------------------------------------- many tables

    async def announce(
        self, caller: Caller, request: operate_pb2.AnnounceRequest
    ) -> operate_pb2.AnnounceResponse:
        said = _checked_announcement(request.announcement)
        if len(request.tables) > CHUNK:
            raise Refused.field("tables", f"at most {CHUNK}, or none for all")
        named = [
            await self._known(caller, name, request.request_id, "tables") for name in request.tables
        ]
        act = self._desk.act(
            caller, "announce", ", ".join(request.tables), said.text, request.request_id,
            key=said.key,
        )  # fmt: skip
        async with act as own_id:
            tables = named or [
                line.table
                for line in (await self._directory.lines(age_max_s=0)).values()
                if line.phase != Phase.CLOSED
            ]
            words = [word for pair in sorted(said.parameters.items()) for word in pair]
            content = _content(request)
            told = await self._ask_all(
                (
                    table,
                    commands.Announce(
                        own_id, content, "", said.key, tuple(words), said.text, caller.person
                    ),
                )
                for table in tables
            )
        return operate_pb2.AnnounceResponse(tables=told)

    async def list_all(
        self, caller: Caller, request: operate_pb2.ListAllTablesRequest
    ) -> operate_pb2.ListAllTablesResponse:
        size = page_size(request.page_size)
        after = page_start(request.page_token)
        lines = await self._directory.lines(age_max_s=0)
        found = sorted(table for table in lines if table > after)
        page = [lines[table] for table in found[:size]]
        await self._names.learn_all(person for line in page for person in line.persons if person)
        return operate_pb2.ListAllTablesResponse(
            tables=[table_message(line, self._names) for line in page],
            next_page_token=page_token(found[size - 1]) if len(found) > size else "",
        )

    async def seated(self) -> dict[str, list[str]]:
        """Names of the tables at which each person has a seat."""
        found: dict[str, list[str]] = {}
        for line in (await self._directory.lines(age_max_s=0)).values():
            for person in filter(None, line.persons):
                found.setdefault(person, []).append(table_name(line.table))
        return found

    # -------------------------------------------------------------- helpers

    async def _known(self, caller: Caller, name: str, given: bytes, field: str = "table") -> str:
        """The id of a table in play, or of one that has closed and knows this request. Raises
        `Refused`."""
        table = parse_table(name, self._hub.shards, field)
        if await self._directory.line(table) is None:
            asked = request_id(caller, given, needed=True) if given else b""
            if not asked or await self._answers.recorded(table, asked) is None:
                raise Refused(Rejection.TABLE_NOT_FOUND)
        return table

    async def _ask_all(self, asked: Iterable[tuple[str, commands.RequestCommand]]) -> int:
        """How many tables did it; those that are closed by now do not count.

        Raises `Refused` where one could not be reached: a repeat does it there alone.
        """
        return await ask_all(self._hub, list(asked), Rank.FIRST, but=_GONE)


_GONE: Final = frozenset({Rejection.TABLE_NOT_FOUND, Rejection.TABLE_CLOSED})


async def ask_all(
    hub: Hub,
    asked: Sequence[tuple[str, commands.RequestCommand]],
    rank: Rank,
    but: frozenset[Rejection] = frozenset(),
) -> int:
    """Ask many tables, some at a time; how many did it, refusals of the kinds `but` aside.

    All are asked before the first other refusal is raised. One for want of room is told as
    unclear where some did it: only a repeat leads to what was asked for.
    """
    done = 0
    failed: BaseException | None = None
    for start in range(0, len(asked), CHUNK):
        answers = await asyncio.gather(
            *(hub.ask(*one, rank) for one in asked[start : start + CHUNK]), return_exceptions=True
        )
        for answer in answers:
            if not isinstance(answer, BaseException):
                done += 1
            elif not isinstance(answer, Refused) or answer.why not in but:
                failed = failed or answer
    if done and isinstance(failed, Refused) and failed.code is Code.RESOURCE_EXHAUSTED:
        raise Refused(Refusal.TABLE_UNAVAILABLE) from failed
    if failed is not None:
        raise failed
    return done


def _content(request: Message) -> int:
    """What was asked for: all fields but the request id."""
    copy = type(request)()
    copy.CopyFrom(request)
    copy.ClearField("request_id")
    name = request.DESCRIPTOR.name.encode()
    return content_hash(name + copy.SerializeToString(deterministic=True))


def _checked_announcement(said: table_pb2.Announcement) -> table_pb2.Announcement:
    needed_reason(said.text, "announcement.text")
    if hidden(said.key) or len(said.key.encode()) > ANNOUNCEMENT_KEY_BYTES_MAX:
        rule = f"at most {ANNOUNCEMENT_KEY_BYTES_MAX} bytes of visible characters"
        raise Refused.field("announcement.key", rule)
    words = [word for pair in said.parameters.items() for word in pair]
    if len(said.parameters) > ANNOUNCEMENT_PARAMETERS_MAX or any(
        hidden(word) or len(word.encode()) > ANNOUNCEMENT_PARAMETER_BYTES_MAX for word in words
    ):
        rule = (
            f"at most {ANNOUNCEMENT_PARAMETERS_MAX}, "
            f"each name and value at most {ANNOUNCEMENT_PARAMETER_BYTES_MAX} bytes of visible "
            "characters"
        )
        raise Refused.field("announcement.parameters", rule)
    return said
