"""For operators: the methods of the internal port.

async with Operator("127.0.0.1:7781", token) as operator:
    await operator.freeze("tables/...", "a dispute at seat 2")

The token comes from `pit token operator`; it is not renewed.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from grpc import ChannelConnectivity, StatusCode, aio
from pit.v1 import lobby_pb2, operate_pb2, operate_pb2_grpc, record_pb2, table_pb2

from engine.rejections import Rejection
from services.client import trust
from services.client.backoff import Backoff
from services.client.channels import OPTIONS
from services.client.credentials import CLIENT
from services.client.errors import OutcomeUnknown, Refused, details_of, refused

CALL_TIMEOUT_S: Final = 10.0
"""Handing a shard over takes up to five."""
PATIENCE_S: Final = 10.0
"""How long an act that found no owner of its table, or no audit, is tried again."""
PAGE_SIZE: Final = 100
REQUEST_ID_BYTES: Final = 16

_UNCLEAR: Final = frozenset(
    {
        StatusCode.UNAVAILABLE,
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.INTERNAL,
        StatusCode.UNKNOWN,
        StatusCode.CANCELLED,
    }
)
"""A call that ends so may have taken effect, unless its reason says otherwise."""
_NOT_DONE: Final = frozenset({"AUDIT_UNAVAILABLE", "TABLE_STOPPED", "UNDECIDED"})
_SETTLES: Final = frozenset(Rejection.__members__) - {"TABLE_NOT_FOUND", "TABLE_STOPPED"}
"""A table's own answer to the act tells what became of every attempt at it. What bars the way to
the table (a token that has ended, no room, a table that is gone by now) does not."""

Response = TypeVar("Response", bound=Message)


class Operator:
    """One operator's connection. Every method raises `Refused`.

    Each act is sent with a request id of its own, or the one that is given, under which it is
    repeated where it found nobody to answer: it is done once. Where nobody answers at all it ends
    with `OutcomeUnknown`; with that error's request id it may be given again.
    """

    def __init__(self, target: str, token: str, authorities: Path | None = None) -> None:
        """`authorities`: as of `Exchange`. Raises `BadTarget`."""
        self._target = trust.parse(target)
        self._authorities = authorities
        self._channel = trust.open_channel(self._target, authorities, OPTIONS)
        self._stub = operate_pb2_grpc.OperateServiceStub(self._channel)
        self._metadata = (("authorization", f"Bearer {token}"), ("pit-client", CLIENT))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    # ------------------------------------------------------------------ the exchange

    async def shards(self) -> Sequence[operate_pb2.Shard]:
        listed = await self._call(self._stub.ListShards, operate_pb2.ListShardsRequest())
        return listed.shards

    async def drain_shard(
        self, shard: int, reason: str = "", request_id: bytes = b""
    ) -> operate_pb2.Shard:
        """Hand a shard over to another matcher; answers with its new owner."""
        request = operate_pb2.DrainShardRequest(
            shard=shard,
            reason=reason,
            request_id=request_id or new_id(),
        )
        return (await self._call(self._stub.DrainShard, request)).shard

    async def maintenance(self) -> operate_pb2.GetMaintenanceResponse:
        return await self._call(self._stub.GetMaintenance, operate_pb2.GetMaintenanceRequest())

    async def set_maintenance(self, *, on: bool, reason: str, request_id: bytes = b"") -> None:
        """While it is on no table is opened; those in play go on."""
        request = operate_pb2.SetMaintenanceRequest(
            on=on,
            reason=reason,
            request_id=request_id or new_id(),
        )
        await self._call(self._stub.SetMaintenance, request)

    def dead_letters(self) -> AsyncIterator[operate_pb2.DeadLetter]:
        return self._pages(
            self._stub.ListDeadLetters, operate_pb2.ListDeadLettersRequest(), "dead_letters"
        )

    def audit(self, since_s: float = 0) -> AsyncIterator[operate_pb2.AuditEntry]:
        """Oldest first; `since_s` is wall time, seconds since 1970."""
        request = operate_pb2.ListAuditRequest(since=_timestamp(since_s))
        return self._pages(self._stub.ListAudit, request, "entries")

    # ------------------------------------------------------------------ tables

    def tables(self) -> AsyncIterator[lobby_pb2.Table]:
        """All of them, private ones among them."""
        return self._pages(self._stub.ListAllTables, operate_pb2.ListAllTablesRequest(), "tables")

    async def create_tables(
        self,
        template: lobby_pb2.CreateTableRequest,
        count: int,
        start_at_s: float = 0,
        request_id: bytes = b"",
    ) -> Sequence[str]:
        """Names of so many tables like the template; 0: their players start them."""
        request = operate_pb2.CreateTablesRequest(
            request_id=request_id or new_id(),
            template=template,
            count=count,
            start_at=_timestamp(start_at_s) if start_at_s else None,
        )
        return (await self._call(self._stub.CreateTables, request)).tables

    async def announce(
        self,
        text: str,
        tables: Sequence[str] = (),
        key: str = "",
        parameters: Mapping[str, str] | None = None,
        request_id: bytes = b"",
    ) -> int:
        """Say something at some tables, or at all; at how many it was said."""
        said = table_pb2.Announcement(text=text, key=key, parameters=parameters or {})
        request = operate_pb2.AnnounceRequest(
            announcement=said,
            tables=tables,
            request_id=request_id or new_id(),
        )
        return (await self._call(self._stub.Announce, request)).tables

    async def freeze(
        self,
        table: str,
        reason: str,
        request_id: bytes = b"",
    ) -> int:
        """The table's time stands still until `resume`. Like all below: the event's seq."""
        request = operate_pb2.FreezeTableRequest(
            table=table,
            reason=reason,
            request_id=request_id or new_id(),
        )
        return (await self._call(self._stub.FreezeTable, request)).seq

    async def resume(
        self,
        table: str,
        reason: str = "",
        request_id: bytes = b"",
    ) -> int:
        request = operate_pb2.ResumeTableRequest(
            table=table,
            reason=reason,
            request_id=request_id or new_id(),
        )
        return (await self._call(self._stub.ResumeTable, request)).seq

    async def void_round(
        self,
        table: str,
        round_: int,
        reason: str,
        request_id: bytes = b"",
    ) -> int:
        """The round being played is dealt again."""
        request = operate_pb2.VoidRoundRequest(
            table=table,
            round=round_,
            reason=reason,
            request_id=request_id or new_id(),
        )
        return (await self._call(self._stub.VoidRound, request)).seq

    async def adjust_score(
        self,
        table: str,
        seat: int,
        delta: int,
        reason: str,
        request_id: bytes = b"",
    ) -> int:
        request = operate_pb2.AdjustScoreRequest(
            table=table,
            seat=seat,
            delta=delta,
            reason=reason,
            request_id=request_id or new_id(),
        )
        return (await self._call(self._stub.AdjustScore, request)).seq

    async def close_table(
        self,
        table: str,
        reason: str,
        request_id: bytes = b"",
    ) -> int:
        """A game being played is broken off."""
        request = operate_pb2.CloseTableRequest(
            table=table,
            reason=reason,
            request_id=request_id or new_id(),
        )
        return (await self._call(self._stub.CloseTable, request)).seq

    async def export_game(
        self,
        game: str,
        path: Path,
        reason: str = "",
        request_id: bytes = b"",
    ) -> record_pb2.Game:
        """Write a game's file, the one that `pit verify --file` proves; what is known of it.

        Raises `OSError`, too. A file that was begun and not ended is no game's.
        """
        request = operate_pb2.ExportGameRequest(
            game=game,
            reason=reason,
            request_id=request_id or new_id(),
        )
        known = record_pb2.Game()
        try:
            with path.open("wb") as file:
                async for part in self._stub.ExportGame(request, metadata=self._metadata):
                    if part.HasField("game"):
                        known = part.game
                    file.write(part.record)
        except aio.AioRpcError as error:
            raise refused(error) from error
        return known

    # ------------------------------------------------------------------ persons

    async def find(self, query: str) -> Sequence[operate_pb2.Person]:
        """By `people/{person}`, or by the beginning of a name."""
        request = operate_pb2.FindPersonRequest(query=query)
        return (await self._call(self._stub.FindPerson, request)).people

    async def remove(
        self, person: str, table: str, reason: str, request_id: bytes = b""
    ) -> operate_pb2.RemovePersonResponse:
        """Free a person's seat, for good."""
        request = operate_pb2.RemovePersonRequest(
            person=person,
            table=table,
            reason=reason,
            request_id=request_id or new_id(),
        )
        return await self._call(self._stub.RemovePerson, request)

    async def ban(
        self,
        person: str,
        until_s: float,
        reason: str,
        request_id: bytes = b"",
    ) -> None:
        """Until then (wall time) the person is not let in; in the past: a ban is lifted."""
        request = operate_pb2.BanPersonRequest(
            person=person,
            until=_timestamp(until_s),
            reason=reason,
            request_id=request_id or new_id(),
        )
        await self._call(self._stub.BanPerson, request)

    async def rename(
        self,
        person: str,
        display_name: str,
        reason: str,
        request_id: bytes = b"",
    ) -> None:
        request = operate_pb2.RenamePersonRequest(
            person=person,
            display_name=display_name,
            reason=reason,
            request_id=request_id or new_id(),
        )
        await self._call(self._stub.RenamePerson, request)

    # ------------------------------------------------------------------ inside

    async def _call(self, method: Callable[..., Awaitable[Response]], request: Message) -> Response:
        """Raises `OutcomeUnknown`, too, for an act of which nobody could say what became of it."""
        backoff = Backoff()
        gives_up_at = time.monotonic() + PATIENCE_S
        unclear = False
        while True:
            connected = await self._connected()
            try:
                return await method(request, metadata=self._metadata, timeout=CALL_TIMEOUT_S)
            except aio.AioRpcError as error:
                reason, wait_s = details_of(error)
                unclear = reason not in _SETTLES and (
                    unclear or (connected and error.code() in _UNCLEAR and reason not in _NOT_DONE)
                )
                late = time.monotonic() > gives_up_at
                if error.code() != StatusCode.UNAVAILABLE or late:
                    raise _ended(refused(error), request, unclear) from error
                if not reason:  # nobody listens there: waiting is for those who were answered
                    untrusted = await trust.why_not(self._target, self._authorities)
                    raise _ended(untrusted or refused(error), request, unclear) from error
                await asyncio.sleep(backoff.delay_s(wait_s))

    async def _connected(self) -> bool:
        """Whether somebody listens: else a call that fails was never sent."""
        state = self._channel.get_state(try_to_connect=True)
        while state in (ChannelConnectivity.IDLE, ChannelConnectivity.CONNECTING):
            await self._channel.wait_for_state_change(state)
            state = self._channel.get_state(try_to_connect=True)
        return state is ChannelConnectivity.READY

    async def _pages(
        self, method: Callable[..., Awaitable[Any]], request: Any, field: str
    ) -> AsyncIterator[Any]:
        request.page_size = PAGE_SIZE
        while True:
            listed = await self._call(method, request)
            for one in getattr(listed, field):
                yield one
            if not listed.next_page_token:
                return
            request.page_token = listed.next_page_token


def new_id() -> bytes:
    """A request id that no other act has."""
    return os.urandom(REQUEST_ID_BYTES)


def _ended(refused: Refused, request: Message, unclear: bool) -> Refused:
    request_id = getattr(request, "request_id", b"")
    return OutcomeUnknown(refused, request_id) if unclear and request_id else refused


def _timestamp(at_s: float) -> Timestamp:
    stamp = Timestamp()
    stamp.FromNanoseconds(int(at_s * 1_000_000_000))
    return stamp
