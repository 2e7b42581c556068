"""The dashboard for Grafana: a row for each section of `bridge.metrics`, and a panel or two for each metric."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from grafana_foundation_sdk.builders.common import GraphThresholdsStyleConfig
from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DatasourceVariable,
    QueryVariable,
    Row,
    ThresholdsConfig,
)
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.builders.stat import Panel as Stat
from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import GraphTresholdsStyleMode, TimeZoneBrowser
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    Threshold,
    ThresholdsMode,
    VariableOption,
    VariableRefresh,
)
from prometheus_client import Counter, Histogram

from bridge.metrics import ALERTS, ROWS, MetricRow
from support.monitoring import ROOT

FILE: Final = ROOT / "ops" / "grafana" / "bridge.json"
_SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
_FIRING: Final = 'ALERTS{alertname=~"Bridge.+",alertstate="firing"}'
_UNITS: Final = {"seconds": "s", "bytes": "bytes", "": "short"}
_WIDTH: Final = 12  # of 24
_HEIGHT: Final = 7


def dashboard() -> str:
    """Its JSON."""
    built = (
        Dashboard("Slack Project Bridge")
        .uid("slack-project-bridge")
        .description("Made from bridge/metrics.py by `make reference`.")
        .time("now-3h", "now")
        .refresh("30s")
        .timezone(TimeZoneBrowser)
        .with_variable(DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
        .with_variable(
            QueryVariable("job")
            .label("Job")
            .datasource(_SOURCE)
            .query("label_values(bridge_build_info, job)")
            .current(VariableOption(text="bridge", value="bridge"))
            .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        )
        .with_row(Row("Alerts"))
        .with_panel(_firing_now())
        .with_panel(_panel("Firing alerts", f"max by (alertname) ({_FIRING})", "{{alertname}}").no_value("None"))
    )
    for section in dict.fromkeys(row.section for row in ROWS):
        built.with_row(Row(section))
        for row in (row for row in ROWS if row.section == section):
            for panel in _panels(row):
                built.with_panel(panel)
    return JSONEncoder(sort_keys=True, indent=2).encode(built.build()) + "\n"


def _panels(row: MetricRow[Any]) -> Iterator[TimeSeries]:
    """What is shown of a metric."""
    of, title = f'{row.exposed}{{job=~"$job"}}', row.name.removeprefix("bridge_").replace("_", " ").capitalize()
    about = [alert.name for alert in ALERTS if row.exposed in alert.query]
    words = f"{row.meaning}. `{row.exposed}`" + (f"; alerts: {', '.join(about)}" if about else "")
    by, legend = ", ".join(row.labels), " ".join(f"{{{{{label}}}}}" for label in row.labels)
    if row.kind is Counter:
        query = f"sum by ({by}) (increase({of}[5m]))" if by else f"sum(increase({of}[5m]))"
        yield _panel(f"{title} (in 5 minutes)", query, legend or "all", words, _UNITS[row.unit])
    elif row.kind is Histogram:
        first, shown = (row.labels[0], f"{{{{{row.labels[0]}}}}}") if row.labels else ("instance", "{{instance}}")
        rate = f"sum by (le, {first}) (rate({row.name}_bucket{of.removeprefix(row.name)}[5m]))"
        yield _panel(f"{title} (95th percentile)", f"histogram_quantile(0.95, {rate})", shown, words, "s")
        if "outcome" in row.labels:
            count = f"sum by ({first}, outcome) (increase({row.name}_count{of.removeprefix(row.name)}[5m]))"
            yield _panel(f"{title} (how many, in 5 minutes)", count, f"{shown} {{{{outcome}}}}", words)
    else:
        labels = [*row.labels, *([] if row.is_shared else ["instance"])]
        legend = " ".join(f"{{{{{label}}}}}" for label in labels)
        query = f"max by ({', '.join(labels)}) ({of})" if labels else f"max({of})"
        yield _panel(title, query, legend or "all", words, _UNITS[row.unit], limit=_limit_of(row))


def _limit_of(row: MetricRow[Any]) -> float:
    """The value at which an alert on a gauge fires; 0 if any value does."""
    found = [re.search(rf"{row.name}\b.* > ([\d.]+)", part) for one in ALERTS for part in one.query.split(" or ")]
    return max([float(one[1]) for one in found if one], default=0)


def _panel(
    title: str, query: str, legend: str, words: str = "", unit: str = "short", *, limit: float = 0
) -> TimeSeries:
    panel = TimeSeries().title(title).description(words).datasource(_SOURCE).span(_WIDTH).height(_HEIGHT)
    panel.unit(unit).min(0).fill_opacity(10).with_target(Dataquery().expr(query).legend_format(legend))
    if limit:
        steps = [Threshold(value=None, color="transparent"), Threshold(value=limit, color="red")]
        panel.thresholds(ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps))
        panel.thresholds_style(GraphThresholdsStyleConfig().mode(GraphTresholdsStyleMode.DASHED))
    return panel


def _firing_now() -> Stat:
    steps = [Threshold(value=None, color="green"), Threshold(value=1, color="red")]
    return (
        Stat()
        .title("Alerts that fire now")
        .datasource(_SOURCE)
        .span(_WIDTH)
        .height(_HEIGHT)
        .thresholds(ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps))
        .with_target(Dataquery().expr(f"count({_FIRING}) or vector(0)"))
    )
