"""The report in a real browser, as wide as a telephone."""

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from loadtest import report
from loadtest.results import Circumstances, document
from support.load_result import OPTIONS, tally
from support.require import need

ASKED = """
<script>
const last = document.querySelector("thead th:nth-last-child(2)");
const card = last.closest(".wide");
parent.document.body.dataset.found = JSON.stringify({
  plots: Object.fromEntries(plots.map(({ place, plot }) =>
    [place.id, plot.series.slice(1).map((one, at) => [one.label, !!one.spanGaps, alone(plot, at + 1)])])),
  width: document.documentElement.clientWidth,
  widest: document.documentElement.scrollWidth,
  last: last.textContent, hidden: last.getBoundingClientRect().right - card.getBoundingClientRect().right,
  edge: getComputedStyle(card).backgroundImage.split("linear-gradient").length - 1,
});
</script>
"""


def found_by(browser: Path, page: str, directory: Path) -> dict[str, Any]:
    """What a page 390 pixels wide has found out about itself."""
    inside = html.escape(page.replace("</html>", ASKED + "</html>"))
    outside = directory / "outside.html"
    frame = f'<iframe srcdoc="{inside}" style="width:390px;height:2000px;border:0"></iframe>'
    outside.write_text(f"<!doctype html><body>{frame}</body>", encoding="utf-8")
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=5000",
            f"--user-data-dir={directory / 'profile'}", "--dump-dom", outside.as_uri(),
        ],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    found = re.search(r'<body data-found="([^"]*)"', done.stdout)
    assert found, done.stdout[:500] + done.stderr[-500:]
    answer: dict[str, Any] = json.loads(html.unescape(found[1]))
    return answer


@pytest.mark.all
def test_seconds_without_a_trade_are_gaps_and_all_figures_are_seen(tmp_path: Path) -> None:
    result = document(OPTIONS, tally(), Circumstances("pit load", "2026-11-30", "a store"))
    seconds = result["run"]["over_time"]
    assert len(seconds) == 5
    for place in (1, 3, 4):
        seconds[place].update(trade_p50_ms=None, trade_p99_ms=None)
    result["latency_ms"]["trade"].update(max=1234.5, count=1_234_567)
    found = found_by(need("chromium"), report.page(result), tmp_path)
    assert found["width"] == found["widest"] == 390
    assert found["plots"]["latency"] == [["p50", False, [0, 2]], ["p99", False, [0, 2]]]
    assert all(spans for _, spans, _ in found["plots"]["curve"])
    assert (found["last"], found["hidden"] <= 0) == ("count", True)
    assert found["edge"] == 2, "nothing says that the words beside can be scrolled to"
