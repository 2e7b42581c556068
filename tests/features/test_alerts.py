"""Alerts: each edge is posted once, however many processes there are and whatever dies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.features.alerts.alert import COOLING, AlertSpec, StoredAlert
from bridge.features.alerts.kind import ALERTS
from bridge.features.alerts.records import AlertEdge
from bridge.features.alerts.store import AlertStore
from bridge.features.registry import features
from bridge.features.standing.portable import portable
from bridge.features.statistics.snapshots import Snapshot, hour_of, moment_of
from bridge.playground.emulator.sample import ALICE, BOB, DM_BOB, GENERAL
from bridge.slack.parts import Place
from support.harness import SUPPORT, WORKFLOW, Harness, Posted
from support.restrictions import ONE_OF_EACH, RESTRICTIONS, Restriction
from support.store import PREFIX, TEAM, message

JOB = next(job for job in features.jobs if job.name.endswith("evaluate_all"))
MINUTE = timedelta(minutes=1)
MANY = "runs > 5000"
DAY, SATURDAY = timedelta(days=1), 5


async def set_up(harness: Harness, condition: str = MANY, **more: Any) -> str:
    """Store an alert of Bob's."""
    spec = AlertSpec(condition=condition, team=TEAM, channel=GENERAL, owner=BOB, **more)
    id_ = f"a{len(await store(harness).all()) + 1}"
    await harness.store.process().inbox.write(*store(harness).add(StoredAlert(id_, spec), harness.store.clock()))
    return id_


def store(harness: Harness) -> AlertStore:
    return AlertStore(harness.store.scripts)


async def state(harness: Harness, id_: str = "a1") -> StoredAlert:
    found = await store(harness).get(id_)
    assert found is not None
    return found


async def evaluate(harness: Harness, name: str = "a") -> None:
    await harness.parts(name).clock.do(JOB)


async def a_minute_later(harness: Harness, after: timedelta = MINUTE) -> None:
    """Let time pass, evaluate all alerts, and do what follows."""
    harness.store.clock.time += after
    await evaluate(harness)
    await harness.work()


def posts(harness: Harness) -> list[Posted]:
    return harness.seen.replies("bridge_alert")


def runs(harness: Harness, count: int) -> None:
    harness.service.stats["runCount"] = count


async def fires(harness: Harness, **more: Any) -> Posted:
    await set_up(harness, **more)
    runs(harness, 6000)
    await a_minute_later(harness)
    (post,) = posts(harness)
    return post


async def test_all_alerts_cost_one_read_of_the_statistics(harness: Harness) -> None:
    for condition in ("runs > 1", "prompts > 100", "stale 6h", "service down 5m", "runs < 1 in 24h"):
        await set_up(harness, condition)

    await a_minute_later(harness)

    assert harness.service.paths == ["stats"]


async def test_without_alerts_nothing_is_read(harness: Harness) -> None:
    await a_minute_later(harness)
    await set_up(harness, "dead letters > 0")
    await a_minute_later(harness)

    assert harness.service.requests == 0


async def test_a_number_that_goes_up_and_down_cools_off(harness: Harness) -> None:
    await set_up(harness)
    for minute in range(20):
        runs(harness, 10 if minute % 2 else 6000)
        await a_minute_later(harness)

    begun = [one for one in posts(harness) if not one.place.thread_ts]
    assert len(begun) == 2
    assert timedelta(minutes=10) < COOLING < timedelta(minutes=20)


@pytest.mark.parametrize("choice", ["1h", "1d"])
async def test_a_snoozed_alert_is_posted_afterwards(harness: Harness, choice: str) -> None:
    await fires(harness)
    await harness.press("alert:snooze", f"{choice}::a1", user=BOB)
    runs(harness, 10)
    await a_minute_later(harness)
    assert posts(harness)[0].text.startswith("✅"), "what was on is over"

    runs(harness, 6000)
    await a_minute_later(harness, timedelta(minutes=30))
    assert len(posts(harness)) == 2
    await a_minute_later(harness, timedelta(minutes=31) if choice == "1h" else timedelta(days=1))

    assert posts(harness)[2].text.startswith("⚠️")


async def test_a_snooze_until_it_recovers_ends_there(harness: Harness) -> None:
    await fires(harness)
    await harness.press("alert:snooze", "recovers::a1", user=BOB)
    assert (await state(harness)).snoozed == "recovers"

    runs(harness, 10)
    await a_minute_later(harness)
    assert (await state(harness)).snoozed == ""
    runs(harness, 6000)
    await a_minute_later(harness, COOLING)

    assert posts(harness)[2].text.startswith("⚠️")


async def test_an_outage_of_the_service_alerts_and_recovers(harness: Harness) -> None:
    await set_up(harness, "service down 5m")
    await set_up(harness)
    harness.service.always = httpx.Response(503)
    for _ in range(5):
        await a_minute_later(harness)
    assert posts(harness) == []

    await a_minute_later(harness)
    harness.service.always = None
    harness.monotonic += 60  # the breaker tries again
    await a_minute_later(harness)

    assert [one.text.partition(":")[0] for one in posts(harness)][1] == "✅ Recovered after 1 min"


async def test_a_bad_answer_is_no_outage(harness: Harness) -> None:
    await set_up(harness, "service down 1m")
    harness.service.always = httpx.Response(418)

    for _ in range(5):
        await a_minute_later(harness)

    assert posts(harness) == []


async def test_slow_answers_and_failed_runs_are_noticed(harness: Harness) -> None:
    await set_up(harness, 'agent "Support" p95 > 60s in 1h', target=SUPPORT["id"])
    await set_up(harness, 'workflow "Import" fails in 1h', target=WORKFLOW["id"])
    await harness.store.queue(message())
    harness.store.clock.time += timedelta(seconds=90)
    await harness.work()
    harness.service.run_answers.append(httpx.Response(200, json={"runId": 1, "status": "failed", "output": None}))
    await harness.type_command("/workflows run 3 hello")

    await a_minute_later(harness)

    slow, failed = sorted(one.text for one in posts(harness))
    assert slow.endswith("p95 of 1 min 30 s in the last hour.")
    assert failed.endswith("1 failed run in the last hour.")


async def test_a_message_that_waits_is_noticed(harness: Harness) -> None:
    await set_up(harness, "oldest message > 10m")
    await harness.store.queue(message())
    harness.store.clock.time += timedelta(minutes=11)
    await evaluate(harness)

    await harness.work()

    assert "the oldest message has been waiting for 11 min" in posts(harness)[0].text


@pytest.mark.parametrize("paused", ["", "asked"])
async def test_an_alert_whose_condition_is_no_longer_known_can_only_be_deleted(harness: Harness, paused: str) -> None:
    """Others go on, and `bridge export` has what can be set up again."""
    await set_up(harness, "limit runs > 80%")
    await harness.store.redis.hset(harness.store.scripts.keys.alert("a1"), "paused", paused)
    await fires(harness)
    await harness.parts().clock.do(next(job for job in features.jobs if job.name.endswith("check_owners")))
    await harness.type_command("/stats alerts", BOB)
    listed = harness.seen.ephemerals[-1]

    assert "limit runs &gt; 80% in <#C0GENERAL> · Bob Brandt\nPaused: its condition isn't supported" in listed.text
    assert "alert:resume" not in str(listed.blocks)
    lines = await portable(ALERTS).lines(harness.store.scripts)
    assert [line.spec["condition"] for line in lines] == [MANY]
    await harness.press("alert:delete", "0:a1", BOB)
    assert [one.id for one in await store(harness).all()] == ["a2"]


async def test_growth_is_compared_with_snapshots(harness: Harness) -> None:
    await set_up(harness, "runs < 1 in 24h")
    for _ in range(24):
        await a_minute_later(harness, timedelta(hours=1))
    assert posts(harness) == [], "the first snapshot was an hour ago"

    await a_minute_later(harness, timedelta(hours=1))
    assert posts(harness)[0].text == "⚠️ runs &lt; 1 in 24h: 0 runs in the last 24 h."
    harness.service.stats["runCount"] += 1
    await a_minute_later(harness, timedelta(hours=1))

    assert posts(harness)[1].text.endswith("1 run in the last 24 h.")


async def test_usual_numbers_are_of_the_last_weeks(harness: Harness) -> None:
    await set_up(harness, "runs > 3x usual in 1h")
    now, deps = harness.store.clock(), harness.parts().turns.deps
    numbers = deps.statistics(deps.projects.default).store
    for hours in range(1, 24 * 21):
        at = now - timedelta(hours=hours)
        await numbers.add(hour_of(at), Snapshot(at, {"runs": 10_000 - 10 * hours}, {}))
    runs(harness, 10_010)
    await a_minute_later(harness)
    assert posts(harness) == []

    runs(harness, 10_050)
    await a_minute_later(harness)

    assert "usually 10 ± 0" in posts(harness)[0].text


async def test_an_alert_runs_its_workflow_once(harness: Harness) -> None:
    post = await fires(harness, run=WORKFLOW["id"], run_name=WORKFLOW["name"])
    await a_minute_later(harness)

    assert len(harness.service.runs) == 1
    assert harness.service.runs[0].startswith("Alert: runs > 5000: 6,000 runs. Statistics at 2026-")
    (card,) = harness.seen.replies("bridge_run")
    assert card.place == Place(GENERAL, post.ts)


@pytest.mark.parametrize("reason", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
async def test_an_alert_whose_owner_lost_access_is_paused(harness: Harness, reason: Restriction) -> None:
    await set_up(harness)
    runs(harness, 6000)
    reason.apply(harness)

    for _ in range(2):
        await a_minute_later(harness)

    assert posts(harness) == []
    told = [one for one in harness.seen.messages if "is paused" in one.text]
    assert {one.place.channel for one in told} == reason.places
    assert (await state(harness)).paused


async def test_access_is_checked_without_an_edge(harness: Harness) -> None:
    await set_up(harness)
    RESTRICTIONS["deactivated"].apply(harness)
    job = next(job for job in features.jobs if job.name.endswith("check_owners"))

    for _ in range(2):
        harness.store.clock.time += timedelta(hours=1)
        await harness.parts().clock.do(job)
        await harness.work()

    assert (await state(harness)).paused == "deactivated"
    assert [one.place for one in harness.seen.messages] == [Place(GENERAL)]


async def test_an_alert_that_slack_rejects_is_paused(harness: Harness) -> None:
    await set_up(harness)
    runs(harness, 6000)
    harness.slack.workspace.channels[GENERAL].is_archived = True

    await a_minute_later(harness)
    await a_minute_later(harness)

    assert (await state(harness)).paused == "is_archived"
    (notice,) = harness.seen.messages
    assert notice.place == Place(DM_BOB)
    assert "Your alert “runs &gt; 5000” in <#C0GENERAL> is paused" in notice.text
    assert "its channel is archived" in notice.text


async def test_a_failover_that_lost_an_edge_does_not_repeat_it(harness: Harness, redis: Redis) -> None:
    await fires(harness)
    fields = await redis.hgetall(f"{PREFIX}alert:a1")
    runs(harness, 10)
    await a_minute_later(harness)
    await redis.hset(f"{PREFIX}alert:a1", mapping=fields)

    await a_minute_later(harness)

    assert len(posts(harness)) == 2
    assert (await state(harness)).since is None


async def test_a_deleted_alert_posts_nothing(harness: Harness) -> None:
    await set_up(harness)
    runs(harness, 6000)
    await evaluate(harness)
    await harness.store.process().inbox.write(*store(harness).delete("a1"))

    await harness.work()

    assert posts(harness) == []


async def test_each_project_has_its_own_alerts(harness: Harness) -> None:
    harness.serve("orders")
    await set_up(harness, project="orders")
    await set_up(harness, project="gone")
    runs(harness, 6000)
    await a_minute_later(harness)
    assert posts(harness) == []

    harness.others["orders"].stats["runCount"] = 7000
    await a_minute_later(harness)

    assert "7,000 runs" in posts(harness)[0].text
    assert harness.service.requests == 0


def buttons(blocks: list[dict[str, Any]]) -> Mapping[str, dict[str, Any]]:
    return {one["action_id"]: one for block in blocks for one in block.get("elements", []) if "action_id" in one}


async def test_an_agent_is_asked_with_the_numbers(harness: Harness) -> None:
    post = await fires(harness)

    await harness.press("ask:about")

    (form,) = harness.seen.forms
    assert "Alert: runs > 5000: 6,000 runs. Statistics at" in json.dumps(form["blocks"])
    assert json.loads(form["private_metadata"])["thread_ts"] == post.ts
    assert buttons(post.blocks).keys() == {"ask:about", "run:form", "stats:show", "alert:snooze"}


async def test_the_statistics_are_shown_to_whoever_asks(harness: Harness) -> None:
    await fires(harness)

    await harness.press("stats:show")

    assert harness.seen.ephemerals[-1].user == ALICE
    assert "6,000" in str(harness.seen.ephemerals[-1].blocks)


async def test_a_question_in_its_thread_has_the_numbers(harness: Harness) -> None:
    post = await fires(harness)

    await harness.slack.people.say(ALICE, GENERAL, f"<@{harness.identity.bot_user}> why?", thread_ts=post.ts)
    await harness.work()

    assert "runs > 5000: 6,000 runs" in harness.service.messages[0]


async def test_an_older_queued_edge_is_read(harness: Harness) -> None:
    edge = AlertEdge(team=TEAM, channel=GENERAL, user=BOB, alert="gone", since=harness.store.clock())

    result = await harness.answer(edge)

    assert getattr(result, "reason", "") == "the alert was deleted"


async def test_the_numbers_of_each_hour_are_stored_for_nine_weeks(harness: Harness) -> None:
    now, deps = harness.store.clock(), harness.parts().turns.deps
    statistics = deps.statistics(deps.projects.default)
    hours = [hour_of(now - timedelta(hours=1 + 24 * days)) for days in range(100)]
    for hour in (*hours, hours[20] - 1):
        await statistics.store.add(hour, Snapshot(moment_of(hour), {"runs": hour}, {}))
    await statistics.store.drop([hours[20] - 1])

    await statistics.read()

    found = await statistics.store.read([hours[20] - 1], or_numbers=True)
    assert found[hours[20] - 1].numbers == {"runs": hours[20] - 1}, "its snapshot is gone, but not its numbers"
    assert await statistics.store.read([hours[20] - 1]) == {}
    assert await deps.scripts.redis.hlen(deps.scripts.keys.hourly("default")) == 63 + 2


async def test_in_a_year_each_edge_is_posted_once(harness: Harness) -> None:
    """On weekends, nothing runs: two processes see 52 begin and end, over both changes of the clocks."""
    await set_up(harness, "runs < 1 in 24h", zone="Europe/Berlin")
    count, begun = 1000, 0
    for day in range(364):
        is_weekend = (harness.store.clock() + DAY).weekday() >= SATURDAY
        count += 0 if is_weekend else 5
        begun += (harness.store.clock() + DAY).weekday() == SATURDAY
        runs(harness, count)
        harness.store.clock.time += DAY
        name = "ab"[day % 2]
        await evaluate(harness, name)
        await harness.work(name)

    roots = [one for one in posts(harness) if not one.place.thread_ts]
    assert len(roots) == begun == 52
    assert all(one.text.startswith("✅") for one in roots)
    assert len(posts(harness)) == 2 * len(roots)


async def hours_pass(harness: Harness, count: int, *, adding: int = 0) -> None:
    """Let hours pass, each with a snapshot of the statistics."""
    for _ in range(count):
        harness.service.stats["runCount"] += adding
        await a_minute_later(harness, timedelta(hours=1))


PURGED = {"runs < 1 in 2h": [], "runs > 20 in 2h": ["at least 30 runs in the last 2 h"]}


@pytest.mark.parametrize("condition", PURGED)
async def test_a_purge_is_no_negative_number_of_runs(harness: Harness, condition: str) -> None:
    runs(harness, 100_000)
    await set_up(harness, condition)
    await hours_pass(harness, 3, adding=5)
    assert posts(harness) == []

    runs(harness, 1474)
    await a_minute_later(harness)
    harness.service.stats["runCount"] += 30
    await a_minute_later(harness)

    assert [one.text.partition(": ")[2].partition(" (")[0] for one in posts(harness)] == PURGED[condition]
    assert "-9" not in str([one.blocks for one in posts(harness)])


async def test_what_is_unknown_for_a_day_is_said_once(harness: Harness) -> None:
    await set_up(harness, 'agent "Support" p95 > 60s in 1h', target=SUPPORT["id"])
    await hours_pass(harness, 24)
    assert posts(harness) == []

    await hours_pass(harness, 48)

    (post,) = posts(harness)
    assert post.place == Place(GENERAL)
    assert post.text.endswith("for a day: there were no answers in the last hour.")


async def test_a_failed_run_is_not_over_because_nothing_runs(harness: Harness) -> None:
    await set_up(harness, 'workflow "Import" fails in 1h', target=WORKFLOW["id"])
    harness.service.run_answers.append(httpx.Response(200, json={"runId": 1, "status": "failed", "output": None}))
    await harness.type_command("/workflows run 3 hello")
    await a_minute_later(harness)
    (post,) = posts(harness)

    await hours_pass(harness, 26)

    assert [one.place for one in posts(harness)] == [Place(GENERAL), Place(GENERAL, post.ts)]
    assert "I couldn't check" in posts(harness)[-1].text
    assert (await state(harness)).since is not None

    await harness.type_command("/workflows run 3 hello")
    await a_minute_later(harness)

    assert "Recovered" in posts(harness)[-1].text
