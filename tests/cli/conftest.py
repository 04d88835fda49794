"""Fixtures of the command line's tests."""

import pytest

from support.pit import Here


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """`pit` in this process."""
    return Here(monkeypatch, capsys)
