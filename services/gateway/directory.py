"""The tables of all shards, as the lobby sees them."""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from services.gateway.resource_names import shard_of
from services.log.codec import LobbyLine, Undecodable, unpack_lobby_line
from services.log.port import GatewayLog

log = structlog.get_logger()

FRESH_S: Final = 0.2
"""A list this old is still shown: people choose tables more slowly."""


class Directory:
    """Lobby lines by table. A line is unpacked again only when its bytes have changed."""

    def __init__(self, log_port: GatewayLog, shards: int, clock: Callable[[], float]) -> None:
        self._log = log_port
        self._shards = shards
        self._clock = clock
        self._packed: dict[str, bytes] = {}
        self._lines: dict[str, LobbyLine] = {}
        self._read_s = float("-inf")
        self._reading = asyncio.Lock()

    async def lines(self, age_max_s: float = FRESH_S) -> dict[str, LobbyLine]:
        """All tables, as they were at most so long ago. Raises `LogError`."""
        asked_s = self._clock()
        async with self._reading:
            if asked_s - self._read_s > age_max_s:
                await self._read()
        return self._lines

    async def line(self, table: str) -> LobbyLine | None:
        """One table, as it is now. Raises `LogError`."""
        packed = await self._log.lobby_line(shard_of(table), table)
        return None if packed is None else self._unpacked(table, packed)

    async def _read(self) -> None:
        started_s = self._clock()
        lines: dict[str, LobbyLine] = {}
        packed: dict[str, bytes] = {}
        for shard in range(self._shards):
            for table, data in (await self._log.lobby(shard)).items():
                line = (
                    self._lines.get(table)
                    if self._packed.get(table) == data
                    else self._unpacked(table, data)
                )
                if line is not None:
                    packed[table] = data
                    lines[table] = line
        self._packed, self._lines, self._read_s = packed, lines, started_s

    @staticmethod
    def _unpacked(table: str, packed: bytes) -> LobbyLine | None:
        try:
            return unpack_lobby_line(packed)
        except Undecodable as error:
            log.error("lobby_line_undecodable", table=table, reason=error.reason)
            return None
