"""The memory twin of the people store, for tests and simulation."""

import time
from collections.abc import Callable, Sequence


class MemoryPeopleStore:
    """Forgets with its process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._names: dict[str, str] = {}
        self._refresh: dict[str, tuple[str, float]] = {}
        self._expiries: dict[str, float] = {}
        self._claims: dict[tuple[str, int], float] = {}

    async def keep_name(self, person: str, name: str) -> None:
        self._names[person] = name

    async def names(self, persons: Sequence[str]) -> dict[str, str]:
        return {person: self._names[person] for person in persons if person in self._names}

    async def keep_refresh(self, digest: str, content: str, for_s: int) -> None:
        if await self.refresh_content(digest) is None:
            await self.retire_refresh(digest, content, for_s)

    async def retire_refresh(self, digest: str, content: str, for_s: int) -> None:
        self._refresh[digest] = content, self._clock() + for_s

    async def refresh_content(self, digest: str) -> str | None:
        content, until_s = self._refresh.get(digest, ("", 0.0))
        return content if self._clock() < until_s else None

    async def raise_expiry(self, sign_in: str, expires_s: float, for_s: int) -> None:
        self._expiries[sign_in] = max(expires_s, await self.newest_expiry(sign_in))

    async def newest_expiry(self, sign_in: str) -> float:
        return self._expiries.get(sign_in, 0)

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
