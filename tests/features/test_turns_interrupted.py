"""Turns whose worker is killed, suspended or shut down: nothing is lost, sent to the agent twice or posted twice."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx
import pytest

from bridge.errors import LaneLost
from bridge.playground.emulator.faults import Error, RateLimited
from bridge.queue.lease import LEASE
from support.harness import NOT_NOW, POST, READ, Harness, kill_task
from support.store import message, ts
from support.waiting import wait_until


async def killed_while_asking(harness: Harness) -> None:
    """Kill process a during its request to the agent."""
    harness.service.gate.clear()
    task = await harness.start_next("a")
    await _until_asked(harness)
    await kill_task(task)
    harness.service.gate.set()


async def test_a_turn_taken_over_after_its_request_is_reported_as_unknown(harness: Harness) -> None:
    await harness.store.queue(message("do it once"))
    await harness.store.queue(message("and go on", ts(1)))
    await killed_while_asking(harness)

    await harness.take_over("b")
    await harness.work("b")

    assert harness.service.messages == ["do it once", "and go on"]
    assert "can't tell" in harness.seen.texts[0]
    assert harness.seen.texts[1:] == ["re: and go on"]
    assert harness.seen.statuses == [""]  # the killed worker's status is cleared


async def test_a_post_that_cannot_be_looked_up_brings_a_notice(harness: Harness) -> None:
    harness.hang(is_done=True)
    await harness.store.queue(message("hello"))
    task = await harness.start_next("a")
    await wait_until(lambda: harness.seen.attempts, "the post is under way")
    await kill_task(task)
    harness.slack.faults.on(READ, Error("missing_scope"), times=None)

    await harness.take_over("b")

    assert harness.seen.texts[0] == "re: hello"
    assert "may be missing here" in harness.seen.texts[1]
    assert len(harness.seen.texts) == 2


@pytest.mark.parametrize("did_arrive", [True, False])
async def test_a_post_taken_over_is_looked_up_first(harness: Harness, *, did_arrive: bool) -> None:
    harness.hang(is_done=did_arrive)
    turn = await harness.store.queue(message("hello"))
    task = await harness.start_next("a")
    await wait_until(lambda: harness.seen.attempts, "the post is under way")
    await kill_task(task)

    await harness.take_over("b")

    assert harness.service.messages == ["hello"]
    assert harness.seen.texts == ["re: hello"]
    assert (harness.seen.attempts, harness.seen.reads) == (1 if did_arrive else 2, 1)
    assert await harness.store.field(turn, "posted") == harness.seen.messages[0].ts


async def test_a_worker_suspended_before_the_request_does_not_send_it(harness: Harness) -> None:
    await harness.store.queue(message("hello"), agent=7)
    process = harness.store.process("a")
    held = (await process.hold())[0]
    lease = harness.lease(process, held)
    harness.monotonic += LEASE.total_seconds() + 0.1  # between the last renewal and the request

    with pytest.raises(LaneLost):
        await harness.turns(process).work(lease)

    assert (harness.service.asked, harness.seen.messages) == ([], [])


async def test_a_worker_suspended_before_the_post_does_not_post(harness: Harness) -> None:
    await harness.store.queue(message("hello"))
    harness.service.gate.clear()
    task = await harness.start_next("a")
    await _until_asked(harness)
    harness.monotonic += LEASE.total_seconds() + 0.1
    await harness.take_over("b")
    harness.service.gate.set()

    with pytest.raises(LaneLost):
        await task

    (posted,) = harness.seen.messages
    assert "can't tell" in posted.words


TWO_PARTS = "\n\n".join(f"Paragraph {number}: {'words ' * 60}" for number in range(50))


async def suspended_between_parts(harness: Harness, seconds: float) -> tuple[asyncio.Task[None], asyncio.Event]:
    """Suspend process a after the first part of its answer, for *seconds* by its own clock; the event resumes it."""
    harness.service.chats = [httpx.Response(200, json={"sessionId": 1, "message": TWO_PARTS})]
    resume = harness.hang(is_done=True)
    await harness.store.queue(message("hello"))
    task = await harness.start_next("a")
    await wait_until(lambda: harness.seen.messages, "the first part is posted")
    harness.monotonic += seconds
    return task, resume


@pytest.mark.parametrize("seconds", [0, 3600])
async def test_a_worker_suspended_between_parts_does_not_post_the_others_again(
    harness: Harness, seconds: float
) -> None:
    task, resume = await suspended_between_parts(harness, seconds)
    await harness.take_over("b")
    resume.set()

    with pytest.raises(LaneLost):
        await task

    assert len(harness.seen.messages) == 2
    assert "".join(one.words for one in harness.seen.messages) == TWO_PARTS


@pytest.mark.parametrize("seconds", [0, 16])
async def test_a_suspended_worker_leaves_the_other_parts_to_its_successor(harness: Harness, seconds: float) -> None:
    task, resume = await suspended_between_parts(harness, seconds)
    held = await harness.store.process("b").take_over()
    resume.set()

    with pytest.raises(LaneLost):
        await task

    assert len(harness.seen.messages) == 1
    await harness.turns(harness.store.process("b")).work(harness.lease(harness.store.process("b"), held[0]))
    assert "".join(one.words for one in harness.seen.messages) == TWO_PARTS


async def test_a_suspended_worker_that_still_has_the_lane_posts_the_other_parts(harness: Harness) -> None:
    task, resume = await suspended_between_parts(harness, 16)
    resume.set()

    await task

    assert "".join(one.words for one in harness.seen.messages) == TWO_PARTS


async def test_a_late_answer_is_dropped_and_binds_nothing(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    harness.service.gate.clear()
    task = await harness.start_next("a")
    await _until_asked(harness)
    await harness.take_over("b")
    before = await harness.store.dump()
    harness.service.gate.set()

    with pytest.raises(LaneLost):
        await task

    assert await harness.store.dump() == before
    assert len(harness.seen.messages) == 1


async def test_a_post_begins_only_while_the_lease_outlasts_slacks_time_out(harness: Harness) -> None:
    await harness.store.queue(message("hello"))
    process = harness.store.process("a")
    held = (await process.hold())[0]
    lease = harness.lease(process, held)
    await harness.store.expire_lease(held)
    harness.monotonic += 6  # the lease has 9 s left, and a post may take 10

    await harness.turns(process).work(lease)

    assert harness.seen.texts == ["re: hello"]
    lease.check()


async def test_another_workers_lease_is_not_renewed_for_a_post(harness: Harness) -> None:
    await harness.store.queue(message("hello"))
    harness.service.gate.clear()
    task = await harness.start_next("a")
    await _until_asked(harness)
    lease = harness.leases[0]
    await harness.store.process("b").take_over()
    harness.monotonic += 6
    harness.service.gate.set()

    with pytest.raises(LaneLost):
        await task
    with pytest.raises(LaneLost):
        await lease.ensure(timedelta(seconds=10))

    assert harness.seen.messages == []


async def test_draining_releases_a_waiting_lane(harness: Harness) -> None:
    harness.slack.faults.on(POST, NOT_NOW)
    turn = await harness.store.queue(message("hello"))

    async def drain() -> None:
        harness.draining.set()
        await asyncio.Event().wait()  # the pause is longer than the drain time

    harness.on_sleep = drain
    await (await harness.start_next("a"))

    assert await harness.store.entries() == 1
    assert await harness.store.field(turn, "step") == "posting"
    harness.draining.clear()
    harness.on_sleep = None
    await harness.work("b")
    assert harness.service.messages == ["hello"]
    assert harness.seen.texts == ["re: hello"]


async def test_a_turn_that_kills_every_worker_becomes_a_dead_letter(harness: Harness) -> None:
    turn = await harness.store.queue(message("poison"))
    await harness.store.queue(message("after it", ts(1)))
    await harness.store.process("w0").take()
    for number in range(1, 8):
        victim = harness.store.process(f"w{number}")
        await victim.take((await victim.take_over())[0])
    assert await harness.store.field(turn, "step") == "queued"

    await harness.take_over("last")
    await harness.work("last")

    assert await harness.store.field(turn, "step") == "dead"
    assert "wasn't sent to the agent" in harness.seen.texts[0]
    assert harness.seen.texts[1:] == ["re: after it"]


async def test_a_turn_released_often_is_still_answered(harness: Harness) -> None:
    await harness.store.queue(message("patient"))
    for number in range(20):
        process = harness.store.process(f"w{number}")
        await process.journal.release((await process.take()).held)

    await harness.work()

    assert harness.seen.texts == ["re: patient"]


async def _until_asked(harness: Harness) -> None:
    await wait_until(lambda: harness.service.asked, "the request is under way")


async def test_a_turn_whose_post_always_outlasts_its_lease_becomes_a_dead_letter(harness: Harness) -> None:
    turn = await harness.store.queue(message("hello"))
    await harness.store.queue(message("and go on", ts(1)))
    harness.slack.faults.on(POST, RateLimited(1), times=8)

    async def freeze() -> None:
        harness.monotonic += LEASE.total_seconds() + 1 if harness.seen.attempts <= 8 else 0

    harness.on_sleep = freeze
    await harness.work("a")

    assert await harness.store.field(turn, "step") == "dead"
    assert "may be missing here" in harness.seen.texts[0]
    assert harness.seen.texts[1:] == ["re: and go on"]


async def test_a_long_outage_of_slack_makes_no_dead_letters(harness: Harness) -> None:
    await harness.store.queue(message("hello"))
    harness.slack.faults.on(POST, NOT_NOW, times=50)

    await harness.work("a")

    assert harness.seen.texts == ["re: hello"]
