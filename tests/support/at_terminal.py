"""A person at a real terminal: tmux holds the pseudo-terminal, the screen is read, keys are sent.

The person knows only what stands on the screen.
"""

import re
import subprocess
import uuid
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Self

from support.require import need

LOOK_S = 0.15
ENDED = "ended with code "
TOLD = f'"$@"; echo "{ENDED}$?"; exec sleep 3600'
"""Runs a program; its exit code then stands on the screen."""
HAND_ROW = re.compile(r"^[▶ ]([asdfghjk]) (\w+) +(\d+) +(\d+) ?[■□]*")


class Terminal:
    """A program in a terminal of 80 by 24."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], cwd: str) -> None:
        self._tmux = [str(need("tmux")), "-L", f"pit-{uuid.uuid4().hex[:12]}", "-f", "/dev/null"]
        settings = [part for name, text in environment.items() for part in ("-e", f"{name}={text}")]
        self._run(
            "new-session", "-d", "-x", "80", "-y", "24", "-c", cwd, *settings,
            "-e", "TERM=xterm-256color", "sh", "-c", TOLD, "sh", *command,
        )  # fmt: skip

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._tmux, *arguments], capture_output=True, text=True, check=True, timeout=20
        )
        return done.stdout

    def screen(self) -> list[str]:
        return self._run("capture-pane", "-p").splitlines()

    def press(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    @property
    def over(self) -> bool:
        """Whether the program has ended."""
        return ENDED in "\n".join(self.screen())

    @property
    def code(self) -> int:
        return int("\n".join(self.screen()).split(ENDED)[1].split()[0])

    def wait_for(self, text: str, seconds: float = 60) -> list[str]:
        """The first screen that shows the text."""
        return self.wait_until(lambda shown: text in "\n".join(shown), text, seconds)

    def wait_until(self, true: Callable[[list[str]], bool], what: str, seconds: float) -> list[str]:
        end_s = monotonic() + seconds
        while not true(shown := self.screen()):
            assert monotonic() < end_s, f"never seen: {what}\n" + "\n".join(shown)
            sleep(LOOK_S)
        return shown

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False, timeout=20)


def hand(screen: Sequence[str]) -> dict[str, int]:
    """Cards in hand by the letter of their row."""
    rows = [HAND_ROW.match(line) for line in screen]
    return {row[1]: int(row[4]) for row in rows if row}


def holds_up(screen: Sequence[str]) -> int:
    """Cards of the offer that is marked to be answered."""
    marked = [re.search(r"│ ▶.*?(\d)( cards?| for you)", line) for line in screen]
    return next((int(row[1]) for row in marked if row), 0)


def next_keys(screen: Sequence[str]) -> tuple[str, ...]:
    """What a careful person presses, seeing this screen; nothing when there is nothing to do."""
    text = "\n".join(screen)
    if "r takes it back" in text or "r: ready" in text or "r: I am ready" in text:
        return ("r",)
    if "SPACE RINGS" in text:
        return ("Space",)
    held = hand(screen)
    if "OPEN" not in screen[0] or not held:
        return ()
    keep = max(held, key=lambda row: held[row])
    spare = sorted((row for row in held if held[row] and row != keep), key=lambda row: held[row])
    wanted = holds_up(screen)
    able = [row for row in spare if held[row] >= wanted]
    if wanted and able:
        return able[0], "Enter"
    if "wait for anybody" in text or not spare:
        return ()
    return spare[-1], str(min(4, held[spare[-1]]))
