"""What time does at a table: one due thing for each tick, the earliest first."""

from collections.abc import Callable

from engine.commands import NOBODY
from engine.events import Absence, End, TableClosed, Why
from engine.shown import Phase

from . import endings, presence, rematch, rounds, trading
from .table import Chair, Twin

UNSTARTED_MS = 15 * 60_000
FINISHED_MS = 10 * 60_000
NO_PEOPLE_MS = 5 * 60_000

# In this order where two are due at the same moment.
OFFER_ENDS, GRACE_ENDS, IDLE, OPENING, CAP, NEXT_DEAL, CLOSING, NO_PEOPLE, VOTE_ENDS = range(9)


def deadlines(twin: Twin) -> list[tuple[int, int, int]]:
    """All that waits for its time: (when, what, seat)."""
    if twin.phase == Phase.NEW or twin.frozen_at_ms:
        return []
    found = []
    for seat, chair in enumerate(twin.chairs):
        if chair.offer is not None and chair.offer.ends_at_ms:
            found.append((chair.offer.ends_at_ms, OFFER_ENDS, seat))
        if chair.away_until_ms:
            found.append((chair.away_until_ms, GRACE_ENDS, seat))
        if twin.phase == Phase.OPEN and may_idle(chair):
            found.append((chair.acted_at_ms + twin.rules.idle_s * 1_000, IDLE, seat))
    if twin.phase == Phase.SORTING:
        found.append((1 if rounds.all_sorted(twin) else twin.opens_at_ms, OPENING, NOBODY))
    if twin.phase == Phase.OPEN:
        found.append((twin.round_ends_at_ms, CAP, NOBODY))
    if twin.phase == Phase.BETWEEN:
        found.append((1 if rounds.all_want_next(twin) else twin.next_deal_at_ms, NEXT_DEAL, NOBODY))
    if twin.phase == Phase.SEATING and not twin.start_at_s:
        found.append((twin.opened_at_ms + UNSTARTED_MS, CLOSING, NOBODY))
    if twin.phase == Phase.ENDED and twin.vote_ends_at_ms:
        found.append((twin.vote_ends_at_ms, VOTE_ENDS, NOBODY))
    elif twin.phase == Phase.ENDED:
        found.append((twin.ended_at_ms + FINISHED_MS, CLOSING, NOBODY))
    assert twin.opening is not None
    unwatched = twin.no_people_since_ms and not twin.opening.for_bots
    if unwatched and twin.phase in presence.IN_PLAY:
        found.append((twin.no_people_since_ms + NO_PEOPLE_MS, NO_PEOPLE, NOBODY))
    return found


def may_idle(chair: Chair) -> bool:
    """Whether a person sits there, present, from whom an act may be expected."""
    if chair.stream is None or not chair.connected or chair.stream.bot:
        return False
    return not chair.absence and not chair.forfeited


def wake_at_ms(twin: Twin) -> int:
    """When the next thing is due; 0 for never."""
    times = [when for when, _, _ in deadlines(twin)]
    return min(times) if times else 0


def tick(twin: Twin, now_ms: int, chance: Callable[[int], bytes]) -> None:
    due = [deadline for deadline in deadlines(twin) if deadline[0] <= now_ms]
    if not due:
        return
    _, what, seat = min(due)
    if what == OFFER_ENDS:
        trading.end_offer(twin, seat, Why.EXPIRED, now_ms)
    elif what == GRACE_ENDS:
        presence.grace_over(twin, seat, now_ms)
    elif what == IDLE:
        trading.end_offer(twin, seat, Why.IDLE, now_ms)
        presence.go_away(twin, seat, Absence.IDLE, now_ms)
    elif what == OPENING:
        rounds.open_exchange(twin, now_ms)
    elif what == CAP:
        endings.void(twin, now_ms, chance)
    elif what == NEXT_DEAL:
        rounds.deal(twin, now_ms)
    elif what == VOTE_ENDS:
        rematch.fail(twin, now_ms)
    elif what == NO_PEOPLE:
        endings.break_off(twin, End.NO_PEOPLE, now_ms)
    else:
        close(twin, now_ms)


def close(twin: Twin, now_ms: int) -> None:
    if twin.phase == Phase.SEATING:
        endings.end_game(twin, End.NEVER_STARTED, now_ms)
    shut(twin, TableClosed(now_ms))


def shut(twin: Twin, closed: TableClosed) -> None:
    """Nobody is here any more."""
    twin.phase = Phase.CLOSED
    twin.frozen_at_ms = 0
    twin.frozen_reason = ""
    twin.vote_ends_at_ms = 0
    for chair in twin.chairs:
        chair.connected = False
    twin.say(closed)
