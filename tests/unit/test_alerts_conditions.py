"""The language of alerts: what can be typed, its normal form, and what's wrong with anything else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bridge.ends.failures import sentence
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
    ("failed work > 0", "failed work > 0"), ("failed-work", "failed work > 0"),
    ("dead letters > 0", "failed work > 0"),
    ("oldest message > 10m", "oldest message > 10m"),
    ("oldest message longer than 10 minutes", "oldest message > 10m"),
    ("oldest message waits longer than 10 min.", "oldest message > 10m"),
    ("messages older than 10 minutes", "oldest message > 10m"),
    ("oldest waiting message 10m", "oldest message > 10m"),
    ("limit runs > 80%", "limit runs > 80%"),
    ("limits ≥ 90 percent", "limits >= 90%"),
    ("the limit of messages is over 80 %", "limit turns > 80%"),
    ("limit characters is used up", "limit characters >= 100%"),
]  # fmt: skip
SAID_OTHERWISE = [
    ("runs fewer than 1 per day", "runs < 1 in 24h"), ("runs < 1 per hour", "runs < 1 in 1h"),
    ("runs < 1 over the past 24 hours", "runs < 1 in 24h"), ("runs < 1 a day", "runs < 1 in 24h"),
    ("runs < one daily", "runs < 1 in 24h"), ("runs < 1 in a week", "runs < 1 in 7d"),
    ("RUNS < 1 IN 24H.", "runs < 1 in 24h"), ("runs\u00a0<\u00a01 in\u00a024\u202fh…", "runs < 1 in 24h"),
    ("`runs < 1 in 24h`", "runs < 1 in 24h"), ("“runs < 1 in 24h”", "runs < 1 in 24h"),
    ("no runs in 24h", "runs < 1 in 24h"), ("no new runs for 24 hours", "runs < 1 in 24h"),
    ("fewer than 1 run in 24h", "runs < 1 in 24h"), ("alert me when runs < 1 in 24h", "runs < 1 in 24h"),
    ("runs is 0 in 24h", "runs = 0 in 24h"), ("runs drop below 1 in 24h", "runs < 1 in 24h"),
    ("more than 5 failed runs per hour", "failed runs > 5 in 1h"), ("failed runs > 5/h", "failed runs > 5 in 1h"),
    ("failures > 5 in 1h", "failed runs > 5 in 1h"), ("a run fails", "failed runs > 0 in 1h"),
    ("runs > 5 000", "runs > 5000"), ("runs > 5\u2019000", "runs > 5000"), ("runs > 5k", "runs > 5000"),
    ("runs > 5000 in total", "runs > 5000"), ("runs rise above 5000", "runs > 5000"),
    ("runs > 1,5x usual", "runs > 1.5x usual in 1h"), ("runs > 300% of usual", "runs > 3x usual in 1h"),
    ("runs are more than three times the usual", "runs > 3x usual in 1h"),
    ("runs > twice as many as usual", "runs > 2x usual in 1h"), ("runs > half usual", "runs > 0.5x usual in 1h"),
    ("prompts are falling", "prompts falls in 1h"), ("prompts go up in the last day", "prompts rises in 24h"),
    ("prompts dropped", "prompts falls in 1h"), ("tags have changed", "tags change in 1h"),
    ("category billing goes above 40 pct", 'category "billing" > 40%'),
    ("the statistics are stale for more than 6h", "stale 6h"), ("stale since 6h", "stale 6h"),
    ("the service is unreachable for 5 min", "service down 5m"), ("project service unavailable", "service down 5m"),
    ("agent @Support P95 answer time ≥ 60 sec.", 'agent "Support" p95 >= 1m in 1h'),
    ("agent Support median > 1m 30s", 'agent "Support" median > 90s in 1h'),
    ("agent Support median > 1h30", 'agent "Support" median > 90m in 1h'),
    ("workflow Daily digest has failed", 'workflow "Daily digest" fails in 1h'),
    ("workflow „Daily digest“ is failing", 'workflow "Daily digest" fails in 1h'),
    ('workflow "Daily digest fails', 'workflow "Daily digest" fails in 1h'),
    ("dead-letters", "failed work > 0"), ("any dead letters", "failed work > 0"),
    ("agent @ p95 > 60s", 'agent "@" p95 > 1m in 1h'), ("runs < 1 in 24h。", "runs < 1 in 24h"),
    (f"agent {'x' * 480} p95 > 60s", f'agent "{"x" * 480}" p95 > 1m in 1h'),
]  # fmt: skip


@each(("typed", "words"), TYPED + SAID_OTHERWISE)
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
        ("runs >= 5.000", "amount", "5.000"),
        ("category billing > 0.4", "amount", "0.4"),
        ("runs falls > 10", "rest", "> 10"),
        ("runs > 3x than usual", "usual", "than usual"),
        ("limit runs > 5", "amount", "limit runs > 5"),
        ("limit of coffee > 80%", "sign", "coffee > 80%"),
        ("oldest man > 10m", "condition", "oldest man > 10m"),
        (f"agent {'x' * 500} p95 > 60s", "condition", f"agent {'x' * 500} p95 > 60s"),
    ],
)
def test_what_is_wrong_is_named(typed: str, part: str, about: str) -> None:
    with pytest.raises(BadAlert) as found:
        read_alert(typed)

    assert (found.value.part, found.value.typed) == (part, about)


@each(
    ("typed", "near"),
    [
        ("when it rains", "runs < 1 in 24h"), ("runs are many", "runs > 5"),
        ("Support p95 > 60s", "agent Support p95 > 60s"),
        ("Daily digest fails", 'workflow "Daily digest" fails'), ("billing > 40%", "category billing > 40%"),
        ("categroy billing", "category billing > 40%"), ("new tags", "tags change"), ("outage", "service down 5m"),
        ("workflow Import fails twice", 'workflow "Import" fails in 1h'), ("runs < 1 today", "runs < 1"),
        ("category billing > 0.4", 'category "billing" > 40%'), ("quota of runs", "limit runs > 80%"),
        ("dead leters", "failed work > 0"), ("limit runs > 5", "limit runs > 80%"),
    ],
)  # fmt: skip
def test_the_nearest_right_form_is_shown(typed: str, near: str) -> None:
    with pytest.raises(BadAlert) as found:
        read_alert(typed)

    assert found.value.near == near
    assert read_condition(near).words
    assert near in sentence(found.value)


@each(
    ("typed", "run", "channel"),
    [
        ("runs < 1 in 24h", "", ""),
        ("runs < 1 in 24h in #ops.", "", "#ops"),
        ("#ops: runs < 1 in 24h", "", "#ops"),
        ("#ops： runs < 1 in 24h", "", "#ops"),  # noqa: RUF001
        ('runs < 1 in 24h then run "Triage" to #ops', "Triage", "#ops"),
        ("runs < 1 in 24h -> run Triage.", "Triage", ""),
        ("runs < 1 in 24h and then start workflow “Triage”", "Triage", ""),
        ("runs < 1 in 24h; run the workflow Triage", "Triage", ""),
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
