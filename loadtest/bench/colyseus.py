"""A Colyseus room of the same mix beside our exchange: one after the other, under the same load.

The peer is in `loadtest/peers/colyseus`, and is installed by `make peers`.

python -m loadtest.bench.colyseus --tables 200 --rate 400 --duration 10
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from loadtest import health, processes
from loadtest.bench._pit_load import SEATS, Load, asked, lateness, pit_load, server_us
from loadtest.plan import MIX

FOLDER: Final = Path(__file__).parents[1] / "peers" / "colyseus"
NODE_MIN: Final = 22
"""The oldest that Colyseus 0.17 is made for."""
SETTINGS: Final = {
    "Colyseus 0.17, in memory": {},
    "the same, its timers slowed": {"patch_ms": 60_000, "ping_ms": 60_000},
}
"""The library by itself looks at each room 20 times a second for state to send, though this room
has none, and pings every client every 3 s."""
GOAL_RATIO: Final = 1.0
"""Against the first of them."""
SEED: Final = 1
END_S: Final = 10.0


class Missing(Exception):
    """What the peer needs and is not there; the text says how it comes."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How a server did under the load. Milliseconds are those of trades."""

    actions: float
    """A second."""
    deliveries: float
    """A second."""
    p50_ms: float
    p99_ms: float
    server_us: float
    """Processor an action."""
    late_share: float
    lag_p99_ms: float
    mix: dict[str, float]


def main(load: Load | None = None) -> None:
    """Print both, and their ratio beside its goal; or why the peer was not run."""
    load = load or Load()
    try:
        node = find_node(FOLDER)
    except Missing as missing:
        print(f"skipped: {missing}")
        return
    peers = {name: _peer(node, load, settings) for name, settings in SETTINGS.items()}
    ours = of_ours(pit_load(load))
    print(f"{load.tables:,} rooms x {SEATS}, {load.rate:,} actions/s planned, {load.seconds} s:")
    for name, one in (peers | {"ours, durable (everysec)": ours}).items():
        _show(name, one)
    for (name, peer), goal in zip(peers.items(), (f" (goal <= {GOAL_RATIO:g})", ""), strict=True):
        print(
            f"  ours : {name}: processor an action {ours.server_us / peer.server_us:.2f}{goal}, "
            f"p50 {_ratio(ours.p50_ms, peer.p50_ms)}, p99 {_ratio(ours.p99_ms, peer.p99_ms)}"
        )


def _show(name: str, one: Measured) -> None:
    print(
        f"  {name}: server {one.server_us:.0f} us of processor an action; trade "
        f"p50 {one.p50_ms:.1f} ms, p99 {one.p99_ms:.1f} ms; {one.actions:,.0f} actions/s, "
        f"{one.deliveries:,.0f} deliveries/s"
    )
    valid = health.valid(one.actions, one.late_share, one.lag_p99_ms)
    print(f"    generator: {lateness(one.late_share, one.lag_p99_ms, valid=valid)}")
    print("    mix: " + ", ".join(f"{what} {part:.1%}" for what, part in one.mix.items()))


def find_node(folder: Path) -> Path:
    """The Node that runs the peer: the one installed with it, else the machine's. Raises
    `Missing`."""
    packages = folder / "node_modules"
    if not (packages / "@colyseus" / "core").is_dir():
        raise Missing("the peer's packages are not installed; `make peers` does that")
    brought = packages / ".bin" / "node"
    found = str(brought) if brought.exists() else shutil.which("node")
    if found is None:
        raise Missing(f"no Node; install version {NODE_MIN} or newer, then `make peers`")
    version = subprocess.run(  # noqa: S603 (found by name, as a shell would)
        [found, "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < NODE_MIN:
        raise Missing(f"Node is {version}, and Colyseus 0.17 needs {NODE_MIN} or newer")
    return Path(found)


def of_peer(told: dict[str, Any], cpu_s: float, seconds: float) -> Measured:
    """From the last line of the peer's players, and what its server took meanwhile. Raises
    `RuntimeError` where the room broke its own rules or lost somebody."""
    if told["faults"]:
        raise RuntimeError(f"the peer's players met {told['faults']} faults")
    outcomes, sent = told["outcomes"], told["sent"]
    ended = sum(outcomes.values())
    return Measured(
        actions=sent / seconds,
        deliveries=told["deliveries"] / seconds,
        p50_ms=told["trade_ms"]["p50"],
        p99_ms=told["trade_ms"]["p99"],
        server_us=cpu_s / sent * 1e6,
        late_share=told["late"] / sent,
        lag_p99_ms=told["loop_lag_p99_ms"],
        mix={name: count / ended for name, count in outcomes.items()},
    )


def of_ours(result: dict[str, Any]) -> Measured:
    """From a result of `pit load`."""
    run, trade = result["run"], result["latency_ms"]["trade"]
    seconds = {second["at_s"]: second["messages"] for second in run["over_time"]}
    measured = [n for at, n in seconds.items() if at >= run["warmup_s"]]
    return Measured(
        actions=result["rate_done"],
        deliveries=sum(measured) / max(1, len(measured)),
        p50_ms=trade["p50"],
        p99_ms=trade["p99"],
        server_us=server_us(result),
        late_share=result["late_share"],
        lag_p99_ms=result["generator"]["loop_lag_p99_ms"],
        mix=run["mix"],
    )


def _ratio(ours: float, peers: float) -> str:
    return f"{ours / peers:.2f}" if peers else "-"


def _peer(node: Path, load: Load, settings: dict[str, int]) -> Measured:
    with _started(node, "server.js", json.dumps(settings)) as server:
        plan = {
            "port": _line(server)["port"],
            "tables": load.tables,
            "seats": SEATS,
            "rate": load.rate,
            "warmup_s": load.warmup_s,
            "seconds": load.seconds,
            "seed": SEED,
            "mix": {kind.value: percent for kind, percent in MIX.items()},
        }
        with _started(node, "load.js", json.dumps(plan)) as players:
            spent: dict[str, float] = {}
            while (told := _line(players))["phase"] != "done":
                spent[told["phase"]] = processes.cpu_s(server.pid)
            return of_peer(told, spent["measured"] - spent["measuring"], load.seconds)


@contextmanager
def _started(node: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(  # noqa: S603 (our own words)
        [node, *words],
        cwd=FOLDER,
        env=os.environ | {"NODE_ENV": "production"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(END_S)


def _line(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError("the peer has ended by itself; what it said is above")
    told: dict[str, Any] = json.loads(line)
    return told


if __name__ == "__main__":
    main(asked(__doc__, sys.argv[1:]))
