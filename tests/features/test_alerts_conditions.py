"""The language of alerts: what can be typed, its normal form, and what's wrong with anything else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bridge.ends.failures import sentence
from bridge.errors import BadAlert
from bridge.features.alerts.conditions import read_alert, read_condition
from bridge.names.amounts import in_units
from support.tables import each


@each(
    ("typed", "near"),
    [
        ("when it rains", "runs < 1 in 24h"), ("runs are many", "runs > 5"),
        ("Support p95 > 60s", "agent Support p95 > 60s"),
        ("Daily digest fails", 'workflow "Daily digest" fails'), ("billing > 40%", "category billing > 40%"),
        ("categroy billing", "category billing > 40%"), ("new tags", "tags change"), ("outage", "service down 5m"),
        ("workflow Import fails twice", 'workflow "Import" fails in 1h'), ("runs < 1 today", "runs < 1"),
        ("category billing > 0.4", 'category "billing" > 40%'), ("quota of runs", "runs > 100 in 24h"),
        ("dead leters", "failed work > 0"), ("limit runs > 80%", "runs > 100 in 24h"),
    ],
)  # fmt: skip
def test_the_nearest_right_form_is_shown(typed: str, near: str) -> None:
    with pytest.raises(BadAlert) as found:
        read_alert(typed)

    assert found.value.near == near
    assert read_condition(near).words
    assert near in sentence(found.value)


@each(
    ("span", "words"),
    [
        (timedelta(seconds=90), "90s"), (timedelta(minutes=5), "5m"), (timedelta(hours=24), "24h"),
        (timedelta(days=7), "7d"), (timedelta(hours=36), "36h"), (timedelta(seconds=0.5), "0.5s"),
    ],
)  # fmt: skip
def test_durations_are_written_as_typed(span: timedelta, words: str) -> None:
    assert in_units(span) == words


@each(
    ("typed", "nearby"),
    [
        ("runs not > 5", "runs > 5"),
        ("runs != 5", "runs > 5"),
        ("service up", "service down"),
        ("service not down 5m", "service down"),
        ("without runs in 24h", "runs < 1"),
        ("workflow Import never fails", "Import"),
        ("workflow Import doesn't fail", "Import"),
        ("workflow Import succeeds", "workflow 3 fails"),
        ("failed runs not > 5 in 1h", "failed runs > 5"),
    ],
)
def test_an_opposite_gets_no_nearby_condition(typed: str, nearby: str) -> None:
    with pytest.raises(BadAlert) as refused:
        read_alert(typed)

    said = sentence(refused.value).rpartition("”")[2]
    assert "such as" in said
    assert nearby not in said
