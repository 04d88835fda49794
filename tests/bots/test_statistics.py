"""Figures: each event once however many seats see it, and times from the right moments."""

import random

import pytest
from google.rpc import code_pb2
from grpc import StatusCode
from pit.v1 import play_pb2, table_pb2

from services.bots import statistics as statistics_module
from services.bots.histogram import Histogram
from services.bots.statistics import Statistics
from services.client.errors import Left, Refused, Superseded
from services.client.happenings import (
    Effective,
    Happened,
    Outcome,
    Rejected,
    Settled,
    Undone,
    Unknown,
    WasReset,
)
from services.client.view import TableView
from support.responses import offer, opened, snapshot, traded

S = 1_000_000
TABLE = "tables/00" + "a" * 20
NO_CARDS = table_pb2.Cards()


def view_of(seat: int) -> TableView:
    shown = snapshot(seq=10)
    shown.seat = seat
    return TableView(shown)


class Told:
    """Two seats of one table that tell what they see."""

    def __init__(self) -> None:
        self.statistics = Statistics()
        self.views = [view_of(0), view_of(1)]
        for view in self.views:
            self.statistics.began(view, 0)

    def see(self, event: table_pb2.Event, seq: int, log_us: int = 0) -> None:
        event.seq = seq
        for view in self.views:
            view.apply(event)
            happened = Happened(event, 0, NO_CARDS, NO_CARDS)
            self.statistics.saw(view, happened, log_us)

    def settle(self, outcome: Outcome, sent_at: float = 0.0) -> None:
        self.statistics.settled(self.views[0], Settled(offer(2), outcome, sent_at, 1))

    def report(self, log_us: int = 0) -> dict[str, object]:
        return self.statistics.report(log_us)

    def table(self, log_us: int = 0) -> dict[str, object]:
        tables = self.report(log_us)["tables"]
        assert isinstance(tables, dict)
        (table,) = tables.values()
        assert isinstance(table, dict)
        return table


def test_an_event_that_many_seats_see_is_counted_once() -> None:
    told = Told()
    told.see(opened(2, 1), 11)
    told.see(traded(0, 1, 1), 12)
    report = told.report()
    assert (report["offers"], report["trades"]) == (2, 1)


def test_a_trade_takes_from_the_sending_to_the_partners_receipt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Told()
    monkeypatch.setattr(statistics_module.time, "monotonic", lambda: 50.030)
    told.see(traded(0, 1, 1), 11)
    told.settle(Effective(11, True), sent_at=50.0)
    times = told.report()["trade_ms"]
    assert isinstance(times, dict)
    assert times["count"] == 1
    assert times["max"] == pytest.approx(30, rel=0.01)
    assert told.table()["p99"] == pytest.approx(30, rel=0.01)


def test_an_offer_that_stayed_open_and_a_trade_elsewhere_have_no_time() -> None:
    told = Told()
    told.see(opened(0, 1), 11)
    told.settle(Effective(11, False))
    told.see(traded(2, 3, 1), 12)
    times = told.report()["trade_ms"]
    assert isinstance(times, dict)
    assert times["count"] == 0


def test_time_without_a_trade_runs_only_while_trading_is_open() -> None:
    told = Told()
    told.see(traded(0, 1, 1), 11, log_us=10 * S)
    void = table_pb2.Event(round_void=table_pb2.RoundVoid(round=1, totals=[0, 0, 0, 0]))
    told.see(void, 12, log_us=14 * S)
    assert told.table(log_us=100 * S)["since_trade_s"] == 4
    told.see(table_pb2.Event(exchange_opened=table_pb2.ExchangeOpened()), 13, log_us=100 * S)
    assert told.table(log_us=103 * S)["since_trade_s"] == 7
    told.see(traded(0, 1, 1), 14, log_us=104 * S)
    assert told.table(log_us=105 * S)["since_trade_s"] == 1


def test_an_ended_game_is_reported_and_then_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    told.see(table_pb2.Event(game_ended=table_pb2.GameEnded(totals=[200, 0, 0, 0])), 11)
    assert told.report()["games_finished"] == 1
    assert told.table()["ended"] is True
    assert told.table()["scores"] == [200, 0, 0, 0]
    later = statistics_module.time.monotonic() + 11
    monkeypatch.setattr(statistics_module.time, "monotonic", lambda: later)
    assert told.report()["tables"] == {}


def test_outcomes_are_told_apart() -> None:
    told = Told()
    told.settle(Rejected(code_pb2.FAILED_PRECONDITION, "NOT_OPEN", {}, ""))
    told.settle(Rejected(code_pb2.INTERNAL, "UNDECIDED", {}, ""))
    told.settle(Unknown("HISTORY"))
    told.statistics.was_reset(
        WasReset(play_pb2.RESET_REASON_HISTORY, (Undone(offer(1), 3), Undone(offer(1), 4)))
    )
    told.statistics.over(TABLE, Superseded())
    told.statistics.over(TABLE, Left())
    told.statistics.over(TABLE, Refused(StatusCode.FAILED_PRECONDITION, "BOT_NOT_WANTED", ""))
    told.statistics.over(TABLE, Refused(StatusCode.NOT_FOUND, "TABLE_NOT_FOUND", ""))
    report = told.report()
    assert report["rejections"] == {"NOT_OPEN": 1}
    assert report["error_kinds"] == {"UNDECIDED": 1, "NOT_FOUND: TABLE_NOT_FOUND": 1}
    assert report["errors"] == 2
    assert (report["unknown"], report["undone"]) == (1, 2)
    assert told.table()["ended"] is True
    assert report["reset_kinds"] == {"HISTORY": 1}


def test_percentiles_are_within_a_few_percent() -> None:
    chance = random.Random(1)
    times = [chance.lognormvariate(-4, 1.5) for _ in range(20_000)]
    histogram = Histogram()
    for seconds in times:
        histogram.record(seconds)
    times.sort()
    for percent in (1, 50, 90, 99, 99.9):
        exact_ms = 1000 * times[int(len(times) * percent / 100) - 1]
        assert histogram.percentile_ms(percent) == pytest.approx(exact_ms, rel=0.035, abs=0.002)
    assert histogram.percentile_ms(100) == histogram.longest_us / 1000


def test_an_empty_histogram_says_nothing() -> None:
    assert Histogram().summary() == {"count": 0, "p50": 0.0, "p99": 0.0, "max": 0.0}
