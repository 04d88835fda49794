"""Readiness, deals, the end of a round and of the game."""

from collections.abc import Sequence
from typing import Final

from engine import commands as c
from engine.commands import NOBODY, Purpose
from engine.deadlines import everybody_ready
from engine.deal import NO_NONCE, commitment, deal, suits_in_play
from engine.decide.gate import (
    ALREADY_STARTED,
    NOT_NOW,
    NOT_STARTED,
    TABLE_CLOSED,
    TABLE_FROZEN,
    Chance,
    Events,
    Outcome,
    Refusal,
)
from engine.events import (
    Absence,
    Committed,
    Dealt,
    End,
    Event,
    ExchangeOpened,
    GameEnded,
    ReadyGiven,
    RoundScored,
    RoundVoid,
    SeatAway,
)
from engine.limits import (
    NEXT_DEAL_MS,
    NONCE_BYTES,
    SECOND_MS,
    SEED_BYTES,
    SUDDEN_DEATH_MAX,
    VOIDS_MAX,
)
from engine.rejections import Rejection
from engine.rules import NextDealer, VoidPenalty
from engine.score import lowered, places, settle
from engine.shown import Phase
from engine.table import Seat, Table

NONCE_LENGTH: Final = Refusal(int(Rejection.NONCE_LENGTH))
WRONG_PURPOSE: Final = Refusal(int(Rejection.WRONG_PURPOSE))

ASKED_IN: Final = {
    int(Purpose.START): int(Phase.SEATING),
    int(Purpose.OPEN): int(Phase.SORTING),
    int(Purpose.NEXT): int(Phase.BETWEEN),
}
"""The phase in which each readiness is waited for."""


# ------------------------------------------------------------------ readiness


def ready(
    table: Table, index: int, seat: Seat, command: c.Ready, now_ms: int, chance: Chance
) -> Outcome:
    """Ready to start, hand sorted, or ready for the next round; the last one sets it going."""
    purpose = command.purpose
    if purpose not in ASKED_IN:
        return WRONG_PURPOSE
    if command.nonce and (len(command.nonce) != NONCE_BYTES or purpose == Purpose.OPEN):
        return NONCE_LENGTH
    if table.frozen_at_ms:
        return TABLE_FROZEN
    if table.phase == Phase.CLOSED:
        return TABLE_CLOSED
    seating = table.phase == Phase.SEATING
    if purpose == Purpose.START and not seating:
        return ALREADY_STARTED
    if purpose != Purpose.START and seating:
        return NOT_STARTED
    if command.round != table.round:
        return Refusal(int(Rejection.STALE_ROUND), (table.round,))
    if table.phase != ASKED_IN[purpose] or seat.ready & (1 << purpose):
        return NOT_NOW
    given = ReadyGiven(index, purpose, command.nonce)
    if purpose == Purpose.OPEN:
        if table.rules.opens_when_sorted and everybody_ready(table, purpose, index):
            return (given, exchange_opened(table, now_ms))
        return (given,)
    if seating:
        complete = not table.start_at_s and all(
            other.person and (other.ready & (1 << purpose) or place == index)
            for place, other in enumerate(table.seats)
        )
    else:
        complete = everybody_ready(table, purpose, index)
    if not complete:
        return (given,)
    nonces = [other.nonce or NO_NONCE for other in table.seats]
    nonces[index] = command.nonce or NO_NONCE
    return (given, *dealt(table, nonces, now_ms))


def exchange_opened(table: Table, now_ms: int) -> ExchangeOpened:
    return ExchangeOpened(table.round, now_ms + table.rules.round_cap_s * SECOND_MS, now_ms)


# ------------------------------------------------------------------ deals


def dealt(
    table: Table, nonces: Sequence[bytes], now_ms: int, dropped: Sequence[int] = ()
) -> Events:
    """The next deal. With the first one, who sits without a stream counts as away."""
    rules = table.rules
    playing = [
        index for index, seat in enumerate(table.seats) if not (seat.dropped or index in dropped)
    ]
    suits = table.suits or suits_in_play(rules, len(playing))
    hands, dealer = deal(
        table.seed, nonces, suits, rules.bull_and_bear, playing, _next_dealer(table, playing)
    )
    opens_at_ms = now_ms + rules.sorting_pause_s * SECOND_MS
    deal_event = Dealt(table.round + 1, dealer, suits, hands, opens_at_ms, now_ms)
    if table.round:
        return (deal_event,)
    without = [i for i, seat in enumerate(table.seats) if seat.person and not seat.connected]
    away = [away_event(table, index, Absence.STREAM_LOST, now_ms) for index in without]
    return (deal_event, *away)


def drawn_nonces(table: Table) -> list[bytes]:
    """Nonces of a deal drawn now, by seat."""
    return [seat.nonce or NO_NONCE for seat in table.seats]


def _next_dealer(table: Table, playing: Sequence[int]) -> int:
    if not table.round:
        return NOBODY
    if table.winner == NOBODY:
        return table.dealer
    if table.rules.next_dealer == NextDealer.WINNER:
        return table.winner
    return playing[(playing.index(table.dealer) + 1) % len(playing)]


def committed(
    table: Table, chance: Chance, next_deal_at_ms: int, tied: tuple[int, ...] = ()
) -> Committed:
    """The server binds itself to the seed of the coming deal."""
    seed = chance(SEED_BYTES)
    return Committed(table.round + 1, commitment(seed), seed, next_deal_at_ms, tied)


def away_event(table: Table, index: int, absence: Absence, now_ms: int) -> SeatAway:
    """`until_ms` is 0 where nothing will follow: a table that waits, a hand a bot plays."""
    seat = table.seats[index]
    waits = table.absent_policy == c.AbsentPolicy.WAIT or seat.bot or seat.bot_wanted
    until_ms = 0 if waits else table.time_ms(now_ms) + table.rules.away_grace_s * SECOND_MS
    return SeatAway(index, int(absence), until_ms, now_ms)


# ------------------------------------------------------------------ the end of a round


def scored(table: Table, winner: int, points: int, now_ms: int, chance: Chance) -> list[Event]:
    """A corner: everybody's new total, then the next round or the end of the game."""
    scores = [seat.score for seat in table.seats]
    totals = settle([seat.hand for seat in table.seats], scores, winner, points, table.rules)
    deltas = _deltas(scores, totals)
    over = RoundScored(table.round, deltas, totals, table.seed, table.nonces, now_ms)
    return [over, _what_follows(table, winner, deltas, totals, now_ms, chance)]


def void(table: Table, now_ms: int, chance: Chance) -> Events:
    """The cap was reached: nobody scores, though who was idle may pay."""
    rules = table.rules
    scores = [seat.score for seat in table.seats]
    opened_ms = table.round_ends_at_ms - rules.round_cap_s * SECOND_MS
    totals = list(scores)
    if rules.void_penalty == VoidPenalty.IDLE:
        for index, seat in enumerate(table.seats):
            idle_ms = seat.idle_ms + (now_ms - seat.idle_since_ms if seat.idle_since_ms else 0)
            if 2 * idle_ms > now_ms - opened_ms:
                totals[index] = lowered(seat.score, rules.idle_fine, rules)
    deltas = _deltas(scores, totals)
    over = RoundVoid(table.round, deltas, tuple(totals), table.seed, table.nonces, now_ms)
    return (over, _what_follows(table, NOBODY, deltas, totals, now_ms, chance))


def voided(table: Table, reason: str, operator: str, now_ms: int, chance: Chance) -> Events:
    """An operator ends the round: nobody scores or pays, and as a void one it counts only towards
    the number of rounds that are played at all."""
    over = _broken_off(table, now_ms, reason, operator)
    if table.tied:
        next_deal_at_ms = table.time_ms(now_ms) + NEXT_DEAL_MS
        return (over, committed(table, chance, next_deal_at_ms, table.tied))
    scores = over.totals
    return (over, _what_follows(table, NOBODY, over.deltas, scores, now_ms, chance, counts=False))


def _broken_off(table: Table, now_ms: int, reason: str, operator: str) -> RoundVoid:
    nothing = tuple(0 for _ in table.seats)
    totals = tuple(seat.score for seat in table.seats)
    return RoundVoid(
        table.round, nothing, totals, table.seed, table.nonces, now_ms, reason, operator
    )


def _deltas(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
    return tuple(new - old for old, new in zip(before, after, strict=True))


def _what_follows(
    table: Table,
    winner: int,
    deltas: Sequence[int],
    totals: Sequence[int],
    now_ms: int,
    chance: Chance,
    *,
    counts: bool = True,
) -> GameEnded | Committed:
    """The game's end, or the commitment to the next deal. `winner` is `NOBODY` when void, and
    `counts` whether it is then one of those that running end the game."""
    rules = table.rules
    next_deal_at_ms = table.time_ms(now_ms) + NEXT_DEAL_MS
    if table.tied:
        if winner in table.tied or table.sudden >= SUDDEN_DEATH_MAX:
            return _sudden_end(table, winner, deltas, totals, now_ms)
        return committed(table, chance, next_deal_at_ms, table.tied)
    if winner != NOBODY and totals[winner] >= rules.target:
        return _ended(table, End.WON, [(total,) for total in totals], totals, now_ms)
    rounds_scored = table.scored + (winner != NOBODY)
    if 0 < rules.scored_rounds_max <= rounds_scored or 0 < rules.rounds_max <= table.round:
        keys = _rank_keys(table, winner, deltas, totals)
        best = max(key for key in keys if key is not None)
        first = tuple(index for index, key in enumerate(keys) if key == best)
        if len(first) == 1:
            return _ended(table, End.ROUNDS_PLAYED, keys, totals, now_ms)
        return committed(table, chance, next_deal_at_ms, first)
    if counts and winner == NOBODY and table.voids + 1 >= VOIDS_MAX:
        return _ended(table, End.STALLED, [(total,) for total in totals], totals, now_ms)
    return committed(table, chance, next_deal_at_ms)


def _rank_keys(
    table: Table, winner: int, deltas: Sequence[int], totals: Sequence[int]
) -> list[tuple[int, ...] | None]:
    """Highest score; then most corners, fewest penalties, highest single corner."""
    keys: list[tuple[int, ...] | None] = []
    for index, seat in enumerate(table.seats):
        won = index == winner
        penalties = seat.penalties + (deltas[index] < 0)
        best_corner = max(seat.best_corner, deltas[index]) if won else seat.best_corner
        key = (totals[index], seat.corners + won, -penalties, best_corner)
        keys.append(None if seat.dropped else key)
    return keys


def _sudden_end(
    table: Table, winner: int, deltas: Sequence[int], totals: Sequence[int], now_ms: int
) -> GameEnded:
    """The tied seats come first: the one that cornered alone, or all of them together."""
    decided = winner in table.tied
    keys = _tied_first(table, winner, _rank_keys(table, winner, deltas, totals))
    return _ended(table, End.ROUNDS_PLAYED if decided else End.SHARED, keys, totals, now_ms)


def _tied_first(
    table: Table, winner: int, ranks: Sequence[tuple[int, ...] | None]
) -> list[tuple[int, ...] | None]:
    keys: list[tuple[int, ...] | None] = []
    for index, key in enumerate(ranks):
        if index in table.tied:
            keys.append((2,) if index == winner else (1,))
        else:
            keys.append(None if key is None else (0, *key))
    return keys


def places_corrected(table: Table, totals: Sequence[int]) -> tuple[int, ...]:
    """The places of a game that is over, were these its scores: ranked as when it ended."""
    if table.end not in (End.ROUNDS_PLAYED, End.SHARED):
        keys: list[tuple[int, ...] | None] = [(total,) for total in totals]
    else:
        keys = _rank_keys(table, NOBODY, [0] * len(totals), totals)
        if table.tied:
            keys = _tied_first(table, table.winner, keys)
    return _places(table, keys)


def _ended(
    table: Table,
    end: End,
    keys: Sequence[tuple[int, ...] | None],
    totals: Sequence[int],
    now_ms: int,
) -> GameEnded:
    return GameEnded(int(end), _places(table, keys), tuple(totals), now_ms)


def _places(table: Table, keys: Sequence[tuple[int, ...] | None]) -> tuple[int, ...]:
    return places(
        [None if seat.dropped else key for seat, key in zip(table.seats, keys, strict=True)]
    )


def ended_early(
    table: Table, end: End, now_ms: int, reason: str = "", operator: str = ""
) -> Events:
    """The game ends between two turns; a round being played is void and its seed published."""
    scores = [seat.score for seat in table.seats]
    over = _ended(table, end, [(score,) for score in scores], scores, now_ms)
    if table.phase not in (Phase.SORTING, Phase.OPEN):
        return (over,)
    return (_broken_off(table, now_ms, reason, operator), over)
