"""Who wants to play again, from the rule book."""

from engine.commands import VoteRematch
from engine.events import RematchAgreed, RematchFailed, RematchVoted
from engine.rejections import Rejection
from engine.shown import Phase

from . import operators
from .refused import Refused
from .table import Twin

VOTE_MS = 60_000


def vote(twin: Twin, command: VoteRematch, now_ms: int) -> int:
    seats = [seat for seat, chair in enumerate(twin.chairs) if chair.person == command.person]
    if not seats:
        raise Refused(Rejection.NOT_SEATED)
    [seat] = seats
    chair = twin.chairs[seat]
    if chair.forfeited:
        raise Refused(Rejection.SEAT_FORFEITED)
    if twin.frozen_at_ms:
        raise Refused(Rejection.TABLE_FROZEN)
    operators.check_open(twin)
    if twin.phase == Phase.SEATING:
        raise Refused(Rejection.NOT_STARTED)
    if twin.phase != Phase.ENDED:
        raise Refused(Rejection.NOT_NOW)
    if not command.yes:
        if not twin.vote_ends_at_ms:
            raise Refused(Rejection.NOT_NOW)
        chair.wants_rematch = False
        twin.say(RematchVoted(seat, False, twin.vote_ends_at_ms, now_ms))
        fail(twin, now_ms)
        return seat
    if twin.rematch_at or chair.wants_rematch:
        return seat
    chair.wants_rematch = True
    if not twin.vote_ends_at_ms:
        twin.vote_ends_at_ms = now_ms + VOTE_MS
    twin.say(RematchVoted(seat, True, twin.vote_ends_at_ms, now_ms))
    if not still_asked(twin):
        twin.vote_ends_at_ms = 0
        twin.rematch_at = command.next_table
        twin.say(RematchAgreed(command.next_table, now_ms))
    return seat


def still_asked(twin: Twin) -> list[int]:
    """Seats whose people are there and have not said yes."""
    return [
        seat
        for seat, chair in enumerate(twin.chairs)
        if chair.person and chair.connected and not chair.bot and not chair.forfeited
        if not chair.wants_rematch
    ]


def fail(twin: Twin, now_ms: int) -> None:
    twin.vote_ends_at_ms = 0
    for chair in twin.chairs:
        chair.wants_rematch = False
    twin.say(RematchFailed(now_ms))
