"""Real matcher processes on a real Valkey: killed, stopped, handed over, under play."""

import signal
from collections.abc import Iterator
from statistics import median

import pytest

from engine.commands import Leave
from services.log import keys
from services.log.codec import InBatch, pack_batch, pack_command
from services.log.connection import SyncConnection
from services.log.server import EmbeddedServer
from services.log.store import init_store
from services.matcher.crash import LABELS
from support.processes import MatcherProcess, matchers
from support.under_play import Exchange, owning
from support.valkey import SHARDS

TAKEOVER_S = 3.0
"""Play goes on within this time after a kill (the issue's bound)."""


@pytest.fixture
def exchange(valkey_url: str) -> Iterator[Exchange]:
    exchange = Exchange(valkey_url)
    yield exchange
    exchange.pipe.close()


def kill_loop(exchange: Exchange, kills: int) -> list[float]:
    """Kill the oldest of three matchers under play and start another, again and again; seconds
    until every shard answered again, each time. The next kill does not wait for the newcomer."""
    outages_s = []
    with matchers(exchange.url, "m0", "m1", "m2") as running:
        exchange.until(owning(*running))
        exchange.trades(50)
        for kill in range(kills):
            running.pop(0).kill()
            outages_s.append(exchange.heal())
            running.append(MatcherProcess(exchange.url, f"m{kill + 3}"))
            exchange.trades(20 + 7 * (kill % 4))
        exchange.until(owning(*running))
        for process in running:
            process.send(signal.SIGTERM)
        assert [process.wait() for process in running] == [0, 0, 0]
    return outages_s


def assert_in_time(outages_s: list[float]) -> None:
    """Any one of them may be longer by what a machine that runs other tests lets a matcher wait;
    a second lease to wait for would be in all."""
    assert median(outages_s) <= TAKEOVER_S
    assert max(outages_s) <= 3 * TAKEOVER_S


def test_three_kills_under_play_lose_nothing_and_do_nothing_twice(exchange: Exchange) -> None:
    """F07, F08 in small: I1, I6, I8, I9 over the whole log afterwards."""
    assert_in_time(kill_loop(exchange, kills=3))
    exchange.ends_well()


@pytest.mark.all
def test_twenty_kills_under_play_lose_nothing_and_do_nothing_twice(exchange: Exchange) -> None:
    """F07."""
    assert_in_time(kill_loop(exchange, kills=20))
    exchange.ends_well()


QUICK_LABELS = ("after-commit",)
"""These in `make test`, the others in `make test-all`."""


@pytest.mark.parametrize(
    "label",
    [
        label if label in QUICK_LABELS else pytest.param(label, marks=pytest.mark.all)
        for label in LABELS
    ],
)
def test_a_crash_at_each_place_leaves_the_successor_everything(
    exchange: Exchange, label: str
) -> None:
    """F02-F06."""
    times = 30 if label in ("deciding", "decided", "before-commit", "after-commit") else 2
    with (
        MatcherProcess(exchange.url, "m1", crash_at=f"{label}:{times}") as doomed,
        MatcherProcess(exchange.url, "m2") as successor,
    ):
        if "release" in label:
            # Handing shards over to the successor is a release, too: it may be dead by then.
            both_own = owning(doomed, successor)
            exchange.until(lambda: not doomed.alive or both_own())
            if doomed.alive:
                doomed.send(signal.SIGTERM)
        exchange.until(lambda: not doomed.alive, seconds=30.0)
        assert doomed.wait() == -signal.SIGKILL
        exchange.until(owning(successor))
        exchange.trades(30)
        successor.send(signal.SIGTERM)
        assert successor.wait() == 0
    exchange.ends_well()


def test_sigterm_hands_over_within_a_look_and_a_newcomer_gets_its_share(
    exchange: Exchange,
) -> None:
    with matchers(exchange.url, "m1") as running:
        [first] = running
        exchange.until(owning(first))
        exchange.trades(30)
        second = MatcherProcess(exchange.url, "m2")
        running.append(second)
        exchange.until(owning(first, second))
        first.send(signal.SIGTERM)
        assert first.wait() == 0
        assert exchange.heal() <= TAKEOVER_S
        exchange.until(owning(second))
        acquired = [line for line in second.heard() if line["event"] == "shard acquired"]
        assert len(acquired) >= SHARDS
        assert not any(line["takeover"] for line in acquired), "no lease was waited for"
        exchange.trades(30)
        second.send(signal.SIGTERM)
        assert second.wait() == 0
    exchange.ends_well()


def test_a_second_signal_ends_it_at_once(exchange: Exchange) -> None:
    with MatcherProcess(exchange.url, "m1") as matcher:
        matcher.wait_for("shard acquired", SHARDS)
        matcher.send(signal.SIGSTOP)
        matcher.send(signal.SIGTERM)
        matcher.send(signal.SIGINT)
        matcher.send(signal.SIGCONT)
        assert matcher.wait() in (0, 130)


def test_a_stopped_matcher_wakes_fenced_and_gives_up_its_shards(exchange: Exchange) -> None:
    """F09."""
    with matchers(exchange.url, "m1") as running:
        [zombie] = running
        exchange.until(owning(zombie))
        exchange.trades(20)
        zombie.send(signal.SIGSTOP)
        successor = MatcherProcess(exchange.url, "m2")
        running.append(successor)
        exchange.until(owning(successor))
        exchange.trades(20)
        zombie.send(signal.SIGCONT)
        lost = zombie.wait_for("shard lost", SHARDS)
        assert lost["reason"] == "fenced"
        exchange.until(owning(zombie, successor))
        exchange.trades(20)
        for process in running:
            process.send(signal.SIGTERM)
        assert [process.wait() for process in running] == [0, 0]
    exchange.ends_well()


def test_a_killed_store_comes_back_and_play_goes_on(own_valkey: EmbeddedServer) -> None:
    """F13: with its append-only file intact nothing is lost, and no shard changes hands."""
    init_store(own_valkey.url, SHARDS)
    exchange = Exchange(own_valkey.url)
    with MatcherProcess(own_valkey.url, "m1") as matcher:
        exchange.until(owning(matcher))
        exchange.trades(50)
        exchange.pipe.close()
        own_valkey.kill()
        matcher.wait_for("store unreachable")
        own_valkey.start()
        matcher.wait_for("store reachable again")
        exchange.trades(50)
        matcher.send(signal.SIGTERM)
        assert matcher.wait() == 0
    exchange.ends_well()
    exchange.pipe.close()


POISON = """
from engine.commands import Leave
from services.matcher import turn
import os
decide = turn.decide
def fatal(table, command, now_ms, chance):
    if isinstance(command, Leave) and command.person == "poison":
        os.kill(os.getpid(), 9)
    return decide(table, command, now_ms, chance)
turn.decide = fatal
"""


@pytest.mark.all
def test_a_command_that_kills_real_matchers_is_set_aside_alone(exchange: Exchange) -> None:
    """F38."""
    store = SyncConnection(exchange.url)
    crashes = 0
    matcher = MatcherProcess(exchange.url, "m0", before=POISON)
    try:
        exchange.until(owning(matcher))
        exchange.trades(20)
        name = next(name for name in exchange.conductor.playing if name[:2] == "00")
        poison = pack_command(Leave(b"p" * 16, 7, "poison"))
        exchange.pipe.send(0, pack_batch(InBatch("g", ((name, poison),))))
        while not store.ask("XLEN", keys.dead_letters(0)):
            if not matcher.alive:
                matcher.__exit__()
                crashes += 1
                assert crashes <= 3
                matcher = MatcherProcess(exchange.url, f"m{crashes}", before=POISON)
            exchange.step()
        exchange.until(owning(matcher))
        exchange.trades(30)
        matcher.send(signal.SIGTERM)
        assert matcher.wait() == 0
    finally:
        matcher.__exit__()
        store.close()
    assert crashes == 3
    exchange.ends_well()
