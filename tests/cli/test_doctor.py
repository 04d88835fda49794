"""`pit doctor`: a fit store is called fit, and each way of being unfit is named with its remedy."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from services.cli.doctor import run, shards
from services.cli.doctor.findings import Finding, Verdict
from services.cli.doctor.run import examine
from services.cli.doctor.server import fitness_findings, info_findings
from services.cli.failures import Exit, Failure
from services.log import keys
from services.log.connection import SyncConnection
from services.log.lease import LOOK_MS
from services.log.redis import RedisOwnerLog
from services.log.server import EmbeddedServer
from services.log.store import Fitness, init_store, server_info
from support.pit import pit
from support.processes import MatcherProcess
from support.valkey import SHARDS
from support.whole_game import ShardWriter, WholeGame

CHECKS = [
    "server",
    "persistence",
    "disk writes",
    "memory",
    "role",
    "clock",
    "meta",
    "owners",
    "lag",
    "dead letters",
    "archive",
    "archive disk",
]


class Doctor:
    """Examines a store in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.code = -1

    def __call__(self, url: str) -> dict[str, dict[str, str]]:
        """Findings by check; of several of one check, the last."""
        self._monkeypatch.setenv("PIT_REDIS_URL", url)
        self.code = examine(as_json=True)
        told = json.loads(self._capsys.readouterr().out)
        found = {finding["check"]: finding for finding in told["findings"]}
        failed = any(finding["verdict"] == "fail" for finding in told["findings"])
        assert told["fit"] is not failed
        assert self.code == (Exit.CHECK_FAILED if failed else Exit.GOOD)
        for finding in told["findings"]:
            assert (
                bool(finding["fix"]) == (finding["verdict"] != "ok") or finding["check"] == "server"
            )
        return found


@pytest.fixture
def doctor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Doctor:
    (tmp_path / "archive").mkdir()
    monkeypatch.setenv("PIT_ARCHIVE", str(tmp_path / "archive"))
    return Doctor(monkeypatch, capsys)


@pytest.fixture
def server(valkey_url: str) -> Iterator[SyncConnection]:
    connection = SyncConnection(valkey_url)
    yield connection
    connection.close()


@contextmanager
def owned(url: str, *numbers: int) -> Iterator[None]:
    """Owners of these shards that live as long as the block."""
    stop = threading.Event()
    owner = RedisOwnerLog(url)
    nonces = {number: f"owner-of-shard-{number}".encode() for number in numbers}
    for number, nonce in nonces.items():
        assert owner.acquire(number, nonce, None) is not None

    def renew() -> None:
        while not stop.wait(LOOK_MS / 1000):
            for number, nonce in nonces.items():
                owner.renew(number, nonce)
        owner.close()

    thread = threading.Thread(target=renew)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def old_id(server: SyncConnection, age_s: float) -> str:
    """A stream id of so long ago, by the server's clock."""
    seconds, micros = server.ask("TIME")
    return f"{int(int(seconds) * 1000 + int(micros) / 1000 - age_s * 1000)}-0"


# ------------------------------------------------------------------ fit


def test_a_store_at_work_is_fit(valkey_url: str, doctor: Doctor) -> None:
    with MatcherProcess(valkey_url, "m1") as matcher:
        matcher.wait_for("shard acquired", times=SHARDS)
        found = doctor(valkey_url)
        assert list(found) == CHECKS
        # A busy machine may have made an fsync late; nothing here has an archiver.
        assert worse(found) <= {"disk writes", "archive"}
        assert found["owners"]["text"].startswith(f"all {SHARDS} shards are owned")
        matcher.kill()
        found = doctor(valkey_url)
    assert found["owners"]["verdict"] == "fail"
    assert "serve matcher" in found["owners"]["fix"]


@pytest.mark.parametrize("others", ["together", "one after the other"])
def test_two_matchers_of_one_name(
    valkey_url: str, server: SyncConnection, doctor: Doctor, others: str
) -> None:
    """Seen where both live; where one has followed the other the counter jumps once."""
    stop = threading.Event()

    def live() -> None:
        first, second = RedisOwnerLog(valkey_url), RedisOwnerLog(valkey_url)
        looks = [first, second] * 100 if others == "together" else [first, *[second] * 200]
        for one in looks:
            if stop.wait(LOOK_MS / 2000):
                break
            one.look("m1", [], [])
        first.close()
        second.close()

    thread = threading.Thread(target=live)
    thread.start()
    try:
        with owned(valkey_url, *range(1, SHARDS)):  # one is missing: it is watched for long enough
            found = doctor(valkey_url)
    finally:
        stop.set()
        thread.join()
    assert ("names" in found) == (others == "together")
    if others == "together":
        assert "call themselves m1" in found["names"]["text"]
        assert "PIT_NAME" in found["names"]["fix"]


def worse(found: dict[str, dict[str, str]]) -> set[str]:
    return {check for check, finding in found.items() if finding["verdict"] != "ok"}


def test_the_process_tells_a_line_a_finding(valkey_url: str, tmp_path: Path) -> None:
    told = pit("doctor", settings={"PIT_REDIS_URL": valkey_url, "PIT_DATA": str(tmp_path)})
    assert told.code == Exit.GOOD, told.out
    *lines, last = told.out.splitlines()
    assert [line[9:22].strip() for line in lines] == CHECKS
    assert {line[:8].strip() for line in lines} <= {"ok", "warning"}
    assert "; start `pit serve matcher`" in lines[CHECKS.index("owners")]
    assert last.startswith("fit: 0 failed")


def test_a_store_at_rest_is_fit_but_nobody_may_wait(
    valkey_url: str, server: SyncConnection, doctor: Doctor
) -> None:
    assert doctor(valkey_url)["owners"]["verdict"] == "warning"
    server.call("XADD", keys.in_stream(1), old_id(server, 20), "b", b"x")
    found = doctor(valkey_url)
    assert found["owners"]["verdict"] == found["lag"]["verdict"] == "warning"
    server.call("XADD", keys.in_stream(2), "*", "b", b"x")
    found = doctor(valkey_url)
    assert found["owners"]["verdict"] == found["lag"]["verdict"] == "fail"
    assert "shards 01" in found["lag"]["text"]


def test_a_shard_without_an_owner_is_named(valkey_url: str, doctor: Doctor) -> None:
    with owned(valkey_url, 0, 1, 3):
        found = doctor(valkey_url)
    assert found["owners"]["verdict"] == "fail"
    assert "shards 02 do not" in found["owners"]["text"]


# ------------------------------------------------------------------ the server


def test_a_server_that_evicts(valkey_url: str, server: SyncConnection, doctor: Doctor) -> None:
    server.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    found = doctor(valkey_url)
    assert found["server"]["verdict"] == "fail"
    assert "noeviction" in found["server"]["text"]


@pytest.mark.parametrize(("part", "verdict"), [(0.5, "ok"), (0.8, "warning"), (0.95, "fail")])
def test_a_server_that_fills_up(
    valkey_url: str, server: SyncConnection, doctor: Doctor, part: float, verdict: str
) -> None:
    server.call("SETRANGE", "ballast", 50_000_000, "x")
    used = int(server_info(server)["used_memory"])
    server.call("CONFIG", "SET", "maxmemory", int(used / part))
    found = doctor(valkey_url)
    server.call("CONFIG", "SET", "maxmemory", 0)
    assert found["memory"]["verdict"] == verdict
    assert "maxmemory" in found["memory"]["text"]


def test_a_server_that_keeps_nothing(tmp_path: Path, doctor: Doctor) -> None:
    with EmbeddedServer(tmp_path / "server", durability="memory") as memory:
        init_store(memory.url, SHARDS)
        found = doctor(memory.url)
    assert found["persistence"]["verdict"] == "warning"
    assert "appendonly" in found["persistence"]["fix"]


def test_a_replica(valkey_server: EmbeddedServer, tmp_path: Path, doctor: Doctor) -> None:
    primary = ("--replicaof", "127.0.0.1", str(valkey_server.port))
    with EmbeddedServer(tmp_path / "server", options=primary) as replica:
        found = doctor(replica.url)
    assert found["role"]["verdict"] == "fail"


def test_what_the_server_says_of_its_disk() -> None:
    info = {"used_memory": "1", "maxmemory": "0", "role": "master"}
    assert verdicts(info_findings(info)) == ["ok", "ok", "ok"]
    full = info | {"aof_last_write_status": "err"}
    assert verdicts(info_findings(full)) == ["fail", "ok", "ok"]
    slow = info | {"aof_delayed_fsync": "3"}
    assert verdicts(info_findings(slow)) == ["warning", "ok", "ok"]


def test_a_server_that_will_not_be_asked() -> None:
    silent = Fitness("Valkey 9", "unknown", None, (), ("CONFIG GET is not allowed",))
    found = fitness_findings(silent)
    assert verdicts(found) == ["ok", "warning"]
    assert "evicts" not in found[0].text


def verdicts(found: list[Finding]) -> list[str]:
    return [finding.verdict.value for finding in found]


@pytest.mark.parametrize("error_s", [-10.0, 10.0])
def test_clocks_that_differ(
    valkey_url: str, doctor: Doctor, monkeypatch: pytest.MonkeyPatch, error_s: float
) -> None:
    right = time.time
    monkeypatch.setattr("services.cli.doctor.server.time.time", lambda: right() + error_s)
    found = doctor(valkey_url)
    assert found["clock"]["verdict"] == "warning"
    assert ("ahead" if error_s < 0 else "behind") in found["clock"]["text"]


def test_a_clock_that_went_back(valkey_url: str, server: SyncConnection) -> None:
    with owned(valkey_url, 0):
        looks, _ = shards.look(server, SHARDS)
    now_ms = int(old_id(server, 0).split("-")[0])
    assert shards.epochs(looks, now_ms) == []
    [finding] = shards.epochs(looks, now_ms - 60_000)
    assert finding.verdict is Verdict.WARNING


# ------------------------------------------------------------------ the store


def test_a_store_that_was_emptied(valkey_url: str, server: SyncConnection, doctor: Doctor) -> None:
    server.call("DEL", keys.META)
    found = doctor(valkey_url)
    assert found["meta"]["verdict"] == "fail"
    assert "pit restore" in found["meta"]["fix"]
    assert "owners" not in found


def test_a_store_of_a_newer_version(
    valkey_url: str, server: SyncConnection, doctor: Doctor
) -> None:
    server.call("HSET", keys.META, "record_version", 99)
    assert doctor(valkey_url)["meta"]["verdict"] == "fail"


def test_a_damaged_shard(valkey_url: str, server: SyncConnection, doctor: Doctor) -> None:
    server.call("XADD", keys.out_stream(2), "5-0", "o", b"x")
    found = doctor(valkey_url)
    assert found["log"]["verdict"] == "fail"
    assert "shard 02" in found["log"]["text"]
    assert found["lag"]["verdict"] == "ok", "the others are looked at all the same"


def test_dead_letters_are_counted(valkey_url: str, server: SyncConnection, doctor: Doctor) -> None:
    for shard, own_id in ((1, "1000-0"), (1, "1000-1"), (3, "2000-0")):
        letter = ("e", "1-0", "k", 0, "r", "x", "b", b"")
        server.call("XADD", keys.dead_letters(shard), own_id, *letter)
    found = doctor(valkey_url)
    assert found["dead letters"]["verdict"] == "warning"
    assert found["dead letters"]["text"].startswith("3 commands")
    assert "shards 01, 03" in found["dead letters"]["text"]
    assert "1970-01-01 00:00:02 UTC" in found["dead letters"]["text"]
    assert "'pit:{03}:dead'" in found["dead letters"]["fix"]


@pytest.mark.parametrize(("late_s", "verdict"), [(2, "ok"), (60, "warning"), (900, "fail")])
def test_an_archive_that_stays_behind(
    valkey_url: str, server: SyncConnection, late_s: int, verdict: str
) -> None:
    record = WholeGame(seed=1).played(rounds=1).records[0][1]
    owner = RedisOwnerLog(valkey_url)
    writer = ShardWriter(owner)
    ids = [writer.write(1_000_000 + at_s * 1_000, record) for at_s in (0, 1, 1 + late_s)]
    owner.close()

    def archive() -> str:
        looks, damaged = shards.look(server, SHARDS)
        assert damaged == []
        return shards.archive_position(looks).verdict.value

    assert archive() == "warning", "no archiver ever"
    server.call("SET", keys.archived(0), ids[0])
    assert archive() == verdict
    server.call("SET", keys.archived(0), ids[-1])
    assert archive() == "ok"


def test_an_archives_disk(
    valkey_url: str, doctor: Doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run, "DISK_WARN", 0.0)
    assert doctor(valkey_url)["archive disk"]["verdict"] == "warning"
    monkeypatch.setattr(run, "DISK_FAIL", 0.0)
    assert doctor(valkey_url)["archive disk"]["verdict"] == "fail"
    (tmp_path / "archive").rmdir()
    assert "not on this machine" in doctor(valkey_url)["archive disk"]["text"]


def test_no_store_at_all(doctor: Callable[[str], object]) -> None:
    for url, code in (("redis://127.0.0.1:1/0", Exit.UNREACHABLE), ("", Exit.USAGE)):
        with pytest.raises(Failure) as raised:
            doctor(url)
        assert raised.value.code == code
        assert raised.value.remedy
