"""Real matcher processes: started, waited for by what they log, killed."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from time import monotonic
from typing import Any, Self

ROOT = Path(__file__).parents[2]
START = """
import sys
from services import logs
from services.matcher.main import run
from services.settings import load
logs.configure("json")
{before}
sys.exit(run(load()))
"""
WAIT_S = 30.0


class MatcherProcess:
    """One matcher with its log lines, newest last."""

    def __init__(self, url: str, name: str, *, crash_at: str = "", before: str = "") -> None:
        environment = {
            **{key: text for key, text in os.environ.items() if not key.startswith("PIT_")},
            "PIT_REDIS_URL": url,
            "PIT_NAME": name,
            "PIT_CRASH_AT": crash_at,
            "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}",
        }
        self.name = name
        self.lines: list[dict[str, Any]] = []
        self._queue: Queue[dict[str, Any] | None] = Queue()
        self.process = subprocess.Popen(
            [sys.executable, "-c", START.format(before=before)],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            try:
                self._queue.put(json.loads(line))
            except ValueError:
                self._queue.put({"event": "not a log line", "text": line})
        self._queue.put(None)

    def wait_for(self, event: str, times: int = 1, timeout_s: float = WAIT_S) -> dict[str, Any]:
        """The line of an event, counted from the start of the process; waits until it is there."""
        end_s = monotonic() + timeout_s
        while True:
            found = [line for line in self.lines if line["event"] == event]
            if len(found) >= times:
                return found[times - 1]
            try:
                line = self._queue.get(timeout=max(0.0, end_s - monotonic()))
            except Empty:
                line = None
            assert line is not None, f"{self.name}: no {event!r} after {self.lines[-8:]}"
            self.lines.append(line)

    def heard(self) -> list[dict[str, Any]]:
        """All lines so far."""
        while not self._queue.empty():
            if line := self._queue.get():
                self.lines.append(line)
        return self.lines

    def owns(self) -> set[int]:
        """The shards it says it owns now."""
        owned: set[int] = set()
        for line in self.heard():
            if line["event"] == "shard acquired":
                owned.add(line["shard"])
            elif line["event"] in ("shard released", "shard lost", "shard left alone"):
                owned.discard(line["shard"])
        return owned

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.wait()

    def wait(self, timeout_s: float = WAIT_S) -> int:
        """Its exit code; all its lines are read then."""
        code = self.process.wait(timeout_s)
        self._reader.join(timeout_s)
        self.heard()
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.alive:
            self.process.send_signal(signal.SIGCONT)
            self.kill()
        assert self.process.stderr is not None
        self._reader.join(WAIT_S)
        self.process.stderr.close()


@contextmanager
def matchers(url: str, *names: str) -> Iterator[list[MatcherProcess]]:
    """Some matchers, killed at the end if they still live."""
    started: list[MatcherProcess] = []
    try:
        started += [MatcherProcess(url, name) for name in names]
        yield started
    finally:
        for matcher in started:
            matcher.__exit__()


def play_until(step: Callable[[], object], enough: Callable[[], bool], seconds: float) -> None:
    """Step until it is enough; time that passes without is a failure."""
    end_s = monotonic() + seconds
    while not enough():
        assert monotonic() < end_s, "it never became true"
        step()
