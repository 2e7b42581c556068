"""A report is posted once for each slot, whoever finds it, dies on the way or comes too late."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from redis.asyncio import Redis

from bridge.errors import SlackAmbiguous, SlackRefused, SlackUnreachable
from bridge.features.reports.keeping import MOST_KEPT
from bridge.features.reports.schedule import ReportSpec, Schedule, StoredReport
from bridge.inbound import Click
from bridge.queue.dead import DeadLetters
from bridge.queue.inbox import Condition
from bridge.slack.parts import Place
from support.store import CHANNEL, TEAM, USER, message
from support.turns import SALES, SUPPORT, Bench, Posted, killed
from support.waiting import wait_until

SLOT = datetime(2026, 3, 5, 9, tzinfo=UTC)  # the next after the clock of the store begins
DAILY, MINUTELY = "0 9 * * *", "* * * * *"
OWNER = "UOWNER"


def spec(cron: str = DAILY) -> ReportSpec:
    return ReportSpec(schedule=Schedule("daily 09:00", (cron,)), zone="UTC", channel=CHANNEL, team=TEAM, owner=OWNER)


async def keep(bench: Bench, id_: str = "r1", due: datetime = SLOT, cron: str = DAILY) -> None:
    await bench.store.process().inbox.write(*bench.report_store().keep(id_, spec(cron), due, bench.store.clock()))


async def find_due(bench: Bench, name: str = "a") -> int:
    return await bench.clock(name).claim_slots()


async def at(bench: Bench, moment: datetime) -> None:
    """Let it be *moment*, and the bridge do what there is to do then."""
    bench.store.clock.time = moment
    await find_due(bench)
    await bench.work()


async def kept(bench: Bench, id_: str = "r1") -> StoredReport:
    found = await bench.report_store().get(id_)
    assert found is not None
    return found


def posts(bench: Bench) -> list[Posted]:
    return bench.say.replies("bridge_report")


async def test_each_slot_is_posted_with_one_call_to_the_service(bench: Bench) -> None:
    await keep(bench)

    await at(bench, SLOT - timedelta(seconds=1))
    assert posts(bench) == []
    await at(bench, SLOT)
    await at(bench, SLOT + timedelta(seconds=1))
    await at(bench, SLOT + timedelta(days=1))

    assert [post.place for post in posts(bench)] == [Place(CHANNEL), Place(CHANNEL)]
    assert bench.service.requests == 2
    assert "since the last report" in posts(bench)[1].words
    assert (await kept(bench)).due == SLOT + timedelta(days=2)


async def test_one_of_many_processes_posts_a_slot(bench: Bench) -> None:
    await keep(bench)
    bench.store.clock.time = SLOT
    names = [f"p{number}" for number in range(8)]

    await asyncio.gather(*(find_due(bench, name) for name in names))
    await asyncio.gather(*(bench.work(name) for name in names))

    assert len(posts(bench)) == 1


async def test_a_slot_whose_claim_was_undone_is_posted_once(bench: Bench, redis: Redis) -> None:
    await keep(bench)
    await at(bench, SLOT)
    await redis.zadd("{test}:due", {"r1": SLOT.timestamp() * 1000})  # as a failover may do

    await at(bench, SLOT + timedelta(seconds=1))

    assert len(posts(bench)) == 1


@pytest.mark.parametrize("killed_at", ["claim", "before the post", "after the post"])
async def test_a_slot_of_a_killed_process_is_posted_once_by_another(bench: Bench, killed_at: str) -> None:
    await keep(bench)
    bench.store.clock.time = SLOT
    await find_due(bench, "a")
    if killed_at != "claim":
        gate = bench.say.gate if killed_at == "before the post" else bench.say.after
        gate.clear()
        task = await bench.begin("a")
        await wait_until(lambda: bench.say.attempts == 1, "the post is under way")
        await killed(task)
        gate.set()

    await (bench.work("b") if killed_at == "claim" else bench.take_over("b"))

    assert len(posts(bench)) == 1
    assert (await kept(bench)).last == SLOT


@pytest.mark.parametrize("arrives", [True, False])
async def test_an_ambiguous_post_is_settled_by_history(bench: Bench, *, arrives: bool) -> None:
    await keep(bench)
    bench.say.troubles, bench.say.ambiguous_arrive = [SlackAmbiguous("chat.postMessage")], arrives

    await at(bench, SLOT)

    assert len(posts(bench)) == 1
    assert bench.say.looks == 1


async def test_a_missed_slot_is_posted_late_within_half_a_period(bench: Bench) -> None:
    await keep(bench)

    await at(bench, SLOT + timedelta(days=3, hours=11))

    (post,) = posts(bench)
    assert "Not posted since" in str(post.reply.blocks), "three slots were skipped before it"
    assert (await kept(bench)).skipped is None


async def test_a_slot_missed_for_longer_is_skipped_and_mentioned(bench: Bench) -> None:
    await keep(bench)

    await at(bench, SLOT + timedelta(hours=12))
    assert posts(bench) == []
    await at(bench, SLOT + timedelta(days=1))
    await at(bench, SLOT + timedelta(days=2))

    said = ["Not posted since" in str(post.reply.blocks) for post in posts(bench)]
    assert said == [True, False]
    assert str(int(SLOT.timestamp())) in str(posts(bench)[0].reply.blocks)


async def test_a_report_of_each_minute_skips_a_missed_night(bench: Bench) -> None:
    await keep(bench, cron=MINUTELY)

    await at(bench, SLOT + timedelta(hours=8, seconds=40))
    assert posts(bench) == []
    await at(bench, SLOT + timedelta(hours=8, minutes=1))

    assert len(posts(bench)) == 1


async def test_a_report_waits_for_a_service_that_is_down(bench: Bench) -> None:
    await keep(bench)
    bench.service.always = httpx.Response(503)

    async def time_goes_on() -> None:
        bench.store.clock.time += timedelta(minutes=10)
        if bench.store.clock.time > SLOT + timedelta(hours=1):
            bench.service.always = None

    bench.on_sleep = time_goes_on
    await at(bench, SLOT)

    assert len(posts(bench)) == 1


async def test_a_service_that_stays_down_skips_the_slot(bench: Bench) -> None:
    await keep(bench)
    bench.service.always = httpx.Response(401)

    async def time_goes_on() -> None:
        bench.store.clock.time += timedelta(hours=1)

    bench.on_sleep = time_goes_on
    await at(bench, SLOT)

    assert posts(bench) == []
    assert (await kept(bench)).skipped == SLOT


@pytest.mark.parametrize("error", ["is_archived", "a_new_word"])
async def test_a_refused_report_pauses_and_tells_its_owner_once(bench: Bench, error: str) -> None:
    await keep(bench, cron=MINUTELY)
    await keep(bench, "r2")
    for name in ("a", "b"):  # two slots of the first are on their way when one is refused
        bench.store.clock.time = SLOT if name == "a" else SLOT + timedelta(minutes=1)
        await find_due(bench, name)
    bench.say.troubles = [SlackRefused("chat.postMessage", error)] * 2

    await bench.work()
    await at(bench, SLOT + timedelta(minutes=2))

    told = [post for post in bench.say.messages if post.place == Place(OWNER)]
    assert len(told) == 2, "one for each report"
    assert all("is paused" in post.words for post in told)
    assert {(await kept(bench)).paused, (await kept(bench, "r2")).paused} == {error}
    assert posts(bench) == []
    assert await DeadLetters(bench.store.scripts, bench.store.clock).all()


async def test_a_report_waits_for_slack(bench: Bench) -> None:
    await keep(bench)
    bench.say.troubles = [SlackUnreachable("chat.postMessage", "ratelimited", timedelta(seconds=30))]

    await at(bench, SLOT)

    assert len(posts(bench)) == 1
    assert 30.0 in bench.slept


@pytest.mark.parametrize("what", ["pause", "forget"])
async def test_a_report_paused_or_deleted_after_its_claim_is_not_posted(bench: Bench, what: str) -> None:
    await keep(bench)
    bench.store.clock.time = SLOT
    await find_due(bench)
    schedules = bench.report_store()
    writes = schedules.pause("r1", "asked") if what == "pause" else schedules.forget("r1")
    await bench.store.process().inbox.write(*writes)

    await bench.work()
    await at(bench, SLOT + timedelta(days=1))

    assert posts(bench) == []


async def test_one_look_finds_what_is_due_of_a_thousand(bench: Bench) -> None:
    schedules = bench.report_store()
    for number in range(MOST_KEPT):
        await keep(bench, f"r{number}", due=SLOT + timedelta(days=number % 300))

    bench.store.clock.time = SLOT
    found = await schedules.due(SLOT, 100)

    assert [one.due for one, _seen in found] == [SLOT] * 4
    assert await schedules.is_full()


async def test_the_first_question_in_its_thread_carries_the_numbers(bench: Bench) -> None:
    await keep(bench)
    await at(bench, SLOT)
    (post,) = posts(bench)
    about = {"thread_ts": post.ts, "is_mention": True}

    await bench.store.queue(message("why so many?", ts="1700009000.000100", **about), condition=Condition.START)
    await bench.work()
    await bench.store.put(message("and now?", ts="1700009001.000100", **about))
    await bench.work()

    first, second = bench.service.messages
    assert "> Statistics: " in first
    assert first.endswith("why so many?")
    assert "> " not in second
    assert not await bench.store.holds_words("Statistics: ")


@pytest.mark.parametrize("default", ["", "8"])
async def test_its_thread_is_bound_where_an_agent_is_chosen(bench: Bench, default: str) -> None:
    bench.default_agent = default
    bench.service.agents = [SUPPORT, SALES]
    await keep(bench)
    await at(bench, SLOT)
    reply = message("why so many?", ts="1700009000.000100", thread_ts=posts(bench)[0].ts)

    put = await bench.store.put(reply)
    await bench.work()

    assert type(put).__name__ == ("Queued" if default else "Unbound")
    assert [asked["agent"] for asked in bench.service.asked] == ([8] if default else [])


async def test_a_question_carries_the_report_after_the_menu(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]
    await keep(bench)
    await at(bench, SLOT)
    root = posts(bench)[0].ts
    question = message("why?", ts="1700009000.000100", thread_ts=root, is_mention=True)
    await bench.store.queue(question, condition=Condition.START)
    await bench.work()
    assert bench.service.asked == [], "nobody has chosen yet"

    choice = Click(
        team=TEAM, channel=CHANNEL, user=USER, action_id="agent:choose", value="8", thread_ts=root,
        message_ts=bench.say.messages[-1].ts,
    )  # fmt: skip
    await bench.store.process().inbox.put(choice, event="chosen")
    await bench.work()

    (asked,) = bench.service.asked
    assert asked["agent"] == 8
    assert "> Statistics: " in asked["message"]
