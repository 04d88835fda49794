"""What a scrape reads: exactly, and as Prometheus wants it."""

import re
import subprocess
from collections.abc import Iterator
from typing import get_args

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from engine.commands import Offer
from engine.events import Answered, Event, OfferOpened, Traded
from engine.rejections import Rejection
from services.log.port import DeadLetter
from services.metrics.catalogue import SECONDS, Figure
from services.metrics.lean import Counts, Histogram
from services.metrics.matcher import MatcherMetrics
from services.metrics.store import StoreFigures, families
from support.fresh_metrics import FOLDER, fresh, text_of
from support.require import need

PROCESSES = ("matcher", "gateway", "archiver", "bots")
ID = re.compile(r'="[^"]*(?:[a-z2-7]{20}|tables/|people/)[^"]*"')


@pytest.mark.parametrize("process", PROCESSES)
def test_a_fresh_process_tells_exactly_this(process: str) -> None:
    written = (FOLDER / f"{process}.txt").read_text()
    assert text_of(fresh()[process]) == written, "see tests/support/fresh_metrics.py"


@pytest.mark.parametrize("process", PROCESSES)
def test_promtool_has_nothing_to_say(process: str) -> None:
    check(generate_latest(fresh()[process]))


def check(text: bytes) -> None:
    done = subprocess.run(
        [need("prometheus"), "check", "metrics"], input=text, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_promtool_would_say_something() -> None:
    with pytest.raises(AssertionError):
        check(b"# TYPE pit_trades counter\npit_trades 1\n")


def test_one_name_means_the_same_in_every_process() -> None:
    meant: dict[str, set[tuple[str, str]]] = {}
    for registry in fresh().values():
        for family in registry.collect():
            meant.setdefault(family.name, set()).add((family.type, family.documentation))
    assert all(len(each) == 1 for each in meant.values())
    assert all(name.startswith("pit_") for name in meant)


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


def answered(rejection: int) -> Answered:
    return Answered(0, 1, False, 1, 1, 0, rejection, (), 1, True)


def test_a_turn_is_counted() -> None:
    metrics = MatcherMetrics(2, wall=lambda: 12.5)
    traded = Traded(0, 1, 3, None, None, 1)
    items = {
        "a": [answered(0), OfferOpened(*[0] * len(OfferOpened.__dataclass_fields__))],
        "b": [answered(0), traded, answered(Rejection.LOT_SIZE)],
    }
    answers = [(Offer, items["a"][0]), (Offer, items["b"][0]), (Offer, items["b"][2])]
    dead = [DeadLetter("12400-0", 1, "code", b"")]
    metrics.turn(1, answers, items, dead, took_s=0.0007, oldest="12400-0")
    metrics.state({1: 3}, [], 2)
    registry = metrics.registry
    assert value(registry, "pit_commands_total", command="Offer", outcome="accepted") == 2
    assert value(registry, "pit_commands_total", command="Offer", outcome="refused") == 1
    assert value(registry, "pit_rejections_total", reason="LOT_SIZE") == 1
    assert value(registry, "pit_events_total", event="OfferOpened") == 1
    assert value(registry, "pit_trades_total", size="3") == 1
    assert value(registry, "pit_dead_letters_total", reason="code") == 1
    assert value(registry, "pit_turn_seconds_bucket", le="0.0005") == 0
    assert value(registry, "pit_turn_seconds_bucket", le="0.001") == 1
    assert value(registry, "pit_turn_commands_sum") == 3
    assert value(registry, "pit_shard_lag_seconds", shard="01") == pytest.approx(0.0993)
    assert value(registry, "pit_shard_lag_entries", shard="01") == 3
    assert value(registry, "pit_shard_owned", shard="00") == 0
    assert value(registry, "pit_tables_stopped") == 2
    assert value(registry, "pit_shard_owned", shard="01") == 1
    metrics.state({}, [], 0)
    assert value(registry, "pit_shard_lag_seconds", shard="01") == 0, "since the last time"
    # Answers are no events, and nothing has come that was not there at 0.
    assert value(registry, "pit_events_total", event="Answered") is None
    assert sorted(series(registry)) == sorted(series(MatcherMetrics(2).registry))


def series(registry: CollectorRegistry) -> Iterator[str]:
    for line in text_of(registry).splitlines():
        yield line.rpartition(" ")[0] if not line.startswith("#") else line


def test_every_kind_of_event_is_there_from_the_start() -> None:
    registry = MatcherMetrics(1).registry
    for kind in get_args(Event):
        assert value(registry, "pit_events_total", event=kind.__name__) == 0


def test_a_value_on_an_edge_is_below_it() -> None:
    registry = CollectorRegistry()
    spread = Histogram(registry, Figure("pit_test_seconds", "A test.")).spread
    for seconds in (*SECONDS, 7.0):
        spread.observe(seconds)
    found = [value(registry, "pit_test_seconds_bucket", le=str(edge)) for edge in SECONDS]
    assert found == [place + 1 for place in range(len(SECONDS))]
    assert value(registry, "pit_test_seconds_bucket", le="+Inf") == len(SECONDS) + 1
    assert value(registry, "pit_test_seconds_count") == len(SECONDS) + 1
    assert value(registry, "pit_test_seconds_sum") == pytest.approx(sum(SECONDS) + 7)


def test_keys_with_the_same_labels_are_added_up() -> None:
    registry = CollectorRegistry()
    counts = Counts(
        registry,
        Figure("pit_test_total", "A test.", ("parity",)),
        [("even",), ("odd",)],
        lambda key: None if key < 0 else ("odd" if key % 2 else "even",),
    ).counts
    for key in (1, 3, 3, 2, -1):
        counts[key] += 1
    assert value(registry, "pit_test_total", parity="odd") == 3
    assert value(registry, "pit_test_total", parity="even") == 1


def test_no_label_is_an_id() -> None:
    assert ID.search('x{table="01pckv5mgkj6plk7hgmb7v"}'), "the pattern finds one"
    for registry in fresh().values():
        assert not ID.search(generate_latest(registry).decode())


def test_the_server_is_asked_by_the_elected_only(valkey_url: str) -> None:
    elected = False
    registry = CollectorRegistry()
    StoreFigures(registry, valkey_url, 4, lambda: elected)
    assert generate_latest(registry) == b""
    elected = True
    check(generate_latest(registry))
    assert value(registry, "pit_redis_up") == 1
    assert value(registry, "pit_stream_length", shard="03", stream="out") == 0
    assert value(registry, "pit_redis_commands_total")
    assert value(registry, "pit_redis_primary") == 1


def test_a_server_that_is_gone_is_down() -> None:
    registry = CollectorRegistry()
    StoreFigures(registry, "redis://127.0.0.1:1/0", 4, lambda: True)
    assert generate_latest(registry).decode().splitlines()[-1] == "pit_redis_up 0.0"


def test_a_word_of_the_server_becomes_a_number() -> None:
    found = {family.name: family.samples[0].value for family in families({"role": "slave"})}
    assert found == {"pit_redis_primary": 0}
