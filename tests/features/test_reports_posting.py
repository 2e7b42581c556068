"""A report is posted once per slot, even when processes compete, are killed or are late."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.features.schedules.schedule import ReportSpec, StoredTask
from bridge.features.schedules.store import MOST_TASKS
from bridge.features.standing.times import Schedule
from bridge.features.statistics.snapshots import Snapshot, hour_of
from bridge.inbound import Click
from bridge.playground.emulator.faults import DropAfter, DropBefore, Error, Hang, RateLimited
from bridge.playground.emulator.sample import BOB, DM_BOB
from bridge.queue.dead import DeadLetters
from bridge.queue.inbox import Condition
from bridge.slack.parts import Place
from support.harness import POST, SALES, SUPPORT, Harness, Posted, kill_task
from support.restrictions import RESTRICTIONS, Restriction, change_owner
from support.store import CHANNEL, TEAM, USER, message
from support.waiting import wait_until

SLOT = datetime(2026, 3, 5, 9, tzinfo=UTC)  # the first one after the store clock's start
DAILY, MINUTELY = "0 9 * * *", "* * * * *"
OWNER = BOB


def spec(cron: str = DAILY, **more: Any) -> ReportSpec:
    about: dict[str, Any] = {"zone": "UTC", "channel": CHANNEL, "team": TEAM, "owner": OWNER, **more}
    return ReportSpec(schedule=Schedule("daily 09:00", (cron,)), **about)


async def schedule(harness: Harness, id_: str = "r1", due: datetime = SLOT, cron: str = DAILY, **more: Any) -> None:
    writes = harness.report_store().add(StoredTask(id_, spec(cron, **more), due), harness.store.clock())
    await harness.store.process().inbox.write(*writes)


def posts(harness: Harness) -> list[Posted]:
    return harness.seen.replies("bridge_report")


async def test_each_slot_is_posted_with_one_project_call(harness: Harness) -> None:
    await schedule(harness)

    await harness.at(SLOT - timedelta(seconds=1))
    assert posts(harness) == []
    await harness.at(SLOT)
    await harness.at(SLOT + timedelta(seconds=1))
    await harness.at(SLOT + timedelta(days=1))

    assert [post.place for post in posts(harness)] == [Place(CHANNEL), Place(CHANNEL)]
    assert harness.service.requests == 2
    assert "Compared with the last report" in posts(harness)[1].words
    assert (await harness.stored_task("r1")).due == SLOT + timedelta(days=2)


TAGS = [{"name": "billing", "count": 3}, {"name": "search", "count": 1}]
CHARTS = {"table", "data_table", "data_visualization"}


def is_in_thread(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments.get("thread_ts"))


async def test_a_report_is_one_headline_with_the_charts_in_its_thread(harness: Harness) -> None:
    harness.service.stats["tags"] = TAGS
    await schedule(harness)
    await harness.at(SLOT)
    harness.service.stats["runCount"] += 5
    await harness.at(SLOT + timedelta(days=1))

    heads = [one for one in posts(harness) if not one.place.thread_ts]
    below = [one for one in posts(harness) if one.place.thread_ts]
    assert [one.place for one in below] == [Place(CHANNEL, one.ts) for one in heads]
    first, second = (str(one.blocks) for one in heads)
    assert "4,321 runs so far." in first
    assert "5 runs; nothing failed." in second
    assert "4,326 · +5, +0.1% since the last report" in second
    for head, reply in zip(heads, below, strict=True):
        assert CHARTS.isdisjoint(block["type"] for block in head.blocks)
        assert not CHARTS.isdisjoint(block["type"] for block in reply.blocks)


async def test_a_report_after_a_purge_tells_no_negative_number(harness: Harness) -> None:
    harness.service.stats["runCount"] = 100_000
    await schedule(harness)
    await harness.at(SLOT)
    harness.service.stats["runCount"] = 1474
    await harness.at(SLOT + timedelta(days=1))
    await harness.type_command("/stats")
    await harness.type_command("/stats since 2d")

    head = [one for one in posts(harness) if not one.place.thread_ts][-1]
    assert head.text.startswith("1,474 runs in total, down from 100,000; nothing failed.")
    shown = [str(one.blocks) + one.text for one in [*posts(harness), *harness.seen.ephemerals]]
    assert sum("down from 100,000" in one for one in shown) == 3
    assert not any("98,526" in one for one in shown)


async def test_a_report_begins_with_what_is_unusual_new_and_failed(harness: Harness) -> None:
    store = harness.parts().turns.deps.statistics(harness.parts().turns.deps.projects.default).store
    for week in range(1, 5):
        for day in (0, 1):
            then = SLOT + timedelta(days=1) - timedelta(weeks=week, days=day)
            await store.add(hour_of(then), Snapshot(then, {"runs": 4000 - 100 * week - 10 * day}, {}))
    await schedule(harness)
    await harness.at(SLOT)
    harness.service.stats |= {"runCount": 4321 + 12, "tags": TAGS}
    harness.service.chats = [httpx.Response(400, json={"message": "no"})]
    await harness.store.queue()
    await harness.work()
    await harness.at(SLOT + timedelta(days=1))

    last = [one for one in posts(harness) if not one.place.thread_ts][-1]
    count = {2: "two", 3: "three"}.get(len(TAGS), str(len(TAGS)))
    assert last.text.startswith(f"12 runs, a fifth more than usual; {count} new tags; 1 failed.")


async def test_a_report_takes_the_same_for_usual_as_alerts(harness: Harness) -> None:
    """The clock went forward on Sunday, so nine o'clock was an hour later in UTC a week before."""
    store = harness.parts().turns.deps.statistics(harness.parts().turns.deps.projects.default).store
    slot = datetime(2026, 3, 31, 7, tzinfo=UTC)
    for week in range(1, 5):
        end = slot - timedelta(weeks=week) + timedelta(hours=1)
        growth = 10 if week % 2 else 30
        for then, total in ((end - timedelta(days=1), -growth), (end - timedelta(hours=1), -growth), (end, 0)):
            await store.add(hour_of(then), Snapshot(then, {"runs": 4000 - 100 * week + total}, {}))
    await schedule(harness, due=slot - timedelta(days=1), zone="Europe/Berlin")
    await harness.at(slot - timedelta(days=1))
    harness.service.stats["runCount"] += 29
    await harness.at(slot)

    head = [one for one in posts(harness) if not one.place.thread_ts][-1]
    assert head.text.startswith("29 runs, as usual; ")


async def test_a_report_is_posted_only_if_something_changed(harness: Harness) -> None:
    await schedule(harness, only_if_changed=True)
    for day in range(3):
        await harness.at(SLOT + timedelta(days=day))
    assert len([one for one in posts(harness) if not one.place.thread_ts]) == 1

    harness.service.stats["runCount"] += 1
    await harness.at(SLOT + timedelta(days=3))

    assert [one.text for one in posts(harness) if not one.place.thread_ts][-1].startswith("1 run; nothing failed.")


async def test_a_report_shows_agents_in_its_thread(harness: Harness) -> None:
    await harness.store.queue()
    await harness.work()
    await schedule(harness, agents=True)
    await harness.at(SLOT)

    below = [one for one in posts(harness) if one.place.thread_ts]
    assert "Support: Messages 1, People 1" in below[-1].text


@pytest.mark.parametrize("did_arrive", [False, True])
async def test_a_kill_between_headline_and_charts_repeats_neither(harness: Harness, *, did_arrive: bool) -> None:
    harness.service.stats["tags"] = TAGS
    await schedule(harness)
    harness.store.clock.time = SLOT
    await harness.find_due()
    harness.slack.faults.on(POST, Hang(did_arrive), when=is_in_thread)
    task = await harness.start_next()
    await wait_until(lambda: harness.seen.attempts == 2, "the charts are under way")
    await kill_task(task)

    await harness.take_over("b")

    head, reply = posts(harness)
    assert (head.place, reply.place) == (Place(CHANNEL), Place(CHANNEL, head.ts))


@pytest.mark.parametrize("arrives", [True, False])
async def test_an_ambiguous_post_of_the_charts_is_settled_in_the_thread(harness: Harness, *, arrives: bool) -> None:
    harness.service.stats["tags"] = TAGS
    await schedule(harness)
    harness.slack.faults.on(POST, DropAfter() if arrives else DropBefore(), when=is_in_thread)

    await harness.at(SLOT)

    head, reply = posts(harness)
    assert (head.place, reply.place) == (Place(CHANNEL), Place(CHANNEL, head.ts))


async def test_one_of_many_processes_posts_a_slot(harness: Harness) -> None:
    await schedule(harness)
    harness.store.clock.time = SLOT
    names = [f"p{number}" for number in range(8)]

    await asyncio.gather(*(harness.find_due(name) for name in names))
    await asyncio.gather(*(harness.work(name) for name in names))

    assert len(posts(harness)) == 1


async def test_a_slot_whose_claim_was_rolled_back_is_posted_once(harness: Harness, redis: Redis) -> None:
    await schedule(harness)
    await harness.at(SLOT)
    await redis.zadd("{test}:due", {"r1": SLOT.timestamp() * 1000})  # as after a failover

    await harness.at(SLOT + timedelta(seconds=1))

    assert len(posts(harness)) == 1


@pytest.mark.parametrize("killed_at", ["claim", "before the post", "after the post"])
async def test_a_slot_of_a_killed_process_is_posted_once_by_another(harness: Harness, killed_at: str) -> None:
    await schedule(harness)
    harness.store.clock.time = SLOT
    await harness.find_due("a")

    await harness.finish_despite_a_kill(killed_at)

    assert len(posts(harness)) == 1
    assert (await harness.stored_task("r1")).last == SLOT


async def test_a_missed_slot_is_posted_late_within_half_a_period(harness: Harness) -> None:
    await schedule(harness)

    await harness.at(SLOT + timedelta(days=3, hours=11))

    (post,) = posts(harness)
    assert "were skipped" in str(post.blocks), "three earlier slots were skipped"
    assert (await harness.stored_task("r1")).skipped is None


async def test_a_slot_missed_for_longer_is_skipped_and_mentioned(harness: Harness) -> None:
    await schedule(harness)

    await harness.at(SLOT + timedelta(hours=12))
    assert posts(harness) == []
    await harness.at(SLOT + timedelta(days=1))
    await harness.at(SLOT + timedelta(days=2))

    said = ["were skipped" in str(post.blocks) for post in posts(harness)]
    assert said == [True, False]
    assert str(int(SLOT.timestamp())) in str(posts(harness)[0].blocks)


async def test_a_report_of_each_minute_skips_a_missed_night(harness: Harness) -> None:
    await schedule(harness, cron=MINUTELY)

    await harness.at(SLOT + timedelta(hours=8, seconds=40))
    assert posts(harness) == []
    await harness.at(SLOT + timedelta(hours=8, minutes=1))

    assert len(posts(harness)) == 1


async def test_a_report_waits_for_a_service_that_is_down(harness: Harness) -> None:
    await schedule(harness)
    harness.service.always = httpx.Response(503)

    async def time_goes_on() -> None:
        harness.store.clock.time += timedelta(minutes=10)
        if harness.store.clock.time > SLOT + timedelta(hours=1):
            harness.service.always = None

    harness.on_sleep = time_goes_on
    await harness.at(SLOT)

    assert len(posts(harness)) == 1


async def test_a_service_that_stays_down_skips_the_slot(harness: Harness) -> None:
    await schedule(harness)
    harness.service.always = httpx.Response(401)

    async def time_goes_on() -> None:
        harness.store.clock.time += timedelta(hours=1)

    harness.on_sleep = time_goes_on
    await harness.at(SLOT)

    assert posts(harness) == []
    assert (await harness.stored_task("r1")).skipped == SLOT


@pytest.mark.parametrize("error", ["is_archived", "a_new_word"])
async def test_a_refused_report_pauses_and_notifies_its_owner_once(harness: Harness, error: str) -> None:
    await schedule(harness, cron=MINUTELY)
    await schedule(harness, "r2")
    for name in ("a", "b"):  # two slots of the first report are in progress when one is refused
        harness.store.clock.time = SLOT if name == "a" else SLOT + timedelta(minutes=1)
        await harness.find_due(name)
    harness.slack.faults.on(POST, Error(error), times=2)

    await harness.work()
    await harness.at(SLOT + timedelta(minutes=2))

    notice = [post for post in harness.seen.messages if post.place == Place(DM_BOB)]
    assert len(notice) == 2, "one per report"
    assert all("is paused" in post.words for post in notice)
    assert {(await harness.stored_task("r1")).paused, (await harness.stored_task("r2")).paused} == {error}
    assert posts(harness) == []
    assert await DeadLetters(harness.store.scripts, harness.store.clock).all()


@pytest.mark.parametrize("restriction", RESTRICTIONS.values(), ids=RESTRICTIONS)
async def test_a_report_pauses_with_one_notice_when_its_owner_loses_access(
    harness: Harness, restriction: Restriction
) -> None:
    await schedule(harness)
    await harness.at(SLOT)
    posted, asked = len(posts(harness)), harness.service.requests

    restriction.apply(harness)
    harness.monotonic += 60
    await harness.at(SLOT + timedelta(days=1))
    await harness.at(SLOT + timedelta(days=2))

    assert (len(posts(harness)), harness.service.requests) == (posted, asked)
    assert (await harness.stored_task("r1")).paused
    notices = [one for one in harness.seen.messages if "is paused" in one.words]
    assert sorted(one.place.channel for one in notices) == sorted(restriction.places)
    assert any(restriction.why in one.words for one in notices)


async def test_a_report_whose_owner_slack_cannot_name_now_waits(harness: Harness) -> None:
    await schedule(harness)
    harness.slack.faults.on("users.info", RateLimited(30))

    await harness.at(SLOT)

    assert len(posts(harness)) == 1
    assert 30.0 in harness.slept


@pytest.mark.parametrize("button", ["report:now", "report:resume"])
async def test_a_button_says_why_a_report_of_someone_without_access_is_not_posted(
    harness: Harness, button: str
) -> None:
    await schedule(harness)
    await harness.store.process().inbox.write(*harness.report_store().pause("r1", "asked"))
    change_owner(harness, deleted=True)

    await harness.click(button, "0:r1")
    await harness.work()

    assert posts(harness) == []
    assert "Bob Brandt no longer has an active account" in harness.seen.ephemerals[-1].words
    assert (await harness.stored_task("r1")).paused


@pytest.mark.parametrize("what", ["pause", "forget"])
async def test_a_report_paused_or_deleted_after_its_claim_is_not_posted(harness: Harness, what: str) -> None:
    await schedule(harness)
    harness.store.clock.time = SLOT
    await harness.find_due()
    schedules = harness.report_store()
    writes = schedules.pause("r1", "asked") if what == "pause" else schedules.delete("r1")
    await harness.store.process().inbox.write(*writes)

    await harness.work()
    await harness.at(SLOT + timedelta(days=1))

    assert posts(harness) == []


async def test_one_query_finds_the_due_reports_among_a_thousand(harness: Harness) -> None:
    schedules = harness.report_store()
    for number in range(MOST_TASKS):
        await schedule(harness, f"r{number}", due=SLOT + timedelta(days=number % 300))

    harness.store.clock.time = SLOT
    found = await schedules.due(SLOT, 100)

    assert [one.due for one, _seen in found] == [SLOT] * 4
    assert await schedules.is_full()


async def test_the_first_question_in_a_reports_thread_includes_the_numbers(harness: Harness) -> None:
    await schedule(harness)
    await harness.at(SLOT)
    (post,) = posts(harness)
    about = {"thread_ts": post.ts, "is_mention": True}

    await harness.store.queue(message("why so many?", ts="1700009000.000100", **about), condition=Condition.START)
    await harness.work()
    await harness.store.put(message("and now?", ts="1700009001.000100", **about))
    await harness.work()

    first, second = harness.service.messages
    assert "> Statistics: " in first
    assert first.endswith("why so many?")
    assert "> " not in second
    assert not await harness.store.contains_text("Statistics: ")


@pytest.mark.parametrize("default", ["", "8"])
async def test_a_reports_thread_is_bound_once_an_agent_is_chosen(harness: Harness, default: str) -> None:
    harness.configure(BRIDGE_DEFAULT_AGENT=default)
    harness.service.agents = [SUPPORT, SALES]
    await schedule(harness)
    await harness.at(SLOT)
    reply = message("why so many?", ts="1700009000.000100", thread_ts=posts(harness)[0].ts)

    put = await harness.store.put(reply)
    await harness.work()

    assert put.end == ("queued" if default else "unbound")
    assert [asked["agent"] for asked in harness.service.asked] == ([8] if default else [])


async def test_a_question_after_the_menu_includes_the_report(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await schedule(harness)
    await harness.at(SLOT)
    root = posts(harness)[0].ts
    question = message("why?", ts="1700009000.000100", thread_ts=root, is_mention=True)
    await harness.store.queue(question, condition=Condition.START)
    await harness.work()
    assert harness.service.asked == [], "no agent has been chosen yet"

    choice = Click(
        team=TEAM, channel=CHANNEL, user=USER, action_id="agent:choose", value="8", thread_ts=root,
        message_ts=harness.seen.messages[-1].ts,
    )  # fmt: skip
    await harness.store.process().inbox.put(choice, event="chosen")
    await harness.work()

    (asked,) = harness.service.asked
    assert asked["agent"] == 8
    assert "> Statistics: " in asked["message"]
