"""Large JSON and lists: displaying them takes time linear in their length, as `test_linear` has for texts.

The benchmark (``make bench``) measures the exact times. The limit here is about twenty times those; anything that
isn't linear takes minutes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from bridge.errors import NotUnderstood
from bridge.features.statistics import layout as stats
from bridge.features.statistics.snapshots import LargestNames, Snapshot, compare, snapshot_of
from bridge.project import ProjectClient
from bridge.project.models import Stats
from bridge.slack.blockkit import untyped_json
from support.adversarial import shown_run

SECONDS = 2.0  # of CPU time; linear takes 0.1
NOW = datetime(2026, 3, 4, tzinfo=UTC)


def seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.parametrize(
    "value",
    [
        json.loads("[" * 400 + "0," * 100_000 + "0" + "]" * 400),
        [0] * 100_000,
        [[]] * 70_000,
        {str(number): 0 for number in range(25_000)},
    ],
    ids=["deep", "flat", "lists", "names"],
)
def test_no_json_costs_more_than_its_length(value: Any) -> None:
    assert seconds(lambda: shown_run(output=value, nodeResults=value)) < SECONDS


def test_as_many_of_thousands_of_tools_as_fit_are_named() -> None:
    tools = [[f"tool {number} {group}" for number in range(200)] for group in range(200)]

    assert seconds(lambda: untyped_json.listed(untyped_json.names_in(tools), 300)) < SECONDS
    assert untyped_json.listed(untyped_json.names_in(tools), 300).startswith("tool 0 0, tool 1 0, ")


def test_as_many_of_thousands_of_tags_as_fit_are_shown_and_stored() -> None:
    tags = [{"name": f"tag {number}", "count": 1} for number in range(8000)]
    numbers = {"promptCount": 1, "runCount": 1, "versionCount": 1, "lastUpdated": NOW.isoformat()}
    now = Stats.model_validate({**numbers, "categories": tags, "tags": tags})
    changed = compare(now, Snapshot(NOW, {}, {"categories": LargestNames(), "tags": LargestNames()}))

    assert seconds(lambda: stats.stats_card(now, changes=[changed, changed])) < SECONDS
    assert seconds(lambda: snapshot_of(now, NOW).to_text()) < SECONDS


async def test_a_list_of_broken_items_is_read_up_to_the_first_one() -> None:
    body = b"[" + b"0," * 2_000_000 + b"0]"
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, content=body))
    async with ProjectClient("http://project.test", "key-0123456789", transport=transport) as project:
        began = time.process_time()
        with pytest.raises(NotUnderstood, match=r"workflows\[0\]"):
            await project.get_workflows()

    assert time.process_time() - began < SECONDS
