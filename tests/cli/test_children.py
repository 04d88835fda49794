"""Why a child of the demo has ended, in words for people."""

import json
import shutil
import sys
import time
from pathlib import Path

import pytest

from services.cli.demo.children import Child, last_words
from services.cli.failures import Exit

STARTED = json.dumps({"shards": 4, "event": "matcher started", "level": "info", "name": "m1"})
FAILED = json.dumps({"reason": "No space left", "event": "archiving_fails", "level": "error"})
STOPPED = json.dumps({"event": "matcher stopped", "level": "info", "timestamp": "now"})


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", "it said nothing"),
        (f"{STARTED}\n", "matcher started: shards 4"),
        (f"{STARTED}\n{STOPPED}\n", "matcher stopped"),
        (f"{FAILED}\n{STOPPED}\n", "archiving fails: reason No space left"),
        (f"{STARTED}\n{STOPPED[:20]}", "matcher started: shards 4"),
        (f"{STARTED[:30]}\n{STARTED[:9]}\n", "it said nothing"),
        (f"{FAILED[:30]}{STARTED}\n{STARTED}\n", "matcher started: shards 4"),
        (
            f"{FAILED}\npit: the store cannot be reached\n  why:    refused\n  remedy: start it\n",
            "the store cannot be reached\nwhy:    refused\nremedy: start it",
        ),
        (
            f"{STARTED}\nTraceback (most recent call last):\n  File x\nValueError: no\n",
            "ValueError: no",
        ),
    ],
)
def test_what_a_child_said_last_is_told_in_words(log: str, words: str) -> None:
    assert last_words(log) == words


def test_why_a_child_ended_is_never_the_reason_of_an_earlier_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("false", "echo"):
        name = shutil.which(program)
        assert name is not None
        monkeypatch.setattr(sys, "executable", name)
        child = Child("bots", ["bots"], {}, tmp_path)
        child.log_path.write_text("pit: the store cannot be reached\n  why:    refused\n")
        child.start()
        child.wait_end(time.monotonic() + 30)
        failure = child.failure()
        assert failure.code == Exit.CHILD_ENDED
        assert "reached" in child.log_path.read_text(), "the whole log is kept"
        assert failure.why.startswith("it said nothing" if program == "false" else "-m services")
