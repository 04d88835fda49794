"""Lines that cannot be written are dropped and counted; the next one that can says so."""

import json
import os
import sys
from pathlib import Path

import pytest
import structlog

from services import logs
from services.logs import Lines
from support.full_disk import no_room

pytestmark = pytest.mark.usefixtures("own_logs")


def test_what_a_full_disk_cost_is_told_when_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    before = Lines.dropped_total
    with path.open("w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        logs.configure("json", process="test")
        log = structlog.get_logger()
        log.info("first")
        with no_room(path.stat().st_size + 10):
            log.info("cut")
            log.error("dropped", cards=8)
        log.info("again")
        log.info("last")
    texts = path.read_text().splitlines()
    assert len(texts) == 4
    assert len(texts[1]) == 10, "the beginning of the line that was cut stands alone"
    lines = [json.loads(text) for text in (texts[0], *texts[2:])]
    assert [line["event"] for line in lines] == ["first", "again", "last"]
    assert [line.get("lines_dropped") for line in lines] == [None, 2, None]
    assert Lines.dropped_total == before + 2


def test_a_pipe_that_nobody_empties_costs_lines_and_no_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with open(reading, "rb") as reader, open(writing, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        logs.configure("json")
        log = structlog.get_logger()
        before = Lines.dropped_total
        while Lines.dropped_total == before:
            log.info("x" * 1_000)
        reader.read1(1 << 20)
        log.info("again")
        assert Lines.dropped_total == before + 1
        assert json.loads(reader.read1(1 << 20).splitlines()[-1])["lines_dropped"] == 1


@pytest.mark.parametrize("closed", [True, False])
def test_a_process_without_standard_error_goes_on(
    closed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = (tmp_path / "log").open("w")
    stream.close()
    monkeypatch.setattr(sys, "stderr", stream if closed else None)
    before = Lines.dropped_total
    if closed:
        structlog.configure(logger_factory=lambda *_: Lines(stream))
    else:
        logs.configure()
    structlog.get_logger().error("nobody hears it")
    assert Lines.dropped_total == before + 1
