"""What an operator may do at a table, from the rule book."""

from engine.commands import (
    NOBODY,
    AdjustScore,
    Announce,
    CloseTable,
    Freeze,
    Unfreeze,
    Visibility,
    VoidRound,
    Watch,
)
from engine.events import (
    Announced,
    End,
    Frozen,
    Note,
    ScoreAdjusted,
    Shown,
    TableClosed,
    Thawed,
    WatchRefused,
)
from engine.rejections import Rejection
from engine.shown import Phase

from . import endings, timers
from .endings import Chance
from .refused import Refused
from .table import Twin, show

WORDS_MAX = 240
POINTS_MAX = 10_000


def check_words(words: str, least: int = 1) -> None:
    if not least <= len(words.encode()) <= WORDS_MAX:
        raise Refused(Rejection.REASON_LENGTH, least, WORDS_MAX)


def check_open(twin: Twin) -> None:
    if twin.phase == Phase.CLOSED:
        raise Refused(Rejection.TABLE_CLOSED)


def freeze(twin: Twin, command: Freeze, now_ms: int) -> None:
    check_words(command.reason)
    if twin.frozen_at_ms:
        raise Refused(Rejection.TABLE_FROZEN)
    check_open(twin)
    twin.frozen_at_ms = now_ms
    twin.frozen_reason = command.reason
    twin.say(Frozen(command.reason, command.operator, now_ms))


def unfreeze(twin: Twin, command: Unfreeze, now_ms: int) -> None:
    """Whatever waits, waits as long again as it still had to; what has lasted, has lasted no
    longer."""
    check_open(twin)
    if not twin.frozen_at_ms:
        raise Refused(Rejection.NOT_FROZEN)
    stood_ms = now_ms - twin.frozen_at_ms
    twin.frozen_at_ms = 0
    twin.frozen_reason = ""

    def later(at_ms: int) -> int:
        return at_ms + stood_ms if at_ms else 0

    twin.opened_at_ms = later(twin.opened_at_ms)
    twin.opens_at_ms = later(twin.opens_at_ms)
    twin.round_ends_at_ms = later(twin.round_ends_at_ms)
    twin.next_deal_at_ms = later(twin.next_deal_at_ms)
    twin.opened_exchange_at_ms = later(twin.opened_exchange_at_ms)
    twin.round_over_at_ms = later(twin.round_over_at_ms)
    twin.ended_at_ms = later(twin.ended_at_ms)
    twin.no_people_since_ms = later(twin.no_people_since_ms)
    twin.vote_ends_at_ms = later(twin.vote_ends_at_ms)
    for chair in twin.chairs:
        chair.away_until_ms = later(chair.away_until_ms)
        chair.bell_locked_until_ms = later(chair.bell_locked_until_ms)
        chair.acted_at_ms = later(chair.acted_at_ms)
        chair.idle_since_ms = later(chair.idle_since_ms)
        chair.last_trade_at_ms = later(chair.last_trade_at_ms)
        if chair.offer is not None:
            chair.offer.ends_at_ms = later(chair.offer.ends_at_ms)
    twin.say(Thawed(command.operator, stood_ms, now_ms))


def void_round(twin: Twin, command: VoidRound, now_ms: int, chance: Chance) -> None:
    check_words(command.reason)
    check_open(twin)
    if twin.phase == Phase.SEATING:
        raise Refused(Rejection.NOT_STARTED)
    if command.round != twin.round:
        raise Refused(Rejection.STALE_ROUND, twin.round)
    if twin.phase in (Phase.BETWEEN, Phase.ENDED):
        raise Refused(Rejection.ROUND_OVER, 0)
    endings.void_by_operator(twin, command.reason, command.operator, now_ms, chance)


def adjust_score(twin: Twin, command: AdjustScore, now_ms: int) -> None:
    if command.seat not in twin.playing():
        raise Refused(Rejection.SEAT_RANGE)
    check_words(command.reason)
    if command.delta == 0 or not -POINTS_MAX <= command.delta <= POINTS_MAX:
        raise Refused(Rejection.DELTA_RANGE, POINTS_MAX)
    check_open(twin)
    chair = twin.chairs[command.seat]
    before = chair.score
    chair.score = endings.floored(twin, before + command.delta)
    found = places(twin)
    for other, place in zip(twin.chairs, found, strict=False):
        other.came_in = place
    twin.say(
        ScoreAdjusted(
            seat=command.seat,
            delta=chair.score - before,
            totals=endings.totals(twin),
            places=found,
            reason=command.reason,
            operator=command.operator,
            at_ms=now_ms,
        )
    )


def places(twin: Twin) -> tuple[int, ...]:
    """Who comes where now, in a game that is over."""
    if twin.phase != Phase.ENDED:
        return ()
    shared = twin.end == End.SHARED
    sudden = bool(twin.tied) and twin.end in (End.ROUNDS_PLAYED, End.SHARED)
    first = twin.tied if shared else [twin.last_winner] if sudden else []
    return endings.places(twin, End(twin.end), first)


def announce(twin: Twin, command: Announce, now_ms: int) -> None:
    check_words(command.text)
    words = [command.key, *command.parameters]
    too_long = [word for word in words if len(word.encode()) > 64]
    if too_long or len(command.parameters) % 2 == 1 or len(command.parameters) > 16:
        raise Refused(Rejection.ANNOUNCEMENT_INVALID)
    check_open(twin)
    twin.say(Announced(command.key, command.parameters, command.text, command.operator, now_ms))


def close_table(twin: Twin, command: CloseTable, now_ms: int) -> None:
    check_words(command.reason)
    check_open(twin)
    if twin.phase != Phase.ENDED:
        endings.break_off(twin, End.CLOSED, now_ms, command.reason, command.operator)
    timers.shut(twin, TableClosed(now_ms, command.reason, command.operator))


def watch(twin: Twin, command: Watch, now_ms: int) -> Note:
    """A spectator looks at the table; it changes nothing."""
    why = 0
    if twin.phase == Phase.NEW or not may_see(twin, command):
        why = Rejection.TABLE_NOT_FOUND
    elif twin.phase == Phase.CLOSED:
        why = Rejection.TABLE_CLOSED
    if why:
        return WatchRefused(command.gateway, command.stream, why)
    return Shown(command.gateway, command.stream, show(twin, NOBODY, now_ms))


def may_see(twin: Twin, command: Watch) -> bool:
    assert twin.opening is not None
    if twin.opening.visibility != Visibility.PRIVATE or command.invite_hash == twin.invite_hash:
        return True
    if command.person and command.person == twin.owner:
        return True
    return command.person in [chair.person for chair in twin.chairs if chair.person]
