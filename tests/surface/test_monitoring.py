"""What Prometheus loads fits the bridge, and Prometheus accepts it."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import Histogram
from ruamel.yaml import YAML

from bridge.cli import COMMANDS, command_of
from bridge.metrics import ALERTS, ROWS, AlertRule
from support import monitoring, reference
from support.docs_site import blocks
from support.tables import each

promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool isn't installed")


@each("file", list(reference.OPS))
def test_a_generated_file_matches_the_code(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == reference.OPS[file](), "run make reference"


def test_the_alerts_use_metrics_that_exist() -> None:
    names = {row.exposed for row in ROWS}
    names |= {f"{row.name}_{part}" for row in ROWS if row.kind is Histogram for part in ("bucket", "count", "sum")}

    used = {name for alert in ALERTS for name in re.findall(r"\bbridge_\w+", alert.query)}

    assert len(used) > 8
    assert used - names == set()


def commands_of(alert: AlertRule) -> Iterator[str]:
    yield alert.command
    yield from re.findall(r'"(bridge [^"]+)"', f"{alert.meaning} {alert.cure}")


@each("alert", ALERTS)
def test_an_alert_ends_in_commands_that_exist(alert: AlertRule) -> None:
    for line in commands_of(alert):
        program, name, *words = shlex.split(line)
        assert (program, name in COMMANDS) == ("bridge", True), line
        command = command_of(name)
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        taken = [option for parameter in command.params for option in parameter.opts]

        assert not getattr(command, "commands", {}), f"{line}: there's no such subcommand"
        assert [word for word in words if word.startswith("--") and word not in taken] == [], line


@promtool
async def test_prometheus_accepts_the_documented_configuration(tmp_path: Path) -> None:
    [block] = [block for block in blocks("yaml") if "watch" in block.where]
    (tmp_path / "prometheus.yml").write_text(block.code, encoding="utf-8")
    shutil.copy(monitoring.RULES, tmp_path)

    await checked("check", "config", "prometheus.yml", folder=tmp_path)

    [job] = YAML(typ="safe").load(block.code)["scrape_configs"]
    used = {name for alert in ALERTS for name in re.findall(r'job="(\w+)"', alert.query)}
    assert used == {job["job_name"]}


@promtool
async def test_each_alert_fires_in_a_bad_hour(tmp_path: Path) -> None:
    # What the metrics of one replica look like then.
    series = {
        'up{job="bridge"}': "0x60",
        'bridge_events_total{outcome="not stored"}': "0+1x60",
        'bridge_ack_seconds_bucket{le="1"}': "0x60",
        'bridge_ack_seconds_bucket{le="3"}': "0+1x60",
        'bridge_ack_seconds_bucket{le="+Inf"}': "0+1x60",
        'bridge_rejected_requests_total{reason="signature"}': "0+5x60",
        'bridge_upstream_seconds_count{outcome="ServiceFailed"}': "0+1x60",
        'bridge_slack_calls_total{outcome="ratelimited"}': "0+1x60",
        "bridge_queue_depth": "40x60",
        'bridge_oldest_message_seconds{state="waiting"}': "0+60x60",
        'bridge_late_slots{what="schedules"}': "1x60",
        'bridge_breaker_open{project="orders"}': "1x60",
        'bridge_socket_silent_seconds{instance="a"}': "0+60x60",
        'bridge_loop_lag_seconds_bucket{instance="a",le="0.25"}': "0x60",
        'bridge_loop_lag_seconds_bucket{instance="a",le="0.5"}': "0+1x60",
        'bridge_loop_lag_seconds_bucket{instance="a",le="+Inf"}': "0+1x60",
        'bridge_redis_round_trip_seconds{instance="a"}': "0.2x60",
        "bridge_dead_letters_total": "0+1x60",
        "bridge_unknown_outcomes_total": "0+1x60",
        'bridge_processes{state="missing"}': "1x60",
        'bridge_redis_trouble{kind="memory"}': "1x60",
        'bridge_redis_trouble{kind="persistence"}': "1x60",
        'bridge_redis_trouble{kind="replicas"}': "1x60",
    }

    def of(query: str) -> dict[str, str]:
        """The labels of the result."""
        kept = re.search(r"by \((?:le, )?(project|instance)\)", query)
        return {kept[1]: {"project": "orders", "instance": "a"}[kept[1]]} if kept else {}

    rules: list[dict[str, Any]] = YAML(typ="safe").load(monitoring.RULES)["groups"][0]["rules"]
    expected = [
        {
            "eval_time": "50m",
            "alertname": rule["alert"],
            "exp_alerts": [{"exp_labels": rule["labels"] | of(rule["expr"]), "exp_annotations": rule["annotations"]}],
        }
        for rule in rules
    ]
    test = {
        "rule_files": [str(monitoring.RULES)],
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "alert_rule_test": expected,
            }
        ],
    }
    (tmp_path / "test.yml").write_text(json.dumps(test), encoding="utf-8")  # JSON is YAML

    await checked("test", "rules", "test.yml", folder=tmp_path)

    assert len(expected) == len(ALERTS)


async def checked(*arguments: str, folder: Path) -> None:
    """Run promtool, which must find nothing wrong."""
    checking = await asyncio.create_subprocess_exec(
        "promtool", *arguments, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await checking.communicate()

    assert checking.returncode == 0, printed.decode()
