"""`pit` at a terminal: help, errors that say what to do, exit codes that mean what is written."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from services.cli import entry
from services.cli.demo import secrets
from services.cli.failures import MEANINGS, Exit, Failure
from services.log.connection import SyncConnection
from services.log.server import EmbeddedServer
from services.settings import Settings
from support.full_disk import no_room
from support.pit import ROOT, Here, command, environment, free_port_base, hangups_heard, pit
from support.waiting import wait_until

NOWHERE = {"PIT_REDIS_URL": "redis://127.0.0.1:1/0"}


def test_help_lists_the_commands_and_exit_codes() -> None:
    shown = pit("--help")
    assert shown.code == Exit.GOOD
    for word in (
        "demo",
        "serve",
        "store",
        "table",
        "results",
        "verify",
        "doctor",
        "backup",
        "restore",
        "config",
    ):
        assert re.search(rf"^  {word} ", shown.out, re.MULTILINE)
    for code, meaning in MEANINGS.items():
        assert re.search(rf"^ +{int(code)}  {re.escape(meaning)}$", shown.out, re.MULTILINE)


def test_the_readme_has_the_same_exit_codes() -> None:
    text = (ROOT / "services/cli/README.md").read_text()
    rows = dict(re.findall(r"^\| (\d+) \| (.+?) \|$", text, re.MULTILINE))
    assert rows == {str(int(code)): meaning for code, meaning in MEANINGS.items()}


@pytest.mark.parametrize(
    "arguments",
    [
        ("demo", "--tables", "0"),
        ("demo", "--seats", "9"),
        ("demo", "--pace", "fast"),
        ("demo", "--rules", "poker", "--duration", "1"),
        ("demo", "--rules", "tournament", "--seats", "3", "--duration", "1"),
        ("demo", "--no-such-flag"),
        ("demo", "--port-base", "70000"),
        ("demo", "--port-base", "0"),
        ("demo", "--port-base", "65001"),
        ("demo", "--data", "/etc/hostname", "--duration", "1"),
        ("demo", "--data", "/proc/nowhere", "--duration", "1"),
        ("serve", "kitchen"),
        ("verify",),
        ("verify", "--all", "00aaaaaaaaaaaaaaaaaaaa"),
        ("store", "init", "--shards", "0"),
    ],
)
def test_wrong_use_is_refused_before_anything_starts(
    here: Here, arguments: tuple[str, ...]
) -> None:
    ports = {"PIT_PORT_BASE": str(free_port_base())}  # a demo may run on this machine
    refused = here(*arguments, settings=ports)
    assert refused.code == Exit.USAGE
    assert "Traceback" not in refused.err
    assert refused.err


@pytest.mark.parametrize("role", ["matcher", "gateway", "archiver"])
def test_a_process_without_a_store_says_what_to_set(here: Here, role: str) -> None:
    refused = here("serve", role)
    assert refused.code == Exit.USAGE
    assert "PIT_REDIS_URL" in refused.err
    assert "remedy:" in refused.err


@pytest.mark.parametrize("role", ["matcher", "gateway", "archiver", "bots"])
def test_an_unknown_setting_stops_every_process_by_name(here: Here, role: str) -> None:
    refused = here("serve", role, settings={**NOWHERE, "PIT_REDIS_ULR": "x"})
    assert refused.code == Exit.USAGE
    assert "PIT_REDIS_ULR" in refused.err
    assert "Did you mean PIT_REDIS_URL?" in refused.err


def test_a_store_that_cannot_be_reached(here: Here, tmp_path: Path) -> None:
    settings = {**NOWHERE, "PIT_DATA": str(tmp_path), "PIT_ARCHIVE_KEY": "11" * 32}
    for run, *arguments in (
        (here, "store", "init"),
        (pit, "serve", "archiver"),
        (here, "table", "list"),
    ):
        refused = run(*arguments, settings=settings)
        assert refused.code == Exit.UNREACHABLE, arguments
        assert "cannot be reached" in refused.err
        assert "Traceback" not in refused.err


def test_a_store_that_was_never_set_up(
    here: Here, valkey_server: EmbeddedServer, tmp_path: Path
) -> None:
    connection = SyncConnection(valkey_server.url)
    connection.call("FLUSHALL")
    connection.close()
    settings = {
        "PIT_REDIS_URL": valkey_server.url,
        "PIT_DATA": str(tmp_path),
        "PIT_ARCHIVE_KEY": "11" * 32,
    }
    refused = pit("serve", "archiver", settings=settings)  # signals are not for this process
    assert refused.code == Exit.UNREACHABLE
    assert "pit store init" in refused.err
    assert here("store", "init", "--shards", "4", settings=settings).code == Exit.GOOD
    again = here("store", "init", "--shards", "4", settings=settings)
    assert again.code == Exit.GOOD
    assert "4 shards" in again.out
    other = here("store", "init", "--shards", "5", settings=settings)
    assert other.code == Exit.USAGE
    assert "4 shards" in other.err


def test_an_archiver_needs_its_key(valkey_url: str, tmp_path: Path) -> None:
    settings = {"PIT_REDIS_URL": valkey_url, "PIT_DATA": str(tmp_path)}
    refused = pit("serve", "archiver", settings=settings)
    assert refused.code == Exit.USAGE
    assert "PIT_ARCHIVE_KEY" in refused.err


@pytest.mark.parametrize("name", ["00aaaaaaaaaaaaaaaaaaaa", "../../etc/passwd", "x"])
def test_no_such_game(here: Here, tmp_path: Path, name: str) -> None:
    for arguments in (("verify",), ("table", "replay"), ("table", "show")):
        refused = here(*arguments, name, settings={"PIT_DATA": str(tmp_path)})
        assert refused.code == Exit.NOT_FOUND
        assert "Traceback" not in refused.err


def test_config_shows_what_is_in_force_and_no_secret(here: Here) -> None:
    shown = here("config", "--json", settings={"PIT_TOKEN_KEYS": "k:5ec4e7", "PIT_PACE": "max"})
    assert shown.code == Exit.GOOD
    settings = json.loads(shown.out)
    assert settings["PIT_PACE"] == "max"
    assert settings["PIT_TOKEN_KEYS"]
    assert "5ec4e7" not in shown.out


def test_config_names_what_is_wrong(here: Here) -> None:
    refused = here("config", settings={"PIT_PORT_BASE": "many"})
    assert refused.code == Exit.USAGE
    assert "PIT_PORT_BASE" in refused.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "--all"),
        ("verify", "00aaaaaaaaaaaaaaaaaaaa"),
        ("results",),
        ("table", "list", "--all"),
        ("table", "show", "00aaaaaaaaaaaaaaaaaaaa"),
        ("table", "replay", "00aaaaaaaaaaaaaaaaaaaa"),
    ],
)
def test_a_directory_that_is_no_archive_is_not_an_empty_one(
    here: Here, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """Run in the wrong place, `verify --all` must not find everything in order."""
    refused = here(*arguments, settings={"PIT_DATA": str(tmp_path / "elsewhere")})
    assert refused.code == Exit.NOT_FOUND
    assert "elsewhere/archive" in refused.err
    assert "PIT_ARCHIVE" in refused.err


@pytest.mark.parametrize(
    "command",
    [
        ("serve", "matcher"), ("serve", "gateway"), ("serve", "archiver"),
        ("store", "init"), ("doctor",), ("backup", "b.tar"), ("restore", "b.tar"),
    ],
)  # fmt: skip
def test_what_needs_a_store_asks_for_it(here: Here, command: tuple[str, ...]) -> None:
    refused = here(*command)
    assert refused.code == Exit.USAGE
    assert "PIT_REDIS_URL" in refused.err


def test_bots_ask_for_the_keys_they_need() -> None:
    refused = pit("serve", "bots")  # their own event loop is not for this process
    assert refused.code == Exit.USAGE
    assert "PIT_TOKEN_KEYS" in refused.err


def test_bots_refuse_what_is_no_gateway() -> None:
    refused = pit(
        "serve", "bots", settings={"PIT_TOKEN_KEYS": "k:" + "00" * 32, "PIT_GATEWAY": "x"}
    )
    assert refused.code == Exit.USAGE
    assert "https://HOST:PORT" in refused.err
    assert "PIT_GATEWAY" in refused.err


@pytest.mark.parametrize("arguments", [("config",), ("--help",), ("table", "list", "--all")])
def test_output_that_finds_no_room_is_told_so(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command(*arguments), env=environment(PIT_DATA=str(tmp_path)), stdout=full,
            stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == Exit.NOT_WRITTEN
    assert done.stderr.startswith("pit: the output could not be written\n  why:    No space left")
    assert done.stderr.count("\n") == 3, done.stderr


def test_a_file_that_cannot_be_made_is_told_before_the_work(here: Here, tmp_path: Path) -> None:
    settings = {"PIT_OPERATOR_TOKEN": "t", "PIT_REDIS_URL": NOWHERE["PIT_REDIS_URL"]}
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, why in (
        (tmp_path / "no" / "game.pit", "its directory is not there"),
        (pipe, "never written over"),
    ):
        refused = here("operate", "export", "00aaaaaaaaaaaaaaaaaaaa", str(path), settings=settings)
        assert (refused.code, why in refused.err) == (Exit.USAGE, True), refused.err
    refused = here("backup", str(tmp_path / "no" / "b.tar"), settings=settings)
    assert (refused.code, "its directory is not there" in refused.err) == (Exit.USAGE, True)


def test_the_keys_of_a_demo_are_whole_or_not_there(tmp_path: Path) -> None:
    settings = Settings()
    with no_room(10), pytest.raises(OSError, match="File too large"):
        secrets.environment(tmp_path, settings)
    made = secrets.environment(tmp_path, settings)
    assert made.keys() == {"PIT_TOKEN_KEYS", "PIT_ARCHIVE_KEY"}
    assert secrets.environment(tmp_path, settings) == made
    (tmp_path / secrets.FILE).write_text("")
    with pytest.raises(Failure, match=r"secrets\.json cannot be read"):
        secrets.environment(tmp_path, settings)


INTERRUPTED_EARLY = """
import os, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == "services.cli.main":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
from services.cli.entry import main
main()
"""


def test_ctrl_c_before_anything_was_read_is_quiet() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_EARLY], env=environment(), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_the_program_begins_there() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"pit": f"{entry.__name__}:{entry.main.__name__}"}
    shown = subprocess.run(
        [sys.executable, "-c", "from services.cli.entry import main; main()", "--help"],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Exit codes:" in shown.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@hangups_heard()
def test_a_demo_that_is_told_to_end_while_it_starts_leaves_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        command("demo", "--json", "--duration", "60", "--port-base", str(free_port_base())),
        env=environment(TMPDIR=str(tmp_path)), start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_until(lambda: list(tmp_path.glob("pit-demo-*/*")))  # its own processes are being started
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (Exit.INTERRUPTED, "", "")
    assert list(tmp_path.iterdir()) == []
