"""What a round comes to, and how a game ends, from the rule book."""

from collections.abc import Callable
from hashlib import sha256

from engine.commands import NOBODY
from engine.events import Committed, End, GameEnded, RoundScored, RoundVoid
from engine.rules import VoidPenalty
from engine.shown import Phase

from . import presence
from .cards import BEAR, penalty
from .table import Chair, Twin

Chance = Callable[[int], bytes]

NEXT_DEAL_MS = 8_000
SEED_BYTES = 48
VOIDS_TO_STALL = 3
SUDDEN_DEATH_ROUNDS = 2


def commit(twin: Twin, number: int, next_deal_at_ms: int, chance: Chance) -> None:
    """The server binds itself to the seed of the coming deal."""
    twin.seed = chance(SEED_BYTES)
    twin.commitment = sha256(twin.seed).digest()
    twin.next_deal_at_ms = next_deal_at_ms
    twin.say(Committed(number, twin.commitment, twin.seed, next_deal_at_ms, tuple(twin.tied)))


# ------------------------------------------------------------------ the score


def score(twin: Twin, winner: int, pays: int, now_ms: int, chance: Chance) -> None:
    deltas = []
    for seat, chair in enumerate(twin.chairs):
        cost = penalty(twin.rules, chair.hand)
        if seat == winner:
            # Only the Bear makes a winner pay, and only where the rules say so.
            cost = cost if twin.rules.cornerer_pays and BEAR in chair.hand else 0
            deltas.append(pays - cost)
        else:
            deltas.append(-cost)
    deltas = add(twin, deltas)
    champion = twin.chairs[winner]
    champion.corners += 1
    champion.best_corner = max(champion.best_corner, deltas[winner])
    twin.last_winner = winner
    twin.voids_running = 0
    twin.rounds_scored += 1
    end_round(twin, now_ms)
    twin.say(
        RoundScored(
            twin.round, tuple(deltas), totals(twin), twin.seed, tuple(twin.drawn_with), now_ms
        )
    )
    after_score(twin, winner, now_ms, chance)


def floored(twin: Twin, points: int) -> int:
    return points if twin.rules.below_zero else max(0, points)


def add(twin: Twin, deltas: list[int]) -> list[int]:
    """Change the scores; by how much they really changed, where they stop at zero."""
    changes = []
    for chair, delta in zip(twin.chairs, deltas, strict=True):
        before = chair.score
        chair.score = floored(twin, before + delta)
        changes.append(chair.score - before)
        if chair.score < before:
            chair.penalties += 1
    return changes


def totals(twin: Twin) -> tuple[int, ...]:
    return tuple(chair.score for chair in twin.chairs)


def end_round(twin: Twin, now_ms: int) -> None:
    twin.phase = Phase.BETWEEN
    twin.round_over_at_ms = twin.clock(now_ms)
    twin.round_ends_at_ms = 0
    for chair in twin.chairs:
        chair.offer = None
        chair.ready = set()
        chair.idle_since_ms = 0


def void(twin: Twin, now_ms: int, chance: Chance) -> None:
    """The cap is reached: nobody scores, the same dealer deals again."""
    rules = twin.rules
    deltas = []
    for chair in twin.chairs:
        idle_ms = chair.idle_ms
        if chair.idle_since_ms:
            idle_ms += now_ms - chair.idle_since_ms
        idle = rules.void_penalty == VoidPenalty.IDLE
        too_long = idle_ms * 2 > now_ms - twin.opened_exchange_at_ms
        deltas.append(-rules.idle_fine if idle and too_long else 0)
    deltas = add(twin, deltas)
    twin.voids_running += 1
    twin.last_winner = NOBODY
    end_round(twin, now_ms)
    twin.say(
        RoundVoid(
            twin.round, tuple(deltas), totals(twin), twin.seed, tuple(twin.drawn_with), now_ms
        )
    )
    after_round(twin, NOBODY, now_ms, chance)


# ------------------------------------------------------------------ the end of a game


def after_score(twin: Twin, winner: int, now_ms: int, chance: Chance) -> None:
    if twin.chairs[winner].score >= twin.rules.target and not twin.tied:
        end_game(twin, End.WON, now_ms)
    else:
        after_round(twin, winner, now_ms, chance)


def after_round(twin: Twin, winner: int, now_ms: int, chance: Chance) -> None:
    """The game ends here, or goes on with another round."""
    if twin.tied:
        after_sudden_death(twin, winner, now_ms, chance)
    elif all_rounds_played(twin):
        best = max(rank(twin.chairs[seat]) for seat in twin.playing())
        first = [seat for seat in twin.playing() if rank(twin.chairs[seat]) == best]
        if len(first) == 1:
            end_game(twin, End.ROUNDS_PLAYED, now_ms, first=first)
        else:
            twin.tied = first
            twin.sudden_death_rounds = 1
            commit(twin, twin.round + 1, twin.clock(now_ms) + NEXT_DEAL_MS, chance)
    elif twin.voids_running == VOIDS_TO_STALL:
        end_game(twin, End.STALLED, now_ms)
    else:
        commit(twin, twin.round + 1, now_ms + NEXT_DEAL_MS, chance)


def all_rounds_played(twin: Twin) -> bool:
    rules = twin.rules
    if rules.scored_rounds_max and twin.rounds_scored >= rules.scored_rounds_max:
        return True
    return bool(rules.rounds_max) and twin.round >= rules.rounds_max


def after_sudden_death(twin: Twin, winner: int, now_ms: int, chance: Chance) -> None:
    """The first tied seat to corner wins; after two rounds without, the place is shared."""
    if winner in twin.tied:
        end_game(twin, End.ROUNDS_PLAYED, now_ms, first=[winner])
    elif twin.sudden_death_rounds == SUDDEN_DEATH_ROUNDS:
        end_game(twin, End.SHARED, now_ms, first=twin.tied)
    else:
        twin.sudden_death_rounds += 1
        commit(twin, twin.round + 1, now_ms + NEXT_DEAL_MS, chance)


def rank(chair: Chair) -> tuple[int, int, int, int]:
    """Better is greater: score, then most corners, fewest penalties, highest single corner."""
    return chair.score, chair.corners, -chair.penalties, chair.best_corner


def places(twin: Twin, end: End, first: list[int]) -> tuple[int, ...]:
    """By seat: those of `first`, then the others of a sudden death, then all others.

    After a fixed number of rounds ties are broken on every place. In other endings the score alone
    counts, also where they come in the middle of a sudden death.
    """
    fixed = end in (End.ROUNDS_PLAYED, End.SHARED)
    orders: dict[int, tuple[bool, bool, tuple[int, ...]]] = {}
    for seat in twin.playing():
        chair = twin.chairs[seat]
        if not fixed:
            orders[seat] = (False, False, (chair.score,))
            continue
        equal = seat in first or seat in twin.tied
        orders[seat] = (seat in first, seat in twin.tied, () if equal else rank(chair))
    found = []
    for seat in range(len(twin.chairs)):
        if seat not in orders:
            found.append(0)
            continue
        better = [other for other, order in orders.items() if order > orders[seat]]
        found.append(len(better) + 1)
    return tuple(found)


def void_by_operator(twin: Twin, reason: str, operator: str, now_ms: int, chance: Chance) -> None:
    """Nobody scores and nobody pays; a round of sudden death is played again."""
    void_as_it_stands(twin, reason, operator, now_ms)
    next_ms = twin.clock(now_ms) + NEXT_DEAL_MS
    if twin.tied or not all_rounds_played(twin):
        commit(twin, twin.round + 1, next_ms, chance)
    else:
        after_round(twin, NOBODY, now_ms, chance)


def void_as_it_stands(twin: Twin, reason: str, operator: str, now_ms: int) -> None:
    end_round(twin, now_ms)
    nobody = tuple(0 for _ in twin.chairs)
    nonces = tuple(twin.drawn_with)
    if not operator:
        twin.voids_running += 1
    twin.last_winner = NOBODY
    twin.say(
        RoundVoid(twin.round, nobody, totals(twin), twin.seed, nonces, now_ms, reason, operator)
    )


def break_off(twin: Twin, end: End, now_ms: int, reason: str = "", operator: str = "") -> None:
    """The game ends in the middle of a round: nobody scores, but the seed is published."""
    if twin.phase in (Phase.SORTING, Phase.OPEN):
        void_as_it_stands(twin, reason, operator, now_ms)
        if operator and twin.tied:
            twin.sudden_death_rounds -= 1
    end_game(twin, end, now_ms)


def end_game(twin: Twin, end: End, now_ms: int, first: list[int] | None = None) -> None:
    presence.note_people(twin, now_ms)
    twin.phase = Phase.ENDED
    twin.end = end
    twin.ended_at_ms = twin.clock(now_ms)
    twin.round_over_at_ms = twin.clock(now_ms)
    twin.next_deal_at_ms = 0
    twin.opens_at_ms = 0
    for chair in twin.chairs:
        chair.bot_wanted = False
        chair.away_until_ms = 0
    found = places(twin, end, first or [])
    for chair, place in zip(twin.chairs, found, strict=True):
        chair.came_in = place
    twin.say(GameEnded(end, found, totals(twin), now_ms))
