"""What is kept of persons and sign-ins, under `pit:id:*`. Raises `LogError` like the log."""

from collections.abc import Sequence
from typing import Any, Protocol

from services.log import keys
from services.log.connection import AsyncConnection, pack
from services.log.port import LogError


class PeopleStore(Protocol):
    async def keep_name(self, person: str, name: str) -> None: ...

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

    async def claim_bot_seats(
        self, seats: Sequence[tuple[str, int]], gateway: str, for_ms: int
    ) -> list[bool]:
        """Of (table, seat): whether no other gateway has offered it to a bot lately."""

    async def close(self) -> None: ...


class RedisPeopleStore:
    """On the same server as the log, by a connection of its own."""

    def __init__(self, url: str) -> None:
        self._connection = AsyncConnection(url)

    async def keep_name(self, person: str, name: str) -> None:
        await self._all([("SET", keys.person_name(person), name)])

    async def names(self, persons: Sequence[str]) -> dict[str, str]:
        found = await self._all([("GET", keys.person_name(person)) for person in persons])
        return {
            person: name.decode()
            for person, name in zip(persons, found, strict=True)
            if name is not None
        }

    async def keep_refresh(self, digest: str, content: str, for_s: int) -> None:
        await self._all([("SET", keys.refresh_token(digest), content, "NX", "EX", for_s)])

    async def retire_refresh(self, digest: str, content: str, for_s: int) -> None:
        await self._all([("SET", keys.refresh_token(digest), content, "EX", for_s)])

    async def refresh_content(self, digest: str) -> str | None:
        [content] = await self._all([("GET", keys.refresh_token(digest))])
        return None if content is None else str(content.decode())

    async def raise_expiry(self, sign_in: str, expires_s: float, for_s: int) -> None:
        if expires_s > await self.newest_expiry(sign_in):
            key = keys.newest_expiry(sign_in)
            await self._all([("SET", key, int(expires_s), "EX", for_s)])

    async def newest_expiry(self, sign_in: str) -> float:
        [expires_s] = await self._all([("GET", keys.newest_expiry(sign_in))])
        return float(expires_s or 0)

    async def claim_bot_seats(
        self, seats: Sequence[tuple[str, int]], gateway: str, for_ms: int
    ) -> list[bool]:
        claimed = await self._all(
            [
                ("SET", keys.bot_claim(table, seat), gateway, "NX", "PX", for_ms)
                for table, seat in seats
            ]
        )
        return [answer is not None for answer in claimed]

    async def close(self) -> None:
        await self._connection.close()

    async def _all(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Every one of these may be sent again, so an unclear outcome is like none."""
        if not commands:
            return []
        data = b"".join(map(pack, commands))
        results = await self._connection.call_all(data, len(commands))
        for result in results:
            if isinstance(result, LogError):
                raise result
        return results
