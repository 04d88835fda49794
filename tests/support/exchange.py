"""A whole exchange of real processes on one data directory, started and ended piece by piece."""

import json
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from services.log.server import EmbeddedServer, free_port
from services.log.store import init_store
from support.guarded import GuardedServer
from support.pit import ROOT, environment
from support.waiting import WAIT_S, listens, wait_until


class ExchangeProcesses:
    """Server, matcher, gateway, archiver and bots; `end` in any order, whatever still runs."""

    def __init__(
        self, directory: Path, shards: int = 4, server: EmbeddedServer | GuardedServer | None = None
    ) -> None:
        self.directory = directory
        self.archive = directory / "archive"
        self.report_path = directory / "bots.json"
        self.server = server or EmbeddedServer(directory / "server")
        self.settings = {
            "PIT_REDIS_URL": self.server.url,
            "PIT_DATA": str(directory),
            "PIT_PORT_BASE": str(free_port()),
            "PIT_TOKEN_KEYS": f"k:{secrets.token_hex(32)}",
            "PIT_ARCHIVE_KEY": secrets.token_hex(32),
            "PIT_PACE": "max",
            "PIT_LOG_FORMAT": "json",
        }
        self._shards = shards
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self.server.start()
        init_store(self.server.url, self._shards)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()
        self.server.stop()

    def start(self, role: str, *arguments: str, **settings: str) -> None:
        """Start one process, `pit serve ROLE`. A gateway listens then: a client that finds nobody
        there at first comes back only seconds later."""
        with (self.directory / f"{role}.log").open("ab") as log:
            self._processes[role] = subprocess.Popen(
                [sys.executable, "-m", "services.cli.main", "serve", role, *arguments],
                env=environment(**self.settings | settings),
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )
        if role == "gateway":
            self.wait(lambda: listens(int(self.settings["PIT_PORT_BASE"])))

    def end(self, role: str) -> int:
        """End one as an operator does; its exit code."""
        process = self._processes.pop(role)
        process.terminate()
        return process.wait(WAIT_S)

    def kill(self, *roles: str) -> None:
        """End some as a power cut does."""
        for role in roles:
            process = self._processes.pop(role)
            process.kill()
            process.wait()

    def wipe(self) -> None:
        """Lose the server's disk and the archive's."""
        assert isinstance(self.server, EmbeddedServer)
        self.server.kill()
        shutil.rmtree(self.server.directory)
        shutil.rmtree(self.archive)
        self.server.start()

    def report(self) -> Mapping[str, Any]:
        """What the bots last said of themselves."""
        try:
            found: dict[str, Any] = json.loads(self.report_path.read_text())
        except FileNotFoundError:
            return {}
        return found

    def wait(self, holds: Callable[[], bool], seconds: float = WAIT_S) -> None:
        """Until it is true; a process that ends meanwhile is a failure."""

        def holds_while_all_live() -> bool:
            for role, process in self._processes.items():
                assert process.poll() is None, f"{role} ended: {self.logs()}"
            return holds()

        wait_until(holds_while_all_live, seconds, self.logs)

    def logs(self) -> str:
        """The last words of every process."""
        return "\n".join(
            line
            for path in sorted(self.directory.glob("*.log"))
            for line in (f"--- {path.name}", *path.read_text().splitlines()[-12:])
        )
