"""What bots tell of themselves matters less than that they play."""

import json
from pathlib import Path

import pytest

from services.bots.main import _write


def test_a_report_that_cannot_be_written_ends_no_bots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path / "gone" / "bots.json", {"errors": 0})
    assert "report_not_written" in capsys.readouterr().out
    _write(tmp_path / "bots.json", {"errors": 0})
    assert json.loads((tmp_path / "bots.json").read_text()) == {"errors": 0}
