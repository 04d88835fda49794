"""What a run leaves behind: the JSON's numbers in the page, in the printed text, in the .hdr."""

import io
import json
import random
import re
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from rich.console import Console

from loadtest import report, run, text
from loadtest.held import MIB, Held, memory, told
from loadtest.histograms import HIGHEST_US, Histograms
from loadtest.options import SCENARIOS, Scenario
from loadtest.results import Circumstances, document
from loadtest.screen import Lines
from loadtest.tally import Tally
from support.load_result import OPTIONS, tally


@pytest.fixture
def result() -> dict[str, Any]:
    around = Circumstances("pit load --local </script>", "2026-11-30T09:00:00+00:00", "a store")
    around.server_cpu_s = {"gateway": 0.04}
    around.server_held = [
        Held(float(at), {"gateway": (100 + at) * MIB}, {"in": 10 * at, "out": 1_000})
        for at in range(5)
    ]
    around.kills = [{"role": "matcher", "name": "matcher-1", "at_s": 3.0}]
    return document(OPTIONS, tally(), around)


def test_the_document_sums_up(result: dict[str, Any]) -> None:
    trade = result["latency_ms"]["trade"]
    assert trade["count"] == 500
    assert (trade["p50"], trade["p99"], trade["max"]) == pytest.approx((50, 99, 100), rel=2e-3)
    assert result["latency_ms"]["bell"] == dict.fromkeys(trade, 0)
    assert result["run"]["service_ms"]["trade"]["p50"] == pytest.approx(25, rel=2e-3)
    assert (result["sent"], result["rate_done"], result["late_share"]) == (400, 100, 0.0025)
    assert result["events_per_message"] == 1.5
    assert (result["errors"], result["run"]["errors"]) == (2, {"UNKNOWN_OUTCOME": 2})
    assert result["generator"] == {
        "cpu": 0.1, "loop_lag_p99_ms": 1.0, "plan_lag_p99_ms": 0.5, "valid": True
    }  # fmt: skip
    assert [line["pass"] for line in result["slo"]] == [True, False]
    assert result["run"]["mix"] == {"open": 0.5, "traded": 0.35, "refused": 0.15}
    assert result["run"]["server_cpu_us_per_action"] == {"gateway": 100.0}
    assert result["run"]["generator_cpu_us_per_action"] == 1000.0
    assert [one["sent"] for one in result["run"]["over_time"]] == [80] * 5
    assert result["run"]["kills"][0]["silent_ms"] == 100
    assert json.loads(json.dumps(result)) == json.loads(json.dumps(result, allow_nan=False))


def test_what_the_server_holds_is_told_over_time(result: dict[str, Any]) -> None:
    assert result["run"]["server_memory"] == {
        "gateway": {
            "first_bytes": 101 * MIB,
            "most_bytes": 104 * MIB,
            "last_bytes": 104 * MIB,
            "mib_per_hour": None,
        }
    }
    assert result["run"]["server_over_time"][3] == {
        "at_s": 3.0,
        "rss_bytes": {"gateway": 103 * MIB},
        "stream_entries": {"in": 30, "out": 1_000},
    }


def grown(*sizes: int) -> dict[str, Any]:
    """The memory of a store that was looked at every 20 s, in MiB."""
    looks = [Held(at * 20.0, {"store": size * MIB}, {}) for at, size in enumerate(sizes)]
    return memory(looks, 0.0)["store"]


def test_memory_grows_by_the_line_nearest_to_all_looks() -> None:
    assert grown(100, 101, 102, 103)["mib_per_hour"] == 180.0
    wavering = grown(100, 104, 100, 100, 104, 100)
    assert (wavering["most_bytes"], wavering["mib_per_hour"]) == (104 * MIB, 0.0)
    assert told(wavering) == "100 to 100 MiB, most 104, +0 MiB an hour"
    assert told(grown(100, 100, 100, 100)) == "100 MiB, +0 MiB an hour"


def test_no_slope_is_told_over_a_short_time_and_no_memory_over_none() -> None:
    assert grown(100, 101)["mib_per_hour"] is None
    assert memory([], 0.0) == {}
    assert memory([Held(5.0, {"store": MIB}, {})], 6.0) == {}


def test_a_late_generator_makes_a_run_invalid(result: dict[str, Any]) -> None:
    late = tally()
    late.counts["late"] = 5
    found = document(OPTIONS, late, Circumstances("", "", ""))
    assert (found["late_share"], found["generator"]["valid"]) == (0.0125, False)
    lagging = tally()
    lagging.histograms.add({"loop_lag": array("d", [0.006] * 10)})
    found = document(OPTIONS, lagging, Circumstances("", "", ""))
    assert (found["generator"]["loop_lag_p99_ms"], found["generator"]["valid"]) == (6.0, False)


def test_a_run_that_sent_nothing_measured_nothing() -> None:
    found = document(OPTIONS, Tally(), Circumstances("", "", ""))
    assert not found["generator"]["valid"]
    assert run.exit_code(found | {"slo": []}) == run.LATE
    assert "nothing was sent" in text.verdict(found).text


def of_errors(scenario: Scenario, **errors: int) -> dict[str, Any]:
    """A run that is good but for these errors."""
    tallied = tally()
    for name in [name for name in tallied.counts if name.startswith("error ")]:
        del tallied.counts[name]
    tallied.counts.update(
        {f"error {name.replace('_because_', ' ')}": n for name, n in errors.items()}
    )
    options = replace(OPTIONS, scenario=scenario, slos=())
    return document(options, tallied, Circumstances("", "2026-11-30T09:00:00+00:00", ""))


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(
    "name", ["UNKNOWN_OUTCOME", "LOST_because_ABORTED", "OPEN_TABLE_because_INTERNAL", "INTERNAL"]
)
def test_an_error_fails_a_run_unless_its_scenario_makes_it(scenario: Scenario, name: str) -> None:
    found = of_errors(scenario, **{name: 2})
    made = scenario.endswith("-kill") and name.startswith("OPEN_TABLE")
    assert found["errors"] == 2
    assert found["checks"]["errors"] == made
    assert run.exit_code(found) == (run.GOOD if made else run.CHECK_FAILED)
    said = text.verdict(found)
    assert said.kind == ("good" if made else "bad")
    assert (text.ON_PURPOSE in said.text) == made
    assert found["run"]["failed"].get("errors", 0) == (0 if made else 2)


def test_every_error_is_told_with_whether_it_counts() -> None:
    found = of_errors("matcher-kill", OPEN_TABLE_because_UNAVAILABLE=3, LOST_because_NOT_FOUND=1)
    assert found["run"]["errors_made"] == {"OPEN_TABLE UNAVAILABLE": 3}
    assert text.verdict(found).text == "Errors: 1 x LOST NOT_FOUND"
    printed = io.StringIO()
    text.show(Console(file=printed, width=120), found)
    assert "FAILED  errors: " in printed.getvalue()
    assert f"        3 x OPEN_TABLE UNAVAILABLE, {text.ON_PURPOSE}\n" in printed.getvalue()
    assert "        1 x LOST NOT_FOUND\n" in printed.getvalue()
    page = report.page(found)
    assert f"<dt>OPEN_TABLE UNAVAILABLE</dt><dd>3, {text.ON_PURPOSE}</dd>" in page
    assert '<dt class="bad">LOST NOT_FOUND</dt><dd>1</dd>' in page
    assert "<em>failed once</em>" in page


def test_the_page_needs_nothing_else_and_trusts_nobody(result: dict[str, Any]) -> None:
    result["run"]["failures"] = ["cards: tables/x: <img src=x onerror=alert(1)>"]
    page = report.page(result)
    assert not re.findall(r"""(?:src|href|url\()\s*=?\s*["']?(?:https?:)?//""", page)
    assert "<img" not in page
    assert page.count("</script>") == 3
    assert "99.0" in page
    assert "trade:max&lt;100ms" in page
    assert '<i class="kill"></i>matcher-1 killed at 2.0 s' in page
    script = re.search(r"const DATA = (.*);</script>", page)
    assert script is not None
    data = json.loads(script[1])
    assert data["at_s"] == [-1.0, 0.0, 1.0, 2.0, 3.0]
    assert data["columns"]["trade_p99_ms"] == [100.0] * 5
    assert data["curves"]["trade"][0][0] == 0.0
    assert data["held"] == {
        "at_s": [-1.0, 0.0, 1.0, 2.0, 3.0],
        "memory": {"gateway": [100.0, 101.0, 102.0, 103.0, 104.0]},
        "entries": {"in": [0, 10, 20, 30, 40], "out": [1_000] * 5},
    }


def test_the_text_says_gates_first_then_percentiles_checks_and_health(
    result: dict[str, Any],
) -> None:
    printed = io.StringIO()
    text.show(Console(file=printed, width=120), result)
    found = printed.getvalue()
    order = ["pass  trade:p99<200ms", "FAIL  trade:max<100ms", "p99.9", "held  sequences",
             "valid  generator", "again: pit load", text.verdict(result).text]  # fmt: skip
    places = [found.index(one) for one in order]
    assert places == sorted(places)
    assert "server memory: gateway 101 to 104 MiB, most 104\n" in found
    assert "entries in the streams at the end: in 40, out 1,000" in found


def test_words_are_not_broken_at_a_terminal(result: dict[str, Any]) -> None:
    printed = io.StringIO()
    text.show(Console(file=printed, width=80, force_terminal=True, no_color=True), result)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed.getvalue())
    words = " ".join(plain.split())
    for said in text.CHECKS.values():
        assert said in words


def test_nothing_is_cut_off_in_a_pipe(
    result: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    result["run"]["exchange"] = "a long description of an exchange, " * 10
    text.show(text.console(stderr=False), result)
    lines = capsys.readouterr().out.splitlines()
    assert any(text.MEANINGS["trade"] in line for line in lines)
    assert result["run"]["exchange"].rstrip() in [line.rstrip() for line in lines]
    assert not any("…" in line for line in lines)


def test_a_log_says_once_that_tables_are_opened(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(OPTIONS)
    lines.ceiling()
    for tables in (0, 0, 3):
        lines.opening(tables)
    assert capsys.readouterr().err.splitlines()[1:] == ["opening 10 tables"]


def test_the_hdr_log_is_read_by_others(tmp_path: Path) -> None:
    path = tmp_path / "run.hdr"
    path.write_text(tally().histograms.log(1_700_000_000.0, 1_700_000_005.0))
    merged = HdrHistogram(1, HIGHEST_US, 3)
    reader = HistogramLogReader(str(path), merged)
    found = {}
    while (histogram := reader.get_next_interval_histogram()) is not None:
        found[histogram.get_tag()] = histogram
    reader.close()
    assert found["trade"].get_total_count() == 500
    assert found["trade"].get_value_at_percentile(50) == pytest.approx(50_000, rel=2e-3)


def test_a_curve_ends_where_there_is_nothing_beyond() -> None:
    histograms = Histograms()
    histograms.add({"trade": array("d", [ms / 1000 for ms in range(1, 101)])})
    curve = histograms["trade"].curve()
    assert curve == sorted(curve)
    assert curve[-1][0] == 99.0


def test_the_readme_tells_every_key(result: dict[str, Any]) -> None:
    readme = (Path(report.__file__).parents[1] / "README.md").read_text()
    told = set(re.findall(r"`([^`]+)`", re.sub(r"(?s)```.*?```", "", readme)))
    told |= {word for phrase in told for word in phrase.split()}
    keys = {*result, *result["run"], *result["generator"], *result["slo"][0], *result["checks"]}
    keys |= {*result["run"]["server_memory"]["gateway"], *result["run"]["server_over_time"][0]}
    keys |= {*result["latency_ms"], *result["latency_ms"]["trade"], *result["run"]["over_time"][0]}
    assert keys <= told, keys - told


def test_values_are_kept_as_the_histogram_itself_keeps_them() -> None:
    chance = random.Random(1)
    values_us = [int(2 ** chance.uniform(0, 24)) for _ in range(2_000)]
    plain = HdrHistogram(1, HIGHEST_US, 3)
    for value_us in values_us:
        plain.record_value(value_us)
    ours = Histograms()
    for begin in (0, 1_000):
        ours.add({"trade": array("d", [(us + 0.5) / 1e6 for us in values_us[begin:][:1_000]])})
    assert ours["trade"].hdr.get_total_count() == 2_000
    assert ours["trade"].hdr.encode() == plain.encode()
    assert ours["trade"].summary()["max"] == max(values_us) / 1_000
