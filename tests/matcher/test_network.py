"""A real matcher whose connection to a real Valkey loses replies, holds bytes back, or breaks."""

import signal
from collections.abc import Iterator
from time import monotonic

import pytest

from services.log.server import EmbeddedServer
from support.processes import MatcherProcess
from support.proxy import Proxy
from support.under_play import Exchange, owning


@pytest.fixture
def exchange(valkey_url: str) -> Iterator[Exchange]:
    exchange = Exchange(valkey_url)
    yield exchange
    exchange.pipe.close()


@pytest.fixture
def proxy(valkey_server: EmbeddedServer) -> Iterator[Proxy]:
    with Proxy(valkey_server.port) as proxy:
        yield proxy


def test_lost_replies_and_late_bytes_have_one_effect(exchange: Exchange, proxy: Proxy) -> None:
    """F10, F20, F21: settled by acquiring again; what arrives late is fenced."""
    with MatcherProcess(proxy.url, "m1") as matcher:
        exchange.until(owning(matcher))
        exchange.trades(20)
        for fault in range(6):
            if fault % 2:
                proxy.lose_replies()
            else:
                proxy.hold_next_request()
            exchange.trades(20)
            proxy.release()
        exchange.trades(20)
        matcher.send(signal.SIGTERM)
        assert matcher.wait() == 0
        settled = [line for line in matcher.lines if line["event"] == "unclear write settled"]
    assert {line["memory_kept"] for line in settled} <= {True, False}
    assert settled
    exchange.ends_well()


@pytest.mark.all
def test_play_goes_on_over_a_connection_that_breaks_again_and_again(
    exchange: Exchange, proxy: Proxy
) -> None:
    """F22."""
    with MatcherProcess(proxy.url, "m1") as matcher:
        exchange.until(owning(matcher))
        for _ in range(25):
            exchange.trades(10)
            proxy.cut()
        exchange.trades(20)
        matcher.send(signal.SIGTERM)
        assert matcher.wait() == 0
    exchange.ends_well()


@pytest.mark.all
def test_a_slow_connection_does_not_make_shards_change_hands(
    exchange: Exchange, proxy: Proxy
) -> None:
    """F12 in part: every round trip takes 0.3 s, a fifth of the lease time, and a hand-over four."""
    with MatcherProcess(proxy.url, "slow") as slow:
        exchange.until(owning(slow))
        proxy.delay_s = 0.15
        with MatcherProcess(exchange.url, "contender") as contender:
            contender.wait_for("matcher started")
            slow_until_s = monotonic() + 5
            exchange.until(lambda: monotonic() > slow_until_s)
            taken = [line for line in contender.heard() if line.get("takeover")]
            assert taken == []
            proxy.delay_s = 0.0
            exchange.until(owning(slow, contender), seconds=30)
            for matcher in (slow, contender):
                matcher.send(signal.SIGTERM)
                assert matcher.wait() == 0
    exchange.ends_well()


@pytest.mark.all
def test_a_silent_store_stops_play_and_nothing_else(exchange: Exchange, proxy: Proxy) -> None:
    """F19: ten seconds without a word; nobody else could move a lease either."""
    with MatcherProcess(proxy.url, "m1") as matcher:
        exchange.until(owning(matcher))
        exchange.trades(20)
        proxy.stall()
        matcher.wait_for("store unreachable")
        proxy.resume()
        exchange.trades(40, seconds=30)
        matcher.send(signal.SIGTERM)
        assert matcher.wait() == 0
    exchange.ends_well()
