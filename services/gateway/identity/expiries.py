"""When sign-ins end: streams of one live on, on any gateway, when one of them was refreshed."""

import asyncio
from collections import deque
from typing import Final

import structlog

from services.gateway.identity.limits import REFRESH_S
from services.gateway.identity.store import PeopleStore
from services.gateway.session.expiry import expiry_is
from services.gateway.session.port import Expiring
from services.gateway.session.roles import Caller
from services.log.port import LogError

log = structlog.get_logger()

SETTLE_EVERY_S: Final = 1.0


class Expiries:
    """Between the streams of this gateway and the store that all gateways share."""

    def __init__(self, store: PeopleStore) -> None:
        self._store = store
        self._wanting: list[Expiring] = []
        self._raised: dict[str, float] = {}
        """Greatest expiry by sign-in, not yet in the store."""

    def wanted(self, stream: Expiring) -> None:
        """Tell this stream of the newest expiry soon."""
        self._wanting.append(stream)

    def raised(self, caller: Caller) -> None:
        """One of the sign-in's streams was given a newer token."""
        known_s = self._raised.get(caller.sign_in, 0.0)
        self._raised[caller.sign_in] = max(known_s, caller.expires_s)

    async def settle_forever(self) -> None:
        while True:
            await asyncio.sleep(SETTLE_EVERY_S)
            try:
                await self.settle()
            except LogError as error:
                log.warning("expiries_unknown", error=type(error).__name__)

    async def settle(self) -> None:
        """Keep what was raised, look up what is wanted; what fails is tried again."""
        for sign_in, expires_s in tuple(self._raised.items()):
            await self._store.raise_expiry(sign_in, expires_s, REFRESH_S)
            if self._raised[sign_in] == expires_s:  # not raised again meanwhile
                del self._raised[sign_in]
        asking, self._wanting = deque(self._wanting), []
        newest_s: dict[str, float] = {}
        try:
            while asking:
                sign_in = asking[0].caller.sign_in
                if sign_in not in newest_s:
                    newest_s[sign_in] = await self._store.newest_expiry(sign_in)
                expiry_is(asking.popleft(), newest_s[sign_in])
        finally:
            self._wanting = [*asking, *self._wanting]
