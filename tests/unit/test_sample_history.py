"""The statistics that the playground starts with."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from bridge.cli.playground import sample_snapshots
from bridge.features.alerts.alert import AlertSpec, preview
from bridge.features.alerts.readings import Past, Readings

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def test_samples_lead_to_the_sample_project() -> None:
    found = sample_snapshots(NOW)

    assert all(before.numbers["runs"] <= after.numbers["runs"] for before, after in pairwise(found))
    assert found[0].numbers["runs"] > 0
    assert found[0].numbers["prompts"] > 0


@pytest.mark.parametrize("condition", ["runs < 1 in 24h", "runs > 15 in 24h"])
def test_an_alerts_preview_has_something_to_show(condition: str) -> None:
    found = sample_snapshots(NOW)
    spec = AlertSpec(condition=condition)

    shown = preview(spec, found, Readings(NOW, found[-1], Past(found), found[0].at))

    assert shown.periods
