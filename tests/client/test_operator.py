"""What an operator's client makes of failures: refused, or unknown what became of the act."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from google.protobuf.any_pb2 import Any
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode, aio
from pit.v1 import operate_pb2, operate_pb2_grpc

from services.client import operator as operator_module
from services.client.errors import OutcomeUnknown, Refused
from services.client.operator import Operator
from services.gateway.errors import MEANINGS, Refusal
from services.log.server import free_port

ID = bytes(range(16))
REASONS = {why.name: meaning.code for why, meaning in MEANINGS.items()}


class Desk(operate_pb2_grpc.OperateServiceServicer):
    """Answers with these reasons, one after the other, and then with the last again and again;
    an empty one is done, "gone" ends the server, "silent" never answers."""

    def __init__(self, reasons: list[str]) -> None:
        self.reasons = reasons
        self.asked: list[bytes] = []
        self.given_last = False
        self.server = aio.server()
        self.end: asyncio.Task[None] | None = None

    def monotonic(self) -> float:
        """The client's clock: its patience is at an end once the last reason was given, however
        slow the machine is."""
        return math.inf if self.given_last else 0.0

    async def FreezeTable(
        self, request: operate_pb2.FreezeTableRequest, context: aio.ServicerContext
    ) -> operate_pb2.FreezeTableResponse:
        self.asked.append(request.request_id)
        await self._answer(context)
        return operate_pb2.FreezeTableResponse(seq=7)

    async def ListShards(
        self, request: operate_pb2.ListShardsRequest, context: aio.ServicerContext
    ) -> operate_pb2.ListShardsResponse:
        await self._answer(context)
        return operate_pb2.ListShardsResponse()

    async def _answer(self, context: aio.ServicerContext) -> None:
        self.given_last = len(self.reasons) == 1
        reason = self.reasons[0] if self.given_last else self.reasons.pop(0)
        if reason == "gone":
            self.end = asyncio.create_task(self.server.stop(None))
        if reason in ("gone", "silent"):
            await asyncio.Event().wait()
        if reason:
            detail = Any()
            detail.Pack(error_details_pb2.ErrorInfo(reason=reason))
            code = REASONS[reason]
            status = status_pb2.Status(code=int(code), message=reason, details=[detail])
            context.set_trailing_metadata(
                (("grpc-status-details-bin", status.SerializeToString()),)
            )
            await context.abort(getattr(StatusCode, code.name), reason)


@asynccontextmanager
async def answering(*reasons: str) -> AsyncIterator[tuple[Desk, Operator]]:
    desk = Desk(list(reasons))
    operate_pb2_grpc.add_OperateServiceServicer_to_server(desk, desk.server)
    port = desk.server.add_insecure_port("127.0.0.1:0")
    await desk.server.start()
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(operator_module, "time", desk)
            async with Operator(f"127.0.0.1:{port}", "token") as operator:
                yield desk, operator
    finally:
        await (desk.end or desk.server.stop(None))


UNCLEAR = Refusal.TABLE_UNAVAILABLE.name


@pytest.mark.parametrize(
    "reasons",
    [
        (UNCLEAR,),
        ("INTERNAL",),
        ("DRAINING",),
        ("gone",),
        (UNCLEAR, "gone"),
        (UNCLEAR, "INVALID_TOKEN"),
        (UNCLEAR, "OVERLOADED"),
        (UNCLEAR, "MAINTENANCE"),
        (UNCLEAR, "AUDIT_UNAVAILABLE"),
        (UNCLEAR, "TABLE_NOT_FOUND"),
        (UNCLEAR, "TABLE_STOPPED"),
    ],
    ids=str,
)
async def test_what_may_have_been_done_is_not_called_refused(reasons: tuple[str, ...]) -> None:
    async with answering(*reasons) as (desk, operator):
        with pytest.raises(OutcomeUnknown) as told:
            await operator.freeze("tables/x", "why", ID)
        assert told.value.request_id == ID
        assert desk.asked == [ID] * len(reasons)


async def test_an_act_that_is_not_answered_in_time_is_unclear(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(operator_module, "CALL_TIMEOUT_S", 0.2)
    async with answering("silent") as (_, operator):
        with pytest.raises(OutcomeUnknown):
            await operator.freeze("tables/x", "why")


@pytest.mark.parametrize(
    "reasons",
    [
        ("AUDIT_UNAVAILABLE",),
        ("TABLE_STOPPED",),
        ("UNDECIDED",),
        ("OVERLOADED",),
        ("INVALID_TOKEN",),
        ("TABLE_NOT_FOUND",),
        ("TABLE_FROZEN",),
        (UNCLEAR, "TABLE_FROZEN"),
        (UNCLEAR, "REQUEST_REUSED"),
    ],
    ids=str,
)
async def test_what_was_surely_not_done_is_refused(reasons: tuple[str, ...]) -> None:
    async with answering(*reasons) as (desk, operator):
        with pytest.raises(Refused) as told:
            await operator.freeze("tables/x", "why", ID)
        assert not isinstance(told.value, OutcomeUnknown)
        assert told.value.reason == reasons[-1]
        assert desk.asked == [ID] * len(reasons)


async def test_a_repeat_that_is_answered_settles_it() -> None:
    async with answering(UNCLEAR, "AUDIT_UNAVAILABLE", "") as (desk, operator):
        assert await operator.freeze("tables/x", "why") == 7
        assert len(desk.asked) == 3
        assert len(set(desk.asked)) == 1


async def test_a_look_has_no_outcome() -> None:
    async with answering(UNCLEAR) as (_, operator):
        with pytest.raises(Refused) as told:
            await operator.shards()
        assert not isinstance(told.value, OutcomeUnknown)


async def test_what_reached_nobody_was_not_done() -> None:
    async with Operator(f"127.0.0.1:{free_port()}", "token") as operator:
        with pytest.raises(Refused) as told:
            await operator.freeze("tables/x", "why")
        assert not isinstance(told.value, OutcomeUnknown)
