"""Who we are: an access token that is renewed before it expires, and those who must hear of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from services.client.backoff import Backoff
from services.client.errors import Refused

VERSION: Final = "0.1.0"
CLIENT: Final = f"pit-python/{VERSION}"
RENEWED_AT: Final = 2 / 3
"""Part of a token's life after which it is renewed: the rest is for trying again."""
JUST_RENEWED_S: Final = 5.0
"""Many streams may ask for a new token at once; one renewal serves all."""

Renew = Callable[[], Awaitable[tuple[str, float]]]
"""Gives a new access token and its life in seconds. Raises `SignedOut`, `Refused`."""


class Credentials:
    """The access token of one sign-in."""

    def __init__(self, access_token: str, life_s: float, renew: Renew) -> None:
        self._renew = renew
        self._lock = asyncio.Lock()
        self._watchers: set[Callable[[str], None]] = set()
        self._set(access_token, life_s)

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every call carries."""
        return (("authorization", f"Bearer {self._access_token}"), ("pit-client", CLIENT))

    def watch(self, watcher: Callable[[str], None]) -> None:
        """Call `watcher` with every new token: an open stream must be told of it."""
        self._watchers.add(watcher)

    def unwatch(self, watcher: Callable[[str], None]) -> None:
        self._watchers.discard(watcher)

    async def renew(self) -> None:
        """Get a new token, unless that has just been done. Raises `SignedOut`, `Refused`."""
        async with self._lock:
            if time.monotonic() - self._renewed_at < JUST_RENEWED_S:
                return
            self._set(*await self._renew())
            for watcher in tuple(self._watchers):
                watcher(self._access_token)

    async def keep_fresh(self) -> None:
        """Renew the token in time, for ever. Raises `SignedOut` when that is refused."""
        backoff = Backoff()
        while True:
            wait_s = self._renewed_at + self._life_s * RENEWED_AT - time.monotonic()
            await asyncio.sleep(max(wait_s, backoff.delay_s()))
            try:
                await self.renew()
                backoff.succeeded()
            except Refused:
                continue

    def _set(self, access_token: str, life_s: float) -> None:
        self._access_token = access_token
        self._life_s = life_s
        self._renewed_at = time.monotonic()
