"""A real exchange with its internal port: matchers, a gateway or two, an operator, people."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import grpc
import pytest
from grpc import StatusCode
from pit.v1 import lobby_pb2, table_pb2

from services.client.errors import Refused
from services.client.exchange import Exchange, Place
from services.client.happenings import Happened
from services.client.operator import Operator
from services.client.seat import SeatSession
from services.gateway.identity.tokens import SignedTokens, parse_keys
from services.log.server import free_port
from support.gatewayd import GatewayProcess, gateway
from support.processes import MatcherProcess, matchers
from support.valkey import SHARDS

WAIT_S = 20.0
NAME = "Ann Operator"

Answer = TypeVar("Answer")


@dataclass
class Operated:
    """Everything that runs, and how to talk to it."""

    url: str
    gateway: GatewayProcess
    matchers: list[MatcherProcess]
    inside: str
    """`host:port` of the internal port."""

    @property
    def token(self) -> str:
        return SignedTokens(parse_keys(self.gateway.keys)).operator(NAME, 3600)

    def operator(self) -> Operator:
        return Operator(self.inside, self.token)


@contextmanager
def operated(
    url: str, directory: Path, *names: str, keys: str = "", **settings: str
) -> Iterator[Operated]:
    """A gateway with the internal port, and matchers of these names behind it."""
    port = free_port()
    settings = {"PIT_PROFILE": "load", "PIT_OPERATE_PORT": str(port), **settings}
    with (
        matchers(url, *(names or ("m1",))) as owners,
        gateway(url, directory, **settings) as started,
    ):
        wait_for_owners(owners)
        inside = f"127.0.0.1:{port}"
        for target in (inside, started.target):
            with grpc.insecure_channel(target) as channel:
                grpc.channel_ready_future(channel).result(WAIT_S)
        yield Operated(url, started, owners, inside)


def wait_for_owners(owners: list[MatcherProcess]) -> None:
    """Until every shard has an owner and the shares are even."""
    share = SHARDS // len(owners)
    for owner in owners:
        owner.wait_for("shard acquired", times=share)


@asynccontextmanager
async def people(target: str, *names: str) -> AsyncIterator[list[Exchange]]:
    """Persons signed in."""
    found = [Exchange([target]) for _ in names]
    try:
        for each, name in zip(found, names, strict=True):
            await each.sign_in_guest(name)
        yield found
    finally:
        for each in found:
            await each.close()


async def table_of(owner: Exchange, **fields: object) -> str:
    """A new table's name."""
    asked = {
        "request_id": secrets.token_bytes(16),
        "display_name": "A table",
        "preset": "blitz",
        "seats": 4,
        "bots": False,
        **fields,
    }
    created = await owner.create_table(lobby_pb2.CreateTableRequest(**asked))
    return created.table.name


@asynccontextmanager
async def seated(table: str, *persons: Exchange) -> AsyncIterator[list[SeatSession]]:
    """Everybody joined and attached."""
    places: list[Place] = [await person.join_table(table) for person in persons]
    sessions = [person.play(place) for person, place in zip(persons, places, strict=True)]
    try:
        for session in sessions:
            await session.__aenter__()
        yield sessions
    finally:
        for session in sessions:
            await session.__aexit__(None, None, None)


async def event(session: SeatSession, kind: str) -> table_pb2.Event:
    """The next event of this kind at the table."""
    async with asyncio.timeout(WAIT_S):
        async for happening in session:
            if isinstance(happening, Happened) and happening.event.WhichOneof("kind") == kind:
                return happening.event
    raise AssertionError(f"no {kind}")


@asynccontextmanager
async def playing(target: str, **fields: object) -> AsyncIterator[tuple[str, list[SeatSession]]]:
    """A table of three whose exchange is open: its name and its seats."""
    async with people(target, "Ada", "Ben", "Cy") as persons:
        table = await table_of(persons[0], seats=3, **fields)
        async with seated(table, *persons) as seats:
            for purpose in (table_pb2.READY_FOR_START, table_pb2.READY_FOR_OPEN):
                for seat in seats:
                    await seat.ready(purpose)
            await asyncio.gather(*(event(seat, "exchange_opened") for seat in seats))
            yield table, seats


@contextmanager
def refused(code: StatusCode, reason: str) -> Iterator["pytest.ExceptionInfo[Refused]"]:
    """The exchange refuses it, and says so."""
    with pytest.raises(Refused) as found:
        yield found
    assert (found.value.code, found.value.reason) == (code, reason), found.value.message


@contextmanager
def wrong(field: str) -> Iterator[None]:
    """The request has a bad field, which is named."""
    with pytest.raises(Refused) as found:
        yield
    assert found.value.code == StatusCode.INVALID_ARGUMENT
    assert found.value.message.startswith(f"{field}: ")


async def eventually(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """The first answer that is neither refused nor empty: gateways hear of orders in a second."""
    async with asyncio.timeout(WAIT_S):
        while True:
            with suppress(Refused):
                answer = await ask()
                if answer:
                    return answer
            await asyncio.sleep(0.1)


async def refused_in_maintenance(person: Exchange) -> str:
    """What a person who wants to open a table is told, once the gateway has heard of it."""

    async def open_until_refused() -> None:
        while True:
            await table_of(person)
            await asyncio.sleep(0.05)

    with refused(StatusCode.FAILED_PRECONDITION, "MAINTENANCE") as told:
        await asyncio.wait_for(open_until_refused(), WAIT_S)
    return told.value.message
