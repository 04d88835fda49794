"""Fixtures of the command line's tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from services.cli.backup.make import back_up
from services.logs import Lines
from support.backed_up import PlayedStore
from support.pit import Here


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """`pit` in this process."""
    return Here(monkeypatch, capsys)


@pytest.fixture
def own_logs() -> Iterator[None]:
    """What a process sets up once is as it was for the next test."""
    dropped = Lines.dropped_total
    yield
    Lines.dropped_total = dropped
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@pytest.fixture
def store(valkey_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlayedStore:
    for name in [name for name in os.environ if name.upper().startswith("PIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIT_REDIS_URL", valkey_url)
    monkeypatch.setenv("PIT_ARCHIVE", str(tmp_path / "archive"))
    return PlayedStore(valkey_url, tmp_path / "archive")


@pytest.fixture
def played(store: PlayedStore) -> PlayedStore:
    store.play()
    return store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "backup.tar"


@pytest.fixture
def backup(played: PlayedStore, file: Path) -> Path:
    """A backup of the played store, which is still there."""
    back_up(file, as_json=True)
    return file
