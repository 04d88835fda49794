"""Wrong options are told before anything is started, with what to give instead."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadtest import compare
from loadtest.options import Stage, seconds_of, share_of, stages_of
from loadtest.scenarios import stages
from loadtest.slo import judged, parse
from loadtest.usage import Unusable
from support.pit import Here

Pit = Callable[..., Any]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give --target HOST:PORT, or --local, or --null"),
        (("--local", "--target", "h:1"), "give --target HOST:PORT, or --local, or --null"),
        (("--target", "nowhere"), "names no gateway"),
        (("--target", "h:1", "--scenario", "gateway-kill"), "gateway-kill needs --local"),
        (("--target", "h:1", "--scenario", "matcher-kill"), "matcher-kill needs --local"),
        (("--null", "--scenario", "gateway-kill"), "gateway-kill needs --local"),
        (("--local", "--scenario", "storm"), "there is no scenario 'storm'"),
        (("--local", "--rules", "chess"), "there is no rule set 'chess'"),
        (("--local", "--seats", "8"), "8 seats are not possible with blitz"),
        (("--local", "--duration", "soon"), "is no time"),
        (("--local", "--stages", "30s"), "is no stage"),
        (("--local", "--slo", "trade<5"), "is no gate"),
        (("--local", "--slo", "luck:p99<5ms"), "nothing called 'luck' is measured"),
        (("--local", "--switch", "wit=3"), "is no switch"),
        (("--local", "--tables", "100", "--rate", "5"), "each seat would act every 80.0 s"),
        (("--local", "--rate", "5", "--think-time", "1s"), "--think-time goes without"),
        (("--local", "--max-regress", "much"), "is no share"),
        (("--local", "--duration", "0"), "nothing would be measured"),
        (("--local", "--rate", "inf"), "less than or equal to 1000000"),
        (("--local", "--stages", f"5s:{'9' * 400}"), "must be finite numbers"),
        (("--local", "--think-time", "0s"), "--think-time 0s is no time to think"),
        (("--local", "--compare", "/nowhere.json"), "cannot be read"),
    ],
)
def test_a_wrong_option_is_exit_code_2(here: Here, options: tuple[str, ...], said: str) -> None:
    outcome = here("load", *options)
    assert outcome.code == 2
    assert said in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("options", "said", "remedy"),
    [
        (("--stages", "5s:0"), "in a stage without actions", "a rate above 0"),
        (("--switch", "idle_s=-1"), "idle_s: must be 2..3600", "change them"),
        (("--switch", "idle_s=0"), "idle_s: must be 2..3600", "change them"),
        (("--tables", "100", "--rate", "5"), "every 80.0 s",
         "at least --rate 150, or fewer --tables, or --switch idle_s=241"),
        (("--tables", "1000", "--rate", "1"), "every 4000.0 s",
         "at least --rate 1500, or fewer --tables\n"),
        (("--scenario", "ramp"), "every 20.0 s", "at least --rate 300, or --switch idle_s=61"),
        (("--think-time", "8s"), "every 8.0 s",
         "a --think-time of at most 2.6s, or --switch idle_s=25"),
        (("--stages", "5s:90,5s:1"), "every 80.0 s", "a rate of at least 30 in each of --stages"),
    ],
)  # fmt: skip
def test_seats_that_would_be_away_are_told_with_what_helps(
    here: Here, options: tuple[str, ...], said: str, remedy: str
) -> None:
    outcome = here("load", "--local", *options)
    assert outcome.code == 2
    assert said in outcome.err
    assert remedy in outcome.err


def test_nobody_at_the_target_is_exit_code_3(here: Here) -> None:
    outcome = here("load", "--target", "127.0.0.1:1", "--no-ceiling")
    assert outcome.code == 3
    assert "nobody listens at 127.0.0.1:1" in outcome.err


def test_times_stages_and_shares_are_read() -> None:
    assert [seconds_of(text, "") for text in ("30", "1.5s", "2m", "250ms", "1h")] == [
        30, 1.5, 120, 0.25, 3600,
    ]  # fmt: skip
    assert stages_of("30s:500, 2m:2000") == (Stage(30, 500), Stage(120, 2000))
    assert (share_of("10%", ""), share_of("0.25", "")) == (0.1, 0.25)


@pytest.mark.parametrize("name", ["steady", "ramp", "spike", "churn"])
def test_a_scenario_never_asks_for_more_than_the_rate(name: Any) -> None:
    planned = stages(name, 1000, 60)
    assert max(stage.rate for stage in planned) == 1000
    assert sum(stage.seconds for stage in planned) == pytest.approx(60)


def line(value: float, count: int = 1000) -> dict[str, Any]:
    return {"p50": value, "p90": value, "p99": value, "p999": value, "max": value, "count": count}


def test_gates_are_judged_by_what_was_measured() -> None:
    gates = tuple(map(parse, ("trade:p99<50ms", "trade:p99.9<=0.05s", "bell:max<1s")))
    measured = {"trade": line(50.0), "bell": line(0.0, count=0)}
    # 50 is not below 50; nothing measured is nothing proved.
    assert [one["pass"] for one in judged(gates, measured)] == [False, True, False]


def test_a_comparison_tells_what_has_become_worse() -> None:
    then = {"run": {"began": "then"}, "latency_ms": {"trade": line(10), "bell": line(10)}}
    now = {"latency_ms": dict.fromkeys(compare.LATENCIES, line(0, count=0))}
    now["latency_ms"] |= {"trade": line(10.9), "bell": line(12)}
    found = compare.compared(then, now, 0.10)
    assert found["regressed"] == ["bell p50", "bell p99"]
    assert [one["change"] for one in found["lines"]] == [0.09, 0.09, 0.2, 0.2]


def test_what_happens_no_more_has_become_worse() -> None:
    then = {"run": {"began": "then"}, "latency_ms": {"trade": line(10), "resume": line(0, count=0)}}
    now = {"latency_ms": dict.fromkeys(compare.LATENCIES, line(0, count=0))}
    assert compare.compared(then, now, 0.10)["regressed"] == ["trade count"]


def test_what_is_no_result_is_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"schema": 99}))
    with pytest.raises(Unusable, match="no result of this version"):
        compare.read(path, compare.JUDGED)


TRADE = {"trade": {"p50": 1, "p99": 2, "count": 3}}
KIND = {"scenario": "steady", "tables": 1, "seats": 4, "rate_target": 1, "seconds": 1}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[" * 100_000, "is not JSON"),
        ("[]", "no result of this version"),
        ('{"schema": 1}', "is no whole result: "),
        (json.dumps({"schema": 1, "latency_ms": []}), "is no whole result: "),
        (json.dumps({"schema": 1, "rate_done": 1, **KIND, "latency_ms": TRADE}), ": (run|gen)"),
        (
            json.dumps(
                {"schema": 1, **KIND, "latency_ms": TRADE | {"bell": 3}, "run": {"began": ""}}
            ),
            ": (latency_ms.bell|rate_done) is",
        ),
    ],
)
@pytest.mark.parametrize("option", ["--compare", "--control"])
def test_a_file_of_the_wrong_shape_is_told_before_the_run(
    here: Here, tmp_path: Path, option: str, written: str, said: str
) -> None:
    path = tmp_path / "old.json"
    path.write_text(written)
    outcome = here("load", "--target", "127.0.0.1:1", "--no-ceiling", option, str(path))
    assert outcome.code == 2
    assert re.search(said, outcome.err), outcome.err


@pytest.mark.parametrize("option", ["--out", "--html", "--hdr"])
def test_where_nothing_can_be_written_is_told_before_the_run(
    here: Here, tmp_path: Path, option: str
) -> None:
    for path, said in ((tmp_path, "it is a directory"), (tmp_path / "no" / "a", "is not there")):
        outcome = here("load", "--target", "127.0.0.1:1", "--no-ceiling", option, str(path))
        assert (outcome.code, said in outcome.err) == (2, True), outcome.err
