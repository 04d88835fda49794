"""A few tables of the load tester's in this process, on real sockets, against a null server."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from loadtest import crowd as crowd_module
from loadtest.connections.lean import LeanConnections
from loadtest.connections.port import Connections
from loadtest.crowd import Crowd
from loadtest.messages import Orders
from loadtest.null.server import MakeTable, NullServer
from loadtest.null.table import NullTable
from loadtest.opening import Opener, Persons, TableWish
from loadtest.options import Stage

WAIT_S = 30.0
SEATS = 4


def orders(target: str, tables: int, rate: float, seconds: float) -> Orders:
    return Orders(
        target, 0, TableWish("blitz", b"", SEATS), tables, (Stage(seconds, rate),), 1.0, 0.0, 0.0,
        1, "steady", "lean", "shared", 50,
    )  # fmt: skip


@asynccontextmanager
async def small_load(
    monkeypatch: pytest.MonkeyPatch,
    make_table: MakeTable = NullTable,
    tables: int = 2,
    rate: float = 400,
    seconds: float = WAIT_S,
    connections: type[Connections] = LeanConnections,
) -> AsyncIterator[tuple[Crowd, NullServer]]:
    """Its plan runs from the beginning of the block on; seats hurry from round to round."""
    monkeypatch.setattr(crowd_module, "READY_S", (0.0, 0.01))
    server = NullServer(make_table)
    wanted = orders(f"127.0.0.1:{await server.open()}", tables, rate, seconds)
    persons = Persons(wanted.target, "Load", "shared", SEATS)
    streams = connections(wanted.target, wanted.streams_per_connection)  # type: ignore[call-arg]
    crowd = Crowd(wanted, Opener(persons, wanted.wish), streams)
    try:
        await persons.sign_in(tables, lambda guests, total: None)
        for slot in crowd.slots:
            await crowd.open(slot)
        crowd.go(time.monotonic())
        yield crowd, server
        assert crowd.failure is None, crowd.failure
    finally:
        crowd.stop()
        await streams.close()
        await persons.close()
        await server.close()
