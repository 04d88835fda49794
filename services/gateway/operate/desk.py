"""How every act of an operator is done: checked, then written down, and only then begun."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, Protocol

import structlog

from services.gateway.errors import Code, Refusal, Refused
from services.gateway.lobby.checks import given_id, request_id
from services.gateway.names import NameBook, checked_reason
from services.gateway.operate.repeats import asked
from services.gateway.operate.store import Act, Audited, Outcome
from services.gateway.session.roles import Caller, Role
from services.log.port import LogError, StoreChanged

log = structlog.get_logger()

EVER_S: Final = 253_402_300_799
"""The last second of the year 9999, the greatest a timestamp may tell."""
CHUNK: Final = 100
"""Tables asked at the same time where an act concerns many: a shard's turn takes 64 commands."""


REPEATS_AMONG: Final = 256
"""Lines of the audit looked at for an earlier one of the same request: hours of a busy event, and
about 60 KB in one answer of the store."""
_UNCLEAR: Final = frozenset({Code.UNAVAILABLE, Code.INTERNAL})


class AuditStore(Protocol):
    async def append(self, act: Act) -> str: ...

    async def audit_newest(self, count: int) -> list[Audited]: ...

    async def keep_operator(self, operator: str, name: str) -> None: ...


class Desk:
    """Every act goes over it. What was checked before is not in the audit; what the table or the
    store refuses afterwards is noted there, too, and so is what nobody knows the outcome of.

    A repeat finds the line of its request and adds none, unless its outcome is another one.
    """

    def __init__(self, store: AuditStore, names: NameBook) -> None:
        self._store = store
        self._names = names
        self._notes: set[asyncio.Task[None]] = set()

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
        repeated = bool(given)
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
            told = await self._told(act) if repeated else None
            if told is None:
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
        ended = replace(act, outcome=Outcome.UNKNOWN)
        try:
            yield request_id(caller, given, needed=True)
            ended = replace(act, outcome=Outcome.DONE)
        except Refused as refused:
            if not unclear(refused):
                ended = replace(act, outcome=Outcome.REFUSED, refused=refused.why.name)
            raise
        finally:
            if _says(ended) != _says(told or act):
                # A call that was given up by its client is cancelled, and so would be this.
                note = asyncio.create_task(self._note(ended))
                self._notes.add(note)
                note.add_done_callback(self._notes.discard)
                await asyncio.shield(note)

    async def _note(self, ended: Act) -> None:
        try:
            await self._store.append(ended)
        except LogError as error:
            log.error("audit_outcome_lost", act=ended.act, error=type(error).__name__)

    async def _told(self, act: Act) -> Act | None:
        """The newest line of the same act by the same request, `None` where there is none."""
        newest: Act | None = None
        for line in await self._store.audit_newest(REPEATS_AMONG):
            if _same(line.act, act):
                newest = newest or line.act
                if line.act.outcome is Outcome.BEGUN:
                    return newest
        return None


def _same(one: Act, other: Act) -> bool:
    def told(act: Act) -> tuple[object, ...]:
        parameters = asked(act.parameters)
        return act.request, act.operator_id, act.act, act.target, act.reason, parameters

    return told(one) == told(other)


def _says(act: Act) -> tuple[Outcome, str]:
    """What a line says of the outcome: an act of which nothing else is told was done."""
    return (Outcome.DONE if act.outcome is Outcome.BEGUN else act.outcome), act.refused


def unclear(refused: Refused) -> bool:
    """Whether the act may have taken effect all the same. A table's own refusal is its answer."""
    return isinstance(refused.why, Refusal) and refused.code in _UNCLEAR


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
