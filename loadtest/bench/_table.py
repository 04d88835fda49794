"""One table of four persons in this process: sessions, hub, matcher, engine, a log in memory."""

import asyncio
import os
from types import TracebackType
from typing import Self

from pit.v1 import lobby_pb2, play_pb2, table_pb2

from services.client.protocol import SeatProtocol
from services.gateway.errors import Refused
from services.gateway.gateway import Gateway
from services.gateway.identity.memory import MemoryPeopleStore
from services.gateway.identity.tokens import SignedTokens
from services.gateway.session.core import Session
from services.gateway.session.limits import LOAD
from services.gateway.session.roles import Caller, Role
from services.log.memory import MemoryGatewayLog, MemoryOwnerLog, MemoryStore
from services.matcher.crash import CrashPoints
from services.matcher.matcher import Matcher

SEATS = 4
LOOP_TURNS = 12
"""Turns of the loop within which the gateway takes all that is ready."""
PATIENT = table_pb2.Rules(idle_s=600, round_cap_s=900)
"""Switches under which the round does not end by itself."""


class BenchSeat:
    """The client's side of one stream, and its door."""

    def __init__(self, protocol: SeatProtocol) -> None:
        self.ready = True
        self.protocol = protocol
        self.session: Session | None = None

    def send(self, message: bytes) -> None:
        for _ in self.protocol.receive(message):
            pass

    def end(self, refused: Refused | None, last: bytes) -> None:
        raise RuntimeError("a stream has ended")

    def flush(self) -> None:
        assert self.session is not None
        for data in self.protocol.outgoing():
            self.session.receive(data)


class BenchTable:
    """Its exchange is open when the `async with` block begins."""

    def __init__(self) -> None:
        self._now_s = 1_000.0
        store = MemoryStore(1, server_ms=self._now_ms, wait=self._wait)
        self._matcher = Matcher(
            MemoryOwnerLog(store),
            "bench",
            monotonic=self._now,
            sleep=lambda seconds: self._wait(int(seconds * 1000)),
            chance=os.urandom,
            crash=CrashPoints(),
        )
        tokens = SignedTokens({"k": bytes(32)})
        people = MemoryPeopleStore(self._now)
        log = MemoryGatewayLog(store)
        self.gateway = Gateway(log, people, tokens, "g", 1, LOAD, self._now, self._now)
        self.seats: list[BenchSeat] = []
        self._tasks: list[asyncio.Task[None]] = []

    def _now(self) -> float:
        return self._now_s

    def _now_ms(self) -> int:
        return int(self._now_s * 1000)

    def _wait(self, milliseconds: int) -> None:
        self._now_s += milliseconds / 1000

    async def __aenter__(self) -> Self:
        while not self._matcher.ownership.shards:
            self._matcher.step()
        await self.gateway.begin()
        hub = self.gateway.hub
        self._tasks = [
            asyncio.create_task(hub.append_forever()),
            asyncio.create_task(hub.follow_forever()),
        ]
        await self._open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _open(self) -> None:
        lobby = self.gateway.lobby
        callers = [
            Caller("p" + letter * 20, letter, Role.PLAYER, self._now_s + 900) for letter in "abcd"
        ]
        request = lobby_pb2.CreateTableRequest(
            request_id=bytes(16),
            display_name="bench",
            preset="blitz",
            seats=SEATS,
            switches=PATIENT,
        )
        made = asyncio.create_task(lobby.create_table(callers[0], request))
        await self.settle()
        table = (await made).table.name
        for caller in callers:
            joined = asyncio.create_task(
                lobby.join_table(caller, lobby_pb2.JoinTableRequest(table=table))
            )
            await self.settle()
            seat = BenchSeat(SeatProtocol(table, (await joined).seat_token))
            seat.session = self.gateway.open(seat, caller)
            seat.session.receive(seat.protocol.attach())
            self.seats.append(seat)
        await self.settle()
        for purpose in (table_pb2.READY_FOR_START, table_pb2.READY_FOR_OPEN):
            for number in range(SEATS):
                ready = play_pb2.Ready(ready_for=purpose)
                self.send(number, play_pb2.Command(ready=ready))
            await self.settle()

    def send(self, number: int, command: play_pb2.Command) -> None:
        seat = self.seats[number]
        seat.protocol.submit(command, self._now_s)
        seat.flush()

    async def settle(self) -> None:
        """Let what was sent arrive everywhere."""
        for _ in range(3):
            for _ in range(LOOP_TURNS):
                await asyncio.sleep(0)
            self._matcher.step()
        for _ in range(LOOP_TURNS):
            await asyncio.sleep(0)
