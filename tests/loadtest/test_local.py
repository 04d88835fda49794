"""`pit load --local`, whole: a real exchange, real processes, real streams."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from services.cli.failures import Failure
from services.cli.load.own import OwnExchange
from support.pit import command, environment, hangups_heard, pit, start

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
    looks = result["run"]["server_over_time"]
    assert all(
        look["rss_bytes"].keys() == {"gateway", "matcher", "archiver", "store"} for look in looks
    )
    assert looks[-1]["stream_entries"]["in"] >= looks[0]["stream_entries"]["in"] > 0
    assert looks[-1]["stream_entries"]["out"] > 0
    assert "pass  trade:p99<60s" in outcome.out
    assert "again: pit load --local" in outcome.out


@pytest.mark.all
def test_a_killed_gateway_is_come_back_to(tmp_path: Path) -> None:
    result = played(tmp_path, "gateway-kill", "6")
    [kill] = result["run"]["kills"]
    assert (kill["role"], kill["name"]) == ("gateway", "gateway")
    assert result["run"]["counts"]["resumes"] == 12
    assert result["latency_ms"]["resume"]["count"] == 12
    assert result["run"]["server_cpu_us_per_action"]["gateway"] > 0


@pytest.mark.all
def test_an_opening_bell_deals_to_every_seat(tmp_path: Path) -> None:
    result = played(tmp_path, "opening-bell", "2")
    assert result["latency_ms"]["deal"]["count"] == 12


def played(tmp_path: Path, scenario: str, seconds: str) -> dict[str, Any]:
    """Three tables through a scenario; what came of it."""
    out = tmp_path / "run.json"
    outcome = pit(
        "load", "--local", "--tables", "3", "--rate", "20", "--duration", seconds, "--warmup", "1",
        "--no-ceiling", "--scenario", scenario, "--out", str(out), timeout_s=110,
    )  # fmt: skip
    assert outcome.code in (0, 4), outcome.out + outcome.err
    result: dict[str, Any] = json.loads(out.read_text())
    assert all(result["checks"].values()), result["run"]["failures"]
    assert result["errors"] == 0, result["run"]["errors"]
    return result


@pytest.mark.all
def test_the_logs_of_an_exchange_that_failed_are_kept() -> None:
    own = OwnExchange(1)
    try:
        own.start()
        [gateway] = own._running.processes()["gateway"]
        os.kill(gateway, signal.SIGKILL)
        os.waitid(os.P_PID, gateway, os.WEXITED | os.WNOWAIT)
        with pytest.raises(Failure, match="gateway ended with code -9") as failed:
            own.check()
    finally:
        own.end()
    log = Path(failed.value.remedy.removeprefix("its whole log is "))
    assert log.is_file()
    shutil.rmtree(own._data)


def test_an_interrupted_run_still_reports(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    running = start(
        "load", "--null", "--tables", "2", "--duration", "600", "--warmup", "0", "--no-ceiling",
        "--out", str(out),
    )  # fmt: skip
    assert running.stderr is not None
    for line in running.stderr:
        if "actions/s" in line:
            break
    running.send_signal(signal.SIGINT)
    printed, _ = running.communicate(timeout=60)
    assert running.returncode == 130, printed
    result = json.loads(out.read_text())
    assert result["run"]["interrupted"]
    assert result["sent"] > 0
    assert result["rate_done"] > 0


@pytest.mark.all
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
@hangups_heard()
def test_a_window_that_is_closed_ends_all_in_good_order(
    tmp_path: Path, number: signal.Signals
) -> None:
    """The terminal tells every process of it at once, those that are just being started, too."""
    for moment in ("opening", "actions/s"):
        out = tmp_path / f"{moment.partition('/')[0]}.json"
        running = subprocess.Popen(
            command(
                "load", "--null", "--tables", "20", "--duration", "600", "--warmup", "0",
                "--no-ceiling", "--workers", "2", "--out", str(out),
            ),
            env=environment(), start_new_session=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert running.stderr is not None
        for line in running.stderr:
            if moment in line:
                break
        os.killpg(running.pid, number)
        printed, said = running.communicate(timeout=60)
        assert running.returncode == 130, printed + said
        assert "Traceback" not in said
        assert json.loads(out.read_text())["run"]["interrupted"]


@pytest.mark.all
def test_the_limits_of_the_public_are_kept_from_several_addresses(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    outcome = pit(
        "load", "--local", "--tables", "12", "--rate", "130", "--duration", "3", "--warmup", "2",
        "--no-ceiling", "--sign-ins", "each", "--addresses", "4", "--out", str(out),
        settings={"PIT_PROFILE": "public"}, timeout_s=110,
    )  # fmt: skip
    assert outcome.code in (0, 4), outcome.out + outcome.err
    result = json.loads(out.read_text())
    assert all(result["checks"].values()), result["run"]["failures"]
    assert "limits public" in result["run"]["exchange"]
    # One address may have 100 commands a second; four have room for these.
    assert (result["errors"], result["run"]["counts"]["retries"]) == (0, 0), result["run"]
