"""What bots tell of themselves matters less than that they play."""

import json
from pathlib import Path

from structlog.testing import capture_logs

from services.bots.main import Report
from support.full_disk import no_room


def test_a_report_that_cannot_be_written_ends_no_bots_and_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "bots.json"
    report = Report(path)
    with capture_logs() as told:
        with no_room():
            report.write({"errors": 0})
            report.write({"errors": 1})
        for _ in range(2):
            report.write({"errors": 2})
    assert [line["event"] for line in told] == ["report_not_written", "report_written_again"]
    assert json.loads(path.read_text()) == {"errors": 2}
