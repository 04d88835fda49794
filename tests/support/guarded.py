"""A store as `deploy/valkey` starts it: with a user for each kind of process."""

import secrets
import subprocess
from pathlib import Path
from typing import Final

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from services.log.connection import SyncConnection
from services.log.server import find_server, free_port
from support.waiting import listens, wait_until

FOLDER: Final = Path(__file__).parents[2] / "deploy" / "valkey"
USERS: Final = ("admin", "setup", "backup", "matcher", "gateway", "operator", "archiver")
START_S: Final = 20.0


class GuardedServer:
    """In the place of `services.log.server.EmbeddedServer`; `url` is that of who sets it up."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.passwords = {user: f"{secrets.token_urlsafe(9)} &/'" for user in USERS}
        self.process: subprocess.Popen[bytes] | None = None

    def url_of(self, user: str, password: str | None = None) -> str:
        quoted = (self.passwords[user] if password is None else password).encode()
        text = "".join(f"%{byte:02x}" for byte in quoted)
        return f"redis://{user}:{text}@127.0.0.1:{self.port}/0"

    @property
    def url(self) -> str:
        return self.url_of("setup")

    @property
    def users_path(self) -> Path:
        return self.directory / "users.acl"

    def launch(self, *, without: str = "") -> subprocess.Popen[bytes]:
        """`start.sh`, as the container runs it; `without` the password of one user."""
        self.directory.mkdir(parents=True, exist_ok=True)
        environment = {
            f"STORE_PASSWORD_{user.upper()}": password
            for user, password in self.passwords.items()
            if user != without
        }
        paths = {"VALKEY_SERVER": str(find_server()), "STORE_USERS": str(self.users_path)}
        with (self.directory / "store.log").open("wb") as log:
            return subprocess.Popen(
                [
                    *("/bin/sh", FOLDER / "start.sh", "--port", str(self.port)),
                    *("--bind", "127.0.0.1", "--dir", str(self.directory)),
                ],
                env=environment | paths | {"PATH": "/usr/bin:/bin"},
                stdout=log,
                stderr=log,
            )

    def start(self) -> None:
        process = self.process = self.launch()
        wait_until(lambda: listens(self.port) or process.poll() is not None, START_S, self.log)
        assert process.poll() is None, self.log()
        server = SyncConnection(self.url_of("admin"))
        server.ask("PING")
        server.close()

    def log(self) -> str:
        return (self.directory / "store.log").read_text()

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)


def refused(url: str, *command: str | int) -> str:
    """The kind of error with which the server answers a command; empty where it obeys."""
    with Redis.from_url(url, retry=Retry(NoBackoff(), 0)) as server:
        try:
            server.execute_command(*command)
        except RedisError as error:
            return type(error).__name__
    return ""
