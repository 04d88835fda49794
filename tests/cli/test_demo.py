"""The whole exchange as real processes, matchers killed under play, everything read back."""

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from services.archive.directory import DirectoryArchive
from services.archive.keys import public_key
from services.archive.source import from_archive
from services.cli.demo.plan import STORE_PORT
from services.cli.failures import Exit
from services.log import keys
from services.log.connection import SyncConnection
from support.full_disk import small_disk
from support.pit import Here, Outcome, free_port_base, pit, start
from support.waiting import wait_until

KEYS = [
    "tables",
    "seats",
    "seconds",
    "commands",
    "offers",
    "trades",
    "corners",
    "rounds",
    "voids",
    "games_finished",
    "rejections",
    "errors",
    "retries",
    "unknown",
    "resets",
    "invariant_breaks",
    "trade_ms",
    "takeovers",
    "unavailable_ms",
]
UNAVAILABLE_MS_MAX = 3_000
"""Of most; a machine that runs other tests, too, may make a single one longer."""
KILLS = 3
KILL_EVERY_S = 4


def arguments(data: Path, *, tables: int, kill_every_s: float) -> list[str]:
    return [
        *("demo", "--json", "--pace", "max", "--rules", "blitz", "--data", str(data)),
        *("--tables", str(tables), "--kill-every", str(kill_every_s)),
        *("--port-base", str(free_port_base())),
    ]


def must_be_good(outcome: Outcome, data: Path) -> dict[str, Any]:
    logs = "\n".join(
        line
        for log in sorted((data / "logs").glob("*.log"))
        for line in (f"--- {log.name}", *log.read_text().splitlines()[-15:])
    )
    assert outcome.code == Exit.GOOD, f"{outcome.out}\n{outcome.err}\n{logs}"
    figures: dict[str, Any] = outcome.json()
    return figures


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A demo in which three matchers were killed under play: its directory and its figures."""
    data = tmp_path_factory.mktemp("demo")
    process = start(*arguments(data, tables=6, kill_every_s=3))
    try:
        wait_for(lambda: starts_of_matchers(data) >= 2 + KILLS and a_game_is_sealed(data), process)
        process.terminate()
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return data, must_be_good(Outcome(process.returncode, out, err), data)


def starts_of_matchers(data: Path) -> int:
    logs = (data / "logs").glob("matcher-*.log")
    return sum(log.read_text().count("matcher started") for log in logs)


def a_game_is_sealed(data: Path) -> bool:
    archive = DirectoryArchive(data / "archive")
    key = public_key(archive.root)
    return any(from_archive(game, archive, key).sealed for game in archive.games())


def test_killed_matchers_lose_and_double_nothing(played: tuple[Path, dict[str, Any]]) -> None:
    _, figures = played
    assert figures["invariant_breaks"] == 0
    assert figures["kills"] >= KILLS
    assert figures["takeovers"] >= 1
    assert 0 < figures["unavailable_ms"]["p50"] <= figures["unavailable_ms"]["max"]
    assert figures["errors"] == 0
    assert figures["problems"] == []


def test_the_summary_has_its_keys_and_adds_up(played: tuple[Path, dict[str, Any]]) -> None:
    _, figures = played
    assert [key for key in KEYS if key not in figures] == []
    assert figures["games_finished"] >= 1
    assert figures["offers"] >= 2 * figures["trades"] > 0
    assert figures["rounds"] == figures["corners"] + figures["voids"]
    assert figures["commands"] >= figures["offers"] + figures["rejections"]
    assert (
        0 < figures["trade_ms"]["p50"] <= figures["trade_ms"]["p99"] <= figures["trade_ms"]["max"]
    )


@pytest.fixture(scope="module")
def settings(played: tuple[Path, dict[str, Any]]) -> dict[str, str]:
    """Only the directory is named, no store: everything must come from the archive."""
    return {"PIT_DATA": str(played[0])}


@pytest.fixture(scope="module")
def finished(settings: dict[str, str]) -> str:
    """A finished game."""
    archive = DirectoryArchive(Path(settings["PIT_DATA"]) / "archive")
    key = public_key(archive.root)
    return next(game for game in archive.games() if from_archive(game, archive, key).sealed)


def test_every_game_verifies(here: Here, settings: dict[str, str]) -> None:
    verified = here("verify", "--all", settings=settings)
    assert verified.code == Exit.GOOD, verified.out
    assert " 0 FAILED" in verified.out


def test_a_finished_game_verifies_from_its_records_alone(
    here: Here, settings: dict[str, str], finished: str
) -> None:
    shown = here("verify", finished, settings=settings)
    assert shown.code == Exit.GOOD
    assert "deal, order, conservation and score proven; signed" in shown.out


def test_a_flipped_byte_makes_verify_fail_loudly(
    here: Here, settings: dict[str, str], finished: str, tmp_path: Path
) -> None:
    import shutil

    shutil.copytree(Path(settings["PIT_DATA"]) / "archive", tmp_path / "archive")
    path = tmp_path / "archive" / finished[:2] / f"{finished}.pit"
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 4
    path.write_bytes(content)
    refused = here("verify", finished, settings={"PIT_DATA": str(tmp_path)})
    assert refused.code == Exit.CHECK_FAILED
    assert "FAILED" in refused.out
    everything = here("verify", "--all", settings={"PIT_DATA": str(tmp_path)})
    assert everything.code == Exit.CHECK_FAILED
    assert "1 FAILED" in everything.out


def test_a_game_is_replayed_for_a_spectator_a_seat_and_with_all_hands(
    here: Here, settings: dict[str, str], finished: str
) -> None:
    def told(*options: str) -> str:
        shown = here("table", "replay", finished, *options, settings=settings)
        assert shown.code == Exit.GOOD
        return shown.out

    public, own, everything = told(), told("--seat", "1"), told("--all-hands")
    assert "GAME OVER" in public
    assert "CORNER ON" in public
    assert (hands(public), hands(own), hands(everything)) == (0, 1, 4)
    assert len(told("--json").splitlines()) > 20


def hands(story: str) -> int:
    """How many hands are shown where the first round is dealt."""
    lines = story.splitlines()
    after = lines[next(place for place, line in enumerate(lines) if "ROUND 1" in line) + 1 :]
    return next(place for place, line in enumerate(after) if not line.startswith(" " * 22))


def test_a_seat_that_is_not_there_has_no_replay(
    here: Here, settings: dict[str, str], finished: str
) -> None:
    for seat in ("4", "-1"):
        refused = here("table", "replay", finished, f"--seat={seat}", settings=settings)
        assert refused.code == Exit.USAGE
        assert "Traceback" not in refused.err


def test_tables_are_listed_and_shown(here: Here, settings: dict[str, str], finished: str) -> None:
    listed = here("table", "list", "--all", settings=settings)
    assert finished in listed.out
    shown = here("table", "show", finished, "--json", settings=settings)
    assert shown.json()["phase"] in ("ended", "closed")
    assert max(shown.json()["scores"]) >= 200


@pytest.mark.all
def test_a_damaged_shard_ends_the_demo_with_the_reason(tmp_path: Path) -> None:
    options = arguments(tmp_path, tables=2, kill_every_s=0)
    process = start(*options)
    try:
        bots = tmp_path / "logs" / "bots.log"
        wait_for(bots.exists, process)
        server = SyncConnection(f"redis://127.0.0.1:{int(options[-1]) + STORE_PORT}/0")
        server.call("XADD", keys.out_stream(3), "*", "n", "no entry of ours")
        server.close()
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == Exit.CHECK_FAILED
    assert "out entry" in err
    assert "of shard 03" in err
    assert "Traceback" not in err


@pytest.mark.all
def test_a_demo_on_a_full_disk_says_so_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path, 16):
        data, filler = tmp_path / "data", tmp_path / "filler"
        process = start(*arguments(data, tables=4, kill_every_s=0))
        try:
            wait_for((data / "bots.json").exists, process)
            fill(filler)
            assert process.stderr is not None
            assert "the disk is full" in process.stderr.readline()
            trades = trades_of(data)
            filler.unlink()
            wait_for(lambda: trades_of(data) > trades, process)
            process.terminate()
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
            process.communicate()
    assert process.returncode == Exit.CHECK_FAILED
    assert "the disk is full" in Outcome(process.returncode, out, err).json()["problems"][0]
    assert "Traceback" not in err


def fill(file: Path) -> None:
    """Leave no room on its disk."""
    with file.open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(4_096))


def trades_of(data: Path) -> int:
    return int(json.loads((data / "bots.json").read_text())["trades"])


@pytest.mark.all
def test_a_demo_that_has_no_room_to_begin_says_so(tmp_path: Path) -> None:
    with small_disk(tmp_path, 1):
        fill(tmp_path / "filler")
        refused = pit(
            "demo", "--data", str(tmp_path / "data"), "--port-base", str(free_port_base())
        )
    assert refused.code == Exit.NOT_WRITTEN, refused.err
    assert "the disk is full" in refused.err
    assert "--data" in refused.err
    assert "Traceback" not in refused.err


def test_a_busy_port_is_an_error_with_the_fix(here: Here, tmp_path: Path) -> None:
    base = free_port_base()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", base))
        taken.listen()
        refused = here("demo", "--port-base", str(base), "--data", str(tmp_path))
    assert refused.code == Exit.IN_USE
    assert str(base) in refused.err
    assert "--port-base" in refused.err
    assert "Traceback" not in refused.err


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[Any, dict[str, str]]]:
    """A demo in play, and the settings for looking at it."""
    base = free_port_base()
    process = start(
        *("demo", "--json", "--tables", "2", "--pace", "max", "--data", str(tmp_path)),
        *("--port-base", str(base)),
    )
    try:
        wait_for((tmp_path / "bots.json").exists, process)
        yield (
            process,
            {
                "PIT_DATA": str(tmp_path),
                "PIT_REDIS_URL": f"redis://127.0.0.1:{base + STORE_PORT}/0",
            },
        )
    finally:
        process.kill()
        process.communicate()


def wait_for(holds: Callable[[], object], process: Any) -> None:
    """While the process lives."""

    def holds_while_it_lives() -> object:
        assert process.poll() is None, process.communicate()
        return holds()

    wait_until(holds_while_it_lives, seconds=75)


@pytest.mark.all
def test_a_running_exchange_can_be_looked_at(running: tuple[Any, dict[str, str]]) -> None:
    process, settings = running
    wait_for(
        lambda: len(pit("table", "list", "--json", settings=settings).out.splitlines()) >= 2,
        process,
    )
    listed = pit("table", "list", settings=settings)
    assert "--all" in listed.err
    name = listed.out.splitlines()[1].split()[0]
    assert pit("table", "show", name, settings=settings).code == Exit.GOOD
    assert "ROUND 1" in pit("table", "replay", name, settings=settings).out
    verified = pit("verify", "--all", settings=settings)
    assert verified.code == Exit.GOOD, verified.out
    other = pit("demo", "--data", settings["PIT_DATA"], "--port-base", str(free_port_base()))
    assert other.code == Exit.IN_USE
    assert "--data" in other.err
    assert process.poll() is None


@pytest.mark.all
def test_sigterm_drains(running: tuple[Any, dict[str, str]]) -> None:
    process, _ = running
    family = descendants(process.pid)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == Exit.GOOD, err
    assert '"invariant_breaks": 0' in out
    assert not [pid for pid in family if is_alive(pid)]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_is_left_running_when_the_demo_is_killed(
    running: tuple[Any, dict[str, str]],
) -> None:
    process, _ = running
    family = descendants(process.pid)
    assert len(family) >= 6, "server, two matchers, gateway, archiver, bots"
    process.kill()
    process.wait()
    wait_until(lambda: not [pid for pid in family if is_alive(pid)], seconds=20)


@pytest.mark.all
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("program", "named"),
    [("serve gateway", "gateway ended"), ("valkey-server 127", "the embedded server ended")],
)
def test_a_child_that_dies_is_named(
    running: tuple[Any, dict[str, str]], program: str, named: str
) -> None:
    process, _ = running
    child = next(pid for pid in descendants(process.pid) if program in command_line(pid))
    os.kill(child, signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == Exit.CHILD_ENDED
    assert named in err
    assert "Traceback" not in err


def descendants(pid: int) -> list[int]:
    """Processes started by `pid`, directly or not."""
    if sys.platform != "linux":
        return []
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(after_name[1])
    found = [pid]
    for one in found:
        found.extend(child for child, parent in parents.items() if parent == one)
    return found[1:]


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    return bool(command_line(pid))


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "kills", [pytest.param(6, marks=pytest.mark.all), pytest.param(60, marks=pytest.mark.soak)]
)
def test_kills_under_play(tmp_path: Path, kills: int) -> None:
    """Of one matcher after the other; twenty in a row are in `tests/matcher`."""
    seconds = (kills + 1) * KILL_EVERY_S
    outcome = pit(
        *arguments(tmp_path, tables=12, kill_every_s=KILL_EVERY_S),
        *("--duration", str(seconds)),
        timeout_s=seconds + 90,
    )
    figures = must_be_good(outcome, tmp_path)
    assert figures["kills"] >= kills
    assert figures["takeovers"] >= kills
    assert figures["invariant_breaks"] == figures["errors"] == 0
    assert figures["unavailable_ms"]["p50"] <= UNAVAILABLE_MS_MAX
    assert figures["unavailable_ms"]["max"] <= 3 * UNAVAILABLE_MS_MAX
    assert figures["games_finished"] >= kills / 2


@pytest.mark.all
def test_a_run_in_which_nobody_played_is_not_a_good_one(tmp_path: Path) -> None:
    base = str(free_port_base())
    idle = pit(
        *("demo", "--no-bots", "--json", "--duration", "2", "--port-base", base),
        *("--data", str(tmp_path)),
    )
    assert idle.code == Exit.CHECK_FAILED
    assert idle.json()["problems"] == ["no game was played"]
