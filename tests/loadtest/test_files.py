"""What a run measured is neither lost nor hidden because a file cannot be written."""

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadtest import text
from loadtest.files import save
from loadtest.histograms import Histograms
from loadtest.options import Options, Stage
from loadtest.results import Circumstances, document
from loadtest.run import Played
from loadtest.tally import Tally
from services.cli.failures import Exit
from services.cli.load.run import _tell
from support.full_disk import no_room
from support.pit import ROOT, pit

OPTIONS = Options(
    "", "blitz", b"", (), 1, 4, "steady", (Stage(4.0, 100.0),), 0.0, 1.0, 7, (), 1, 50, "lean",
    "shared",
)  # fmt: skip
FULL = Path("/dev/full")


@pytest.fixture
def result() -> dict[str, Any]:
    around = Circumstances("pit load", "2026-11-30T09:00:00+00:00", "a store")
    return document(OPTIONS, Tally(), around)


def test_every_file_is_written(result: dict[str, Any], tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("run.json", "run.html", "run.hdr")]
    options = replace(OPTIONS, out=paths[0], html=paths[1], hdr=paths[2])
    assert save(options, result, Histograms()) == []
    assert json.loads(paths[0].read_text()) == json.loads(json.dumps(result))
    assert paths[1].read_text().startswith("<!doctype html>")
    assert "[pit load: microseconds]" in paths[2].read_text()
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_a_file_that_cannot_be_written_keeps_no_other_one(
    result: dict[str, Any], tmp_path: Path
) -> None:
    html = tmp_path / "run.html"
    options = replace(OPTIONS, out=FULL, html=html, hdr=tmp_path / "gone" / "run.hdr")
    failed = save(options, result, Histograms())
    assert [path for path, _ in failed] == [FULL, options.hdr]
    assert [error.strerror for _, error in failed] == [
        "No space left on device", "No such file or directory",
    ]  # fmt: skip
    assert html.is_file()
    assert FULL.is_char_device()


def test_an_earlier_result_outlives_a_disk_that_is_full(
    result: dict[str, Any], tmp_path: Path
) -> None:
    earlier, link = tmp_path / "run.json", tmp_path / "newest.json"
    earlier.write_text("earlier")
    link.symlink_to(earlier)
    options = replace(OPTIONS, out=link)
    with no_room(100):
        assert [path for path, _ in save(options, result, Histograms())] == [link]
    assert earlier.read_text() == "earlier"
    assert sorted(tmp_path.iterdir()) == [link, earlier]
    assert save(options, result, Histograms()) == []
    assert json.loads(earlier.read_text())["schema"] == 1
    assert link.is_symlink()


def test_the_figures_of_a_run_without_room_for_its_files_are_shown(tmp_path: Path) -> None:
    html = tmp_path / os.fsdecode(b"\xff.html")  # no text
    outcome = pit(
        "load", "--null", "--tables", "1", "--rate", "50", "--duration", "1", "--warmup", "0",
        "--no-ceiling", "--out", "/dev/full", "--hdr", "/dev/full", "--html", str(html),
    )  # fmt: skip
    assert outcome.code in (10, 4), outcome.err  # 4 on a machine that is busy with other things
    assert "held  sequences" in outcome.out
    assert "again: pit load --null" in outcome.out
    assert "/\\udcff.html" in outcome.out
    told = "pit: /dev/full could not be written\n  why:    No space left on device\n  remedy: make"
    assert outcome.err.count(told) == 2
    assert "Traceback" not in outcome.err
    assert html.is_file()


def test_a_command_that_is_no_text_keeps_no_file(result: dict[str, Any], tmp_path: Path) -> None:
    result["run"]["command"] = os.fsdecode(b"pit load --rules \xff")
    html = tmp_path / "run.html"
    options = replace(OPTIONS, html=html, hdr=tmp_path / "run.hdr")
    assert save(options, result, Histograms()) == []
    assert "pit load --rules \\udcff" in html.read_text(encoding="utf-8")
    assert (tmp_path / "run.hdr").is_file()


def test_the_readme_has_every_exit_code_of_a_run() -> None:
    page = (ROOT / "loadtest" / "README.md").read_text(encoding="utf-8")
    table = page.partition("## Exit codes")[2].partition("\n## ")[0]
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}
    assert codes == set(Exit) - {Exit.NOT_FOUND}, "nothing of a load test is looked up by name"


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(("interrupted", "code"), [(True, 130), (False, 5)])
def test_a_full_output_does_not_change_what_a_run_came_to(
    result: dict[str, Any],
    interrupted: bool,
    code: int,
    as_json: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    result["run"]["interrupted"] = interrupted
    result["checks"]["cards"] = False
    played = Played(result, Histograms())
    with FULL.open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        console = text.console(stderr=as_json)
        assert _tell(console, OPTIONS, played, None, as_json=as_json) == code
    assert "pit: the output could not be written" in capsys.readouterr().err
