"""The store as it is deployed: an exchange works under its users, and they can do nothing else."""

import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.log.connection import SyncConnection
from services.log.server import free_port
from services.log.store import init_store
from support.exchange import ExchangeProcesses
from support.guarded import FOLDER, USERS, GuardedServer, refused
from support.operated import operated, people, table_of
from support.pit import ROOT, pit
from support.scraping import scraped, total
from support.valkey import SHARDS

FOR_NOBODY: list[tuple[str | int, ...]] = [
    ("FLUSHALL",), ("FLUSHDB",), ("KEYS", "*"), ("CONFIG", "SET", "maxmemory", "1"),
    ("CONFIG", "REWRITE"), ("SCRIPT", "FLUSH"), ("ACL", "LIST"), ("SHUTDOWN",),
    ("SAVE",), ("BGREWRITEAOF",), ("REPLICAOF", "NO", "ONE"), ("MONITOR",), ("CLIENT", "LIST"),
    ("SWAPDB", 0, 1), ("FUNCTION", "LIST"), ("PUBLISH", "c", "m"), ("GET", "another:key"),
]  # fmt: skip
FORBIDDEN: dict[str, list[tuple[str | int, ...]]] = {
    "setup": [("DEL", "pit:meta"), ("XDEL", "pit:audit", "1-1"), ("DUMP", "pit:meta")],
    "backup": [
        ("SET", "pit:{01}:arch", "1-1"), ("DEL", "pit:{01}:out"), ("HSET", "pit:meta", "a", "b"),
        ("XADD", "pit:{01}:in", "*", "b", "x"), ("RESTORE", "pit:meta", 0, "x"),
    ],
    "matcher": [
        ("HSET", "pit:meta", "store_id", "x"), ("GET", "pit:id:name:p"), ("RESTORE", "x", 0, "x"),
        ("XADD", "pit:audit", "*", "a", "b"), ("DUMP", "pit:{01}:out"), ("CONFIG", "GET", "*"),
    ],
    "gateway": [
        ("XADD", "pit:{01}:out", "*", "b", "forged"), ("XREAD", "STREAMS", "pit:{01}:in", "0-0"),
        ("HGETALL", "pit:{01}:snap"), ("DEL", "pit:{01}:out"), ("SET", "pit:{01}:arch", "1-1"),
        ("XRANGE", "pit:audit", "-", "+"), ("XADD", "pit:audit", "*", "a", "b"),
        ("EVAL", "return 1", 0), ("HSET", "pit:operate", "maintenance", "x"),
    ],
    "operator": [
        ("XADD", "pit:{01}:out", "*", "b", "forged"), ("HSET", "pit:{01}:lease", "o", "x"),
        ("DEL", "pit:audit"), ("XTRIM", "pit:audit", "MAXLEN", 0), ("HSET", "pit:meta", "a", "b"),
        ("HGETALL", "pit:{01}:snap"), ("SET", "pit:{01}:arch", "1-1"), ("EVAL", "return 1", 0),
    ],
    "archiver": [
        ("SET", "pit:{01}:lease", "x"), ("XADD", "pit:{01}:out", "*", "b", "forged"),
        ("XRANGE", "pit:{01}:in", "-", "+"), ("GET", "pit:id:name:p"), ("EVAL", "return 1", 0),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedServer]:
    server = GuardedServer(tmp_path_factory.mktemp("guarded"))
    server.start()
    yield server
    server.stop()


@pytest.mark.parametrize("role", FORBIDDEN)
def test_no_user_can_do_more_than_its_work(store: GuardedServer, role: str) -> None:
    allowed = [
        command
        for command in FORBIDDEN[role] + FOR_NOBODY
        if refused(store.url_of(role), *command) != "NoPermissionError"
    ]
    assert not allowed
    assert refused(store.url_of(role), "DEBUG", "SLEEP", 0), "before rights are looked at"


def test_nobody_gets_in_without_a_password(store: GuardedServer) -> None:
    bare = f"redis://127.0.0.1:{store.port}/0"
    assert refused(bare, "PING") == "AuthenticationError"
    for user in USERS:
        assert refused(store.url_of(user, "guessed"), "PING") == "AuthenticationError"
    default = f"redis://default:x@127.0.0.1:{store.port}/0"
    assert refused(default, "PING") == "AuthenticationError"


def test_passwords_are_on_no_disk_and_no_command_line(store: GuardedServer) -> None:
    text = store.users_path.read_text()
    assert stat.S_IMODE(store.users_path.stat().st_mode) == 0o600
    assert store.process is not None
    command = Path(f"/proc/{store.process.pid}/cmdline")
    seen = text + store.log() + (command.read_text() if command.exists() else "")
    assert not [user for user, password in store.passwords.items() if password in seen]
    assert text.count("#") == len(USERS)
    assert "@" not in re.sub(r"[+-]@all", "", text)


def test_a_missing_password_is_said(tmp_path: Path) -> None:
    server = GuardedServer(tmp_path)
    assert server.launch(without="archiver").wait(10) == 2
    assert "STORE_PASSWORD_ARCHIVER is not set" in server.log()


def test_roles_have_the_rights_that_the_log_documents() -> None:
    """`tests/log/test_rights.py` runs each of these lines on Valkey and on Redis 7.0."""
    readme = (ROOT / "services" / "log" / "README.md").read_text()
    documented = dict(re.findall(r"^(\w+) +(resetkeys .*)$", readme, re.M))
    assert len(documented) >= 3
    lines = (FOLDER / "users.acl").read_text().splitlines()
    deployed = {line.split()[1]: line.partition(" resetkeys ")[2] for line in lines}
    assert set(deployed) == {"default", *USERS}
    for role, rules in documented.items():
        assert f"resetkeys {deployed[role]}" == rules, role


@pytest.mark.all
def test_an_exchange_plays_is_watched_and_is_backed_up_under_its_users(tmp_path: Path) -> None:
    port = free_port()
    with ExchangeProcesses(tmp_path, server=GuardedServer(tmp_path / "server")) as exchange:
        store = exchange.server
        assert isinstance(store, GuardedServer)
        exchange.start("matcher", PIT_METRICS_PORT=str(port), PIT_REDIS_URL=store.url_of("matcher"))
        exchange.start("gateway", PIT_REDIS_URL=store.url_of("gateway"))
        exchange.start("archiver", PIT_REDIS_URL=store.url_of("archiver"))
        report = {"PIT_REPORT": str(exchange.report_path)}
        exchange.start("bots", "--tables", "2", "--rules", "blitz", **report)
        exchange.wait(lambda: exchange.report().get("trades", 0) > 30)
        exchange.wait(lambda: bool(list(exchange.archive.glob("*/*.pit"))))
        assert total(scraped(port), "pit_redis_up") == 1
        keeper = {
            "PIT_REDIS_URL": store.url_of("backup"),
            "PIT_DATA": str(tmp_path),
            "PIT_ARCHIVE": str(exchange.archive),
        }
        for command in (
            ("doctor",), ("table", "list"), ("verify", "--all"), ("backup", str(tmp_path / "b.tar")),
        ):  # fmt: skip
            done = pit(*command, settings=keeper)
            assert done.code == 0, (command, done.out, done.err)
        # The server remembers whatever it had to forbid.
        admin = SyncConnection(store.url_of("admin"))
        assert admin.ask("ACL", "LOG") == []
        admin.close()
    empty = GuardedServer(tmp_path / "empty")
    empty.start()
    try:
        settings = keeper | {"PIT_REDIS_URL": empty.url, "PIT_ARCHIVE": str(tmp_path / "other")}
        restored = pit("restore", str(tmp_path / "b.tar"), settings=settings)
        assert restored.code == 0, restored.err
    finally:
        empty.stop()


@pytest.mark.all
async def test_operators_act_under_the_rights_of_their_gateway(tmp_path: Path) -> None:
    store = GuardedServer(tmp_path / "server")
    store.start()
    try:
        init_store(store.url, SHARDS)
        urls = {"PIT_REDIS_URL": store.url_of("operator")}
        with operated(store.url_of("matcher"), tmp_path, "m1", "m2", **urls) as system:
            async with (
                people(system.gateway.target, "Ada") as [ada],
                system.operator() as operator,
            ):
                table = await table_of(ada)
                await operator.freeze(table, "why")
                assert [person.name for person in await operator.find("ad")] == [ada.person]
                await operator.rename(ada.person, "Adele", "why")
                await operator.ban(ada.person, time.time() + 60, "why")
                await operator.ban(ada.person, 0, "why")
                await operator.set_maintenance(on=True, reason="why")
                await operator.set_maintenance(on=False, reason="")
                assert (await operator.drain_shard(1)).owner in {"m1", "m2"}
                assert [letter async for letter in operator.dead_letters()] == []
                acts = [entry.act async for entry in operator.audit()]
                assert acts == [
                    "freeze", "rename", "ban", "ban", "maintenance-on", "maintenance-off",
                    "drain-shard",
                ]  # fmt: skip
        admin = SyncConnection(store.url_of("admin"))
        assert admin.ask("ACL", "LOG") == []
        admin.close()
    finally:
        store.stop()
