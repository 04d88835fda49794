"""Opens tables and takes their seats, through the public lobby."""

import asyncio
import os
from dataclasses import dataclass
from typing import Final

from pit.v1 import lobby_pb2, table_pb2

from loadtest.options import SignIns
from services.client.channels import Channels
from services.client.exchange import Exchange, Place

AT_ONCE: Final = 8
"""Tables that one worker opens at the same time: finished ones are replaced without a storm."""


@dataclass(frozen=True, slots=True)
class TableWish:
    """The tables to open."""

    rules: str
    switches: bytes
    """A serialised `Rules` over the preset."""
    seats: int


class Persons:
    """The sign-ins of one worker."""

    def __init__(self, target: str, name: str, kind: SignIns, seats: int) -> None:
        self._channels = Channels((target,))
        self._target = target
        self._name = name
        self._kind = kind
        self._seats = seats
        self._exchanges: dict[int, Exchange] = {}

    async def person(self, slot: int, seat: int) -> Exchange:
        """Who takes this seat; signed in when first asked for."""
        number = seat if self._kind == "shared" else slot * self._seats + seat
        exchange = self._exchanges.get(number)
        if exchange is None:
            exchange = Exchange([self._target])
            exchange.channels = self._channels
            await exchange.sign_in_guest(f"{self._name} {number}")
            self._exchanges[number] = exchange
        return exchange

    async def sign_in(self) -> None:
        """Before anything else, where a few sign-ins are shared by all. Raises `Refused`."""
        if self._kind == "shared":
            for seat in range(self._seats):
                await self.person(0, seat)

    async def close(self) -> None:
        for exchange in self._exchanges.values():
            await exchange.close()
        await self._channels.close()


class Opener:
    """Opens one table after the other, a few at once."""

    def __init__(self, persons: Persons, wish: TableWish) -> None:
        self._persons = persons
        self._wish = wish
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._opened = 0

    async def open(self, slot: int) -> list[tuple[Exchange, Place]]:
        """A new table with a person on every seat. Raises `Refused`."""
        wish = self._wish
        async with self._at_once:
            self._opened += 1
            owner = await self._persons.person(slot, 0)
            request = lobby_pb2.CreateTableRequest(
                request_id=os.urandom(16),
                display_name=f"Load {slot}",
                preset=wish.rules,
                switches=table_pb2.Rules.FromString(wish.switches),
                seats=wish.seats,
                visibility=table_pb2.VISIBILITY_UNLISTED,
                absent_policy=table_pb2.ABSENT_POLICY_BOT,
                bots=True,
            )
            table = (await owner.create_table(request)).table.name
            return await asyncio.gather(
                *(self._sit_down(slot, table, seat) for seat in range(wish.seats))
            )

    async def _sit_down(self, slot: int, table: str, seat: int) -> tuple[Exchange, Place]:
        person = await self._persons.person(slot, seat)
        return person, await person.join_table(table, seat=seat)
