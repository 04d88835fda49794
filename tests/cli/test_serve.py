"""`pit serve`: on what store a process begins, and that its log may fail."""

import json
import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import URLError

import pytest

from services.cli.failures import Exit
from services.log.connection import SyncConnection
from services.log.lease import LOOK_MS
from services.log.server import EmbeddedServer, free_port
from services.log.store import init_store
from support.pit import ROOT, Here, command, environment, pit
from support.scraping import scraped, total
from support.valkey import SHARDS

pytestmark = pytest.mark.usefixtures("own_logs")

STORE_ROLES = ("matcher", "gateway", "archiver")
ROLES = (*STORE_ROLES, "bots")
WAIT_S = 30.0


def settings(url: str, directory: Path, **more: str) -> dict[str, str]:
    """Whatever a process of any kind needs."""
    return {
        "PIT_REDIS_URL": url,
        "PIT_DATA": str(directory),
        "PIT_PORT_BASE": str(free_port()),
        "PIT_TOKEN_KEYS": f"k1:{secrets.token_hex(32)}",
        "PIT_ARCHIVE_KEY": "11" * 32,
        "PIT_LOG_FORMAT": "json",
        **more,
    }


@contextmanager
def serving(
    role: str, asked: dict[str, str], stderr: "int | None" = None
) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        command("serve", role),
        env=environment(**asked),
        cwd=ROOT,
        stderr=subprocess.PIPE if stderr is None else stderr,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def line_of(process: "subprocess.Popen[str]", event: str) -> tuple[dict[str, str], list[str]]:
    """The line that tells of it, and what was told before."""
    assert process.stderr is not None
    before: list[str] = []
    for text in process.stderr:
        if text.startswith("{"):
            line: dict[str, str] = json.loads(text)
            if line["event"] == event:
                return line, before
            before.append(line["event"])
    raise AssertionError(f"no {event!r} after {before}")


# ------------------------------------------------------------------ the store


def test_no_process_begins_on_a_store_that_evicts(
    here: Here, valkey_url: str, tmp_path: Path
) -> None:
    raw = SyncConnection(valkey_url)
    raw.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    raw.close()
    for arguments in (("store", "init"), *(("serve", role) for role in STORE_ROLES)):
        refused = here(*arguments, settings=settings(valkey_url, tmp_path))
        assert refused.code == Exit.UNREACHABLE, arguments
        assert "maxmemory-policy is allkeys-lru" in refused.err
        assert "set noeviction" in refused.err
        assert "Traceback" not in refused.err


def test_that_nothing_is_durable_is_said_at_every_start(here: Here, tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "server", durability="memory") as server, ExitStack() as stack:
        done = here("store", "init", settings=settings(server.url, tmp_path))
        assert done.code == Exit.GOOD
        assert "durability memory: no promise" in done.out
        assert "set appendonly yes" in done.err
        asked = settings(server.url, tmp_path)
        started = {role: stack.enter_context(serving(role, asked)) for role in STORE_ROLES}
        for role, process in started.items():
            line, before = line_of(process, f"{role} started")
            assert (line["durability"], before) == ("memory", ["nothing is durable"]), role
            assert "loses everything" in line["promise"]


# ------------------------------------------------------------------ logs that fail


LINES = {"matcher": 2, "gateway": 2, "archiver": 2, "bots": 1}
"""What each has told when it has started: that, and where its figures are."""


def dropped(port: int) -> float:
    """Lines that were dropped; 0 while nobody answers."""
    try:
        return total(scraped(port), "pit_log_lines_dropped_total")
    except URLError:
        return 0.0


@pytest.mark.parametrize("log", ["full disk", pytest.param("closed pipe", marks=pytest.mark.all)])
def test_a_log_that_cannot_be_written_ends_no_process(
    valkey_url: str, tmp_path: Path, log: str
) -> None:
    ports = {role: free_port() for role in ROLES}
    report = str(tmp_path / "bots.json")
    with ExitStack() as stack, open("/dev/full", "wb") as full:
        processes = {}
        for role, port in ports.items():
            asked = settings(valkey_url, tmp_path, PIT_METRICS_PORT=str(port), PIT_REPORT=report)
            stderr = full.fileno() if log == "full disk" else None
            process = stack.enter_context(serving(role, asked, stderr))
            processes[role] = process
            if process.stderr is not None:
                process.stderr.close()
        until_s = time.monotonic() + WAIT_S
        for role, process in processes.items():
            while dropped(ports[role]) < LINES[role] or not os.path.exists(report):
                assert process.poll() is None, role
                assert time.monotonic() < until_s, role
                time.sleep(0.05)
        for process in processes.values():
            process.terminate()
        assert {role: each.wait(WAIT_S) for role, each in processes.items()} == dict.fromkeys(
            ROLES, 0
        )


def test_a_failure_that_nobody_hears_has_its_code_all_the_same() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command("serve", "matcher"), env=environment(), cwd=ROOT, stderr=full, check=False
        )
    assert done.returncode == Exit.USAGE


# ------------------------------------------------------------------ settings that cannot be


@pytest.mark.parametrize(
    ("role", "name", "text", "named"),
    [
        ("archiver", "PIT_ARCHIVE", "/etc/passwd", "PIT_ARCHIVE: /etc/passwd cannot be used"),
        ("archiver", "PIT_ARCHIVE", "/proc/x", "PIT_ARCHIVE: /proc/x cannot be used"),
        ("archiver", "PIT_DATA", "/etc/passwd", "PIT_ARCHIVE: /etc/passwd/archive cannot be used"),
        ("archiver", "PIT_ARCHIVE_KEY", "11", "PIT_ARCHIVE_KEY"),
        ("gateway", "PIT_TOKEN_KEYS", "k1", "PIT_TOKEN_KEYS"),
        ("bots", "PIT_TOKEN_KEYS", "k1", "PIT_TOKEN_KEYS"),
        ("bots", "PIT_GATEWAY", "nowhere", "PIT_GATEWAY"),
        ("matcher", "PIT_CRASH_AT", "nowhere:1", "PIT_CRASH_AT"),
        ("matcher", "PIT_REDIS_URL", "redis://127.0.0.1:port/0", "PIT_REDIS_URL"),
    ],
)
def test_a_setting_that_cannot_be_is_told_in_one_form(
    here: Here, valkey_url: str, tmp_path: Path, role: str, name: str, text: str, named: str
) -> None:
    refused = here("serve", role, settings=settings(valkey_url, tmp_path) | {name: text})
    assert refused.code == Exit.USAGE, refused.err
    assert refused.err.startswith("pit: the environment is not right\n  why:    "), refused.err
    assert named in refused.err


def test_what_is_taken_is_told_with_the_remedy(valkey_url: str, tmp_path: Path) -> None:
    port = str(free_port())
    asked = settings(valkey_url, tmp_path, PIT_METRICS_PORT=port)
    with serving("archiver", asked) as process:
        line_of(process, "metrics served")
        second = pit("serve", "archiver", settings=asked)
        assert second.code == Exit.IN_USE
        assert json.loads(second.err)["fix"]
        other = pit("serve", "archiver", settings=asked | {"PIT_DATA": str(tmp_path / "other")})
        assert other.code == Exit.USAGE
        assert "PIT_METRICS_PORT" in other.err
        assert "set another port" in other.err


@pytest.mark.all
def test_one_of_two_matchers_of_one_name_refuses_and_one_after_a_killed_one_does_not(
    valkey_url: str, tmp_path: Path
) -> None:
    asked = settings(valkey_url, tmp_path, PIT_NAME="m1")
    with serving("matcher", asked) as first, serving("matcher", asked) as second:
        until_s = time.monotonic() + WAIT_S
        while first.poll() is None and second.poll() is None:
            assert time.monotonic() < until_s, "neither has seen the other"
            time.sleep(0.05)
        ended, other = (second, first) if first.poll() is None else (first, second)
        assert ended.returncode == Exit.USAGE
        assert ended.stderr is not None
        assert "another matcher is at work under the name m1" in ended.stderr.read()
        other.kill()
        other.wait()
        with serving("matcher", asked) as third:
            for _ in range(SHARDS):
                line_of(third, "shard acquired")
            time.sleep(4 * LOOK_MS / 1000)  # it looks around, and finds nobody
            third.terminate()
            assert third.wait(WAIT_S) == 0


def test_init_and_doctor_name_a_meta_that_is_none(
    here: Here, valkey_url: str, tmp_path: Path
) -> None:
    raw = SyncConnection(valkey_url)
    raw.call("DEL", "pit:meta")
    raw.call("SET", "pit:meta", "another program's")
    raw.close()
    asked = settings(valkey_url, tmp_path)
    for arguments, code in ((("store", "init"), 3), (("doctor",), 5)):
        done = here(*arguments, settings=asked)
        assert done.code == code, arguments
        assert "another program" in done.out + done.err
        assert "Traceback" not in done.err


def test_a_store_with_games_is_never_made_a_new_one(
    here: Here, valkey_url: str, tmp_path: Path
) -> None:
    raw = SyncConnection(valkey_url)
    raw.call("XADD", "pit:{03}:out", "*", "o", "x")
    raw.call("DEL", "pit:meta")
    refused = here("store", "init", settings=settings(valkey_url, tmp_path))
    assert refused.code == Exit.IN_USE
    assert "the store is not empty" in refused.err
    assert "restore a backup" in refused.err
    assert not raw.ask("EXISTS", "pit:meta")
    raw.call("DEL", "pit:{03}:out")
    assert init_store(valkey_url, SHARDS).shards == SHARDS
    raw.close()
