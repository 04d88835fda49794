"""A gateway in the test's own process: real sessions, matcher and engine, on the log in memory.

Nothing waits: time is the world's, and goes on as far as the matcher's idle steps take it.
"""

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from pit.v1 import lobby_pb2, play_pb2, table_pb2

from services.client.happenings import Happening, Settled
from services.client.protocol import SeatProtocol
from services.gateway.appender import ALIVE_EVERY_S
from services.gateway.errors import Refused
from services.gateway.gateway import Gateway
from services.gateway.identity.memory import MemoryPeopleStore
from services.gateway.identity.tokens import SignedTokens
from services.gateway.session.core import Session
from services.gateway.session.limits import LOAD, Profile
from services.gateway.session.roles import Caller, Role, SeatClaim
from services.log.memory import MemoryGatewayLog
from support.world import World

KEYS = {"k1": bytes(range(32)), "k0": bytes(range(1, 33))}
WALL_S = 1_700_000_000.0
YIELDS = 12
"""Turns of the loop within which the gateway's tasks take everything that is ready."""


class OpenDoor:
    """A door whose reader takes everything at once, or nothing while `blocked`."""

    def __init__(self) -> None:
        self.ready = True
        self.blocked = False
        self.messages: list[bytes] = []
        self.ended = False
        self.refused: Refused | None = None

    def send(self, message: bytes) -> None:
        self.messages.append(message)
        self.ready = not self.blocked

    def end(self, refused: Refused | None, last: bytes) -> None:
        if last and self.ready:
            self.messages.append(last)
        self.ended = True
        self.refused = refused

    @property
    def end_reason(self) -> str:
        return self.refused.why.name if self.refused is not None else ""


class Seated:
    """One stream of one seat: the session on one side, the client's protocol on the other."""

    def __init__(self, front: "Front", caller: Caller, protocol: SeatProtocol) -> None:
        self.front = front
        self.caller = caller
        self.protocol = protocol
        self.happenings: list[Happening] = []
        self.raw: list[bytes] = []
        """Every message sent to this seat, over all its streams."""
        self.door = OpenDoor()
        self.session: Session | None = None

    def connect(self) -> None:
        """A new stream, which attaches or resumes."""
        self.door = OpenDoor()
        self.session = self.front.gateway.open(self.door, self.caller)
        self.session.receive(self.protocol.attach())

    def receive(self, request: play_pb2.PlayRequest) -> None:
        assert self.session is not None
        self.session.receive(request.SerializeToString())

    def submit(self, command: play_pb2.Command) -> int:
        number = self.protocol.submit(command, self.front.world.now_s)
        self.flush()
        return number

    def flush(self) -> None:
        assert self.session is not None
        for data in self.protocol.outgoing():
            self.session.receive(data)

    def take(self) -> list[Happening]:
        """What has come since the last time."""
        messages, self.door.messages = self.door.messages, []
        found: list[Happening] = []
        for message in messages:
            self.raw.append(message)
            found += self.protocol.receive(message)
        self.happenings += found
        return found

    def items(self) -> list[play_pb2.Item]:
        """What has come since the last time, undigested."""
        messages, self.door.messages = self.door.messages, []
        return [
            item
            for message in messages
            for table in play_pb2.PlayResponse.FromString(message).batch.tables
            for item in table.items
        ]

    def outcomes(self) -> dict[int, Any]:
        """Outcomes by command number."""
        return {
            each.command.number: each.outcome for each in self.happenings if type(each) is Settled
        }

    @property
    def view(self) -> Any:
        assert self.protocol.view is not None
        return self.protocol.view


class Front:
    """The gateway, the matcher it talks to, and the people in front."""

    def __init__(self, seed: int = 1, people: Profile = LOAD, shards: int = 2) -> None:
        self.world = World(shards, seed)
        self.matcher = self.world.owner()
        self.store = MemoryPeopleStore(self.clock)
        self.tokens = SignedTokens(KEYS)
        self.people = people
        self.gateway = self._gateway("g1")
        self._tasks: list[asyncio.Task[None]] = []
        self._requests = 0
        self._alive_s = 0.0

    def clock(self) -> float:
        return self.world.now_s

    def wall(self) -> float:
        return WALL_S + self.world.now_s

    def _gateway(self, name: str) -> Gateway:
        return Gateway(
            MemoryGatewayLog(self.world.store),
            self.store,
            self.tokens,
            name,
            self.world.shards,
            self.people,
            self.clock,
            self.wall,
            sleep=lambda seconds: asyncio.sleep(0),  # nobody waits in real time
        )

    async def __aenter__(self) -> Self:
        await self.start(self.gateway)
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

    async def start(self, gateway: Gateway) -> None:
        await gateway.begin()
        hub = gateway.hub
        self._tasks += [
            asyncio.create_task(hub.append_forever()),
            asyncio.create_task(hub.follow_forever()),
        ]

    async def second_gateway(self) -> Gateway:
        gateway = self._gateway("g2")
        await self.start(gateway)
        return gateway

    # ---------------------------------------------------------------- time

    async def breathe(self) -> None:
        """Let the gateway's tasks do what they can, without the matcher; a loop that has nothing
        more to do is not turned for nothing, which would be most of a test's time."""
        ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
        for _ in range(YIELDS):
            await asyncio.sleep(0)
            if not ready:
                return

    async def settle(self, rounds: int = 4) -> None:
        """Let what is under way arrive."""
        for _ in range(rounds):
            if self.world.now_s - self._alive_s > ALIVE_EVERY_S:
                self._alive_s = self.world.now_s
                self.gateway.hub.say_alive()
            await self.breathe()
            self.matcher.step()
        await self.breathe()

    async def until(self, true: Callable[[], bool], rounds: int = 2_000) -> None:
        for _ in range(rounds):
            if true():
                return
            await self.settle(1)
        raise AssertionError("it never became true")

    async def answer(self, work: Any) -> Any:
        """The outcome of a unary method, with the matcher at work meanwhile."""
        task = asyncio.ensure_future(work)
        for _ in range(200):
            if task.done():
                break
            await self.settle(1)
        return await task

    # ---------------------------------------------------------------- people

    def person(self, number: int, role: Role = Role.PLAYER, for_s: float = 900.0) -> Caller:
        letter = "abcdefghijklmnopqrstuvwxyz234567"[number % 32]
        prefix = "b" if role is Role.BOT else "p"
        person = prefix + letter * 20
        return Caller(person, f"sid-{prefix}-{number}", role, self.wall() + for_s)

    def request_id(self) -> bytes:
        self._requests += 1
        return self._requests.to_bytes(16, "big")

    async def table(self, owner: Caller, **fields: Any) -> str:
        """A new table's name."""
        request = lobby_pb2.CreateTableRequest(
            **{
                "request_id": self.request_id(),
                "display_name": "A table",
                "preset": "blitz",
                "seats": 4,
                **fields,
            }
        )
        response = await self.answer(self.gateway.lobby.create_table(owner, request))
        return str(response.table.name)

    async def join(self, caller: Caller, table: str) -> Seated:
        request = lobby_pb2.JoinTableRequest(table=table)
        response = await self.answer(self.gateway.lobby.join_table(caller, request))
        return Seated(self, caller, SeatProtocol(table, response.seat_token))

    async def seated(self, table: str, *numbers: int) -> list[Seated]:
        """Persons seated and attached."""
        found = [await self.join(self.person(number), table) for number in numbers]
        for each in found:
            each.connect()
        await self.settle()
        for each in found:
            each.take()
        return found

    async def playing(self, rules: str = "blitz", seats: int = 4, **fields: Any) -> list[Seated]:
        """A table whose exchange is open."""
        table = await self.table(self.person(0), preset=rules, seats=seats, **fields)
        found = await self.seated(table, *range(seats))
        for purpose in (table_pb2.READY_FOR_START, table_pb2.READY_FOR_OPEN):
            for each in found:
                nonce = bytes(16) if purpose == table_pb2.READY_FOR_START else b""
                ready = play_pb2.Ready(ready_for=purpose, nonce=nonce)
                each.submit(play_pb2.Command(ready=ready))
            await self.settle()
            for each in found:
                each.take()
        await self.until(lambda: self._open(found))
        return found

    @staticmethod
    def _open(found: list[Seated]) -> bool:
        for each in found:
            each.take()
        return all(each.view.phase == table_pb2.PHASE_OPEN for each in found)

    def seat_token(self, caller: Caller, table: str, seat: int, *, bot: bool = False) -> str:
        claim = SeatClaim(caller.person, table.partition("/")[2], seat, bot)
        return self.tokens.seat(claim)


@asynccontextmanager
async def front(**options: Any) -> Any:
    async with Front(**options) as started:
        yield started
