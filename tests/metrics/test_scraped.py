"""A short real game, and what its processes told meanwhile."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.log.server import free_port
from support.exchange import ExchangeProcesses
from support.scraping import Sample, scraped, total

MOVES = {
    "matcher": (
        "pit_commands_total", "pit_events_total", "pit_trades_total", "pit_turn_seconds_count",
        "pit_turn_commands_sum", "pit_stage_seconds_count", "pit_recovery_seconds_count",
        "pit_shard_owned", "pit_tables", "pit_redis_up", "pit_redis_commands_total",
        "pit_stream_length", "process_resident_memory_bytes",
    ),
    "gateway": (
        "pit_sessions", "pit_attaches_total", "pit_messages_total", "pit_events_per_message_sum",
        "pit_stage_seconds_count", "pit_trade_seconds_count", "pit_loop_lag_seconds_count",
        "pit_grpc_server_started_total", "pit_grpc_server_handled_total",
        "pit_grpc_server_handling_seconds_count", "pit_gc_pause_seconds_count",
    ),
    "archiver": ("pit_data_free_bytes", "pit_archive_lag_seconds", "process_cpu_seconds_total"),
    "bots": ("pit_build_info", "process_open_fds"),
}  # fmt: skip
STAGES = {"matcher": {"queue", "decide", "commit"}, "gateway": {"ingress", "deliver"}}
ID = re.compile("[a-z2-7]{20}")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[Sample]]]:
    ports = {role: free_port() for role in MOVES}
    directory: Path = tmp_path_factory.mktemp("told")
    with ExchangeProcesses(directory) as exchange:
        for role, port in ports.items():
            arguments = ("--tables", "2", "--rules", "blitz") if role == "bots" else ()
            exchange.start(
                role,
                *arguments,
                PIT_METRICS_PORT=str(port),
                PIT_REPORT=str(exchange.report_path) if role == "bots" else "",
            )

        seen: dict[str, list[Sample]] = {}

        def enough() -> bool:
            """Trades, and no table that has just ended or begun: its figures would be under way."""
            if exchange.report().get("commands", 0) < 60:
                return False
            seen.update((role, scraped(port)) for role, port in ports.items())
            gateway, matcher = seen["gateway"], seen["matcher"]
            steady = total(matcher, "pit_tables") == 2 and total(gateway, "pit_sessions") == 8
            return steady and total(gateway, "pit_trade_seconds_count") > 0

        exchange.wait(enough)
        yield seen


@pytest.mark.parametrize("role", MOVES)
def test_what_must_have_moved(told: dict[str, list[Sample]], role: str) -> None:
    still = [name for name in MOVES[role] if total(told[role], name) <= 0]
    assert not still


@pytest.mark.parametrize("role", STAGES)
def test_every_stage_is_timed(told: dict[str, list[Sample]], role: str) -> None:
    timed = {
        labels["stage"]
        for name, labels, number in told[role]
        if name == "pit_stage_seconds_count" and number > 0
    }
    assert timed == STAGES[role]


def test_the_figures_fit_each_other(told: dict[str, list[Sample]]) -> None:
    matcher, gateway = told["matcher"], told["gateway"]
    assert total(matcher, "pit_shard_owned") == 4
    assert total(matcher, "pit_tables") == 2
    assert total(gateway, "pit_sessions") == 8
    traded = sum(
        number
        for name, labels, number in matcher
        if name == "pit_events_total" and labels["event"] == "Traded"
    )
    assert total(matcher, "pit_trades_total") == traded > 0
    assert total(gateway, "pit_events_per_message_count") == total(gateway, "pit_messages_total")


def test_no_label_is_an_id(told: dict[str, list[Sample]]) -> None:
    values = {
        text for samples in told.values() for _, labels, _ in samples for text in labels.values()
    }
    assert "Traded" in values
    assert not [text for text in values if ID.search(text)]
