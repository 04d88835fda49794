"""What every act of a unary method has in common: its request id, its answer, its words."""

from typing import Final

from engine import commands as c
from engine.commands import NOBODY, Visibility
from engine.decide.gate import CONSUMES, TABLE_NOT_FOUND, Decision, Events, Refusal
from engine.events import RequestAnswered
from engine.limits import REASON_BYTES_MAX
from engine.rejections import Rejection
from engine.shown import Phase
from engine.table import Table

NOT_OWNER: Final = Refusal(int(Rejection.NOT_OWNER))
REQUEST_REUSED: Final = Refusal(int(Rejection.REQUEST_REUSED))
SEAT_RANGE: Final = Refusal(int(Rejection.SEAT_RANGE))


def accepted(
    table: Table, command: c.RequestCommand, events: Events, seat: int = NOBODY
) -> Decision:
    seq = table.seq + 1 if events else table.seq
    return events, RequestAnswered(command.request, command.content, 0, (), seq, seat, True)


def refused(table: Table, command: c.RequestCommand, why: Refusal) -> Decision:
    """Kept where the refusal is of the table's state; never by a table that does not exist."""
    kept = why.rejection >= CONSUMES and table.phase != Phase.NEW
    return (), RequestAnswered(
        command.request, command.content, why.rejection, why.parameters, table.seq, NOBODY, kept
    )


def again(first: RequestAnswered) -> Decision:
    return (), RequestAnswered(
        first.request, first.content, first.rejection, first.parameters, first.seq, first.seat,
        False,
    )  # fmt: skip


def known(table: Table, command: c.RequestCommand) -> Decision | None:
    """The decision on a request id seen before, or on a table that does not exist."""
    if table.phase == Phase.NEW:
        return refused(table, command, TABLE_NOT_FOUND)
    first = table.requests.get(command.request)
    if first is None:
        return None
    if first.content != command.content:
        return refused(table, command, REQUEST_REUSED)
    return again(first)


def hidden(table: Table, command: c.RequestCommand) -> Decision | None:
    """A private table does not exist for a person who neither sits there nor owns it."""
    if table.visibility != Visibility.PRIVATE or not command.person:
        return None
    return None if at_home(table, command.person) else refused(table, command, TABLE_NOT_FOUND)


def at_home(table: Table, person: str) -> bool:
    """Whether the person sits there, or owns it."""
    return person == table.owner or any(person == seat.person for seat in table.seats)


def fits(words: str, least: int, most: int) -> bool:
    """Whether a text has so many bytes in UTF-8."""
    return least <= len(words.encode()) <= most


def reason_refused(reason: str, least: int = 1) -> Refusal | None:
    if fits(reason, least, REASON_BYTES_MAX):
        return None
    return Refusal(int(Rejection.REASON_LENGTH), (least, REASON_BYTES_MAX))
