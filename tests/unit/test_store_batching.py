"""Scripts of several lanes share a round trip, and nothing else."""

from __future__ import annotations

import asyncio

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from bridge.queue.redis.batching import MOST_AT_ONCE, Batches
from bridge.queue.redis.redis_py import Command

ECHO = "return ARGV[1]"
COUNT = "return redis.call('INCR', KEYS[1] .. 'n')"
FAIL = "return redis.error_reply('WRONG')"


def script(text: str, *arguments: str | int) -> Command:
    return "EVAL", text, 1, "{x}:", *arguments


async def test_each_gets_its_own_answer_in_whatever_company(redis: Redis) -> None:
    batches = Batches(redis)

    answers = await asyncio.gather(*(batches.run(script(ECHO, n)) for n in range(3 * MOST_AT_ONCE)))

    assert answers == [str(n) for n in range(3 * MOST_AT_ONCE)]


async def test_they_run_in_the_order_of_asking(redis: Redis) -> None:
    batches = Batches(redis)

    answers = await asyncio.gather(*(batches.run(script(COUNT)) for _ in range(50)))
    await redis.delete("{x}:n")

    assert answers == list(range(1, 51))


async def test_one_that_fails_does_not_harm_its_neighbours(redis: Redis) -> None:
    batches = Batches(redis)

    first, failed, last = await asyncio.gather(
        batches.run(script(ECHO, "a")),
        batches.run(script(FAIL)),
        batches.run(script(ECHO, "b")),
        return_exceptions=True,
    )

    assert (first, last) == ("a", "b")
    assert isinstance(failed, ResponseError)


async def test_who_gives_up_does_not_hold_up_the_others(redis: Redis) -> None:
    batches = Batches(redis)
    impatient = asyncio.create_task(batches.run(script(ECHO, "a")))
    patient = asyncio.create_task(batches.run(script(ECHO, "b")))
    await asyncio.sleep(0)

    impatient.cancel()

    assert await patient == "b"
    with pytest.raises(asyncio.CancelledError):
        await impatient
