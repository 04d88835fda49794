"""What operators have ordered for the whole exchange, as this gateway knows it.

Maintenance and bans are no table's: they stand in the store, and every gateway reads them about
once a second. `check` and `check_open` are where they are obeyed.
"""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, Protocol

from engine.value import value
from services.gateway.errors import Refusal, Refused
from services.gateway.session.roles import Caller

READ_EVERY_S: Final = 1.0
"""How late a gateway may obey; people are told that it takes at most two seconds."""


@value
class Ban:
    until_s: int
    """Wall time, seconds since 1970."""
    reason: str
    """Shown to the person."""


@value
class Standing:
    """The orders in force, without the bans."""

    maintenance: str
    """Why no tables are opened; empty where they are."""
    changes: int
    """Raised with every ban and every new name: a gateway that sees it move reads them anew."""
    operators: Mapping[str, str]
    """Names of those who have acted, by id: their events name them."""


class OrdersStore(Protocol):
    """Where the orders stand. Raises `LogError`."""

    async def standing(self) -> Standing: ...

    async def bans(self) -> dict[str, Ban]:
        """By person; those that have run out may be among them."""

    async def close(self) -> None: ...


class Orders:
    """Asked on every call, so kept in memory."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._bans: Mapping[str, Ban] = {}
        self._changes = -1
        self.maintenance = ""
        self.operators: Mapping[str, str] = {}

    async def read(self, store: OrdersStore) -> bool:
        """Take what the store has; whether bans or names have changed. Raises `LogError`."""
        standing = await store.standing()
        self.maintenance = standing.maintenance
        self.operators = standing.operators
        if standing.changes == self._changes:
            return False
        self._bans = await store.bans()
        self._changes = standing.changes
        return True

    def check_open(self) -> None:
        """Before a table is opened. Raises `Refused` in maintenance."""
        if self.maintenance:
            raise Refused(Refusal.MAINTENANCE, reason=self.maintenance)

    def check(self, caller: Caller) -> None:
        """On every call. Raises `Refused` where the caller is banned."""
        self.check_person(caller.person)

    def check_person(self, person: str) -> None:
        """Before a person is let in. Raises `Refused`."""
        refused = self.ban_of(person)
        if refused is not None:
            raise refused

    def ban_of(self, person: str) -> Refused | None:
        """The refusal that a banned person is told, `None` for everybody else."""
        ban = self._bans.get(person)
        if ban is None or ban.until_s <= self._wall():
            return None
        until = datetime.fromtimestamp(ban.until_s, UTC).isoformat()
        return Refused(Refusal.BANNED, until=until, reason=ban.reason)
