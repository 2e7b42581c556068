"""A thousand people write at once, each in their own thread, to an agent that takes two seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from statistics import median

from bench.fakes import Verdict
from bench.figures import Figure, at_most, exactly, percentile, without_target
from bench.stage import Stage, Target
from bench.traffic import ChatMessage, mention

_PEOPLE = 1000
_AGENT_SECONDS = 2.0
_WARM_UP = 100
_PATIENCE = 20.0
_DELIVERIES = 4  # Slack retries an event three times


@dataclass(frozen=True, slots=True)
class Burst:
    """The measurements of one burst."""

    in_flight: int
    last_answer: float
    acks: list[float]  # of accepted events
    repeated: int  # refused events that were redelivered, as Slack does
    verdict: Verdict


async def burst(stage: Stage) -> list[Figure]:
    """Measure the bridge several times in one process; then mentions as two events, and the naive baseline."""
    async with stage.server("bridge") as target:
        await stage.threads(target, _WARM_UP)
        bursts = [await _at_once(stage, target) for _ in range(stage.length.times(3, 1))]
        memory = target.process.peak()
        beside = [] if stage.length.is_quick else await _as_slack_does(stage, target)
    if not stage.length.is_quick:
        beside += await _naive(stage)
    return [*_figures(bursts), at_most("… peak memory", memory, 150, "MB"), *beside]


def _figures(bursts: list[Burst]) -> list[Figure]:
    return [
        exactly("1,000 at once: in flight", min(one.in_flight for one in bursts), _PEOPLE),
        *_nothing_went_wrong(one.verdict for one in bursts),
        at_most("… last answer", median(one.last_answer for one in bursts), 3.3, "s", goal=2.8, beside=_spread(bursts)),
        exactly("… refused at first, then redelivered", sum(one.repeated for one in bursts), 0),
        at_most("… slowest ack", max(max(one.acks) for one in bursts), 3, "s"),
        at_most("… ack p99", median(percentile(one.acks, 0.99) for one in bursts), 1, "s", goal=0.5),
    ]


def _nothing_went_wrong(verdicts: Iterable[Verdict]) -> list[Figure]:
    seen = list(verdicts)
    wrong = sum(one.asked_twice + one.out_of_order + one.wrong for one in seen)
    return [
        exactly("… lost", sum(one.lost for one in seen), 0),
        exactly("… answered twice", sum(one.doubled for one in seen), 0),
        exactly("… sent twice, out of order, or to the wrong session", wrong, 0),
    ]


def _spread(bursts: list[Burst]) -> str:
    return "each: " + ", ".join(f"{one.last_answer:.2f}" for one in bursts)


async def _as_slack_does(stage: Stage, target: Target) -> list[Figure]:
    one = await _at_once(stage, target, kinds=("app_mention", "message"))
    clean = "clean" if one.verdict.is_clean else str(one.verdict)
    note = f"ack p99 {percentile(one.acks, 0.99):.2f} s, {one.repeated} redelivered, {clean}"
    return [without_target("… last answer, two events per message", one.last_answer, "s", beside=note)]


async def _naive(stage: Stage) -> list[Figure]:
    async with stage.server("naive") as target:
        await stage.threads(target, _WARM_UP)
        one = await _at_once(stage, target)
        memory = target.process.peak()
    note = f"{one.verdict.lost} lost, ack p99 {percentile(one.acks, 0.99):.2f} s, {memory:.0f} MB"
    return [without_target("… last answer, naive", one.last_answer, "s", beside=note)]


async def _at_once(stage: Stage, target: Target, kinds: tuple[str, ...] = ("app_mention",)) -> Burst:
    stage.project.seconds, stage.ledger.most_in_flight = _AGENT_SECONDS, 0
    messages = [ChatMessage(stage.clock.next(), 0) for _ in range(_PEOPLE)]
    requests = [mention(message, kind) for message in messages for kind in kinds]
    await target.lines.open(len(requests))
    began = time.perf_counter()
    deliveries = await asyncio.gather(*(_deliver(target, request) for request in requests))
    await stage.settled(messages, _PATIENCE)
    stage.project.seconds = 0.0
    posts = [at for message in messages for at in stage.ledger.posted.get(message, ())]
    return Burst(
        in_flight=stage.ledger.most_in_flight,
        last_answer=max(posts) - began,
        acks=[seconds for _, seconds in deliveries],
        repeated=sum(times - 1 for times, _ in deliveries),
        verdict=stage.ledger.verdict(messages),
    )


async def _deliver(target: Target, request: bytes) -> tuple[int, float]:
    """Deliver an event until it is accepted. Returns the number of attempts, and the seconds of the last."""
    for times in range(1, _DELIVERIES + 1):
        answer = await target.lines.ask(request)
        if answer.status == HTTPStatus.OK:
            return times, answer.seconds
    raise AssertionError(f"{target.process.kind} refused an event {_DELIVERIES} times: see {target.process.log}")
