"""Scripts of several lanes share a round trip, and nothing else."""

from __future__ import annotations

import asyncio

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from bridge.store.batching import MOST_AT_ONCE, Batches

ECHO = "return ARGV[1]"
FAIL = "return redis.error_reply('WRONG')"


async def test_each_gets_its_own_answer_in_whatever_company(redis: Redis) -> None:
    batches, sha = Batches(redis), await redis.script_load(ECHO)

    answers = await asyncio.gather(*(batches.run(sha, "{x}:", n) for n in range(3 * MOST_AT_ONCE)))

    assert answers == [str(n) for n in range(3 * MOST_AT_ONCE)]


async def test_they_run_in_the_order_of_asking(redis: Redis) -> None:
    batches, sha = Batches(redis), await redis.script_load("return redis.call('INCR', KEYS[1] .. 'n')")

    answers = await asyncio.gather(*(batches.run(sha, "{x}:") for _ in range(50)))
    await redis.delete("{x}:n")

    assert answers == list(range(1, 51))


async def test_one_that_fails_does_not_harm_its_neighbours(redis: Redis) -> None:
    batches = Batches(redis)
    echo, fail = await redis.script_load(ECHO), await redis.script_load(FAIL)

    first, failed, last = await asyncio.gather(
        batches.run(echo, "{x}:", "a"),
        batches.run(fail, "{x}:"),
        batches.run(echo, "{x}:", "b"),
        return_exceptions=True,
    )

    assert (first, last) == ("a", "b")
    assert isinstance(failed, ResponseError)


async def test_who_gives_up_does_not_hold_up_the_others(redis: Redis) -> None:
    batches, sha = Batches(redis), await redis.script_load(ECHO)
    impatient = asyncio.create_task(batches.run(sha, "{x}:", "a"))
    patient = asyncio.create_task(batches.run(sha, "{x}:", "b"))
    await asyncio.sleep(0)

    impatient.cancel()

    assert await patient == "b"
    with pytest.raises(asyncio.CancelledError):
        await impatient
