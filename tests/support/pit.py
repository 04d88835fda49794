"""The `pit` executable as tests run it: a real process, with an environment of its own."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from services.cli.main import main

ROOT = Path(__file__).parents[2]
PORTS = 100
"""A demo uses its first port and some above it, fewer than this many."""


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def environment(**settings: str) -> dict[str, str]:
    """This environment without any `PIT_*`, plus `settings`; `pit` is importable."""
    clean = {name: text for name, text in os.environ.items() if not name.startswith("PIT_")}
    clean["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "proto")])
    clean["COLUMNS"] = "100"
    return clean | settings


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "services.cli.main", *arguments]


def pit(
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    timeout_s: float = 60,
    directory: Path | None = None,
) -> Outcome:
    """Run `pit` to its end."""
    done = subprocess.run(
        command(*arguments),
        env=environment(**(settings or {})),
        cwd=directory or ROOT,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


class Here:
    """Runs `pit` in this process, which is quicker; for what ends before anything is started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str, settings: Mapping[str, str] | None = None) -> Outcome:
        with self._monkeypatch.context() as changed:
            for name in [name for name in os.environ if name.upper().startswith("PIT_")]:
                changed.delenv(name)
            for name, text in (settings or {}).items():
                changed.setenv(name, text)
            changed.setattr(sys, "argv", ["pit", *arguments])
            with pytest.raises(SystemExit) as ended:
                main()
        shown = self._capsys.readouterr()
        return Outcome(int(ended.value.code or 0), shown.out, shown.err)


def start(*arguments: str, settings: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start `pit` and leave it running; the caller ends it."""
    return subprocess.Popen(
        command(*arguments),
        env=environment(**(settings or {})),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def hangups_heard() -> Iterator[None]:
    """What is started in it ends with its window, though `nohup` started the tests."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def free_port_base() -> int:
    """A first port such that all ports of a demo are free just now.

    Below the range the kernel hands out to connections, which come and go meanwhile; each of the
    processes that run tests at once draws from its own.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 4
    for _ in range(200):
        base = 10_000 + (secrets.randbelow(50) * 4 + worker) * 100
        if all(_is_free(base + more) for more in (0, 79, 80, 81, *range(90, PORTS))):
            return base
    raise AssertionError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
