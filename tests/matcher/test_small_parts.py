"""Crash points, logs, and the bounds by which a turn knows its size."""

import json
import os
import signal

import pytest
import structlog

from engine.events import Attached, Record
from services import logs
from services.log.codec import pack_record, unpack_record
from services.matcher.crash import LABELS, CrashPoints
from services.matcher.turn import BYTES_LARGE, BYTES_USUAL
from support.world import World


def test_a_crash_point_ends_the_process_at_its_nth_passing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append((pid, number)))
    crash = CrashPoints("decided:3")
    for _ in range(2):
        for label in LABELS:
            crash.passing(label)
    assert killed == []
    crash.passing("decided")
    assert killed == [(os.getpid(), signal.SIGKILL)]
    crash.passing("decided")
    assert len(killed) == 1


def test_an_unknown_place_is_a_mistake_and_none_is_none() -> None:
    with pytest.raises(ValueError, match="no such place"):
        CrashPoints("nowhere:1")
    CrashPoints("").passing("decided")


def test_logs_say_what_was_raised_and_where_but_never_its_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.configure("json", process="test")
    try:
        raise ValueError("the hand is 3 wheat")
    except ValueError:
        structlog.get_logger().exception("it failed", table="00abc")
    finally:
        structlog.reset_defaults()
        structlog.contextvars.clear_contextvars()
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["raised"], line["process"]) == ("it failed", "ValueError", "test")
    assert "test_small_parts.py" in line["at"][0]
    assert "wheat" not in str(line)


def test_no_item_is_larger_than_a_turn_reckons() -> None:
    """Over whole games of eight, the largest item of each kind; a turn's size is their sum."""
    world = World(shards=1)
    matcher = world.owner()
    conductor = world.conductor(tables=2, seats=8)
    world.play(conductor, matcher, trades=400)
    largest: dict[type, int] = {}
    for entry in world.pipe.read(0, "0-0"):
        for chunk in entry.chunks:
            for item in unpack_record(chunk.table, chunk.body).items:
                size = len(pack_record(Record(chunk.table, 1 << 60, (item,))))
                largest[type(item)] = max(size, largest.get(type(item), 0))
    assert len(largest) > 12
    too_large = {
        kind.__name__: size
        for kind, size in largest.items()
        if size > BYTES_USUAL * (kind is not Attached) + BYTES_LARGE.get(kind, 0)
    }
    assert too_large == {}
