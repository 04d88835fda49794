"""Room that is missing is told, and where nobody hears it play goes on all the same."""

import asyncio
import errno
import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from services.cli.demo import room, run
from services.cli.demo.room import Room
from services.cli.failures import say
from services.cli.load.own import _demo_plan


class Unheard(io.TextIOBase):
    """An output that nobody takes."""

    def __init__(self, number: int) -> None:
        self._number = number

    def write(self, text: str) -> int:
        raise OSError(self._number, text)


class FullStore:
    async def ask_all(self, _: Any) -> list[bytes]:
        return [b"maxmemory:1\r\nused_memory:2\r\n"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EPIPE, errno.EIO])
def test_what_nobody_hears_ends_nothing(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(room, "AsyncConnection", lambda _: FullStore())
    monkeypatch.setattr(sys, "stderr", Unheard(number))
    data: Any = SimpleNamespace(data=tmp_path, elsewhere="")
    looking = Room("redis://127.0.0.1:1/0", data, told=True)
    asyncio.run(looking.look())
    assert "memory is full" in looking.lacked
    plan: Any = SimpleNamespace(as_json=True)
    run._print(plan, {"trades": 7}, [looking.lacked])
    assert '"trades": 7' in capsys.readouterr().out


def test_what_is_for_standard_error_goes_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    say("a word")
    assert capsys.readouterr().out == ""


def test_a_load_test_without_room_is_told_what_a_load_test_can_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIT_PROFILE", "load")
    plan = _demo_plan(tmp_path, 1)
    told = room.full_disk(plan, f"{plan.begun} cannot begin").text()
    assert "the exchange of this run cannot begin" in told
    assert "TMPDIR" in told
    assert "--data" not in told
