"""Scripts for several lanes share one round trip, and nothing else."""

from __future__ import annotations

import asyncio

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from bridge.queue.scripting import MOST_AT_ONCE, Batches

ECHO = "EVAL", "return ARGV[1]", 1, "{x}:"
COUNT = "EVAL", "return redis.call('INCR', KEYS[1] .. 'n')", 1, "{x}:"
FAIL = "EVAL", "return redis.error_reply('WRONG')", 1, "{x}:"


async def test_scripts_of_many_batches_get_their_own_answers_in_order(redis: Redis) -> None:
    batches = Batches(redis)

    answers = await asyncio.gather(*(batches.run(*COUNT) for _ in range(3 * MOST_AT_ONCE)))
    await redis.delete("{x}:n")

    assert answers == list(range(1, 3 * MOST_AT_ONCE + 1))


async def test_a_script_that_fails_leaves_its_batch_alone(redis: Redis) -> None:
    batches = Batches(redis)

    first, failed, last = await asyncio.gather(
        batches.run(*ECHO, "a"), batches.run(*FAIL), batches.run(*ECHO, "b"), return_exceptions=True
    )

    assert (first, last) == ("a", "b")
    assert isinstance(failed, ResponseError)


async def test_a_cancelled_caller_leaves_its_batch_alone(redis: Redis) -> None:
    batches = Batches(redis)
    impatient = asyncio.create_task(batches.run(*ECHO, "a"))
    patient = asyncio.create_task(batches.run(*ECHO, "b"))
    await asyncio.sleep(0)

    impatient.cancel()

    assert await patient == "b"
    with pytest.raises(asyncio.CancelledError):
        await impatient
