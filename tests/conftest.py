"""Fixtures for all tests. Hypothesis: quick by default, deep with `HYPOTHESIS_PROFILE=deep`."""

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import settings

from services.log.server import EmbeddedServer
from support.valkey import binary_of, emptied, running

LONGEST = (
    "deploy/test_compiled.py",
    "cli/test_demo.py",
    "gateway/test_leaks.py",
    "matcher/test_processes.py",
    "deploy/test_live.py",
    "cli/test_drill.py",
    "cli/test_serve.py",
    "loadtest/test_local.py",
    "engine/test_twin.py",
    "bots/test_table_manners.py",
    "bots/test_real_exchange.py",
    "archive/test_process.py",
    "client/test_records.py",
    "gateway/test_dispute.py",
    "play/test_terminal.py",
    "engine/test_machine.py",
    "gateway/test_lobby_processes.py",
    "gateway/test_processes.py",
)
"""Files whose tests take longest, in this order."""

settings.register_profile("quick", max_examples=50, deadline=None)
settings.register_profile("deep", max_examples=2_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of what `make test` runs the longest files come last, as what they find is mostly found
    sooner; of the rest first, lest one worker be left alone with them at the end."""

    def place(item: pytest.Item) -> int:
        name = "/".join(item.path.parts[-2:])
        later = len(LONGEST) - LONGEST.index(name) if name in LONGEST else 0
        return -later if item.get_closest_marker("all") else later

    items.sort(key=place)
    if items and place(items[0]) < 0:
        items[:] = dealt(items, getattr(config, "workerinput", {}).get("workercount", 1))


def dealt(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """File by file to whoever has the fewest tests: each worker begins with a share of its own."""
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for _, file in groupby(items, key=lambda item: item.path):
        min(shares, key=len).extend(file)
    return [item for share in shares for item in share]


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """The wheel's Valkey, started once a session and worker."""
    with running("valkey", tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Debian's redis 7.0, the oldest server supported."""
    binary_of("redis")
    with running("redis", tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def valkey_url(valkey_server: EmbeddedServer) -> str:
    """A newly set up store of four shards on the session's Valkey."""
    return emptied(valkey_server)


@pytest.fixture
def redis_url(redis_server: EmbeddedServer) -> str:
    """A newly set up store of four shards on Debian's redis."""
    return emptied(redis_server)


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A Valkey of the test's own, which it may stop, kill and start again. Not set up yet."""
    with running("valkey", tmp_path / "valkey") as server:
        yield server
