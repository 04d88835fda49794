"""The memory twin of the people store, for tests and simulation."""

import time
from collections.abc import Callable, Sequence

from services.log import keys


class MemoryPeopleStore:
    """Forgets with its process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._notes: dict[str, tuple[str, float]] = {}
        self._tables: dict[str, dict[str, int]] = {}
        self._claims: dict[tuple[str, int], float] = {}

    async def keep_name(self, person: str, name: str, for_s: int) -> str:
        return await self.note_first(keys.person_name(person), name, for_s)

    async def prolong_name(self, person: str, for_s: int) -> None:
        name = await self.noted(keys.person_name(person))
        if name is not None:
            await self.note(keys.person_name(person), name, for_s)

    async def names(self, persons: Sequence[str]) -> dict[str, str]:
        found = {person: await self.noted(keys.person_name(person)) for person in persons}
        return {person: name for person, name in found.items() if name is not None}

    async def keep_refresh(self, digest: str, content: str, for_s: int) -> None:
        await self.note_first(keys.refresh_token(digest), content, for_s)

    async def retire_refresh(self, digest: str, content: str, for_s: int) -> None:
        await self.note(keys.refresh_token(digest), content, for_s)

    async def refresh_content(self, digest: str) -> str | None:
        return await self.noted(keys.refresh_token(digest))

    async def raise_expiry(self, sign_in: str, expires_s: float, for_s: int) -> None:
        newest_s = max(expires_s, await self.newest_expiry(sign_in))
        await self.note(keys.newest_expiry(sign_in), str(newest_s), for_s)

    async def newest_expiry(self, sign_in: str) -> float:
        return float(await self.noted(keys.newest_expiry(sign_in)) or 0)

    async def note(self, key: str, content: str, for_s: int) -> None:
        self._notes[key] = content, self._clock() + for_s

    async def note_first(self, key: str, content: str, for_s: int) -> str:
        before = await self.noted(key)
        if before is None:
            await self.note(key, content, for_s)
        return content if before is None else before

    async def noted(self, key: str) -> str | None:
        content, until_s = self._notes.get(key, ("", 0.0))
        return content if self._clock() < until_s else None

    async def table_opened(self, person: str, table: str, at_s: int, for_s: int) -> dict[str, int]:
        tables = self._tables.setdefault(person, {})
        tables.setdefault(table, at_s)
        return dict(tables)

    async def tables_over(self, person: str, tables: Sequence[str]) -> None:
        for table in tables:
            self._tables.get(person, {}).pop(table, None)

    async def claim_bot_seats(
        self, seats: Sequence[tuple[str, int]], gateway: str, for_ms: int
    ) -> list[bool]:
        now_s = self._clock()
        free = [self._claims.get(seat, 0) <= now_s for seat in seats]
        for seat, is_free in zip(seats, free, strict=True):
            if is_free:
                self._claims[seat] = now_s + for_ms / 1000
        return free

    async def close(self) -> None:
        """Nothing is open."""
