"""A real Prometheus that has scraped a real bridge answers every query of the dashboard and of the alerts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bridge.metrics import ALERTS, ROWS
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, GENERAL
from support import dashboard
from support.prometheus import PROGRAM, Prometheus, scraping
from support.system import System
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="Prometheus isn't installed (Debian's package: prometheus)")


def panels() -> dict[str, str]:
    """The queries of the dashboard by their panels' titles, for the job ``bridge``."""
    board: dict[str, Any] = json.loads(dashboard.FILE.read_text(encoding="utf-8"))
    shown = [panel for panel in board["panels"] if panel["type"] != "row"]
    return {panel["title"]: panel["targets"][0]["expr"].replace("$job", "bridge") for panel in shown}


async def states(prometheus: Prometheus) -> dict[str, str]:
    """The state of each alert: ``inactive``, ``pending`` or ``firing``."""
    [group] = (await prometheus.get("/api/v1/rules"))["groups"]
    assert [rule["lastError"] for rule in group["rules"] if rule["health"] == "err"] == []
    return {rule["name"]: rule["state"] for rule in group["rules"]}


async def shows(prometheus: Prometheus, alert: str, state: str) -> None:
    """Wait until an alert has a state."""

    async def has_state() -> bool:
        return (await states(prometheus))[alert] == state

    await wait_until(has_state, f"{alert} is {state}")


async def test_incidents_of_a_bridge_reach_the_dashboard(system: System, tmp_path: Path) -> None:
    bridge = await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1")
    async with scraping(tmp_path, bridge.url.removeprefix("http://")) as prometheus:
        await wait_until(lambda: prometheus.query("bridge_dead_letters_total"), "the bridge was scraped before that")
        await system.answered(GENERAL, await system.mention(ALICE, GENERAL, "hello"))
        await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")
        await wait_until(system.runs, "the workflow runs")
        await wait_until(system.is_at_rest, "the run is over")

        system.slack.faults.on("chat.postMessage", Error("is_archived"), channel=GENERAL)
        await system.mention(ALICE, GENERAL, "nobody hears this")
        await shows(prometheus, "BridgeDeadLetters", "firing")
        await system.project.stop()
        await system.mention(ALICE, GENERAL, "are you there?")
        await shows(prometheus, "BridgeServiceDown", "pending")

        results = {title: await prometheus.query(query) for title, query in panels().items()}
        [scraped] = {instance["metric"]["instance"] for instance in await prometheus.query("bridge_build_info")}
        assert f"http://{scraped}" == bridge.url
        assert int(results["Alerts that fire now"][0]["value"][1]) >= 1
        assert {one["metric"]["alertname"] for one in results["Firing alerts"]} >= {"BridgeDeadLetters"}
        for row in ROWS:
            has_samples = bool(await prometheus.query(f'{{__name__=~"{row.exposed}(_bucket)?"}}'))
            shown = [found for title, found in results.items() if re.search(rf"\b{row.exposed}", panels()[title])]
            assert shown, row.name
            assert all(shown) or not has_samples, f"{row.name} was scraped, and isn't shown"
        assert set(await states(prometheus)) == {alert.name for alert in ALERTS}
