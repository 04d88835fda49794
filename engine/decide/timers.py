"""What a table does by itself when its time has come: one thing a `Tick`, the earliest first."""

from collections.abc import Callable
from itertools import chain
from typing import Final

from engine import commands as c
from engine.commands import AbsentPolicy
from engine.deadlines import Due, deadlines, idle_deadlines
from engine.decide import rounds
from engine.decide.gate import Chance, Decision, Events
from engine.decide.seats import freed
from engine.events import (
    Absence,
    BotWanted,
    End,
    OfferEnded,
    RematchFailed,
    SeatForfeited,
    TableClosed,
    Why,
)
from engine.shown import Phase
from engine.table import Table


def tick(table: Table, command: c.Tick, now_ms: int, chance: Chance) -> Decision:
    """No events: nothing is due. Otherwise there may be more, so ask again."""
    waiting = min(chain(deadlines(table), idle_deadlines(table)), default=None)
    if waiting is None or waiting.at_ms > now_ms:
        return (), None
    return ACTIONS[waiting.due](table, waiting.seat, now_ms, chance), None


def _all_ready(table: Table, seat: int, now_ms: int, chance: Chance) -> Events:
    if table.phase == Phase.SORTING:
        return _open(table, seat, now_ms, chance)
    return _deal(table, seat, now_ms, chance)


def _offer(table: Table, seat: int, now_ms: int, chance: Chance) -> Events:
    return (OfferEnded(seat, int(Why.EXPIRED), now_ms),)


def _grace(table: Table, seat: int, now_ms: int, chance: Chance) -> Events:
    if table.absent_policy == AbsentPolicy.FORFEIT:
        return (SeatForfeited(seat, now_ms), *freed(table, seat, now_ms))
    return (BotWanted(seat),)


def _idle(table: Table, seat: int, now_ms: int, chance: Chance) -> Events:
    away = rounds.away_event(table, seat, Absence.IDLE, now_ms)
    if table.seats[seat].offer_size:
        return (OfferEnded(seat, int(Why.IDLE), now_ms), away)
    return (away,)


def _open(table: Table, seat: int, now_ms: int, chance: Chance) -> Events:
    return (rounds.exchange_opened(table, now_ms),)


def _round_cap(table: Table, seat: int, now_ms: int, chance: Chance) -> Events:
    return rounds.void(table, now_ms, chance)


def _deal(table: Table, seat: int, now_ms: int, chance: Chance) -> Events:
    return rounds.dealt(table, rounds.drawn_nonces(table), now_ms)


def _close(table: Table, seat: int, now_ms: int, chance: Chance) -> Events:
    closed = TableClosed(now_ms)
    if table.phase == Phase.ENDED:
        return (closed,)
    return (*rounds.ended_early(table, End.NEVER_STARTED, now_ms), closed)


def _no_people(table: Table, seat: int, now_ms: int, chance: Chance) -> Events:
    return rounds.ended_early(table, End.NO_PEOPLE, now_ms)


def _rematch(table: Table, seat: int, now_ms: int, chance: Chance) -> Events:
    return (RematchFailed(now_ms),)


ACTIONS: Final[dict[Due, Callable[[Table, int, int, Chance], Events]]] = {
    Due.ALL_READY: _all_ready,
    Due.OFFER: _offer,
    Due.GRACE: _grace,
    Due.IDLE: _idle,
    Due.OPENING: _open,
    Due.ROUND_CAP: _round_cap,
    Due.NEXT_DEAL: _deal,
    Due.CLOSING: _close,
    Due.NO_PEOPLE: _no_people,
    Due.REMATCH: _rematch,
}
