"""Delays are spread over the whole of a growing, bounded span."""

import random
from collections import Counter

import pytest

from services.client.backoff import FIRST_S, GROWTH, LONGEST_S, Backoff
from services.client.channels import AVOIDED_S, STREAMS_MAX, Channels


def test_delays_are_anywhere_from_nothing_to_a_bound_that_grows() -> None:
    for attempt in range(12):
        delays = []
        for seed in range(200):
            backoff = Backoff(random.Random(seed))
            backoff.attempts = attempt
            delays.append(backoff.delay_s())
        bound = min(LONGEST_S, FIRST_S * GROWTH**attempt)
        assert 0 <= min(delays) < bound * 0.1
        assert bound * 0.9 < max(delays) <= bound


def test_success_begins_anew_and_a_hint_is_waited_out() -> None:
    backoff = Backoff(random.Random(1))
    for _ in range(8):
        backoff.delay_s()
    backoff.succeeded()
    assert 3.0 <= backoff.delay_s(hint_s=3.0) <= 3.0 + FIRST_S


def back_after(gone_s: float, clients: int = 10_000) -> list[float]:
    """How long after the gateway's return each client that lost it tries again, in order."""
    chance = random.Random(gone_s)
    late_s = []
    for _ in range(clients):
        backoff, now_s = Backoff(chance), 0.0
        while now_s < gone_s:
            now_s += backoff.delay_s()
        late_s.append(now_s - gone_s)
    return sorted(late_s)


def test_after_a_gateway_that_was_gone_for_a_second_a_client_is_back_soon() -> None:
    late_s = back_after(gone_s=1.0)
    assert late_s[len(late_s) // 2] < 0.5
    assert late_s[len(late_s) * 9 // 10] < 1.2
    assert late_s[len(late_s) * 99 // 100] < 2.0


@pytest.mark.parametrize("gone_s", [1.0, 5.0, 30.0])
def test_ten_thousand_clients_are_back_soon_and_never_all_at_once(gone_s: float) -> None:
    late_s = back_after(gone_s)
    assert late_s[-1] <= LONGEST_S
    tenths = Counter(int(each * 10) for each in late_s)
    assert max(tenths.values()) < 2_000


async def test_streams_spread_over_gateways_and_connections() -> None:
    channels = Channels(("127.0.0.1:1", "127.0.0.1:2"))
    leased = [channels.lease() for _ in range(4 * STREAMS_MAX)]
    assert {one.streams for one in leased} == {STREAMS_MAX}
    assert len({id(one) for one in leased}) == 4
    await channels.close()


async def test_a_gateway_that_failed_is_passed_over_for_a_while() -> None:
    channels = Channels(("127.0.0.1:1", "127.0.0.1:2"))
    channels.failed("127.0.0.1:1")
    assert {channels.unary().target for _ in range(4)} == {"127.0.0.1:2"}
    channels._failed_at["127.0.0.1:1"] -= AVOIDED_S
    assert {channels.unary().target for _ in range(4)} == {"127.0.0.1:1", "127.0.0.1:2"}
    channels.failed("127.0.0.1:1")
    channels.failed("127.0.0.1:2")
    assert channels.unary().target, "when all have failed, any is better than none"
    await channels.close()
