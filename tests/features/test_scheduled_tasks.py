"""A scheduled question or run starts once per slot, on its owner's behalf, whatever dies, overlaps or is lost."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from bridge.ends.notices import SEND_AGAIN
from bridge.features.schedules.schedule import QuestionSpec, RunSpec, ScheduleSpec, StoredTask, read_question, read_run
from bridge.playground.emulator.faults import DropAfter, DropBefore, Error
from bridge.playground.emulator.sample import BOB, DM_BOB
from bridge.slack.parts import Place
from support.harness import POST, SUPPORT, WORKFLOW, Harness, Posted, kill_task
from support.restrictions import ONE_OF_EACH, Restriction
from support.store import CHANNEL, TEAM, message
from support.waiting import wait_until

SLOT = datetime(2026, 3, 5, 9, tzinfo=UTC)  # the first one after the store clock's start
A_DAY = timedelta(days=1)
DAILY, MINUTELY = "daily 9", 'cron "* * * * *"'
OWNED: dict[str, Any] = {"zone": "UTC", "channel": CHANNEL, "team": TEAM, "owner": BOB}


def question(typed: str = "", when: str = DAILY) -> QuestionSpec:
    return read_question(7, f'{when} "What changed?" {typed}').model_copy(update=OWNED)


def run(typed: str = "", when: str = DAILY) -> RunSpec:
    return read_run(3, f'{when} {{"day": "monday"}} {typed}').model_copy(update=OWNED)


TASKS = {"question": question, "run": run}


@pytest.fixture(params=list(TASKS))
def make(request: pytest.FixtureRequest) -> Any:
    return TASKS[request.param]


async def schedule(harness: Harness, spec: ScheduleSpec, due: datetime = SLOT, id_: str = "t1") -> None:
    harness.service.agents = [SUPPORT]
    harness.service.workflows = [WORKFLOW]
    writes = harness.report_store().add(StoredTask(id_, spec, due), harness.store.clock())
    await harness.store.process().inbox.write(*writes)


async def begin(harness: Harness) -> asyncio.Task[None]:
    """Post the first slot's message, and begin its question or run, which goes on until the gates are open."""
    harness.service.gate.clear()
    harness.service.run_gate.clear()
    harness.store.clock.time = SLOT
    await harness.find_due()
    await (await harness.start_next("a"))
    task = await harness.start_next("a")
    await wait_until(lambda: effects(harness), "the agent is asked, or the workflow is running")
    return task


def effects(harness: Harness) -> int:
    """How often an agent was asked or a workflow was run."""
    return len(harness.service.asked) + len(harness.service.runs)


def roots(harness: Harness) -> list[Posted]:
    """The messages that are no replies in #general: questions and run cards."""
    found = [one for one in harness.seen.messages if one.place == Place(CHANNEL)]
    return [one for one in found if one.tag.kind in {"bridge_root", "bridge_run"}]


async def test_each_slot_asks_once_in_a_new_thread(harness: Harness) -> None:
    await schedule(harness, question())

    await harness.at(SLOT - timedelta(seconds=1))
    assert harness.service.asked == []
    for moment in (SLOT, SLOT + timedelta(seconds=1), SLOT + A_DAY):
        await harness.at(moment)

    assert harness.service.messages == ["What changed?"] * 2
    assert all("sessionId" not in asked for asked in harness.service.asked)
    answers = harness.seen.replies()
    assert [one.place for one in answers] == [Place(CHANNEL, root.ts) for root in roots(harness)]
    assert "Scheduled question for Support by Bob Brandt: every day at 09:00 (UTC)." in str(roots(harness)[0].blocks)


async def test_a_continued_question_stays_in_its_thread_and_session(harness: Harness) -> None:
    await schedule(harness, question("--continue"))

    await harness.at(SLOT)
    await harness.at(SLOT + A_DAY)
    await harness.at(SLOT + 2 * A_DAY)

    assert [asked.get("sessionId") for asked in harness.service.asked] == [None, 42, 42]
    (root,) = roots(harness)
    assert {one.place for one in harness.seen.messages if one is not root} >= {Place(CHANNEL, root.ts)}
    assert len({one.place.thread_ts for one in harness.seen.replies()}) == 1


async def test_a_continued_question_starts_again_once_its_thread_is_gone(harness: Harness) -> None:
    await schedule(harness, question("--continue"))
    await harness.at(SLOT)
    root = roots(harness)[0].ts
    await harness.store.process().inbox.withdraw(message("x", ts=root).key)

    await harness.at(SLOT + A_DAY)

    assert len(roots(harness)) == 2
    assert [asked.get("sessionId") for asked in harness.service.asked] == [None, None]


async def test_each_slot_runs_once_with_its_own_card(harness: Harness) -> None:
    await schedule(harness, run())

    for moment in (SLOT, SLOT + timedelta(seconds=1), SLOT + A_DAY):
        await harness.at(moment)

    assert harness.service.started == [(3, {"day": "monday"})] * 2
    assert len(roots(harness)) == 2
    assert "Scheduled by Bob Brandt: every day at 09:00 (UTC)" in str(roots(harness)[0].blocks)
    known = await harness.stored_task("t1")
    assert (known.ended, known.ts, known.last) == ("completed", roots(harness)[1].ts, SLOT + A_DAY)


@pytest.mark.parametrize("is_done", [True, False])
async def test_a_kill_at_the_post_of_a_question_asks_once(harness: Harness, *, is_done: bool) -> None:
    await schedule(harness, question())
    harness.store.clock.time = SLOT
    await harness.find_due()
    harness.hang(is_done=is_done)
    task = await harness.start_next("a")
    await wait_until(lambda: harness.seen.attempts == 1, "the post is under way")
    await kill_task(task)

    await harness.take_over("b")
    await harness.work("b")

    assert harness.service.messages == ["What changed?"]
    assert len(roots(harness)) == 1


async def test_a_kill_while_the_agent_works_is_an_unknown_outcome_with_a_button(harness: Harness) -> None:
    await schedule(harness, question())
    task = await begin(harness)
    await kill_task(task)
    harness.service.gate.set()

    await harness.take_over("b")

    assert effects(harness) == 1
    (said,) = [one for one in harness.seen.messages if "I can't tell whether" in one.words]
    assert said.place == Place(CHANNEL, roots(harness)[0].ts)
    assert SEND_AGAIN in str(said.blocks)


async def test_a_kill_while_the_workflow_runs_is_an_unknown_outcome_with_a_button(harness: Harness) -> None:
    await schedule(harness, run())
    task = await begin(harness)
    await kill_task(task)
    harness.service.run_gate.set()

    await harness.take_over("b")

    assert effects(harness) == 1
    (card,) = roots(harness)
    assert "outcome unknown" in card.text
    assert "run:again" in str(card.blocks)
    assert (await harness.stored_task("t1")).ended == "outcome unknown"


@pytest.mark.parametrize("fault", [DropAfter(), DropBefore()])
async def test_an_ambiguous_post_starts_nothing_twice(harness: Harness, make: Any, fault: Any) -> None:
    await schedule(harness, make())
    harness.slack.faults.on(POST, fault)

    await harness.at(SLOT)

    assert effects(harness) == 1
    assert len(roots(harness)) == 1


async def test_a_slot_is_skipped_and_said_once_while_the_one_before_runs(harness: Harness) -> None:
    await schedule(harness, run(when=MINUTELY))
    running = await begin(harness)

    for minute in (1, 2, 3):
        harness.store.clock.time = SLOT + timedelta(minutes=minute)
        await harness.find_due()
        await (await harness.start_next("a"))
    harness.service.run_gate.set()
    await running
    await harness.at(SLOT + timedelta(minutes=4))

    assert effects(harness) == 2
    said = [one for one in harness.seen.messages if one.words.startswith("Skipped: run Import")]
    assert len(said) == 1
    assert "--overlap wait" in said[0].words
    assert "were skipped" in str(roots(harness)[-1].blocks)
    assert (await harness.stored_task("t1")).skipped is None


async def test_a_question_is_skipped_while_the_one_before_is_not_answered(harness: Harness) -> None:
    await schedule(harness, question(when=MINUTELY))
    asking = await begin(harness)

    harness.store.clock.time = SLOT + timedelta(minutes=1)
    await harness.find_due()
    await (await harness.start_next("a"))
    harness.service.gate.set()
    await asking

    assert effects(harness) == 1
    assert any("the one before is still being answered" in one for one in harness.seen.texts)


async def test_a_slot_waits_for_the_one_before_if_that_was_chosen(harness: Harness) -> None:
    await schedule(harness, run("--overlap wait", when='cron "*/10 * * * *"'))
    running = await begin(harness)

    async def ends() -> None:
        harness.service.run_gate.set()
        await running
        harness.on_sleep = None

    harness.on_sleep = ends
    harness.store.clock.time = SLOT + timedelta(minutes=10)
    await harness.find_due()
    await harness.work()

    assert effects(harness) == 2
    assert not any(one.startswith("Skipped") for one in harness.seen.texts)


async def test_a_waiting_slot_is_skipped_once_it_is_too_late(harness: Harness) -> None:
    await schedule(harness, run("--overlap wait", when='cron "*/10 * * * *"'))
    running = await begin(harness)

    async def time_goes_on() -> None:
        harness.store.clock.time += timedelta(minutes=1)

    harness.on_sleep = time_goes_on
    harness.store.clock.time = SLOT + timedelta(minutes=10)
    await harness.find_due()
    await (await harness.start_next("a"))
    harness.service.run_gate.set()
    await running

    assert effects(harness) == 1
    assert (await harness.stored_task("t1")).skipped == SLOT + timedelta(minutes=10)


async def test_a_missed_slot_starts_late_within_half_a_period(harness: Harness, make: Any) -> None:
    await schedule(harness, make())

    await harness.at(SLOT + timedelta(days=3, hours=11))

    assert effects(harness) == 1
    assert "were skipped" in str(roots(harness)[0].blocks)


@pytest.mark.parametrize("restriction", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
async def test_a_schedule_pauses_with_one_notice_when_its_owner_loses_access(
    harness: Harness, make: Any, restriction: Restriction
) -> None:
    await schedule(harness, make())
    await harness.at(SLOT)
    before = effects(harness)

    restriction.apply(harness)
    harness.monotonic += 60
    await harness.at(SLOT + A_DAY)
    await harness.at(SLOT + 2 * A_DAY)

    assert effects(harness) == before == 1
    assert (await harness.stored_task("t1")).paused
    notices = [one for one in harness.seen.messages if "is paused" in one.words]
    assert sorted(one.place.channel for one in notices) == sorted(restriction.places)
    assert any(restriction.why in one.words for one in notices)


async def test_a_schedule_pauses_when_its_agent_or_workflow_is_gone(harness: Harness, make: Any) -> None:
    await schedule(harness, make())
    harness.service.agents = harness.service.workflows = []

    await harness.at(SLOT)
    await harness.at(SLOT + A_DAY)

    assert (await harness.stored_task("t1")).paused == "gone"
    notices = [one for one in harness.seen.messages if "its agent or workflow no longer exists" in one.words]
    assert sorted(one.place.channel for one in notices) == sorted([CHANNEL, DM_BOB])


async def test_a_schedule_in_an_archived_channel_pauses_and_tells_its_owner(harness: Harness) -> None:
    await schedule(harness, question())
    harness.slack.faults.on(POST, Error("is_archived"))

    await harness.at(SLOT)
    await harness.at(SLOT + A_DAY)

    assert effects(harness) == 0
    (notice,) = [one for one in harness.seen.messages if one.place == Place(DM_BOB)]
    assert "Your schedule “ask Support every day at 09:00 (UTC): 'What changed?'”" in notice.words


async def test_a_run_of_a_refused_card_pauses_its_schedule(harness: Harness) -> None:
    await schedule(harness, run())
    harness.slack.faults.on(POST, Error("is_archived"), times=2)

    await harness.at(SLOT)

    assert effects(harness) == 1
    assert (await harness.stored_task("t1")).paused == "is_archived"


async def test_a_slot_waits_for_a_service_that_is_down(harness: Harness, make: Any) -> None:
    await schedule(harness, make())
    harness.service.always = httpx.Response(503)

    async def time_goes_on() -> None:
        harness.store.clock.time += timedelta(minutes=10)
        if harness.store.clock.time > SLOT + timedelta(hours=1):
            harness.service.always = None

    harness.on_sleep = time_goes_on
    await harness.at(SLOT)

    assert effects(harness) == 1


async def test_the_owners_hourly_runs_count_and_the_card_says_so(harness: Harness) -> None:
    harness.configure(BRIDGE_USER_RUNS_PER_HOUR="1")
    await schedule(harness, run(when=MINUTELY))

    await harness.at(SLOT)
    await harness.at(SLOT + timedelta(minutes=1))

    assert effects(harness) == 1
    assert "hourly limit of workflow runs" in str(roots(harness)[1].blocks)
    assert "Import" in roots(harness)[1].text


async def test_placeholders_are_filled_in_at_each_slot(harness: Harness) -> None:
    text = "On {{date}}: {{stats.runs}} runs ({{stats.runs.change}}). {{ STATS }}"
    spec = read_question(7, f'daily 9 "{text}"').model_copy(update={**OWNED, "zone": "Pacific/Auckland"})
    await schedule(harness, spec)

    await harness.at(SLOT)
    harness.service.stats["runCount"] += 5
    await harness.at(SLOT + timedelta(hours=11))  # 9 o'clock there

    harness.service.stats["runCount"] = 20
    await harness.at(SLOT + timedelta(hours=35))

    first, second, purged = harness.service.messages
    assert purged.startswith("On 2026-03-07: 20 runs (unknown). ")
    assert "-" not in purged.partition("). ")[2].partition("Compared")[0]
    assert first.startswith("On 2026-03-05: 4321 runs (unknown). Statistics")
    assert second.startswith("On 2026-03-06: 4326 runs (+5). ")
    assert "4,326 runs (+5, +0.1%)" in second


async def test_placeholders_are_filled_in_within_json(harness: Harness) -> None:
    spec = read_run(3, 'daily 9 {"days": ["{{date}}"], "runs": "{{stats.runs}}"}').model_copy(update=OWNED)
    await schedule(harness, spec)

    await harness.at(SLOT)

    assert harness.service.runs == [{"days": ["2026-03-05"], "runs": "4321"}]


async def test_a_schedule_deleted_after_its_claim_starts_nothing(harness: Harness, make: Any) -> None:
    await schedule(harness, make())
    harness.store.clock.time = SLOT
    await harness.find_due()
    await harness.store.process().inbox.write(*harness.report_store().delete("t1"))

    await harness.work()

    assert effects(harness) == 0


@pytest.mark.parametrize(
    ("first", "utc"), [(datetime(2026, 3, 26, tzinfo=UTC), 1), (datetime(2026, 10, 22, tzinfo=UTC), 0)]
)
async def test_the_week_of_a_clock_change_asks_once_a_day(harness: Harness, first: datetime, utc: int) -> None:
    spec = read_question(7, 'daily 02:30 "What changed?"').model_copy(update={**OWNED, "zone": "Europe/Berlin"})
    await schedule(harness, spec, due=first + timedelta(hours=utc, minutes=30))

    for half_days in range(14):  # each day once before and once after the slot
        await harness.at(first + timedelta(minutes=15, hours=12 * half_days))

    assert len(harness.service.asked) == 7
