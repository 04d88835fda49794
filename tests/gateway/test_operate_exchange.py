"""Shards handed over, and the audit: what is in it, and that nothing happens without it."""

import asyncio
import secrets
import time
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from grpc import StatusCode
from pit.v1 import operate_pb2

from engine.rejections import Rejection
from services.client.operator import Operator
from services.gateway.errors import Refusal, Refused
from services.gateway.identity.memory import MemoryPeopleStore
from services.gateway.identity.tokens import SignedTokens
from services.gateway.names import NameBook
from services.gateway.operate.desk import Desk
from services.gateway.operate.store import Act, Audited
from services.gateway.resource_names import operator_id
from services.gateway.session.roles import Caller, Role
from services.log import keys
from services.log.connection import SyncConnection
from services.log.port import Unclear
from services.log.server import EmbeddedServer
from support.operated import NAME, Operated, operated, playing, refused, wrong
from support.valkey import SHARDS, emptied


async def owners(operator: Operator) -> dict[int, str]:
    return {shard.shard: shard.owner for shard in await operator.shards()}


async def even(operator: Operator) -> dict[int, str]:
    """Who owns what, once all shards are owned and both matchers have their share."""
    async with asyncio.timeout(20):
        while True:
            found = await owners(operator)
            names = sorted(found.values())
            if names == ["m1"] * (SHARDS // 2) + ["m2"] * (SHARDS // 2):
                return found
            await asyncio.sleep(0.1)


async def test_a_drained_shard_goes_to_another_matcher_and_play_goes_on(
    system: Operated,
) -> None:
    async with playing(system.gateway.target) as (table, seats), system.operator() as operator:
        shard = int(table.removeprefix("tables/")[:2])
        before = (await even(operator))[shard]
        epoch = next(each.epoch for each in await operator.shards() if each.shard == shard)
        request_id = secrets.token_bytes(16)
        taken = await operator.drain_shard(shard, "a new disk", request_id)
        assert taken.owner in {"m1", "m2"} - {before}
        assert taken.epoch > epoch
        assert taken.tables >= 1
        assert (await seats[0].call(1)).seq
        again = await operator.drain_shard(shard, "a new disk", request_id)
        assert (again.owner, again.epoch) == (taken.owner, taken.epoch)
        # And it does not come back by itself once shares are even again.
        after = await even(operator)
        assert after[shard] == taken.owner
        with wrong("shard"):
            await operator.drain_shard(SHARDS)
        with wrong("shard"):
            await operator.drain_shard(-1)


@pytest.mark.all
async def test_a_shard_is_not_taken_from_the_only_matcher(
    own_valkey: EmbeddedServer, tmp_path: Path
) -> None:
    emptied(own_valkey)
    with operated(own_valkey.url, tmp_path) as alone:
        async with alone.operator() as operator:
            with refused(StatusCode.FAILED_PRECONDITION, "NO_OTHER_MATCHER"):
                await operator.drain_shard(0)
            alone.matchers[0].kill()
            SyncConnection(own_valkey.url).call("DEL", keys.lease(0))
            with refused(StatusCode.FAILED_PRECONDITION, "SHARD_UNOWNED"):
                await operator.drain_shard(0)
            assert (await owners(operator))[0] == ""


async def test_every_act_is_listed_with_who_what_and_why(system: Operated) -> None:
    async with playing(system.gateway.target) as (table, _), system.operator() as operator:
        since_s = time.time() - 0.001
        request_id = secrets.token_bytes(16)
        await operator.freeze(table, "a dispute", request_id)
        await operator.resume(table, "settled")
        await operator.adjust_score(table, 1, -20, "a card was shown")
        with refused(StatusCode.FAILED_PRECONDITION, "NOT_FROZEN"):
            await operator.resume(table)
        with wrong("delta"):
            await operator.adjust_score(table, 1, 0, "nothing")
        entries = [entry async for entry in operator.audit(since_s)]
        told = [(each.act, each.target, each.reason, each.refused) for each in entries]
        assert told == [
            ("freeze", table, "a dispute", ""),
            ("resume", table, "settled", ""),
            ("adjust-score", table, "a card was shown", ""),
            ("resume", table, "", ""),
            ("resume", table, "", "NOT_FROZEN"),
        ]
        assert entries[0].request_id == request_id
        assert entries[3].request_id == entries[4].request_id
        assert dict(entries[2].parameters) == {"seat": "1", "delta": "-20"}
        assert {entry.operator for entry in entries} == {NAME}
        assert abs(entries[0].time.ToSeconds() - time.time()) < 60
        with wrong("page_size"):
            await first_page(operator, page_size=-1)
        for seconds, nanos in ((-1, 0), (2**62, 0), (-(2**62), 0), (253_402_300_800, 0), (5, -1)):
            with wrong("since"):
                await first_page(operator, since=Timestamp(seconds=seconds, nanos=nanos))


async def first_page(operator: Operator, **fields: Any) -> None:
    request = operate_pb2.ListAuditRequest(**fields)
    await operator._call(operator._stub.ListAudit, request)


async def test_without_the_audit_nothing_happens(system: Operated) -> None:
    raw = SyncConnection(system.url)
    async with playing(system.gateway.target) as (table, seats), system.operator() as operator:
        raw.call("RENAME", keys.AUDIT, "pit:kept") if raw.call("EXISTS", keys.AUDIT) else None
        raw.call("SET", keys.AUDIT, "no stream")
        try:
            request = operate_pb2.FreezeTableRequest(table=table, reason="a dispute")
            with pytest.raises(Exception, match="the audit could not take this act") as told:
                await operator._stub.FreezeTable(request, metadata=operator._metadata)
            assert told.value.code() == StatusCode.UNAVAILABLE  # type: ignore[attr-defined]
        finally:
            raw.call("DEL", keys.AUDIT)
            if raw.call("EXISTS", "pit:kept"):
                raw.call("RENAME", "pit:kept", keys.AUDIT)
            raw.close()
        assert (await seats[0].call(1)).seq, "the table is not frozen"
        entries = [entry async for entry in operator.audit(time.time() - 5)]
        assert table not in {entry.target for entry in entries}


class Paper:
    """An audit that writes down in what order things happen, or refuses."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.refuses = False
        self.stands: list[Audited] = []

    async def append(self, act: Act) -> str:
        if self.refuses:
            raise Unclear("no reply in time")
        told = f"{act.outcome} {act.refused}".strip() if act.outcome else act.act
        self.lines.append(told)
        self.stands.append(Audited(f"{len(self.stands) + 1}-0", act))
        return self.stands[-1].id

    async def audit_newest(self, count: int) -> list[Audited]:
        if self.refuses:
            raise Unclear("no reply in time")
        return self.stands[: -count - 1 : -1]

    async def keep_operator(self, operator: str, name: str) -> None:
        self.lines.append(f"name: {name}")


@pytest.fixture
def paper() -> Paper:
    return Paper()


ANN = Caller(operator_id("Ann"), "sid", Role.OPERATOR, 0.0, name="Ann")


ID = bytes(range(16))
UNCLEAR = Refused(Refusal.TABLE_UNAVAILABLE)


async def done(paper: Paper, effect: object = None, given: bytes = b"", seat: int = 0) -> None:
    """An act by a gateway of its own, as another one would do it that knows nothing of before."""
    desk = Desk(paper, NameBook(MemoryPeopleStore()))
    async with desk.act(ANN, "freeze", "tables/x", "why", given, seat=seat):
        if isinstance(effect, BaseException):
            raise effect
        paper.lines.append("effect")


async def test_the_audit_comes_before_the_effect(paper: Paper) -> None:
    await done(paper)
    assert paper.lines == ["freeze", "name: Ann", "effect"]


async def test_an_audit_that_does_not_answer_prevents_the_effect(paper: Paper) -> None:
    paper.refuses = True
    with pytest.raises(Refused) as told:
        await done(paper)
    assert told.value.why is Refusal.AUDIT_UNAVAILABLE
    assert paper.lines == []


@pytest.mark.parametrize("end", [asyncio.CancelledError(), RuntimeError()])
async def test_what_dies_between_audit_and_effect_has_left_its_line(
    paper: Paper, end: BaseException
) -> None:
    with pytest.raises(type(end)):
        await done(paper, end)
    assert paper.lines == ["freeze", "name: Ann", "unknown"]


async def test_what_is_refused_afterwards_is_noted(paper: Paper) -> None:
    with pytest.raises(Refused):
        await done(paper, Refused(Refusal.PERSON_NOT_FOUND))
    assert paper.lines == ["freeze", "name: Ann", "refused PERSON_NOT_FOUND"]


def acts_and_outcomes(paper: Paper) -> list[str]:
    return [line for line in paper.lines if not line.startswith("name: ")]


async def test_what_was_unclear_stands_there_as_unknown_until_a_repeat_settles_it(
    paper: Paper,
) -> None:
    for _ in range(7):
        with pytest.raises(Refused):
            await done(paper, UNCLEAR, ID)
    assert acts_and_outcomes(paper) == ["freeze", "unknown"]
    await done(paper, None, ID)
    await done(paper, None, ID)
    assert acts_and_outcomes(paper) == ["freeze", "unknown", "effect", "done", "effect"]


async def test_a_repeat_of_an_unclear_ban_settles_it_though_it_ends_later(paper: Paper) -> None:
    desk = Desk(paper, NameBook(MemoryPeopleStore()))
    with pytest.raises(Refused):
        async with desk.act(ANN, "ban", "people/x", "why", ID, until=1000):
            raise UNCLEAR
    async with desk.act(ANN, "ban", "people/x", "why", ID, until=1007):
        pass
    assert acts_and_outcomes(paper) == ["ban", "unknown", "done"]
    async with desk.act(ANN, "ban", "people/x", "why", ID, until=0):
        pass
    assert acts_and_outcomes(paper)[3:] == ["ban"], "to lift it is another act"


async def test_a_repeat_of_what_was_refused_adds_a_line_only_for_another_outcome(
    paper: Paper,
) -> None:
    for _ in range(2):
        with pytest.raises(Refused):
            await done(paper, Refused(Refusal.OVERLOADED), ID)
    assert acts_and_outcomes(paper) == ["freeze", "refused OVERLOADED"]
    await done(paper, None, ID)
    assert acts_and_outcomes(paper)[2:] == ["effect", "done"]


@pytest.mark.parametrize(("given", "seat"), [(ID, 1), (ID[::-1], 0), (b"", 0)])
async def test_another_act_is_written_down_before_its_effect_whatever_its_id(
    paper: Paper, given: bytes, seat: int
) -> None:
    await done(paper, None, ID)
    await done(paper, None, given, seat)
    assert acts_and_outcomes(paper) == ["freeze", "effect"] * 2


async def test_a_tables_own_refusal_is_no_unclear_outcome(paper: Paper) -> None:
    for rejection in (Rejection.TABLE_STOPPED, Rejection.UNDECIDED, Rejection.TABLE_FROZEN):
        with pytest.raises(Refused):
            await done(paper, Refused(rejection))
        assert paper.lines[-1] == f"refused {rejection.name}"


def test_an_operators_token_says_who_and_no_other_may_use_the_name() -> None:
    tokens = SignedTokens({"k": bytes(32)})
    caller = tokens.caller(tokens.operator("Ann B.", 60))
    assert (caller.name, caller.person, caller.role) == (
        "Ann B.",
        operator_id("Ann B."),
        Role.OPERATOR,
    )
    forged = tokens.access(operator_id("Ann B."), "sid", Role.OPERATOR)
    with pytest.raises(Refused, match="INVALID_TOKEN"):
        tokens.caller(forged)
