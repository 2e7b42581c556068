"""Turns whose worker was killed, suspended or told to end: nothing is asked or posted twice, and nothing is lost."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from bridge.errors import LaneLost, SlackRefused, SlackUnreachable
from bridge.queue.turn import LEASE
from support.store import message, ts
from support.turns import Bench, killed
from support.waiting import wait_until

OUT_OF_TIME = SlackUnreachable("chat.postMessage", "out of time", timedelta(0))


async def killed_while_asking(bench: Bench) -> None:
    """Let process a die with its request under way."""
    bench.service.gate.clear()
    task = await bench.begin("a")
    await _until_asked(bench)
    await killed(task)
    bench.service.gate.set()


async def test_who_takes_over_after_a_request_says_that_nobody_knows(bench: Bench) -> None:
    await bench.store.queue(message("do it once"))
    await bench.store.queue(message("and go on", ts(1)))
    await killed_while_asking(bench)

    await bench.take_over("b")
    await bench.work("b")

    assert bench.service.messages == ["do it once", "and go on"]
    assert "not known" in bench.say.words[0]
    assert bench.say.words[1:] == ["re: and go on"]
    assert bench.say.signs.count("idle") >= 1  # the sign of the dead is taken away


async def test_who_takes_over_where_nobody_can_look_says_so_and_posts_nothing_again(bench: Bench) -> None:
    bench.say.after.clear()
    await bench.store.queue(message("hello"))
    task = await bench.begin("a")
    await wait_until(lambda: bench.say.attempts, "the post is under way")
    await killed(task)
    bench.say.after.set()
    bench.say.look_troubles = [SlackRefused("conversations.replies", "missing_scope")]

    await bench.take_over("b")

    assert bench.say.words[0] == "re: hello"
    assert "may be missing here" in bench.say.words[1]
    assert len(bench.say.words) == 2


@pytest.mark.parametrize("did_arrive", [True, False])
async def test_who_takes_over_while_it_is_posted_looks_first(bench: Bench, *, did_arrive: bool) -> None:
    (bench.say.after if did_arrive else bench.say.gate).clear()
    turn = await bench.store.queue(message("hello"))
    task = await bench.begin("a")
    await wait_until(lambda: bench.say.attempts, "the post is under way")
    await killed(task)
    bench.say.after.set()
    bench.say.gate.set()

    await bench.take_over("b")

    assert bench.service.messages == ["hello"]
    assert bench.say.words == ["re: hello"]
    assert (bench.say.attempts, bench.say.looks) == (1 if did_arrive else 2, 1)
    assert await bench.store.field(turn, "posted") == bench.say.messages[0].ts


async def test_a_worker_that_was_suspended_before_the_request_does_not_send_it(bench: Bench) -> None:
    await bench.store.queue(message("hello"), agent=7)
    process = bench.store.process("a")
    held = (await process.hold())[0]
    lease = bench.lease(process, held)
    bench.monotonic += LEASE.total_seconds() + 0.1  # between its last renewal and the request

    with pytest.raises(LaneLost):
        await bench.turns(process).work(lease)

    assert (bench.service.asked, bench.say.messages) == ([], [])


async def test_a_worker_that_was_suspended_before_the_post_does_not_post(bench: Bench) -> None:
    await bench.store.queue(message("hello"))
    bench.service.gate.clear()
    task = await bench.begin("a")
    await _until_asked(bench)
    bench.monotonic += LEASE.total_seconds() + 0.1
    await bench.take_over("b")
    bench.service.gate.set()

    with pytest.raises(LaneLost):
        await task

    (said,) = bench.say.messages
    assert "not known" in said.words


async def test_a_late_answer_is_dropped_and_binds_nothing(bench: Bench) -> None:
    await bench.store.conversation(agent=7)
    bench.service.gate.clear()
    task = await bench.begin("a")
    await _until_asked(bench)
    await bench.take_over("b")
    before = await bench.store.dump()
    bench.service.gate.set()

    with pytest.raises(LaneLost):
        await task

    assert await bench.store.dump() == before
    assert len(bench.say.messages) == 1


async def test_a_post_begins_only_while_the_lease_outlasts_slacks_time_out(bench: Bench) -> None:
    await bench.store.queue(message("hello"))
    process = bench.store.process("a")
    held = (await process.hold())[0]
    lease = bench.lease(process, held)
    await bench.store.expire_lease(held)
    bench.monotonic += 6  # 9 s are left of the lease, and a post may take 10

    await bench.turns(process).work(lease)

    assert bench.say.words == ["re: hello"]
    lease.check()


async def test_a_lease_that_another_has_is_not_renewed_for_a_post(bench: Bench) -> None:
    await bench.store.queue(message("hello"))
    bench.service.gate.clear()
    task = await bench.begin("a")
    await _until_asked(bench)
    lease = bench.leases[0]
    await bench.store.process("b").take_over()
    bench.monotonic += 6
    bench.service.gate.set()

    with pytest.raises(LaneLost):
        await task
    with pytest.raises(LaneLost):
        await lease.ensure(timedelta(seconds=10))

    assert bench.say.messages == []


async def test_draining_while_it_waits_gives_the_lane_back(bench: Bench) -> None:
    bench.say.troubles = [SlackUnreachable("chat.postMessage")]
    turn = await bench.store.queue(message("hello"))

    async def drain() -> None:
        bench.draining.set()
        await asyncio.Event().wait()  # the pause would take longer than the process has

    bench.on_sleep = drain
    await (await bench.begin("a"))

    assert await bench.store.entries() == 1
    assert await bench.store.field(turn, "step") == "posting"
    bench.draining.clear()
    bench.on_sleep = None
    await bench.work("b")
    assert bench.service.messages == ["hello"]
    assert bench.say.words == ["re: hello"]


async def test_a_turn_that_no_worker_survives_is_buried(bench: Bench) -> None:
    turn = await bench.store.queue(message("poison"))
    await bench.store.queue(message("after it", ts(1)))
    await bench.store.process("w0").take()
    for number in range(1, 8):
        victim = bench.store.process(f"w{number}")
        await victim.take((await victim.take_over())[0])
    assert await bench.store.field(turn, "step") == "queued"

    await bench.take_over("last")
    await bench.work("last")

    assert await bench.store.field(turn, "step") == "dead"
    assert bench.say.words == ["re: after it"]


async def test_a_turn_that_was_given_back_often_is_not_buried(bench: Bench) -> None:
    await bench.store.queue(message("patient"))
    for number in range(20):
        process = bench.store.process(f"w{number}")
        await process.journal.release((await process.take()).held)

    await bench.work()

    assert bench.say.words == ["re: patient"]


async def _until_asked(bench: Bench) -> None:
    await wait_until(lambda: bench.service.asked, "the request is out")


async def test_a_turn_that_outlives_its_lease_in_each_attempt_to_show_it_is_buried(bench: Bench) -> None:
    turn = await bench.store.queue(message("hello"))
    await bench.store.queue(message("and go on", ts(1)))
    bench.say.troubles = [OUT_OF_TIME] * 8

    def freeze() -> None:
        bench.monotonic += LEASE.total_seconds() + 1 if bench.say.troubles else 0

    bench.say.in_post = freeze
    await bench.work("a")

    assert await bench.store.field(turn, "step") == "dead"
    assert bench.say.words == ["re: and go on"]


async def test_a_slack_that_is_away_for_long_buries_nothing(bench: Bench) -> None:
    await bench.store.queue(message("hello"))
    bench.say.troubles = [OUT_OF_TIME] * 50

    await bench.work("a")

    assert bench.say.words == ["re: hello"]
