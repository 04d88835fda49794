"""What the bots of this process have seen and done, for the demo and its report.

`trade_ms` runs from the sending of the offer that completes a trade to its receipt at the other
seat, for trades between two seats played here. `errors` are final outcomes other than an effect,
a rejection, or a refusal with a retry delay that later succeeded under the same number.
"""

import time
from collections import Counter, OrderedDict
from typing import Final

from google.rpc import code_pb2
from pit.v1 import play_pb2

from services.bots.histogram import Histogram
from services.bots.table_statistics import RECENT_S, TableStatistics
from services.client.errors import ClientError, Left, Refused, Superseded
from services.client.happenings import (
    Effective,
    Happened,
    Rejected,
    Settled,
    Unknown,
    WasReset,
)
from services.client.view import TableView

HALVES_MAX: Final = 20_000
"""Trades of which only one side has been seen yet; the other may be played elsewhere."""

SEAT_GONE: Final = frozenset({"BOT_NOT_WANTED", "TABLE_CLOSED"})
"""Why a bot that resumes may find its seat taken: the person is back, or the game over."""
TABLE_GONE: Final = frozenset({"TABLE_NOT_FOUND", "TABLE_CLOSED"})
"""Refusals after which nobody plays there any more; a store that lost its tail knows no table."""


class Statistics:
    """Counters run from the start of the process."""

    def __init__(self) -> None:
        self.sessions = 0
        self.resumes = 0
        self.retries = 0
        self._began_at = time.monotonic()
        self._counts: Counter[str] = Counter()
        self._rejections: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._resets: Counter[str] = Counter()
        self._trade_times = Histogram()
        self._halves: OrderedDict[tuple[str, int, bool], float] = OrderedDict()
        self._tables: dict[str, TableStatistics] = {}

    # ------------------------------------------------------------------ what is told

    def began(self, view: TableView, log_us: int) -> None:
        self._table(view.name).began(view, log_us)

    def sent(self) -> None:
        self._counts["commands"] += 1

    def saw(self, view: TableView, happened: Happened, log_us: int) -> None:
        event = happened.event
        kind = event.WhichOneof("kind") or ""
        if kind == "traded" and event.traded.partner == view.seat:
            self._half(view.name, event.seq, completed=False, at=time.monotonic())
        table = self._table(view.name)
        if not table.first_to_see(view, kind, event.seq, log_us):
            return
        if kind in ("offer_opened", "traded"):
            self._counts["offers"] += 1
        match kind:
            case "traded":
                self._counts["trades"] += 1
            case "cornered":
                self._counts["corners"] += 1
            case "round_scored":
                self._counts["rounds"] += 1
            case "round_void":
                self._counts["rounds"] += 1
                self._counts["voids"] += 1
            case "game_ended":
                self._counts["games_finished"] += 1
                table.ended_at = time.monotonic()

    def settled(self, view: TableView, settled: Settled) -> None:
        match settled.outcome:
            case Effective(seq, True):
                self._half(view.name, seq, completed=True, at=settled.sent_at)
            case Rejected(code, reason) if code == code_pb2.INTERNAL:
                self._errors[reason] += 1
            case Rejected(_, reason):
                self._rejections[reason] += 1
            case Unknown():
                self._counts["unknown"] += 1
            case _:
                pass

    def was_reset(self, reset: WasReset) -> None:
        name = play_pb2.ResetReason.Name(play_pb2.ResetReason.ValueType(reset.reason))
        self._resets[name.removeprefix("RESET_REASON_")] += 1
        self._counts["undone"] += len(reset.undone)

    def out_of_step(self) -> None:
        """A seat and the exchange disagreed about numbers or events."""
        self._counts["out_of_step"] += 1

    def over(self, table: str, end: ClientError) -> None:
        """A seat's life here is over: given up, taken back, or lost to an error."""
        if isinstance(end, Refused) and end.reason in TABLE_GONE:
            self._table(table).ended_at = time.monotonic()
        taken_back = isinstance(end, Superseded) or (
            isinstance(end, Refused) and end.reason in SEAT_GONE
        )
        if not taken_back and not isinstance(end, Left):
            self._errors[str(end)] += 1

    def failed(self, failure: BaseException) -> None:
        """A bot ended by a fault of its own, or of the exchange: a gap in the events, say."""
        self._errors[type(failure).__name__] += 1

    # ------------------------------------------------------------------ what is asked

    def report(self, log_us: int) -> dict[str, object]:
        """The report, see README.md."""
        now = time.monotonic()
        self._drop_ended(now)
        names = (
            "commands", "offers", "trades", "corners", "rounds", "voids", "games_finished",
            "unknown", "undone",
            "out_of_step",
        )  # fmt: skip
        return {
            "at_ms": int(time.time() * 1000),
            "seconds": round(now - self._began_at, 1),
            "sessions": self.sessions,
            **{name: self._counts[name] for name in names},
            "rejections": dict(self._rejections),
            "errors": self._errors.total(),
            "error_kinds": dict(self._errors),
            "retries": self.retries,
            "resumes": self.resumes,
            "resets": self._resets.total(),
            "reset_kinds": dict(self._resets),
            "trade_ms": self._trade_times.summary(),
            "tables": {
                name.removeprefix("tables/"): table.report(log_us, now)
                for name, table in self._tables.items()
            },
        }

    # ------------------------------------------------------------------ inside

    def _table(self, name: str) -> TableStatistics:
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = TableStatistics()
        return table

    def _half(self, table: str, seq: int, completed: bool, at: float) -> None:
        """One side of a trade: the sending of the completing offer, or the partner's receipt."""
        other = self._halves.pop((table, seq, not completed), None)
        if other is None:
            self._halves[table, seq, completed] = at
            if len(self._halves) > HALVES_MAX:
                self._halves.popitem(last=False)
            return
        took_s = other - at if completed else at - other
        self._trade_times.record(took_s)
        self._table(table).trade_took(took_s, time.monotonic())

    def _drop_ended(self, now: float) -> None:
        for name, table in list(self._tables.items()):
            if table.ended_at is not None and now - table.ended_at > RECENT_S:
                del self._tables[name]
