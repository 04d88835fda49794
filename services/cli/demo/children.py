"""The demo's child processes: started, watched, killed for show, and ended in order."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from services.cli.failures import Exit, Failure

DRAIN_S = 12.0
"""How long a child may take to end after SIGTERM before it is killed."""
FAILURE_MARK = "pit: "
"""How a process begins to say why it does not go on."""
SELDOM_SHOWN = frozenset({"event", "level", "timestamp", "process", "name", "at"})
"""Of a line of a log: what says nothing of the cause."""


class Child:
    """One process of the exchange, `pit serve ...`, with its log in a file."""

    def __init__(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str], logs: Path
    ) -> None:
        self.name = name
        self.log_path = logs / f"{name}.log"
        self._arguments = [*arguments, "--with-parent", str(os.getpid())]
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._log_begins = 0
        """Where in its log it began: what stands before is of an earlier one."""

    def start(self) -> None:
        """Start it, again if it was started before. Its signals are ours alone to send."""
        with self.log_path.open("ab") as log:
            self._log_begins = log.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "services.cli.main", "serve", *self._arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """0 before it was started."""
        return 0 if self._process is None else self._process.pid

    def ended(self) -> int | None:
        """Its exit code, `None` while it runs."""
        return None if self._process is None else self._process.poll()

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def ask_to_end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def wait_end(self, until_s: float) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, until_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()

    def failure(self) -> Failure:
        """Why the demo stops when this one ended by itself."""
        own = self.log_path.read_bytes()[self._log_begins :].decode(errors="replace")
        return Failure(
            Exit.CHILD_ENDED,
            f"{self.name} ended with code {self.ended()}",
            last_words(own).replace("\n", "\n          "),
            f"its whole log is {self.log_path}",
        )


def last_words(log: str) -> str:
    """What a process said last that a person can read: why it ended, else its last trouble, else
    whatever it said last. Lines that were cut are passed over."""
    lines = [line for line in log.splitlines() if line.strip()]
    told: list[tuple[str, str]] = []
    for place in range(len(lines) - 1, -1, -1):
        line = lines[place]
        if line.startswith(FAILURE_MARK):
            parts = [line.removeprefix(FAILURE_MARK), *lines[place + 1 :]]
            return "\n".join(part.strip() for part in parts if not part.startswith("{"))
        if not line.startswith("{"):
            told.append(("", line.strip()))
            continue
        with suppress(ValueError):
            fields = json.loads(line)
            told.append((str(fields.get("level")), _in_words(fields)))
    troubled = [words for level, words in told if level in ("error", "critical")]
    return next(iter([*troubled[:1], *(words for _, words in told)]), "it said nothing")


def _in_words(fields: Mapping[str, Any]) -> str:
    """A line of a log as a sentence."""
    more = [f"{name} {content}" for name, content in fields.items() if name not in SELDOM_SHOWN]
    event = str(fields.get("event", "")).replace("_", " ")
    return f"{event}: {', '.join(more)}" if more else event


def end_all(children: Sequence[Child]) -> None:
    """End children of one rank together."""
    until_s = time.monotonic() + DRAIN_S
    for child in children:
        child.ask_to_end()
    for child in children:
        child.wait_end(until_s)
