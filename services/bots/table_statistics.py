"""What is counted of one table, by whichever of its seats here sees an event first."""

from collections import deque
from typing import Final

from pit.v1 import table_pb2

from services.client.view import TableView

RECENT_S: Final = 10.0
"""Span of a table's own percentile."""


class TableStatistics:
    """Counters of one table; `since_trade_s` runs only while trading is open, in log time."""

    def __init__(self) -> None:
        self.counted_seq = 0
        self.offers = 0
        self.trades = 0
        self.last_event = ""
        self.ended_at: float | None = None
        self._view: TableView | None = None
        self._recent: deque[tuple[float, float]] = deque()
        self._open_from_us = 0
        """Log time since which trading has been open, or of the last trade in it; 0: closed."""
        self._waited_us = 0
        """Open trading time without a trade, in earlier stretches."""

    def began(self, view: TableView, log_us: int) -> None:
        """A seat here has a new view of the table."""
        self._view = view
        self.counted_seq = view.seq
        if view.phase == table_pb2.PHASE_OPEN and not self._open_from_us:
            self._open_from_us = log_us

    def first_to_see(self, view: TableView, kind: str, seq: int, log_us: int) -> bool:
        """Whether no other seat here has told of this event; if so, count it."""
        if seq <= self.counted_seq:
            return False
        self.counted_seq = seq
        self._view = view
        self.last_event = kind
        if kind in ("offer_opened", "traded"):
            self.offers += 1
        if kind == "traded":
            self.trades += 1
            self._waited_us = 0
            self._open_from_us = log_us
        elif kind == "exchange_opened":
            self._open_from_us = log_us
        elif kind in ("cornered", "round_void", "game_ended") and self._open_from_us:
            self._waited_us += log_us - self._open_from_us
            self._open_from_us = 0
        return True

    def trade_took(self, seconds: float, now: float) -> None:
        self._recent.append((now, seconds))

    def report(self, log_us: int, now: float) -> dict[str, object]:
        while self._recent and self._recent[0][0] < now - RECENT_S:
            self._recent.popleft()
        times = sorted(seconds for _, seconds in self._recent)
        waited_us = self._waited_us
        if self._open_from_us:
            waited_us += max(0, log_us - self._open_from_us)
        view = self._view
        return {
            "p99": round(1000 * times[int(len(times) * 0.99)], 3) if times else 0.0,
            "phase": _phase_name(view.phase) if view else "",
            "round": view.round if view else 0,
            "offers": self.offers,
            "trades": self.trades,
            "since_trade_s": round(waited_us / 1_000_000, 1),
            "last_event": self.last_event,
            "scores": [seat.score for seat in view.seats] if view else [],
            "ended": self.ended_at is not None,
        }


def _phase_name(phase: int) -> str:
    return table_pb2.Phase.Name(table_pb2.Phase.ValueType(phase)).removeprefix("PHASE_").lower()
