"""What the dashboard's rows are made of: few kinds of panels, each always drawn the same way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal
from zlib import crc32

from grafana_foundation_sdk.builders import common, dashboard, prometheus
from grafana_foundation_sdk.builders import stat as stat_panel
from grafana_foundation_sdk.builders import statetimeline as timeline_panel
from grafana_foundation_sdk.builders import timeseries as graph_panel
from grafana_foundation_sdk.cog import builder as cog
from grafana_foundation_sdk.models import common as common_model
from grafana_foundation_sdk.models import dashboard as model

SOURCE: Final = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
"""Whatever the person at the dashboard has chosen at its top."""

_Made = graph_panel.Panel | stat_panel.Panel | timeline_panel.Panel
Kind = Literal["graph", "stacked", "number", "timeline"]


@dataclass(frozen=True)
class Panel:
    """One picture. Its id follows from row and title, so links to it outlive its neighbours."""

    title: str
    text: str
    """What is seen, and what it means when it is not as usual."""
    unit: str
    """As Grafana names it: `s`, `ops`, `bytes`, `percentunit`, `short`."""
    queries: tuple[tuple[str, str], ...]
    """Expression and legend of each line."""
    kind: Kind = "graph"
    width: int = 8
    warns: float | None = None
    """From here on it is shown in orange."""
    alarms: float | None = None
    """From here on it is shown in red."""


def number(
    title: str,
    text: str,
    unit: str,
    query: str,
    *,
    warns: float | None = None,
    alarms: float | None = None,
    width: int = 3,
) -> Panel:
    """One figure, and how it went behind it."""
    return Panel(title, text, unit, ((query, title),), "number", width, warns, alarms)


def panel_id(row: str, title: str) -> int:
    return crc32(f"{row}/{title}".encode()) & 0x7FFF_FFFF


def drawn(row: str, panel: Panel) -> cog.Builder[model.Panel]:
    """The panel as Grafana wants it."""
    steps = [model.Threshold(value=None, color="green")]
    for value, colour in ((panel.warns, "orange"), (panel.alarms, "red")):
        if value is not None:
            steps.append(model.Threshold(value=value, color=colour))
    limits = dashboard.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(steps)
    made: _Made = _BY_KIND[panel.kind]()
    made = made.title(panel.title).description(panel.text).unit(panel.unit).thresholds(limits)
    made = made.id(panel_id(row, panel.title)).datasource(SOURCE)
    made = made.height(4 if panel.kind == "number" else 8).span(panel.width)
    for place, (expression, legend) in enumerate(panel.queries):
        query = prometheus.Dataquery().expr(expression).legend_format(legend).range()
        made = made.with_target(query.ref_id(chr(ord("A") + place)).datasource(SOURCE))
    return made


def _graph() -> graph_panel.Panel:
    legend = (
        common.VizLegendOptions()
        .display_mode(common_model.LegendDisplayMode.TABLE)
        .placement(common_model.LegendPlacement.BOTTOM)
        .show_legend(show_legend=True)
        .calcs(["lastNotNull", "max"])
    )
    tooltip = (
        common.VizTooltipOptions()
        .mode(common_model.TooltipDisplayMode.MULTI)
        .sort(common_model.SortOrder.DESCENDING)
    )
    return graph_panel.Panel().legend(legend).tooltip(tooltip).fill_opacity(10).line_width(1).min(0)


def _stacked() -> graph_panel.Panel:
    normal = common.StackingConfig().mode(common_model.StackingMode.NORMAL)
    return _graph().stacking(normal).fill_opacity(30)


def _number() -> stat_panel.Panel:
    latest = common.ReduceDataOptions().calcs(["lastNotNull"])
    return (
        stat_panel.Panel()
        .reduce_options(latest)
        .color_mode(common_model.BigValueColorMode.VALUE)
        .graph_mode(common_model.BigValueGraphMode.AREA)
    )


def _timeline() -> timeline_panel.Panel:
    legend = common.VizLegendOptions().show_legend(show_legend=False)
    return (
        timeline_panel.Panel()
        .legend(legend)
        .show_value(common_model.VisibilityMode.NEVER)
        .row_height(0.8)
        .merge_values(merge_values=True)
    )


_BY_KIND: Final[Mapping[Kind, Callable[[], _Made]]] = {
    "graph": _graph,
    "stacked": _stacked,
    "number": _number,
    "timeline": _timeline,
}
