"""Connections to the gateways. Any client may use any gateway, so calls spread over all."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from grpc import aio

from services.client import trust

STREAMS_MAX: Final = 90
"""Streams on one connection: below the 100 a gateway allows, so that unary calls still pass."""
AVOIDED_S: Final = 2.0
"""How long a gateway that failed is passed over while others are there."""
OPTIONS: Final = (
    ("grpc.use_local_subchannel_pool", 1),  # a channel is a connection of its own
    ("grpc.max_receive_message_length", 16 << 20),  # the list of seats that want a bot
    ("grpc.keepalive_time_ms", 30_000),  # the gateway allows one ping in 20 s
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 0),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)


@dataclass(slots=True, eq=False)
class Connection:
    """One connection to one gateway, and how many streams it carries."""

    target: str
    channel: aio.Channel
    streams: int = 0


@dataclass(slots=True)
class Channels:
    """The connections to all known gateways. Raises `BadTarget`."""

    targets: tuple[str, ...]
    streams_max: int = STREAMS_MAX
    authorities: Path | None = None
    """PEM file of those whose certificates are believed; none: the system's."""
    _connections: list[Connection] = field(default_factory=list)
    _failed_at: dict[str, float] = field(default_factory=dict)
    _turn: int = 0

    def __post_init__(self) -> None:
        if not self.targets:
            raise ValueError("no gateway given: at least one HOST:PORT is needed")
        for target in self.targets:
            trust.parse(target)

    def lease(self) -> Connection:
        """A connection with room for one more stream. Give it back with `release`."""
        connection = self._with_room(self._next_target())
        connection.streams += 1
        return connection

    def unary(self) -> Connection:
        """A connection for a short call; not to be given back."""
        return self._with_room(self._next_target())

    def release(self, connection: Connection) -> None:
        connection.streams -= 1

    def failed(self, target: str) -> None:
        """Pass this gateway over for a little while."""
        self._failed_at[target] = time.monotonic()

    async def why_not(self, target: str) -> trust.Untrusted | None:
        """After a failed connection there: whether TLS is the reason."""
        return await trust.why_not(trust.parse(target), self.authorities)

    async def close(self) -> None:
        for connection in self._connections:
            await connection.channel.close()
        self._connections.clear()

    def _next_target(self) -> str:
        self._turn += 1
        count = len(self.targets)
        in_turn = [self.targets[(self._turn + index) % count] for index in range(count)]
        since = time.monotonic() - AVOIDED_S
        for target in in_turn:
            if self._failed_at.get(target, since) <= since:
                return target
        return in_turn[0]

    def _with_room(self, target: str) -> Connection:
        for connection in self._connections:
            if connection.target == target and connection.streams < self.streams_max:
                return connection
        channel = trust.open_channel(trust.parse(target), self.authorities, OPTIONS)
        connection = Connection(target, channel)
        self._connections.append(connection)
        return connection
