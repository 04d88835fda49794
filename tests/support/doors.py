"""Both native doors, opened in the test's own process or chosen for a process of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import grpc
import pytest

from services.gateway.doors.opening import Kind, NativeDoor, new_door
from services.gateway.doors.tls import Certificate
from services.gateway.methods import methods_of
from services.gateway.session.roles import Role
from support.front import Front

KINDS: Final[tuple[Kind, ...]] = ("h2", "grpc.aio")

both_doors = pytest.mark.parametrize("kind", KINDS)
"""For tests that take the kind of door they are about."""

BOTH_PROCESSES: Final = [
    pytest.param("h2"),
    pytest.param("grpc.aio", marks=pytest.mark.all),
]
"""For fixtures that start a gateway: the reference door only in CI, since starting costs time."""


@asynccontextmanager
async def listening(
    front: Front, kind: Kind, tls: Certificate | None = None
) -> AsyncIterator[tuple[NativeDoor, int]]:
    """A real server in this process, and its port."""
    door = new_door(kind, front.gateway, methods_of(front.gateway), tls)
    port = await door.open("127.0.0.1", 0)
    try:
        yield door, port
    finally:
        await door.close(0)


@asynccontextmanager
async def opened(front: Front, kind: Kind) -> AsyncIterator[tuple[NativeDoor, grpc.aio.Channel]]:
    """The same with a channel to it."""
    async with (
        listening(front, kind) as (door, port),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        yield door, channel


def metadata(front: Front) -> tuple[tuple[str, str], ...]:
    """Somebody's token."""
    token = front.tokens.access("p" + "a" * 20, "sid", Role.PLAYER)
    return (("authorization", f"Bearer {token}"),)
