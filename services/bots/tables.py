"""Tables for bots alone: opened through the public API, each followed by another when it ends."""

import asyncio
import os
from typing import Final

from pit.v1 import lobby_pb2, table_pb2

from services.client.exchange import Exchange

AT_ONCE: Final = 8
"""Tables being opened at the same time."""


class BotTables:
    """Opens tables that bots fill. The exchange must be signed in with the role bot."""

    def __init__(
        self,
        exchange: Exchange,
        preset: str,
        seats: int,
        switches: table_pb2.Rules | None = None,
        name: str = "Bots",
    ) -> None:
        self._exchange = exchange
        self._preset = preset
        self._seats = seats
        self._switches = switches
        self._name = name
        self._opened = 0
        self._open: set[str] = set()
        self._at_once = asyncio.Semaphore(AT_ONCE)

    async def open_one(self) -> str:
        """Open a table and start it: every seat then wants a bot. Raises `Refused`."""
        self._opened += 1
        request = lobby_pb2.CreateTableRequest(
            request_id=os.urandom(16),
            display_name=f"{self._name} {self._opened}",
            preset=self._preset,
            switches=self._switches,
            seats=self._seats,
            visibility=table_pb2.VISIBILITY_PUBLIC,
            absent_policy=table_pb2.ABSENT_POLICY_BOT,
            bots=True,
            for_bots=True,
        )
        async with self._at_once:
            table = (await self._exchange.create_table(request)).table
            self._open.add(table.name)
            await self._exchange.start_table(table.name)
        return table.name

    def ended(self, table: str) -> bool:
        """Note the end of a game; whether the table was opened here and had not ended before."""
        if table not in self._open:
            return False
        self._open.discard(table)
        return True
