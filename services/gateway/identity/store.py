"""What is kept of persons and sign-ins, under `pit:id:*`. Raises `LogError` like the log.

Every key has a lifetime: what nobody uses any more goes by itself. Every command may be sent twice,
so an unclear outcome is like none.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from services.log import keys
from services.log.connection import AsyncConnection

_NEWEST: Final = "newest"
"""The only member of a sorted set: a score can be raised, and never lowered, in one step."""


class PeopleStore(Protocol):
    async def keep_name(self, person: str, name: str, for_s: int) -> str:
        """Unless the person has one; the name the person has then."""

    async def prolong_name(self, person: str, for_s: int) -> None:
        """Whatever the name is, from now on for so long."""

    async def names(self, persons: Sequence[str]) -> dict[str, str]: ...

    async def keep_refresh(self, digest: str, content: str, for_s: int) -> None:
        """Unless it is there already, whatever its content."""

    async def retire_refresh(self, digest: str, content: str, for_s: int) -> None:
        """Other content, and a shorter life."""

    async def refresh_content(self, digest: str) -> str | None: ...

    async def raise_expiry(self, sign_in: str, expires_s: float, for_s: int) -> None:
        """Unless a newer one is known."""

    async def newest_expiry(self, sign_in: str) -> float:
        """0 where none is known."""

    async def note(self, key: str, content: str, for_s: int) -> None:
        """Keep something under a key of `services.log.keys`, whatever was there."""

    async def note_first(self, key: str, content: str, for_s: int) -> str:
        """The same unless something is there; what is there then."""

    async def noted(self, key: str) -> str | None: ...

    async def table_opened(self, person: str, table: str, at_s: int, for_s: int) -> dict[str, int]:
        """Note it with those opened before; all of them with their times. A repeat keeps the time
        of the first."""

    async def tables_over(self, person: str, tables: Sequence[str]) -> None:
        """Forget that the person has opened them."""

    async def claim_bot_seats(
        self, seats: Sequence[tuple[str, int]], gateway: str, for_ms: int
    ) -> list[bool]:
        """Of (table, seat): whether no other gateway has offered it to a bot lately."""

    async def close(self) -> None: ...


class RedisPeopleStore:
    """On the same server as the log, by a connection of its own."""

    def __init__(self, url: str) -> None:
        self._connection = AsyncConnection(url)

    async def keep_name(self, person: str, name: str, for_s: int) -> str:
        return await self.note_first(keys.person_name(person), name, for_s)

    async def prolong_name(self, person: str, for_s: int) -> None:
        await self._connection.tell_all([("EXPIRE", keys.person_name(person), for_s)])

    async def names(self, persons: Sequence[str]) -> dict[str, str]:
        found = await self._connection.tell_all(
            [("GET", keys.person_name(person)) for person in persons]
        )
        return {
            person: name.decode()
            for person, name in zip(persons, found, strict=True)
            if name is not None
        }

    async def keep_refresh(self, digest: str, content: str, for_s: int) -> None:
        await self._connection.tell_all(
            [("SET", keys.refresh_token(digest), content, "NX", "EX", for_s)]
        )

    async def retire_refresh(self, digest: str, content: str, for_s: int) -> None:
        await self.note(keys.refresh_token(digest), content, for_s)

    async def refresh_content(self, digest: str) -> str | None:
        return await self.noted(keys.refresh_token(digest))

    async def raise_expiry(self, sign_in: str, expires_s: float, for_s: int) -> None:
        key = keys.newest_expiry(sign_in)
        await self._connection.tell_all(
            [("ZADD", key, "GT", int(expires_s), _NEWEST), ("EXPIRE", key, for_s)]
        )

    async def newest_expiry(self, sign_in: str) -> float:
        [newest_s] = await self._connection.tell_all(
            [("ZSCORE", keys.newest_expiry(sign_in), _NEWEST)]
        )
        return float(newest_s or 0)

    async def note(self, key: str, content: str, for_s: int) -> None:
        await self._connection.tell_all([("SET", key, content, "EX", for_s)])

    async def note_first(self, key: str, content: str, for_s: int) -> str:
        [before] = await self._connection.tell_all(
            [("SET", key, content, "NX", "GET", "EX", for_s)]
        )
        return content if before is None else str(before.decode())

    async def noted(self, key: str) -> str | None:
        [content] = await self._connection.tell_all([("GET", key)])
        return None if content is None else str(content.decode())

    async def table_opened(self, person: str, table: str, at_s: int, for_s: int) -> dict[str, int]:
        key = keys.tables_of(person)
        _, _, flat = await self._connection.tell_all(
            [("HSETNX", key, table, at_s), ("EXPIRE", key, for_s), ("HGETALL", key)]
        )
        return {
            name.decode(): int(opened_s)
            for name, opened_s in zip(flat[::2], flat[1::2], strict=True)
        }

    async def tables_over(self, person: str, tables: Sequence[str]) -> None:
        await self._connection.tell_all(
            [("HDEL", keys.tables_of(person), *tables)] if tables else []
        )

    async def claim_bot_seats(
        self, seats: Sequence[tuple[str, int]], gateway: str, for_ms: int
    ) -> list[bool]:
        claimed = await self._connection.tell_all(
            [
                ("SET", keys.bot_claim(table, seat), gateway, "NX", "PX", for_ms)
                for table, seat in seats
            ]
        )
        return [answer is not None for answer in claimed]

    async def close(self) -> None:
        await self._connection.close()
