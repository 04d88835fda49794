"""What concerns the exchange as a whole: shards, maintenance, dead letters, the audit."""

import asyncio
import re
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from pit.v1 import operate_pb2

from services.gateway.directory import Directory
from services.gateway.errors import Refusal, Refused
from services.gateway.lobby.checks import given_id, page_size, page_start, page_token
from services.gateway.operate.desk import EVER_S, Desk, needed_reason, optional_reason
from services.gateway.operate.store import (
    Act,
    Audited,
    Outcome,
    RedisOperateStore,
    SetAside,
    owner_name,
)
from services.gateway.resource_names import shard_of
from services.gateway.session.roles import Caller
from services.log.entry import NO_ENTRY
from services.log.lease import LEASE_MS

TAKEN_S: Final = 4.0
"""A hand-over takes two looks and the loading of a snapshot; a client waits five seconds."""
POLL_S: Final = 0.05
_ENTRY: Final = re.compile(r"[0-9]{1,19}-[0-9]{1,19}")
_LETTER: Final = re.compile(r"[0-9]{1,2} [0-9]{1,19}-[0-9]{1,19}")


class ExchangeActs:
    def __init__(
        self, store: RedisOperateStore, desk: Desk, directory: Directory, shards: int
    ) -> None:
        self._store = store
        self._desk = desk
        self._directory = directory
        self._shards = shards

    # -------------------------------------------------------------- shards

    async def list_shards(
        self, caller: Caller, request: operate_pb2.ListShardsRequest
    ) -> operate_pb2.ListShardsResponse:
        return operate_pb2.ListShardsResponse(
            shards=[await self._shard(shard) for shard in range(self._shards)]
        )

    async def _shard(self, shard: int) -> operate_pb2.Shard:
        state = await self._store.shard(shard, list(await self._store.matchers()))
        lines = await self._directory.lines()
        return operate_pb2.Shard(
            shard=shard,
            owner=state.owner,
            epoch=state.epoch,
            lag_entries=state.lag_entries,
            lag_ms=state.lag_ms,
            tables=sum(shard_of(table) == shard for table in lines),
        )

    async def drain_shard(
        self, caller: Caller, request: operate_pb2.DrainShardRequest
    ) -> operate_pb2.DrainShardResponse:
        reason = optional_reason(request.reason)
        shard = request.shard
        if not 0 <= shard < self._shards:
            raise Refused.field("shard", f"0 to {self._shards - 1}")
        nonce = await self._store.owner(shard)
        asked_before = await self._store.asked_to_leave(shard, request.request_id)
        if nonce is None and not asked_before:
            raise Refused(Refusal.SHARD_UNOWNED)
        names = list(await self._store.matchers())
        # A repeat asks nobody once more: the new owner would hand the shard back.
        owner = asked_before or owner_name(nonce or b"", names)
        await self._another_lives(owner)
        given = given_id(request.request_id, needed=False)
        act = self._desk.act(caller, "drain-shard", f"shards/{shard}", reason, given, owner=owner)
        async with act:
            if not asked_before:
                await self._store.ask_to_leave(shard, owner, given)
            await self._taken(shard, owner, names)
        return operate_pb2.DrainShardResponse(shard=await self._shard(shard))

    async def _another_lives(self, owner: str) -> None:
        """Raises `Refused` where no other matcher's counter moves for one lease time."""
        before = await self._store.matchers()
        try:
            async with asyncio.timeout(LEASE_MS / 1_000):
                while True:
                    await asyncio.sleep(POLL_S)
                    now = await self._store.matchers()
                    if any(now[name] != before.get(name) for name in now if name != owner):
                        return
        except TimeoutError:
            raise Refused(Refusal.NO_OTHER_MATCHER) from None

    async def _taken(self, shard: int, owner: str, names: list[str]) -> None:
        """Wait until another matcher owns it. Raises `Refused` when none does in time."""
        try:
            async with asyncio.timeout(TAKEN_S):
                while True:
                    nonce = await self._store.owner(shard)
                    if nonce is not None and owner_name(nonce, names) != owner:
                        return
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise Refused(Refusal.SHARD_NOT_TAKEN) from None

    async def list_dead_letters(
        self, caller: Caller, request: operate_pb2.ListDeadLettersRequest
    ) -> operate_pb2.ListDeadLettersResponse:
        """By shard, oldest first."""
        size = page_size(request.page_size)
        begin, _, after = page_start(request.page_token, _LETTER).partition(" ")
        found: list[SetAside] = []
        for shard in range(int(begin or 0), self._shards):
            found += await self._store.dead_letters(shard, after or NO_ENTRY, size + 1 - len(found))
            after = ""
            if len(found) > size:
                break
        page, more = found[:size], found[size:]
        return operate_pb2.ListDeadLettersResponse(
            dead_letters=[
                operate_pb2.DeadLetter(
                    shard=letter.shard,
                    entry=letter.entry,
                    index=letter.index,
                    reason=letter.reason,
                    time=_time(letter.at_ms),
                )
                for letter in page
            ],
            next_page_token=page_token(f"{page[-1].shard} {page[-1].id}") if more else "",
        )

    # -------------------------------------------------------------- maintenance

    async def get_maintenance(
        self, caller: Caller, request: operate_pb2.GetMaintenanceRequest
    ) -> operate_pb2.GetMaintenanceResponse:
        reason = (await self._store.standing()).maintenance
        return operate_pb2.GetMaintenanceResponse(on=bool(reason), reason=reason)

    async def set_maintenance(
        self, caller: Caller, request: operate_pb2.SetMaintenanceRequest
    ) -> operate_pb2.SetMaintenanceResponse:
        reason = needed_reason(request.reason) if request.on else optional_reason(request.reason)
        what = "maintenance-on" if request.on else "maintenance-off"
        async with self._desk.act(caller, what, "", reason, request.request_id):
            await self._store.set_maintenance(reason if request.on else "")
        return operate_pb2.SetMaintenanceResponse()

    # -------------------------------------------------------------- the audit

    async def list_audit(
        self, caller: Caller, request: operate_pb2.ListAuditRequest
    ) -> operate_pb2.ListAuditResponse:
        size = page_size(request.page_size)
        after = page_start(request.page_token, _ENTRY)
        if not after:
            since = request.since
            if not (0 <= since.seconds <= EVER_S and 0 <= since.nanos < 10**9):
                raise Refused.field("since", "a time from 1970 on")
            after = f"{max(since.ToMilliseconds(), 1) - 1}-{2**64 - 1}"
        found = await self._store.audit_after(after, size + 1)
        return operate_pb2.ListAuditResponse(
            entries=[_entry(line) for line in found[:size]],
            next_page_token=page_token(found[size - 1].id) if len(found) > size else "",
        )


_OUTCOMES: Final = {
    Outcome.BEGUN: operate_pb2.AUDIT_OUTCOME_UNSPECIFIED,
    Outcome.DONE: operate_pb2.AUDIT_OUTCOME_DONE,
    Outcome.REFUSED: operate_pb2.AUDIT_OUTCOME_REFUSED,
    Outcome.UNKNOWN: operate_pb2.AUDIT_OUTCOME_UNKNOWN,
}


def _entry(line: Audited) -> operate_pb2.AuditEntry:
    act: Act = line.act
    return operate_pb2.AuditEntry(
        time=_time(line.at_ms),
        operator=act.operator,
        act=act.act,
        target=act.target,
        reason=act.reason,
        request_id=act.request,
        parameters=dict(act.parameters),
        refused=act.refused,
        outcome=_OUTCOMES[act.outcome],
    )


def _time(at_ms: int) -> Timestamp:
    time = Timestamp()
    time.FromMilliseconds(at_ms)
    return time
