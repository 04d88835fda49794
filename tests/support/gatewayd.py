"""A real gateway, on its port, with a real matcher and a real store: for tests from outside."""

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.gateway.identity.tokens import SignedTokens, parse_keys
from services.log.server import free_port
from support.processes import MatcherProcess
from support.valkey import SHARDS
from support.waiting import listens, wait_until

ROOT = Path(__file__).parents[2]
START = """
import sys
from services.cli.main import main
sys.argv = ["pit", "serve", "gateway"]
main()
"""


@dataclass
class GatewayProcess:
    """A gateway and what is needed to talk to it."""

    process: subprocess.Popen[bytes]
    port: int
    keys: str
    log_path: Path

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def tokens(self) -> SignedTokens:
        return SignedTokens(parse_keys(self.keys))

    def stop(self) -> int:
        """As an operator stops it; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def log(self) -> list[dict[str, Any]]:
        lines = self.log_path.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


@contextmanager
def gateway(url: str, directory: Path, **settings: str) -> Iterator[GatewayProcess]:
    """One gateway on a store that is set up; it listens, or has ended."""
    port = free_port()
    keys = f"k2:{secrets.token_hex(32)},k1:{secrets.token_hex(32)}"
    log_path = directory / f"gateway-{port}.log"
    environment = {
        **{key: text for key, text in os.environ.items() if not key.startswith("PIT_")},
        "PIT_REDIS_URL": url,
        "PIT_PORT_BASE": str(port),
        "PIT_TOKEN_KEYS": keys,
        "PIT_LOG_FORMAT": "json",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}",
        # All people of all tests come from here; what one address may do is tested by itself.
        "PIT_ALLOW_ADDRESSES": "127.0.0.0/8",
        **settings,
    }
    with log_path.open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", START], env=environment, stderr=log)
    started = GatewayProcess(process, port, keys, log_path)
    try:
        # A client that finds nobody there at first comes back only seconds later.
        wait_until(lambda: listens(port) or process.poll() is not None, why=log_path.read_text)
        yield started
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@contextmanager
def exchange(url: str, directory: Path, **settings: str) -> Iterator[GatewayProcess]:
    """A gateway with a matcher behind it."""
    with MatcherProcess(url, "m1") as matcher, gateway(url, directory, **settings) as started:
        matcher.wait_for("shard acquired", times=SHARDS)
        yield started
