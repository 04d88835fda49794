"""Before a seat's act is looked at: is it the seat's newest stream, and the next number?

Refusals up to `NUMBER_REUSED` leave nothing behind; from `CONSUMES_FROM` on a refusal is an
answer like any other.
"""

from collections.abc import Callable
from typing import Any, Final

from engine import commands as c
from engine.commands import NOBODY
from engine.events import (
    Answered,
    AttachRefused,
    Event,
    Note,
    PastAnswer,
    RequestAnswered,
    SeatBack,
    WatchRefused,
)
from engine.limits import ANSWERS_KEPT
from engine.rejections import CONSUMES_FROM, Rejection
from engine.shown import Phase
from engine.table import Numbers, Seat, Table
from engine.value import value

Chance = Callable[[int], bytes]
Events = tuple[Event, ...]
Decision = tuple[Events, Note | None]


@value
class Refusal:
    """Why an act is refused, with its parameters."""

    rejection: int
    parameters: tuple[int, ...] = ()


Outcome = Events | Refusal
Act = Callable[[Table, int, Seat, Any, int, Chance], Outcome]

CONSUMES: Final = int(CONSUMES_FROM)
ALREADY_STARTED: Final = Refusal(int(Rejection.ALREADY_STARTED))
GENERATION_ENDED: Final = Refusal(int(Rejection.GENERATION_ENDED))
NOT_NOW: Final = Refusal(int(Rejection.NOT_NOW))
NOT_SEATED: Final = Refusal(int(Rejection.NOT_SEATED))
NOT_STARTED: Final = Refusal(int(Rejection.NOT_STARTED))
NO_SUCH_SEAT: Final = Refusal(int(Rejection.NO_SUCH_SEAT))
NUMBER_REUSED: Final = Refusal(int(Rejection.NUMBER_REUSED))
SEAT_FORFEITED: Final = Refusal(int(Rejection.SEAT_FORFEITED))
TABLE_FROZEN: Final = Refusal(int(Rejection.TABLE_FROZEN))
SUPERSEDED: Final = Refusal(int(Rejection.SUPERSEDED))
TABLE_CLOSED: Final = Refusal(int(Rejection.TABLE_CLOSED))
TABLE_NOT_FOUND: Final = Refusal(int(Rejection.TABLE_NOT_FOUND))


def refused(table: Table, seat: Seat | None, command: c.SeatCommand, why: Refusal) -> Answered:
    """The answer of a refused act. Kept, where the refusal consumes the number."""
    return Answered(
        command.seat, command.attach, _stand_in_acts(seat) if seat else False,
        command.generation, command.number, command.content, why.rejection, why.parameters,
        table.seq, why.rejection >= CONSUMES,
    )  # fmt: skip


def out_of_order(
    table: Table, command: c.SeatCommand, act: Act, now_ms: int, chance: Chance
) -> Decision:
    """A command that is not simply the next of the stream that holds the seat."""
    if table.phase == Phase.NEW:
        return (), refused(table, None, command, TABLE_NOT_FOUND)
    if not 0 <= command.seat < len(table.seats) or table.seats[command.seat].dropped:
        return (), refused(table, None, command, NO_SUCH_SEAT)
    seat = table.seats[command.seat]
    why = _stream_fault(seat, command) or _number_fault(seat.current, command)
    if why is not None:
        return (), refused(table, seat, command, why)
    first = seat.current.answer(command.number)
    if first is not None:
        return (), _again(seat, first, command)
    outcome = act(table, command.seat, seat, command, now_ms, chance)
    if isinstance(outcome, Refusal):
        return (), refused(table, seat, command, outcome)
    if seat.holder != seat.attach:
        outcome = (SeatBack(command.seat, now_ms), *outcome)
    return outcome, Answered(
        command.seat, command.attach, seat.bot, command.generation, command.number,
        command.content, 0, (), table.seq + 1, True,
    )  # fmt: skip


def _stream_fault(seat: Seat, command: c.SeatCommand) -> Refusal | None:
    if not seat.person and not seat.bot:
        return NOT_SEATED
    if command.attach != seat.attach or command.attach <= 0:
        return SEAT_FORFEITED if seat.forfeited else SUPERSEDED
    if seat.holder:
        return None
    if seat.forfeited:
        return SEAT_FORFEITED
    # The newest stream of a player who counts as away: this command brings the player back.
    person_acts = seat.current is seat.numbers[0]
    comes_back = seat.absence and seat.stream and person_acts and not seat.bot
    return None if comes_back else SUPERSEDED


def _number_fault(numbers: Numbers, command: c.SeatCommand) -> Refusal | None:
    if command.generation != numbers.generation:
        return GENERATION_ENDED
    expected = numbers.last + 1
    oldest = max(1, expected - ANSWERS_KEPT)
    if not oldest <= command.number <= expected:
        return Refusal(int(Rejection.NUMBER_OUT_OF_RANGE), (expected,))
    if command.number < expected and numbers.content(command.number) != command.content:
        return NUMBER_REUSED
    return None


def _again(seat: Seat, first: PastAnswer, command: c.SeatCommand) -> Answered:
    """The same command again: the same answer, told to the stream it came on."""
    return Answered(
        command.seat, command.attach, _stand_in_acts(seat), command.generation, command.number,
        command.content, first.rejection, first.parameters, first.seq, False,
    )  # fmt: skip


def _stand_in_acts(seat: Seat) -> bool:
    return seat.current is seat.numbers[1]


def refuse(table: Table, command: c.Command, rejection: Rejection) -> Note | None:
    """The answer of a command that is refused without being decided."""
    why = Refusal(int(rejection))
    if isinstance(command, c.SeatCommand):
        known = 0 <= command.seat < len(table.seats)
        seat = table.seats[command.seat] if known else None
        answer = refused(table, seat, command, why)
        if seat is None or _stream_fault(seat, command) or _number_fault(seat.current, command):
            return _unkept(answer)
        return _unkept(answer) if command.number <= seat.current.last else answer
    if isinstance(command, c.RequestCommand):
        kept = why.rejection >= CONSUMES and table.phase != Phase.NEW
        return RequestAnswered(
            command.request, command.content, why.rejection, (), table.seq, NOBODY,
            kept and command.request not in table.requests,
        )  # fmt: skip
    if isinstance(command, c.Attach):
        return AttachRefused(command.seat, command.gateway, command.stream, why.rejection)
    if isinstance(command, c.Watch):
        return WatchRefused(command.gateway, command.stream, why.rejection)
    return None


def _unkept(answer: Answered) -> Answered:
    return Answered(
        answer.seat, answer.attach, answer.bot, answer.generation, answer.number, answer.content,
        answer.rejection, answer.parameters, answer.seq, False,
    )  # fmt: skip
