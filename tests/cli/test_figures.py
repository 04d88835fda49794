"""The demo's figures: from records alone, in log time."""

from pathlib import Path

import pytest

from engine.events import ExchangeOpened, Record, RoundScored, Traded
from services.cli.demo.follow import Takeovers
from services.cli.demo.report import BotsReport, read
from services.cli.demo.tally import TableTally, totals
from services.log.lease import owner_mark
from services.log.port import Chunk, InPosition, OutEntry
from support.whole_game import GAME, WholeGame

VICTIM, NEXT = b"v" * 16, b"n" * 16


def entry(nonce: bytes, number: int, asked_ms: int = 0, *, answers: bool = True) -> OutEntry:
    """An entry of epoch 7,000 whose newest command was sent at `asked_ms`."""
    position = InPosition(f"{asked_ms}-0", 0)
    chunks = (Chunk(GAME, b"", True),) if answers else ()
    return OutEntry(f"7000-{number}", nonce, "0-0", b"", position, 1_000, chunks)


def test_a_game_is_counted_once() -> None:
    game = WholeGame(seed=2).played()
    tally = TableTally(GAME)
    for now_ms, record in game.records:
        tally.take(record, now_ms)
    items = [item for _, record in game.records for item in record.items]
    sums = totals([tally])
    assert sums.trades == sum(isinstance(item, Traded) for item in items)
    assert sums.offers == 2 * sums.trades
    assert sums.rounds == sums.corners == sum(isinstance(item, RoundScored) for item in items)
    assert sums.games_finished == 1
    assert tally.over
    assert tally.scores == tuple(seat.score for seat in game.table.seats)


def test_only_open_trading_time_can_be_too_long_without_a_trade() -> None:
    tally = TableTally(GAME)
    opened = ExchangeOpened(1, 100_000, 10_000)
    traded = Traded(0, 1, 1, 1, 1, 14_000)
    scored = RoundScored(1, (0,), (0,), b"", (), 20_000)
    reopened = ExchangeOpened(2, 200_000, 50_000)
    tally.take(Record(GAME, 1, (opened, traded)), 14_000)
    assert tally.stalled_ms(15_000) == 1_000
    tally.take(Record(GAME, 3, (scored,)), 20_000)
    assert tally.stalled_ms(45_000) == 6_000, "between rounds nobody can trade"
    tally.take(Record(GAME, 4, (reopened,)), 50_000)
    assert tally.stalled_ms(59_000) == 15_000


def test_a_shard_is_back_with_its_next_owners_first_commit() -> None:
    takeovers = Takeovers()
    takeovers.killed({3: VICTIM, 4: VICTIM}, 10.0)
    takeovers.seen(3, entry(VICTIM, 9), 10.1)  # still on its way when its writer died
    takeovers.seen(3, entry(NEXT, 0), 11.5)  # the barrier
    takeovers.seen(5, entry(NEXT, 1), 11.6)  # another shard
    assert takeovers.waits_ms == []
    takeovers.seen(3, entry(NEXT, 1), 12.0)
    assert takeovers.waits_ms == [2_000.0]
    assert takeovers.summary(15.0) == {"p50": 3_500.0, "max": 5_000.0}, "shard 4 still waits"


def test_a_shard_where_nobody_asked_is_back_with_the_barrier() -> None:
    takeovers = Takeovers()
    takeovers.killed({3: VICTIM, 4: VICTIM, 5: VICTIM}, 10.0)
    for shard in (3, 4, 5):
        takeovers.seen(shard, entry(NEXT, 0), 12.0)
    takeovers.seen(3, entry(NEXT, 1, asked_ms=7_400), 12.4)
    takeovers.seen(4, entry(NEXT, 1, asked_ms=6_900), 12.4)
    takeovers.seen(5, entry(NEXT, 1, asked_ms=6_900, answers=False), 13.0)
    assert takeovers.waits_ms == [2_000.0, pytest.approx(2_400.0), 2_000.0]


def test_a_second_kill_does_not_restart_the_clock() -> None:
    takeovers = Takeovers()
    takeovers.killed({3: VICTIM}, 10.0)
    takeovers.killed({3: NEXT}, 12.0)
    takeovers.seen(3, entry(NEXT, 4), 12.5)
    takeovers.seen(3, entry(b"l" * 16, 1), 14.0)
    assert takeovers.waits_ms == [4_000.0]


def test_nonces_say_which_matcher_wrote() -> None:
    from services.log.memory import MemoryOwnerLog, MemoryStore
    from services.matcher.crash import CrashPoints
    from services.matcher.ownership import Ownership

    ownership = Ownership(MemoryOwnerLog(MemoryStore(1)), "matcher-1", lambda: 0.0, CrashPoints())
    assert ownership.fresh_nonce().startswith(owner_mark("matcher-1"))
    assert not ownership.fresh_nonce().startswith(owner_mark("matcher-2"))


@pytest.mark.parametrize("text", [None, "", "{", '{"trade_ms": {}}'])
def test_a_missing_or_half_written_report_is_an_empty_one(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "bots.json"
    if text is not None:
        path.write_text(text)
    assert read(path) == BotsReport()
