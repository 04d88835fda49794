"""How every act of an operator is done: checked, then written down, and only then begun."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Final, Protocol

import structlog

from services.gateway.errors import Refusal, Refused
from services.gateway.lobby.checks import given_id, request_id
from services.gateway.names import NameBook, checked_reason
from services.gateway.operate.store import Act
from services.gateway.session.roles import Caller, Role
from services.log.port import LogError, StoreChanged

log = structlog.get_logger()

EVER_S: Final = 253_402_300_799
"""The last second of the year 9999, the greatest a timestamp may tell."""
CHUNK: Final = 100
"""Tables asked at the same time where an act concerns many: a shard's turn takes 64 commands."""


class AuditStore(Protocol):
    async def append(self, act: Act) -> str: ...

    async def keep_operator(self, operator: str, name: str) -> None: ...


class Desk:
    """Every act goes over it. What was checked before is not in the audit; what the table or the
    store refuses afterwards is noted there, too."""

    def __init__(self, store: AuditStore, names: NameBook) -> None:
        self._store = store
        self._names = names

    @asynccontextmanager
    async def act(
        self,
        caller: Caller,
        what: str,
        target: str,
        reason: str,
        given: bytes,
        **parameters: str | int,
    ) -> AsyncIterator[bytes]:
        """The act's request id for its tables. Raises `Refused` where the audit does not take it:
        then the body has not begun."""
        given = given_id(given, needed=False)
        act = Act(
            operator=caller.name,
            operator_id=caller.person,
            act=what,
            target=target,
            reason=reason,
            request=given,
            parameters=tuple((name, str(content)) for name, content in parameters.items()),
        )
        try:
            await self._store.append(act)
            if self._names.get(caller.person) != caller.name:
                await self._store.keep_operator(caller.person, caller.name)
                self._names.know({caller.person: caller.name})
        except StoreChanged:
            raise
        except LogError as error:
            log.error("audit_unavailable", act=what, error=type(error).__name__)
            raise Refused(Refusal.AUDIT_UNAVAILABLE) from error
        log.info("operator_acts", operator=caller.person, act=what, target=target)
        try:
            yield request_id(caller, given, needed=True)
        except Refused as refused:
            with suppress(LogError):
                await self._store.append(replace(act, refused=refused.why.name))
            raise


def needed_reason(reason: str, field: str = "reason") -> str:
    """Raises `Refused`."""
    return checked_reason(reason, field, 1)


def optional_reason(reason: str) -> str:
    """Raises `Refused`."""
    return checked_reason(reason, "reason", 0)


def check_operator(caller: Caller) -> None:
    """Raises `Refused` for callers of any other role."""
    if caller.role is not Role.OPERATOR:
        raise Refused(Refusal.ROLE_NOT_ALLOWED, role=Role.OPERATOR.value)
