"""Alerts in the list of `bridge reports`, and set again from it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.cli.names import DisplayNames
from bridge.cli.reports import WholeListing, lines_of
from bridge.errors import ConfigurationError
from bridge.features.alerts.listing import read_alerts, write_alerts
from bridge.playground.emulator.sample import BOB, GENERAL
from support.harness import Harness
from support.store import TEAM

ALERT = {"condition": "runs < 1 in 24h", "team": TEAM, "channel": GENERAL, "owner": BOB}


async def write(harness: Harness, *alerts: dict[str, Any]) -> int:
    listed = WholeListing.parse(json.dumps({"alerts": list(alerts)})).alerts
    return await write_alerts(harness.store.scripts, listed, harness.store.clock())


async def test_a_list_restores_alerts_once(harness: Harness) -> None:
    assert await write(harness, ALERT, {**ALERT, "condition": "tags change", "paused": "asked"}) == 2
    listed = await read_alerts(harness.store.scripts)
    as_json = [one.model_dump(mode="json") for one in listed]
    assert await write(harness, *as_json) == await write(harness, ALERT) == 0

    await harness.store.redis.flushdb()
    assert await write(harness, *as_json) == 2

    assert await read_alerts(harness.store.scripts) == listed


async def test_a_changed_alert_is_set(harness: Harness) -> None:
    await write(harness, {**ALERT, "id": "a1"})

    assert await write(harness, {**ALERT, "id": "a1", "condition": "runs > 9"}) == 1

    (alert,) = await read_alerts(harness.store.scripts)
    assert (alert.id, alert.condition) == ("a1", "runs > 9")


async def test_alerts_are_listed_for_people(harness: Harness) -> None:
    await write(harness, {**ALERT, "run": 3, "paused": "is_archived"})

    lines = list(lines_of(WholeListing(alerts=await read_alerts(harness.store.scripts)), DisplayNames()))

    assert f"  runs < 1 in 24h in {GENERAL}, by {BOB}, runs workflow 3, paused (is_archived)" in lines


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"condition": "when it rains"}, "alerts[0].condition can't be understood"),
        ({"id": "a:b"}, "alerts[0].id "),
        ({"colour": "red"}, "alerts[0].colour isn't a field"),
    ],
)
def test_an_unusable_alert_is_named(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        WholeListing.parse(json.dumps({"alerts": [{**ALERT, **change}]}))

    assert str(error.value).startswith(problem)
