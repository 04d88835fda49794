"""`pit load --local`, whole: a real exchange, real processes, real streams."""

import json
from pathlib import Path

import pytest

from support.pit import pit

KEYS = {
    "schema", "scenario", "tables", "seats", "seconds", "rate_target", "rate_done", "sent",
    "late_share", "latency_ms", "events_per_message", "errors", "checks", "slo", "generator", "run",
}  # fmt: skip
LATENCIES = {"accepted", "effective", "trade", "fanout_skew", "bell", "attach", "resume"}


@pytest.mark.all
def test_a_short_steady_run_plays_and_finds_nothing_wrong(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    outcome = pit(
        "load", "--local", "--tables", "3", "--rate", "30", "--duration", "4", "--warmup", "2",
        "--no-ceiling",
        "--slo", "trade:p99<60s", "--out", str(out), timeout_s=100,
    )  # fmt: skip
    # On a machine that does other things too the generator may be late, which is no fault here.
    assert outcome.code in (0, 4), outcome.out + outcome.err
    result = json.loads(out.read_text())
    assert set(result) == KEYS
    assert set(result["latency_ms"]) >= LATENCIES
    assert all(result["checks"].values()), result["run"]["failures"]
    assert result["errors"] == 0, result["run"]["errors"]
    assert result["sent"] > 60
    for name in ("accepted", "effective", "trade", "fanout_skew", "attach", "deal"):
        line = result["latency_ms"][name]
        assert line["count"] > 0, name
        assert 0 <= line["p50"] <= line["p90"] <= line["p99"] <= line["p999"] <= line["max"]
    assert result["slo"] == [
        {"slo": "trade:p99<60s", "measured_ms": result["latency_ms"]["trade"]["p99"], "pass": True}
    ]
    assert sum(result["run"]["mix"].values()) > 0.99
    assert "pass  trade:p99<60s" in outcome.out
    assert "again: pit load --local" in outcome.out
