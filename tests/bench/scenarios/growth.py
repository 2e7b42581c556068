"""Whether it stays as it is: with many kept threads, and with two processes on one Redis."""

from __future__ import annotations

from statistics import median
from typing import Any

from bench.figures import TIMES, Figure, at_least, at_most, ratio_of_pairs, told
from bench.scenarios.turns import talks
from bench.stage import Length, Stage
from bench.traffic import CHANNEL, TEAM

_THREADS = 16
_FEW = 1_000
_MANY = 100_000
_MOST = 1_000_000
_BATCH = 2_000
_BYTES = 300
_FLAT = 0.85  # the rate of one and the same server varies by as much from minute to minute


async def growth(stage: Stage) -> list[Figure]:
    """Kept threads are copies of a real one, under other names; between, the same talks go on."""
    figures, kept, bytes_each = [], 0, 0.0
    async with stage.server("bridge") as door:
        talking = await talks(stage, door, _THREADS)
        model = _key(talking.threads[0])
        rates: dict[int, float] = {}
        for wanted in _sizes(stage.length):
            bytes_each, kept = await _grow(stage, model, kept, wanted), wanted
            await talking.go_on(0.5)
            rates[wanted] = median([await talking.go_on(stage.length.of(2, 0.7)) for _ in range(3)])
            figures.append(at_most(f"Redis memory for a kept thread, of {wanted:,}", bytes_each, _BYTES, "bytes"))
        stage.check(talking.said)
    figures += [
        at_least(f"turns/s with {wanted:,} kept threads ÷ with {_FEW:,}", rate / rates[_FEW], _FLAT, TIMES)
        for wanted, rate in rates.items()
        if wanted != _FEW
    ]
    return figures


def _sizes(length: Length) -> list[int]:
    if length.is_quick:
        return [_FEW, _MANY // 10]
    return [_FEW, _MANY, _MOST] if length.is_full else [_FEW, _MANY]


def _key(thread: str) -> str:
    return f"{{bench}}:thread:{TEAM}:{CHANNEL}:{thread}"


async def _grow(stage: Stage, model: str, kept: int, wanted: int) -> float:
    """Copy the key *model* until there are *wanted*; gives the bytes that each new one took."""
    value, lifetime = await stage.redis.dump(model), await stage.redis.pttl(model)
    if value is None:
        raise LookupError(model)
    before = await _used(stage)
    for first in range(kept, wanted, _BATCH):
        async with stage.redis.pipeline(transaction=False) as pipe:
            for number in range(first, min(first + _BATCH, wanted)):
                pipe.restore(_key(f"16{number:08d}.000100"), lifetime, value)
            await pipe.execute()
    return (await _used(stage) - before) / (wanted - kept)


async def _used(stage: Stage) -> int:
    memory: dict[str, Any] = await stage.redis.info("memory")
    return int(memory["used_memory_dataset"]) + int(memory.get("overhead.total", 0))


async def processes(stage: Stage) -> list[Figure]:
    """Two bridges that share one core, beside one that has it to itself: what sharing the work costs."""
    both, alone = [], []
    async with stage.server("bridge") as first:
        talking = await talks(stage, first, _THREADS)
        for _ in range(stage.length.times(3, 1)):
            await talking.go_on(0.5)
            one = await talking.go_on(stage.length.of(3, 1))
            async with stage.server("bridge") as second:
                talking.doors = [first, second]
                await talking.go_on(0.5)
                both.append(await talking.go_on(stage.length.of(3, 1)))
                # In peace: what a dead process has posted, another finds in the thread, and this Slack keeps none.
                second.process.stop()
            talking.doors = [first]
            alone.append(one)
        stage.check(talking.said)
    return [
        told("turns/s of two processes ÷ one, on the same core", ratio_of_pairs(both, alone), TIMES),
    ]
