"""The peer beside us: what is ours of it. The peer itself is run by `make bench` only."""

from pathlib import Path
from typing import Any

import pytest

from loadtest.bench import colyseus
from loadtest.bench._pit_load import Load, asked


def installed(folder: Path, version: str | None) -> Path:
    """A folder as `make peers` leaves it, with a Node of this version or none."""
    (folder / "node_modules" / "@colyseus" / "core").mkdir(parents=True)
    if version is not None:
        node = folder / "node_modules" / ".bin" / "node"
        node.parent.mkdir()
        node.write_text(f"#!/bin/sh\necho {version}\n")
        node.chmod(0o755)
    return folder


def test_without_its_packages_the_peer_is_skipped_in_plain_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(colyseus, "FOLDER", tmp_path)
    colyseus.main()
    assert capsys.readouterr().out == (
        "skipped: the peer's packages are not installed; `make peers` does that\n"
    )


def test_without_a_node_that_is_new_enough_the_peer_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(colyseus.Missing, match="no Node; install version 22 or newer"):
        colyseus.find_node(installed(tmp_path / "none", None))
    with pytest.raises(colyseus.Missing, match=r"Node is v20\.20\.2, and Colyseus 0.17 needs 22"):
        colyseus.find_node(installed(tmp_path / "old", "v20.20.2"))


def test_the_node_that_came_with_the_packages_goes_before_the_machines(tmp_path: Path) -> None:
    folder = installed(tmp_path, "v22.23.3")
    assert colyseus.find_node(folder) == folder / "node_modules" / ".bin" / "node"


def told(**changed: Any) -> dict[str, Any]:
    """The last line of the peer's players."""
    return {
        "phase": "done", "sent": 2_000, "late": 10, "unplaced": 0, "faults": 0,
        "deliveries": 7_500, "trade_ms": {"p50": 1.5, "p90": 2.0, "p99": 90.0, "max": 100.0},
        "outcomes": {"open": 1_200, "traded": 600, "withdrawn": 50, "refused": 130, "bell": 20},
        "loop_lag_p99_ms": 1.25,
    } | changed  # fmt: skip


def test_the_peers_figures_are_per_second_and_per_action() -> None:
    assert colyseus.of_peer(told(), cpu_s=0.25, seconds=10) == colyseus.Measured(
        actions=200,
        deliveries=750,
        p50_ms=1.5,
        p99_ms=90.0,
        server_us=125,
        late_share=0.005,
        lag_p99_ms=1.25,
        mix={"open": 0.6, "traded": 0.3, "withdrawn": 0.025, "refused": 0.065, "bell": 0.01},
    )


def test_a_peer_that_breaks_its_own_rules_is_no_measure() -> None:
    with pytest.raises(RuntimeError, match="3 faults"):
        colyseus.of_peer(told(faults=3), cpu_s=0.25, seconds=10)


def test_ours_counts_who_plays_and_what_is_measured() -> None:
    spent = {"gateway": 100.0, "matcher": 50.0, "archiver": 40.0, "store": 20.0}
    result = {
        "rate_done": 200.0,
        "late_share": 0.001,
        "latency_ms": {"trade": {"p50": 3.0, "p99": 9.0}},
        "generator": {"loop_lag_p99_ms": 1.0, "valid": True},
        "run": {
            "warmup_s": 1.0,
            "server_cpu_us_per_action": spent,
            "mix": {"open": 1.0},
            "over_time": [{"at_s": at, "messages": n} for at, n in enumerate((9_000, 700, 800))],
        },
    }
    found = colyseus.of_ours(result)
    assert found.server_us == 170
    assert found.deliveries == 750


def test_a_smaller_load_is_an_option() -> None:
    assert asked("", ["--tables", "200", "--duration", "10"]) == Load(200, 4_000, 15, 10, "")
    assert asked("", []) == Load()
