"""The demo's child processes: started, watched, killed for show, and ended in order."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from services.cli.failures import Exit, Failure

DRAIN_S = 12.0
"""How long a child may take to end after SIGTERM before it is killed."""
LOG_LINES_SHOWN = 8


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

    def start(self) -> None:
        """Start it, again if it was started before. Its signals are ours alone to send."""
        with self.log_path.open("ab") as log:
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
        lines = self.log_path.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        return Failure(
            Exit.CHILD_ENDED,
            f"{self.name} ended with code {self.ended()}",
            "\n          ".join(lines),
            f"its whole log is {self.log_path}",
        )


def end_all(children: Sequence[Child]) -> None:
    """End children of one rank together."""
    until_s = time.monotonic() + DRAIN_S
    for child in children:
        child.ask_to_end()
    for child in children:
        child.wait_end(until_s)
