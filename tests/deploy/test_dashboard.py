"""The dashboard: generated, sound by itself, and made of figures that exist."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deploy.grafana.build import FILE, UID, built
from services.metrics import catalogue
from services.metrics.catalogue import Figure
from support.fresh_metrics import FOLDER
from support.panels import Query, figures, panels, queries, ranged
from support.require import need

ROWS = [
    "Now", "RED per RPC", "Exchange", "Streams", "Ownership", "Sessions", "Fan-out", "Runtime",
    "Redis", "Integrity: must be 0", "SLO",
]  # fmt: skip
WIDTH = 24
UNITS = {"short", "ops", "reqps", "s", "bytes", "Bps", "percentunit"}


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def test_the_committed_dashboard_is_the_generated_one() -> None:
    assert FILE.read_text() == built(), "run: python -m deploy.grafana.build"


def test_links_to_it_go_on_working() -> None:
    found = dashboard()
    assert found["uid"] == UID
    ids = [panel["id"] for panel in found["panels"]]
    assert len(set(ids)) == len(ids)
    # Of its first panel, as it was in the first version: ids must not follow the order of panels.
    [sessions] = [
        each for each in found["panels"] if each["gridPos"] == {"h": 4, "w": 3, "x": 0, "y": 1}
    ]
    assert (sessions["title"], sessions["id"]) == ("Sessions", 776090560)


def test_its_rows_come_in_the_order_one_looks_at_them() -> None:
    assert [each["title"] for each in dashboard()["panels"] if each["type"] == "row"] == ROWS


def test_no_panel_covers_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert max(x for x, _ in cells) < WIDTH
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel["title"])
def test_a_panel_can_be_read(panel: dict[str, Any]) -> None:
    assert panel["title"][0].isupper()
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    for target in panel["targets"]:
        labels = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
        kept = set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", target["expr"]))))
        bare = not re.search(r"\bby\b|sum\(|max\(|min\(", target["expr"])
        assert bare or labels <= kept, f"{target['legendFormat']} of {target['expr']}"
        assert target["legendFormat"], "a line without a name"


def test_every_line_of_a_panel_has_its_own_name() -> None:
    for panel in panels():
        legends = [target["legendFormat"] for target in panel["targets"]]
        assert len(set(legends)) == len(legends)


def declared() -> set[str]:
    """Every name that some process tells, or that a rule records."""
    texts = [path.read_text() for path in FOLDER.glob("*.txt")]
    texts.append((FILE.parents[1] / "prometheus" / "records.yml").read_text())
    names = set(re.findall(r"^(?:# TYPE )?(pit_\w+)|record: (pit:\w+:\w+)", "\n".join(texts), re.M))
    return {name or record for name, record in names}


def test_panels_show_what_somebody_tells() -> None:
    own = {name for name in declared() if not name.startswith("pit_redis")}
    asked = {name for query in queries() for name in figures(query.expression)}
    assert len(asked) > 40
    foreign = {name for name in asked - own if not name.startswith(("pit_redis_", "process_"))}
    # Of the store, told only while one is there to be asked: tests/deploy/test_live.py looks.
    assert foreign == {"up", "pit_stream_length"}


def test_every_figure_of_the_exchange_is_in_the_catalogue_and_the_store_s_are_shown() -> None:
    known = {each.name for each in declarations()}
    told = {name for name in declared() if not name.startswith("pit:")}
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in told} <= known
    asked = {name for query in queries() for name in figures(query.expression)}
    assert {name for name in asked if name.startswith("pit_redis_")} <= known


def declarations() -> list[Figure]:
    found = [each for each in vars(catalogue).values() if isinstance(each, Figure)]
    by_field = (catalogue.STORE_GAUGES, catalogue.STORE_COUNTERS)
    found += [figure for each in by_field for figure in each.values()]
    return found + [figure for _, figure in catalogue.STORE_GOOD.values()]


def test_no_query_answers_where_there_is_nothing() -> None:
    assert not [query for query in queries() if "vector(" in query.expression]


def test_promtool_can_read_every_query(tmp_path: Path) -> None:
    rules = tmp_path / "panels.yml"
    rules.write_text(json.dumps({"groups": [{"name": "panels", "rules": [
        {"record": f"panel:{place}", "expr": ranged(query, "1m")}
        for place, query in enumerate(queries())
    ]}]}))  # fmt: skip
    done = subprocess.run(
        [need("prometheus"), "check", "rules", rules], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_range_is_put_where_grafana_would() -> None:
    query = Query("", "", "rate(pit_x[$__rate_interval]) + increase(pit_y[$__range])")
    assert ranged(query, "5s") == "rate(pit_x[5s]) + increase(pit_y[5s])"
