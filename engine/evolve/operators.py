"""What an operator has done to a table."""

from typing import Final

from engine import events as e
from engine.shown import Phase
from engine.table import Seat, Table


def frozen(table: Table, event: e.Frozen) -> None:
    table.frozen_at_ms = event.at_ms
    table.frozen_reason = event.reason
    table.trading_round = None


def thawed(table: Table, event: e.Thawed) -> None:
    """All that waits, or has waited, goes on as if no time had passed."""
    table.frozen_at_ms = 0
    table.frozen_reason = ""
    if table.phase == Phase.OPEN:
        table.trading_round = table.round
    _later(table, TABLE_TIMES, event.frozen_ms)
    for seat in table.seats:
        _later(seat, SEAT_TIMES, event.frozen_ms)


TABLE_TIMES: Final = (
    "opened_ms", "opens_at_ms", "round_ends_at_ms", "next_deal_at_ms", "ended_ms",
    "people_gone_ms", "rematch_until_ms",
)  # fmt: skip
SEAT_TIMES: Final = (
    "active_ms", "away_until_ms", "bell_locked_until_ms", "idle_since_ms", "offer_ends_at_ms",
    "traded_ms",
)  # fmt: skip
"""Absolute log times; 0 in them is no time."""


def _later(thing: Table | Seat, times: tuple[str, ...], by_ms: int) -> None:
    for name in times:
        if at_ms := getattr(thing, name):
            setattr(thing, name, at_ms + by_ms)


def score_adjusted(table: Table, event: e.ScoreAdjusted) -> None:
    table.seats[event.seat].score = event.totals[event.seat]
    if event.places:
        for seat, place in zip(table.seats, event.places, strict=True):
            seat.place = place
