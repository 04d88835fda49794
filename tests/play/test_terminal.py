"""A person's whole game through a real terminal, over the real exchange, with a cut in the middle."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from support.at_terminal import LOOK_S, Terminal, next_keys
from support.exchange import ExchangeProcesses
from support.pit import ROOT, command, environment

GAME_S = 150.0
SHORT = tuple(
    part
    for switch in ("scored_rounds_max=2", "rounds_max=3", "round_cap_s=30", "target=500")
    for part in ("--switch", switch)
)
"""Two corners and no more, so that there is play after the cut; stalled rounds are cut short."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExchangeProcesses]:
    with ExchangeProcesses(tmp_path_factory.mktemp("play")) as processes:
        for role in ("matcher", "gateway"):
            processes.start(role)
        processes.start("bots", PIT_REPORT=str(processes.report_path))
        yield processes


def at_terminal(running: ExchangeProcesses, *options: str) -> Terminal:
    target = f"127.0.0.1:{running.settings['PIT_PORT_BASE']}"
    line = command("play", "--target", target, "--name", "Ada", *options)
    paths = {"PYTHONPATH": environment()["PYTHONPATH"]}
    return Terminal(line, paths, str(ROOT))


def play_on(terminal: Terminal, end: str, begin_s: float) -> list[str]:
    """Read and press until the screen shows `end`."""
    while end not in "\n".join(shown := terminal.screen()):
        assert monotonic() - begin_s < GAME_S, "\n".join(shown)
        assert not terminal.over, "\n".join(shown)
        if keys := next_keys(shown):
            terminal.press(*keys)
        sleep(LOOK_S)
    return shown


@pytest.mark.soak
@pytest.mark.timeout(200)
def test_a_whole_game_with_a_cut_in_the_middle(running: ExchangeProcesses, tmp_path: Path) -> None:
    begin_s = monotonic()
    written = tmp_path / "game.txt"
    with at_terminal(running, *SHORT, "--transcript", str(written)) as terminal:
        play_on(terminal, "traded", begin_s)
        running.kill("gateway")
        shown = terminal.wait_for("CONNECTION LOST")
        assert "your seat is kept" in "\n".join(shown)
        running.start("gateway")
        terminal.wait_for("Connected again")
        shown = play_on(terminal, "GAME OVER", begin_s)
        assert all(len(line) <= 80 for line in shown)
        terminal.press("q")
        terminal.wait_until(lambda _: terminal.over, "the end of the program", 20)
        assert terminal.code == 0
    text = written.read_text()
    for told in ("THE EXCHANGE IS OPEN", "you gave", "CONNECTION LOST", "Connected again",
                 "Round 1 is", "GAME OVER", "Ada (you)"):  # fmt: skip
        assert told in text, told


@pytest.mark.all
def test_leaving_in_the_middle_gives_the_seat_up(running: ExchangeProcesses) -> None:
    with at_terminal(running, *SHORT) as terminal:
        terminal.wait_for("ends in")
        terminal.press("q")
        terminal.wait_for("Leave the game for good?")
        terminal.press("y")
        terminal.wait_until(lambda _: terminal.over, "the end of the program", 20)
        assert terminal.code == 0


@pytest.mark.all
def test_two_people_meet_at_a_private_table(running: ExchangeProcesses) -> None:
    with at_terminal(running, "--private", "--seats", "3") as first:
        shown = "\n".join(first.wait_for("--code"))
        code = shown.split("--code ")[1].split()[0]
        with at_terminal(running, "--code", code) as second:
            second.wait_for("Waiting for the owner to start")
            first.wait_for("sits down")
            first.press("r")
            second.wait_for("sort your hand")
            first.wait_for("sort your hand")
