"""The language of alerts: what can be typed, its normal form, and what's wrong with anything else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bridge.errors import BadAlert
from bridge.features.alerts.conditions import AlertCondition, in_units, read_alert, read_condition
from support.tables import each

TYPED = [
    ("runs < 1 in 24h", "runs < 1 in 24h"),
    ("Runs   <1 in 24 hours", "runs < 1 in 24h"),
    ("runs below 1 within the last 1 day", "runs < 1 in 24h"),
    ("new runs less than 1 per 24h", "runs < 1 in 24h"),
    ("runs ≤ 1,000 in 7d", "runs <= 1000 in 7d"),
    ("ｒｕｎｓ ＜ １ in ２４ｈ", "runs < 1 in 24h"),  # noqa: RUF001
    ("runs > 5000", "runs > 5000"),
    ("runs > 3x usual", "runs > 3x usual in 1h"),
    ("runs > 3 × usual in 24h", "runs > 3x usual in 24h"),  # noqa: RUF001
    ("runs above 1.5 times usual", "runs > 1.5x usual in 1h"),
    ("runs < usual", "runs < 1x usual in 1h"),
    ("versions less than 0.5x usual", "versions < 0.5x usual in 1h"),
    ("prompts falls", "prompts falls in 1h"),
    ("prompts drop in 24h", "prompts falls in 24h"),
    ("prompts rises", "prompts rises in 1h"),
    ("tags change", "tags change in 1h"),
    ("categories changed in 24h", "categories change in 24h"),
    ("category billing > 40%", 'category "billing" > 40%'),
    ("category “Billing and more” is over 40 %", 'category "Billing and more" > 40%'),
    ("category Billing and more at least 40 percent", 'category "Billing and more" >= 40%'),
    ("tag 'new > old' = 3", 'tag "new > old" = 3'),
    ("tag '5\" pipe' > 3", "tag '5\" pipe' > 3"),
    ("stale 6h", "stale 6h"),
    ("stale for > 90 min", "stale 90m"),
    ("service down 5m", "service down 5m"),
    ("service is down for 300 seconds", "service down 5m"),
    ("service down", "service down 5m"),
    ("agent Support p95 > 60s", 'agent "Support" p95 > 1m in 1h'),
    ("agent Tier two support median over 1.5 min in 6h", 'agent "Tier two support" median > 90s in 6h'),
    ("agent #7 p50 > 2m", 'agent "#7" median > 2m in 1h'),
    ("workflow 3 p95 >= 5m", 'workflow "3" p95 >= 5m in 1h'),
    ('workflow "Daily digest" fails', 'workflow "Daily digest" fails in 1h'),
    ("workflow Daily digest failed in 24h", 'workflow "Daily digest" fails in 24h'),
    ("failed runs > 5 in 1h", "failed runs > 5 in 1h"),
    ("failed runs more than 5", "failed runs > 5 in 1h"),
    ("dead letters > 0", "dead letters > 0"),
    ("oldest message > 10m", "oldest message > 10m"),
    ("oldest message longer than 10 minutes", "oldest message > 10m"),
]  # fmt: skip


@each(("typed", "words"), TYPED)
def test_a_condition_has_one_normal_form(typed: str, words: str) -> None:
    found = read_alert(typed).condition

    assert found.words == words
    assert read_condition(found.words) == found


def test_a_condition_is_read_with_its_facts() -> None:
    assert read_condition("runs > 3x usual") == AlertCondition(
        "number", "runs", sign=">", value=3, span=timedelta(hours=1), is_usual=True
    )
    assert read_condition("agent Support p95 > 60s") == AlertCondition(
        "time", "agent", "Support", ">", 60, timedelta(hours=1), percentile=95
    )


@each(
    ("typed", "part", "about"),
    [
        ("", "condition", ""),
        ("#general", "condition", ""),
        ("when it rains", "condition", "when it rains"),
        ("runs", "sign", "runs"),
        ("runs are many", "sign", "are many"),
        ("runs < many", "amount", "many"),
        ("runs < 40%", "amount", "runs < 40%"),
        ("runs < 1 in", "duration", "runs < 1 in"),
        ("runs < 1 in ages", "duration", "ages"),
        ("runs < 1 in 5m", "span", "5m"),
        ("runs < 1 in 99d", "span", "99d"),
        ("runs < 1 in 0h", "duration", "0h"),
        ("failed runs > 5 in 7d", "span_of_turns", "7d"),
        ("runs > 3x often", "usual", "often"),
        ("runs = 3x usual", "usual", "="),
        ("category > 40%", "name", "category > 40%"),
        ("category '' > 40%", "name", "category '' > 40%"),
        ("agent Support", "agent", "agent Support"),
        ("workflow Import works", "workflow", "workflow Import works"),
        ("agent Support p95 > 60", "duration", "60"),
        ("stale", "duration", "stale"),
        ("service up", "condition", "up"),
        ("dead letters > 0 in 1h", "rest", "in 1h"),
        ("runs < 1 in 24h please", "rest", "please"),
        ("runs < 1 in 24h then run", "run", ""),
        ("runs < 1 then jump", "rest", "then jump"),
    ],
)
def test_what_is_wrong_is_named(typed: str, part: str, about: str) -> None:
    with pytest.raises(BadAlert) as found:
        read_alert(typed)

    assert (found.value.part, found.value.typed) == (part, about)


@each(
    ("typed", "run", "channel"),
    [
        ("runs < 1 in 24h", "", ""),
        ('runs < 1 in 24h then run "Triage"', "Triage", ""),
        ("runs < 1 in 24h, then run Daily digest #ops", "Daily digest", "#ops"),
        ("#Ops runs < 1 in 24h then run #3", "#3", "#Ops"),
        ("workflow #3 fails then run 4", "4", ""),
        ("tag '#ops' > 3", "", ""),
    ],
)
def test_a_workflow_and_a_channel_may_be_named(typed: str, run: str, channel: str) -> None:
    found = read_alert(typed)

    assert (found.run, found.channel) == (run, channel)


@each(
    ("span", "words"),
    [
        (timedelta(seconds=90), "90s"), (timedelta(minutes=5), "5m"), (timedelta(hours=24), "24h"),
        (timedelta(days=7), "7d"), (timedelta(hours=36), "36h"), (timedelta(seconds=0.5), "0.5s"),
    ],
)  # fmt: skip
def test_durations_are_written_as_typed(span: timedelta, words: str) -> None:
    assert in_units(span) == words
