"""A person at a real terminal, over the real exchange."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from support.at_terminal import LOOK_S, Terminal, next_keys
from support.exchange import ExchangeProcesses
from support.pit import ROOT, command, environment

GAME_S = 150.0
"""Far more than the rules below allow, for a machine that is busy with other things."""
SHORT = tuple(
    part
    for switch in (
        "scored_rounds_max=1",
        "rounds_max=2",
        "round_cap_s=12",
        "sorting_pause_s=2",
        "idle_s=20",
        "away_grace_s=60",
    )
    for part in ("--switch", switch)
)
"""The first corner ends the game, and so does the second round without one."""
CALM = ("--human-pace", "--switch", "sorting_pause_s=2")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExchangeProcesses]:
    with ExchangeProcesses(tmp_path_factory.mktemp("play")) as processes:
        for role in ("matcher", "gateway"):
            processes.start(role)
        processes.start("bots", PIT_REPORT=str(processes.report_path))
        yield processes


def at_terminal(
    running: ExchangeProcesses, *options: str, name: str = "Ada", home: Path | None = None
) -> Terminal:
    """`pit play` in a terminal; whoever has no home of their own is somebody new."""
    target = f"127.0.0.1:{running.settings['PIT_PORT_BASE']}"
    line = command("play", "--target", target, "--name", name, *options)
    state = home or running.directory / f"home-{monotonic()}"
    variables = {"PYTHONPATH": environment()["PYTHONPATH"], "XDG_STATE_HOME": str(state)}
    return Terminal(line, variables, str(ROOT))


def play_on(terminal: Terminal, end: str, begin_s: float) -> list[str]:
    """Read and press until the screen shows `end`."""
    while end not in "\n".join(shown := terminal.screen()):
        assert monotonic() - begin_s < GAME_S, "\n".join(shown)
        assert not terminal.over, "\n".join(shown)
        if keys := next_keys(shown):
            terminal.press(*keys)
        sleep(LOOK_S)
    return shown


def ends_well(terminal: Terminal) -> None:
    terminal.wait_until(lambda _: terminal.over, "the end of the program", 20)
    assert terminal.code == 0


@pytest.mark.all
@pytest.mark.timeout(300)
def test_a_whole_game_with_a_cut_in_the_middle(running: ExchangeProcesses, tmp_path: Path) -> None:
    begin_s = monotonic()
    written = tmp_path / "game.txt"
    options = ("--rules", "blitz", *SHORT, "--transcript", str(written))
    with at_terminal(running, *options) as terminal:
        play_on(terminal, "you gave", begin_s)
        running.kill("gateway")
        shown = terminal.wait_for("CONNECTION LOST")
        assert "your seat is kept 60 s" in "\n".join(shown)
        running.start("gateway")
        terminal.wait_for("Connected again")
        shown = play_on(terminal, "GAME OVER", begin_s)
        assert all(len(line) <= 80 for line in shown)
        terminal.press("r")
        terminal.wait_for("Another game: you sit at")
        terminal.press("q")
        terminal.wait_for("Leave the table?")
        terminal.press("y")
        ends_well(terminal)
    text = written.read_text()
    for told in ("THE EXCHANGE IS OPEN", "you gave", "CONNECTION LOST", "Connected again",
                 "Round 1 is", "GAME OVER", "The score: ", "Another game"):  # fmt: skip
        assert told in text, told


@pytest.mark.all
def test_a_seat_is_kept_watched_and_left(running: ExchangeProcesses, tmp_path: Path) -> None:
    with at_terminal(running, *CALM, home=tmp_path) as terminal:
        shown = "\n".join(terminal.wait_for("You sit at"))
        table = shown.split("You sit at ")[1].split(",")[0]
        terminal.wait_for("ends in")
        with at_terminal(running, "--watch", table, name="Bo") as watching:
            watching.wait_for("You are watching")
            shown = "\n".join(watching.screen())
            assert "YOUR HAND" not in shown
            assert "Ada" in shown
            watching.press("q")
            ends_well(watching)
        terminal.press("q")
        terminal.wait_for("Leave the table?")
        terminal.press("k")
        ends_well(terminal)
        assert "Your seat is kept" in "\n".join(terminal.screen())
    with at_terminal(running, home=tmp_path) as terminal:
        assert f"of {table}" in "\n".join(terminal.wait_for("Back at your seat 0"))
        terminal.press("q")
        terminal.wait_for("Leave the table?")
        terminal.press("y")
        ends_well(terminal)


@pytest.mark.all
def test_two_people_meet_at_a_private_table_and_one_moves(running: ExchangeProcesses) -> None:
    with at_terminal(running, "--private", "--seats", "3", *CALM) as first:
        shown = "\n".join(first.wait_for("--code"))
        code = shown.split("--code ")[1].split()[0]
        with at_terminal(running, "--code", code, name="Bo") as second:
            second.wait_for("Waiting for the owner to start")
            first.wait_for("sits down")
            first.press("r")
            second.wait_for("sort your hand")
            second.press("t")
            shown = "\n".join(second.wait_for("--transfer"))
            transfer = shown.split("--transfer ")[1].split()[0]
            with at_terminal(running, "--transfer", transfer) as third:
                third.wait_for("Bo (you)")
                second.wait_for("Another device of yours holds this seat now")
