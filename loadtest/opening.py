"""Opens tables and takes their seats, through the public lobby."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from pit.v1 import lobby_pb2, table_pb2

from loadtest.options import SignIns
from services.client.channels import Channels
from services.client.errors import ClientError, Refused
from services.client.exchange import Exchange, Place
from services.client.operator import Operator

T = TypeVar("T")

AT_ONCE: Final = 8
"""Tables that one worker opens at the same time: finished ones are replaced without a storm."""

GIVE_UP_S: Final = 8.0
"""For giving up all seats at the end. Nobody waits longer; the exchange forgets them by itself."""
BATCH_MAX: Final = 500
"""Tables that operators open with one call."""


@dataclass(frozen=True, slots=True)
class TableWish:
    """The tables to open."""

    rules: str
    switches: bytes
    """A serialised `Rules` over the preset."""
    seats: int


class Persons:
    """The sign-ins of one worker."""

    def __init__(
        self, target: str, name: str, kind: SignIns, seats: int, authorities: Path | None = None
    ) -> None:
        self._channels = Channels((target,), authorities=authorities)
        self._target = target
        self._name = name
        self._kind = kind
        self._seats = seats
        self._exchanges: dict[int, Exchange] = {}

    async def person(self, slot: int, seat: int) -> Exchange:
        """Who takes this seat; signed in when first asked for."""
        return self._exchanges[seat if self._kind == "shared" else slot * self._seats + seat]

    async def sign_in(self, slots: int, told: Callable[[int, int], None]) -> None:
        """All, before anything else; `told` how many are, and of how many. Where the exchange lets
        guests in one after the other, this takes as long as it wants. Raises `Refused`."""
        guests = self._seats * (1 if self._kind == "shared" else slots)
        waiting = iter(range(guests))

        async def some() -> None:
            for number in waiting:
                self._exchanges[number] = await self._guest(f"{self._name} {number}")
                told(len(self._exchanges), guests)

        await _together(some() for _ in range(AT_ONCE))

    async def _guest(self, name: str) -> Exchange:
        exchange = Exchange([self._target], authorities=self._channels.authorities)
        exchange.channels = self._channels
        while True:
            try:
                await exchange.sign_in_guest(name)
            except Refused as refused:
                if refused.reason != "RATE_LIMITED" or not refused.retry_after_s:
                    raise
                await asyncio.sleep(refused.retry_after_s)
            else:
                return exchange

    async def give_up(self) -> None:
        """Leave every seat that is held, as far as the exchange lets us: others would be shown
        tables at which nobody plays."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GIVE_UP_S):
                await asyncio.gather(*(_give_up(one) for one in self._exchanges.values()))

    async def close(self) -> None:
        for exchange in self._exchanges.values():
            await exchange.close()
        await self._channels.close()


async def _together(parts: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All of them. Where one fails it alone is raised, and none of the others goes on."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(part) for part in parts]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


async def _give_up(person: Exchange) -> None:
    with suppress(ClientError):
        for place in await person.my_seats():
            with suppress(ClientError):  # its game may have ended just now
                await person.leave_table(place.table)


class Opener:
    """Opens one table after the other, a few at once."""

    def __init__(self, persons: Persons, wish: TableWish) -> None:
        self._persons = persons
        self._wish = wish
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._prepared: list[str] = []
        """Tables that operators have opened."""

    async def prepare(self, operators: tuple[str, str], count: int, starts_at_s: float) -> None:
        """Let operators open the next so many tables, to start at one wall time. Raises
        `Refused`."""
        async with Operator(*operators) as operator:
            for begin in range(0, count, BATCH_MAX):
                more = min(BATCH_MAX, count - begin)
                template = self._request("Load")
                self._prepared += await operator.create_tables(template, more, starts_at_s)

    async def open(self, slot: int) -> list[tuple[Exchange, Place]]:
        """A new table with a person on every seat. Raises `Refused`."""
        async with self._at_once:
            if self._prepared:
                table = self._prepared.pop()
            else:
                owner = await self._persons.person(slot, 0)
                table = (await owner.create_table(self._request(f"Load {slot}"))).table.name
            return await _together(
                self._sit_down(slot, table, seat) for seat in range(self._wish.seats)
            )

    def _request(self, name: str) -> lobby_pb2.CreateTableRequest:
        wish = self._wish
        return lobby_pb2.CreateTableRequest(
            request_id=os.urandom(16),
            display_name=name,
            preset=wish.rules,
            switches=table_pb2.Rules.FromString(wish.switches),
            seats=wish.seats,
            visibility=table_pb2.VISIBILITY_UNLISTED,
            absent_policy=table_pb2.ABSENT_POLICY_BOT,
            bots=True,
        )

    async def _sit_down(self, slot: int, table: str, seat: int) -> tuple[Exchange, Place]:
        person = await self._persons.person(slot, seat)
        return person, await person.join_table(table, seat=seat)
