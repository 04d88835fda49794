"""Dashboard and alerts on a real Prometheus that scrapes a real demo, while causes are made."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
import yaml
from pit.v1 import lobby_pb2, play_pb2

from services.log import keys
from services.log.connection import SyncConnection
from support.monitored import COMMITTED, Points, Prometheus, prometheus
from support.outside import Outside, Person, SeatAtTable
from support.panels import Query, figures, queries, ranged
from support.pit import free_port_base, start

pytestmark = [pytest.mark.all, pytest.mark.timeout(180)]

INTERVAL = "6s"
"""Where Grafana would put a minute: what is rated moves within the test's time."""
TABLES = 6

CAUSED = {
    "dead letter": ("Streams: Dead letters", "Integrity: must be 0: Dead letters"),
    "slow store": ("Burn, trades",),
    "takeover": ("Takeovers", "Fencing", "Shards fenced", "Loading and storing a shard, p99"),
    "slow reader": ("Slow readers", "Longest queue"),
    "resume": ("Resumes by outcome",),
    "flood": ("Rate limits",),
    "refused call": ("Calls that failed",),
}
"""Panels that rise from 0 when their cause is made."""

UNSEEN_BEFORE = (
    *CAUSED["dead letter"],
    *CAUSED["slow reader"][:1],
    *CAUSED["resume"],
    *CAUSED["flood"],
)
SHOWN_S = 2
"""Two scrapes and evaluations after a cause it is in every panel."""

STILL = {
    "Failed commands": None, "Lag, entries": None, "Shards without owner": None, "Room for records": None,
    "Shards owned twice": None, "Persistence": 1, "Late syncs": None, "Store answers": 1,
    "Invariants broken": 0, "Tables stopped": 0, "Histories reset": 0, "Keys evicted": 0,
    "Archive failures": 0, "Error budget left": None, "Burn, errors": None,
}  # fmt: skip
"""Panels that need not move here, and what they must show then."""


PAUSE_S = 0.3
"""Longer than a trade may take, shorter than anybody takes the store for gone."""
SLOW_TRADES = 'sum(pit_trade_seconds_count) - sum(pit_trade_seconds_bucket{le="0.1"})'


def name_of(query: Query) -> str:
    return f"{query.row}: {query.panel}"


class Demo:
    """`pit demo` at full pace, with its processes within reach."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port_base()
        arguments = (
            *("demo", "--json", "--duration", "150", "--pace", "max", "--tables", str(TABLES)),
            *("--data", str(directory), "--port-base", str(self.port)),
        )
        self.process = start(*arguments)
        first = self.port + 90
        self.metrics = {
            "gateway": [first],
            "archiver": [first + 1],
            "bots": [first + 2],
            "matcher": [first + 3, first + 4],
        }

    def matcher(self, name: str) -> int:
        """Process id of a matcher."""
        return self._child("environ", f"PIT_NAME={name}")

    def store(self) -> int:
        """Process id of the server."""
        return self._child("cmdline", f":{self.store_port}")

    @property
    def store_port(self) -> int:
        return self.port + 79

    def _child(self, kind: str, word: str) -> int:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        for child in children.split():
            if word.encode() in Path(f"/proc/{child}/{kind}").read_bytes():
                return int(child)
        raise AssertionError(f"no process with {word} in its {kind} among {children}")

    def end(self) -> dict[str, object]:
        """As Ctrl-C does; its summary."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=60)
        assert out, err
        found: dict[str, object] = json.loads(out)
        return found


@contextmanager
def demo(directory: Path) -> Iterator[Demo]:
    started = Demo(directory)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
            started.process.wait()


def first_table(person: Person) -> str:
    request = lobby_pb2.ListTablesRequest(page_size=1)
    return str(
        person.ask("LobbyService/ListTables", request, lobby_pb2.ListTablesResponse).tables[0].name
    )


@contextmanager
def reader_of_nothing(person: Person, target: str) -> Iterator[None]:
    """Watches a busy table and takes not a byte of it: its window closes with the snapshot."""
    options = (
        ("grpc.http2.lookahead_bytes", 16),
        ("grpc.http2.bdp_probe", 0),
        ("grpc.use_local_subchannel_pool", 1),
    )
    with grpc.insecure_channel(target, options) as channel:
        watch = channel.unary_stream("/pit.v1.PlayService/Watch")
        watched = play_pb2.WatchedTable(table=first_table(person))
        request = play_pb2.WatchRequest(tables=[watched]).SerializeToString()
        call = watch(request, metadata=person.metadata)
        yield
        call.cancel()


def stop_and_go_on(demo: Demo, seen: Prometheus) -> None:
    """The matcher with most tables stands still until they are taken from it and it is missed,
    and finds out."""
    held = {
        f"matcher-{number}": seen.total(f'pit_tables{{instance="127.0.0.1:{port}"}}')
        for number, port in enumerate(demo.metrics["matcher"], 1)
    }
    stopped = demo.matcher(max(held, key=held.__getitem__))
    os.kill(stopped, signal.SIGSTOP)
    try:
        seen.wait(lambda: seen.total("pit_shard_takeovers_total") > 0)
        seen.wait(lambda: changes(lines_of(seen, "Runtime: Processes that answer")))
    finally:
        os.kill(stopped, signal.SIGCONT)
    seen.wait(lambda: seen.total("pit_fenced_total") > 0)


def slow_down(demo: Demo, seen: Prometheus) -> None:
    """The store stands still for a moment, again and again until some trade was slow for it."""
    store = demo.store()

    def pause() -> bool:
        os.kill(store, signal.SIGSTOP)
        try:
            time.sleep(PAUSE_S)
        finally:
            os.kill(store, signal.SIGCONT)
        return seen.total(SLOW_TRADES) > 0

    seen.wait(pause)


def come_back(seat: SeatAtTable) -> None:
    seat.close()
    seat.resume()
    seat.wait(lambda: seat.protocol.attached)


def make_all_causes(running: Demo, seen: Prometheus) -> None:
    target = f"127.0.0.1:{running.port}"
    outside = Outside(target)
    person = outside.person()
    with reader_of_nothing(person, target):
        seat = person.sit(person.table())
        seat.submit(play_pb2.Command(withdraw=play_pb2.Withdraw()))
        person.try_to("LobbyService/GetTable", lobby_pb2.GetTableRequest(name="tables/" + "0" * 22))
        come_back(seat)
        for _ in range(40):
            person.try_to("LobbyService/ListRules", lobby_pb2.ListRulesRequest())
        store = SyncConnection(f"redis://127.0.0.1:{running.store_port}/0")
        store.call("XADD", keys.in_stream(1), "*", "b", b"\xc1 nobody can read this")
        store.close()
        stop_and_go_on(running, seen)
        slow_down(running, seen)
        seen.wait(lambda: seen.total("pit_slow_readers_total") > 0)
    seat.close()
    outside.close()


def of_panels(names: tuple[str, ...]) -> list[Query]:
    found = [query for query in queries() if query.panel in names or name_of(query) in names]
    assert found, names
    return found


def lines_of(seen: Prometheus, panel: str) -> list[Points]:
    return [line for query in of_panels((panel,)) for line in seen.lines(ranged(query, INTERVAL))]


def changes(lines: list[Points]) -> bool:
    return any(len({value for _, value in line}) > 1 for line in lines)


# Each of the following gives what is wrong, in words.


def without_data(seen: Prometheus) -> Iterator[str]:
    for query in queries():
        values = {value for line in seen.lines(ranged(query, INTERVAL)) for _, value in line}
        expected = STILL.get(query.panel)
        if not values or (expected is not None and values != {expected}):
            yield f"{name_of(query)} shows {values or 'nothing'}: {query.expression}"


def that_stand_still(seen: Prometheus) -> Iterator[str]:
    for panel in sorted({name_of(query) for query in queries() if query.panel not in STILL}):
        lines = lines_of(seen, panel)
        # It changes in height; a bar of a timeline begins or ends.
        if not changes(lines) and len({len(line) for line in lines}) == 1:
            yield f"{panel} never moves"


def without_their_cause(seen: Prometheus) -> Iterator[str]:
    for cause, panels in CAUSED.items():
        for query in of_panels(panels):
            if not rises(seen.lines(ranged(query, INTERVAL))):
                yield f"{name_of(query)} shows nothing of the {cause}"
    [refusals] = of_panels(("Refusals by reason",))
    if not rises(seen.lines(ranged(refusals, INTERVAL), reason="NOT_STARTED")):
        yield "Refusals by reason shows nothing of the one that was made"


def rises(lines: list[Points]) -> bool:
    return any(value > 0 for line in lines for _, value in line)


def alerts() -> dict[str, str]:
    [group] = yaml.safe_load((COMMITTED / "alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def faults_of_alerts(seen: Prometheus) -> Iterator[str]:
    rules = [rule for group in seen.ask("rules")["groups"] for rule in group["rules"]]
    assert set(alerts()) <= {rule["name"] for rule in rules}
    for rule in rules:
        if rule["health"] != "ok":
            yield f"{rule['name']}: {rule['lastError'] or 'was never evaluated'}"
    for alert, expression in alerts().items():
        for name in figures(expression):
            if not seen.ask("query", query=f"count({name})")["result"]:
                yield f"{alert} asks for {name}, which nobody tells"


def wrongly_rung(seen: Prometheus) -> Iterator[str]:
    firing = {
        each["labels"]["alertname"]
        for each in seen.ask("alerts")["alerts"]
        if each["state"] == "firing"
    }
    for alert in {"PitDeadLetters", "PitFencing"} - firing:
        yield f"{alert} did not fire"
    good = {"PitInvariantBreak", "PitTableStopped", "PitHistoryReset", "PitRedisDown"}
    for alert in good & firing:
        yield f"{alert} fired"


def test_every_panel_and_alert_on_a_demo_that_things_happen_to(tmp_path: Path) -> None:
    with demo(tmp_path / "demo") as running, prometheus(tmp_path, running.metrics) as seen:
        seen.wait(lambda: seen.total("rate(pit_trades_total[6s])") > 0, 60)
        seen.wait(lambda: seen.total('up{job="pit"}') == 5)
        # Takeovers not: a machine that is very busy makes some by itself.
        for query in of_panels(UNSEEN_BEFORE):
            before = seen.total(ranged(query, INTERVAL))
            assert before == 0, f"{name_of(query)} shows {before} before anything was done"
        make_all_causes(running, seen)
        done_s = time.time()
        seen.wait(lambda: seen.total("min(timestamp(pit_build_info))") > done_s + SHOWN_S)
        problems = [
            *without_data(seen),
            *that_stand_still(seen),
            *without_their_cause(seen),
            *faults_of_alerts(seen),
            *wrongly_rung(seen),
        ]
        assert not problems, "\n".join(problems)
        assert running.end()["invariant_breaks"] == 0
