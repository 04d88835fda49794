"""Every alert fires when its cause is there, and stays quiet when it only looks like it."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.panels import DASHBOARD
from support.require import need

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = (DEPLOY / "prometheus" / "records.yml", DEPLOY / "prometheus" / "alerts.yml")
Series = dict[str, str]
"""Values every step, as promtool writes them: `0+2x40` begins at 0 and grows by 2, 40 times."""


@dataclass(frozen=True)
class Case:
    alert: str
    at: str
    """When it is asked."""
    firing: tuple[Series, ...]
    quiet: tuple[Series, ...]
    step_s: int = 15
    """Between two values, and two evaluations."""


def trades(slow: str, all_of_them: str) -> Series:
    return {
        'pit_trade_seconds_bucket{le="0.1"}': slow,
        "pit_trade_seconds_count": all_of_them,
    }


def commands(unavailable: str, refused: str = "0x200") -> Series:
    return {
        'pit_commands_total{command="Offer", outcome="accepted"}': "0+100x200",
        'pit_rejections_total{reason="TABLE_UNAVAILABLE"}': unavailable,
        'pit_rejections_total{reason="LOT_SIZE"}': refused,
        'pit_dead_letters_total{reason="undecided"}': "0x200",
    }


def owned(one: str, other: str) -> Series:
    return {
        'pit_shard_owned{shard="03", instance="a"}': one,
        'pit_shard_owned{shard="03", instance="b"}': other,
    }


def lag(values: str) -> Series:
    return {'pit_shard_lag_seconds{shard="03"}': values}


def waiting(values: str) -> Series:
    return {'pit_stream_length{shard="03", stream="in"}': values}


def resumes(replayed: str, otherwise: str, sessions: int) -> Series:
    return {
        'pit_attaches_total{kind="resume", outcome="replay"}': replayed,
        'pit_attaches_total{kind="resume", outcome="gap"}': otherwise,
        'pit_attaches_total{kind="fresh", outcome="snapshot"}': "0+900x40",
        "pit_sessions": f"{sessions}x40",
    }


def loop_lag(edge: str) -> Series:
    edges = ("0.05", "0.1", "0.15", "+Inf")
    return {
        f'pit_loop_lag_seconds_bucket{{instance="g", le="{each}"}}': (
            "0+100x80" if edges.index(each) >= edges.index(edge) else "0+50x80"
        )
        for each in edges
    }


CASES = (
    Case(
        "PitTradeLatencyBurnFast",
        "70m",
        (trades("0+80x75", "0+100x75"),),
        (
            trades("0+90x75", "0+100x75"),
            # Slow for five minutes only: a page for every hiccup would soon be ignored.
            trades("0+100x65 6520+20x10", "0+100x75"),
        ),
        60,
    ),
    Case(
        "PitTradeLatencyBurnSlow",
        "365m",
        (trades("0+90x75", "0+100x75"),),
        (trades("0+96x75", "0+100x75"),),
        300,
    ),
    Case(
        "PitErrorRatio",
        "10m",
        (
            commands("0+2x200"),
            commands("0x200") | {'pit_dead_letters_total{reason="undecided"}': "0+2x200"},
        ),
        (commands("0+0.5x200"), commands("0x200", refused="0+50x200")),
    ),
    Case(
        "PitShardUnowned",
        "1m",
        (owned("0x8", "0x8"), {"pit_sessions": "4x8"}),
        (owned("0x8", "1x8"), owned("1 1 1 0 1 1", "0x8")),
    ),
    Case(
        "PitShardOwnedTwice",
        "1m",
        (owned("1x8", "1x8"),),
        (owned("1 1 1 0 0 0", "0 0 1 1 1 1"), owned("1x8", "0x8")),
    ),
    Case("PitLagHigh", "5m", (lag("2x30"),), (lag("0.5x30"), lag("0x16 2 0 0 0 0 0 0 0"))),
    Case("PitLagCritical", "2m", (lag("6x10"),), (lag("2x10"),)),
    Case(
        "PitStreamStuck",
        "3m",
        (waiting("10+5x20"),),
        (waiting("9x20"), waiting("10 20 30 5 15 25 4 14 24 3 13 23 33")),
    ),
    # Another matcher tells of the streams, since it owns shard 0 now: its first figures only rise.
    Case("PitStreamStuck", "2m", (waiting("10+5x20"),), (waiting("_ _ _ _ _ _ 10 20 30"),)),
    Case(
        "PitDeadLetters",
        "2m",
        ({'pit_dead_letters_total{reason="code"}': "0x4 1x10"},),
        ({'pit_dead_letters_total{reason="code"}': "7x20"},),
    ),
    Case(
        "PitFencing",
        "2m",
        ({'pit_fenced_total{instance="a"}': "0x4 2x10"},),
        ({'pit_fenced_total{instance="a"}': "2x20"},),
    ),
    Case(
        "PitInvariantBreak",
        "2m",
        ({'pit_invariant_breaks_total{instance="a"}': "0x4 1x10"},),
        ({'pit_invariant_breaks_total{instance="a"}': "0x20"},),
    ),
    Case(
        "PitTableStopped",
        "1m",
        ({'pit_tables_stopped{instance="a"}': "1x8"},),
        ({'pit_tables_stopped{instance="a"}': "0x8"},),
    ),
    Case(
        "PitHistoryReset",
        "2m",
        ({'pit_history_resets_total{instance="g"}': "0x4 1x10"},),
        ({'pit_history_resets_total{instance="g"}': "1x20"},),
    ),
    Case(
        "PitSlowReaders",
        "15m",
        ({"pit_slow_readers_total": "0+2x60", "pit_sessions": "1000x60"},),
        ({"pit_slow_readers_total": "0+0.5x60", "pit_sessions": "1000x60"},),
    ),
    Case(
        "PitReconnectStorm",
        "5m",
        (resumes("0+300x40", "0x40", 1000),),
        (resumes("0+300x40", "0x40", 20_000), resumes("0+10x40", "0x40", 100)),
    ),
    Case(
        "PitResumeFailures",
        "10m",
        (resumes("0+30x40", "0+10x40", 1000),),
        (resumes("0+39x40", "0+1x40", 1000), resumes("0+0.1x40", "0+0.1x40", 1000)),
    ),
    Case(
        "PitArchiveFailing",
        "2m",
        (
            {"pit_archive_failures_total": "0x4 1x10", "pit_archive_lag_seconds": "2x20"},
            {"pit_archive_failures_total": "0x20", "pit_archive_lag_seconds": "70x20"},
        ),
        ({"pit_archive_failures_total": "0x20", "pit_archive_lag_seconds": "9x20"},),
    ),
    Case(
        "PitDiskFilling",
        "10m",
        ({"pit_data_free_bytes": "19x40", "pit_data_size_bytes": "100x40"},),
        ({"pit_data_free_bytes": "21x40", "pit_data_size_bytes": "100x40"},),
    ),
    Case("PitLoopLag", "15m", (loop_lag("0.15"),), (loop_lag("0.1"),)),
    Case(
        "PitGatewayFull",
        "2m",
        (
            {
                'pit_sessions{instance="g", role="player"}': "50x8",
                'pit_sessions{instance="g", role="bot"}': "45x8",
                'pit_sessions_max{instance="g"}': "100x8",
            },
        ),
        (
            {
                'pit_sessions{instance="g", role="player"}': "89x8",
                'pit_sessions_max{instance="g"}': "100x8",
            },
        ),
    ),
    Case(
        "PitRedisDown",
        "1m",
        ({"pit_redis_up": "0x8"}, {"pit_sessions": "4x8"}),
        ({"pit_redis_up": "1 1 1 0 1 1"},),
    ),
    Case(
        "PitRedisMemory",
        "2m",
        ({"pit_redis_memory_used_bytes": "85x8", "pit_redis_memory_max_bytes": "100x8"},),
        (
            {"pit_redis_memory_used_bytes": "75x8", "pit_redis_memory_max_bytes": "100x8"},
            {"pit_redis_memory_used_bytes": "85x8", "pit_redis_memory_max_bytes": "0x8"},
        ),
    ),
    Case(
        "PitRedisEvicting",
        "2m",
        ({"pit_redis_evicted_keys_total": "0x4 3x10"},),
        ({"pit_redis_evicted_keys_total": "0x20"},),
    ),
    Case(
        "PitRedisReplicaLink",
        "5m",
        (
            {"pit_redis_connected_replicas": "1x8 0x20", "pit_redis_primary": "1x28"},
            {"pit_redis_connected_replicas": "0x28", "pit_redis_primary": "0x28"},
        ),
        (
            {"pit_redis_connected_replicas": "0x28", "pit_redis_primary": "1x28"},
            {"pit_redis_connected_replicas": "1x28", "pit_redis_primary": "1x28"},
        ),
    ),
    Case(
        "PitRedisPersistenceFailed",
        "1m",
        (
            {"pit_redis_append_write_good": "0x8"},
            {"pit_redis_append_only_enabled": "0x8"},
            {"pit_redis_snapshot_good": "0x8"},
        ),
        ({"pit_redis_append_write_good": "1x8", "pit_redis_append_only_enabled": "1x8"},),
    ),
    Case(
        "PitRedisSyncLate",
        "15m",
        ({"pit_redis_append_delayed_syncs_total": "0+1x60"},),
        ({"pit_redis_append_delayed_syncs_total": "0x20 3x40"},),
    ),
    Case(
        "PitTargetMissing",
        "1m",
        ({'up{job="pit", process="matcher"}': "0x8"}, {'up{job="other"}': "1x8"}),
        ({'up{job="pit", process="matcher"}': "1 1 0 1 1 1"},),
    ),
)


def alerts() -> dict[str, dict[str, Any]]:
    groups = yaml.safe_load(RULES[1].read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def of_case(case: Case, *, inverted: bool = False) -> list[dict[str, Any]]:
    """What promtool is to find: one firing alert a cause, none without."""
    question = f'count(ALERTS{{alertname="{case.alert}", alertstate="firing"}})'
    return [
        {
            "name": f"{case.alert} {'fires' if fires else 'is quiet'} {number}",
            "interval": f"{case.step_s}s",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [
                {
                    "expr": question,
                    "eval_time": case.at,
                    "exp_samples": [{"labels": "{}", "value": 1}] if fires != inverted else [],
                }
            ],
        }
        for fires, each in ((True, case.firing), (False, case.quiet))
        for number, series in enumerate(each)
    ]


def promtool_tests(directory: Path, *, inverted: bool = False) -> tuple[int, str]:
    """A file for each case, with no more rules than it needs; promtool's exit code and words."""
    files = []
    for number, case in enumerate(CASES):
        alone = directory / f"{number}.rules.yml"
        rules = [alerts()[case.alert]]
        alone.write_text(json.dumps({"groups": [{"name": "one", "rules": rules}]}))
        records = [RULES[0]] if "pit:" in rules[0]["expr"] else []
        content = {
            "rule_files": [str(path) for path in (*records, alone)],
            "evaluation_interval": f"{case.step_s}s",
            "tests": of_case(case, inverted=inverted),
        }
        files.append(directory / f"{number}.yml")
        files[-1].write_text(json.dumps(content))
    done = subprocess.run(
        [need("prometheus"), "test", "rules", *files], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_every_alert_has_its_case() -> None:
    assert list(dict.fromkeys(case.alert for case in CASES)) == list(alerts())


def test_every_alert_fires_for_its_cause_and_for_nothing_less(tmp_path: Path) -> None:
    code, words = promtool_tests(tmp_path)
    assert code == 0, words


def test_the_cases_can_fail(tmp_path: Path) -> None:
    code, words = promtool_tests(tmp_path, inverted=True)
    assert code == 1
    assert words.count("expr: ") == sum(len(case.firing) + len(case.quiet) for case in CASES), words


def test_promtool_finds_no_fault_in_the_rules() -> None:
    tool = need("prometheus")
    done = subprocess.run([tool, "check", "rules", *RULES], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def anchors(text: str) -> set[str]:
    """As renderers make them of headings."""
    heads = (line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#"))
    return {head.lower().replace(" ", "-").replace(",", "") for head in heads}


@pytest.mark.parametrize("name", alerts())
def test_every_alert_says_how_urgent_it_is_and_what_to_do(name: str) -> None:
    alert = alerts()[name]
    assert alert["labels"]["severity"] in ("page", "ticket")
    assert alert["annotations"]["summary"]
    assert alert["annotations"]["description"]
    path, _, anchor = alert["annotations"]["runbook_url"].partition("#")
    assert path == "deploy/RUNBOOK.md"
    assert anchor in anchors((DEPLOY / "RUNBOOK.md").read_text())
    assert "vector(" not in alert["expr"], "an alert on nothing never fires"


def alert_entries() -> str:
    text = (DEPLOY / "RUNBOOK.md").read_text()
    return text.partition("\n## Alerts\n")[2].partition("\n## ")[0]


def test_the_runbook_has_an_entry_for_each_alert_and_for_nothing_else() -> None:
    entries = re.findall(r"^### (.*)$", alert_entries(), re.M)
    assert sorted(entries) == sorted(alerts())
    for name, entry in zip(entries, alert_entries().split("\n### ")[1:], strict=True):
        for part in ("**Means:**", "**First look:**", "**Do:**"):
            assert part in entry, f"{name} lacks {part}"


def test_what_the_runbook_says_to_look_at_is_there() -> None:
    """Panels and rows of the dashboard, other entries, parts of the runbook itself."""
    named = {
        name.replace("\n", " ")
        for name in re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", alert_entries())
    }
    shown = {panel["title"] for panel in json.loads(DASHBOARD.read_text())["panels"]}
    heads = set(re.findall(r"^#+ (.*)$", (DEPLOY / "RUNBOOK.md").read_text(), re.M))
    rights = {"Rights"}  # of services/log/README.md
    assert named - shown - heads - rights == set()
    for name in re.findall(r"\bPit[A-Z]\w+", (DEPLOY / "RUNBOOK.md").read_text()):
        assert name in alerts(), name
