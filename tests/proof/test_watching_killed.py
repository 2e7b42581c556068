"""SIGKILL at each step from an edge to its end: of an incident, and of an alert that runs a workflow.

A run without kills finds the steps (`support.kill_points`); then a bridge dies at each of them, and another goes on.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bridge.features.alerts.alert import AlertSpec
from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL, RANDOM, TEAM
from bridge.queue.redis.connection import stop_if_cancelled
from support.kill_runs import KillRun, execute, execute_all, report
from support.real_redis import RealRedis
from support.stories import PATIENCE, Users
from support.system import System
from support.waiting import wait_until

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.timeout(300),  # some 15 runs, which wait for the jobs
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="bridges are forked, and only Linux reports their end"),
]

OPS = RANDOM
AT_ONCE = 12  # nearly all of them: they mostly wait
CONDITION = "dead letters > 0"
OF_AN_EDGE = ("sent", "slack chat.postMessage", "slack chat.update", "project run")
"""The steps after which something might be repeated; the queue's own steps are the same for everything that's queued
(test_killed_everywhere)."""


async def an_edge(users: Users) -> None:
    """There's a dead letter: an incident and an alert. When it's gone, both are over."""
    system = users.system
    prefix = f"{{{system.namespace}}}"
    spec = AlertSpec(condition=CONDITION, team=TEAM, channel=GENERAL, owner=ALICE, run=1, run_name="Echo")
    await system.redis.hset(f"{prefix}:alert:a1", mapping={"v": "1", "body": spec.model_dump_json()})
    await system.redis.zadd(f"{prefix}:alerts", {"a1": 1})
    looking = asyncio.create_task(_look_at_once(system))
    try:
        await system.redis.zadd(f"{prefix}:dead", {"t1": int(time.time() * 1000)})
        await wait_until(lambda: _incidents(system) and _alerts(system), "both are posted", PATIENCE)
        await wait_until(lambda: _cards(system), "the alert runs its workflow", PATIENCE)
        await system.redis.zrem(f"{prefix}:dead", "t1")
        await wait_until(
            lambda: all(one.text.startswith("✅") for one in (*_incidents(system), *_alerts(system))),
            "both are over",
            PATIENCE,
        )
        await wait_until(lambda: _replies(system, OPS) and _replies(system, GENERAL), "both ends are said", PATIENCE)
        await wait_until(system.is_at_rest, "nothing is queued", PATIENCE)
        looks = await _looks(system)
        await wait_until(lambda: _have_grown(system, looks), "both were looked at again", PATIENCE)
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
    assert list(_faults(system)) == []


async def _look_at_once(system: System) -> None:
    """Have the jobs done as often as processes look for them, not once a period."""
    while True:
        claims = [key async for key in system.redis.scan_iter(f"{{{system.namespace}}}:claimed:*")]
        for job in ("alerts.evaluate_all", "incidents.watch"):
            if any(job in key for key in claims):
                await system.redis.incr(f"test:{system.namespace}:{job}")
                await system.redis.expire(f"test:{system.namespace}:{job}", 600)
        if claims:
            await system.redis.delete(*claims)
        stop_if_cancelled()  # redis-py may have swallowed that
        await asyncio.sleep(0.5)


async def _looks(system: System) -> list[int]:
    names = ("alerts.evaluate_all", "incidents.watch")
    return [int(await system.redis.get(f"test:{system.namespace}:{job}") or 0) for job in names]


async def _have_grown(system: System, before: list[int]) -> bool:
    return all(now > then for now, then in zip(await _looks(system), before, strict=True))


def _faults(system: System) -> Iterator[str]:
    for what, found in (("incidents", _incidents(system)), ("alerts", _alerts(system)), ("cards", _cards(system))):
        if len(found) != 1:
            yield f"{len(found)} {what}: {[one.text for one in found]}"
    for channel in (OPS, GENERAL):
        if len(replies := _replies(system, channel)) != 1:
            yield f"{len(replies)} ends in {channel}: {[one.text for one in replies]}"
    if len(system.runs()) > 1 or (
        not system.runs() and "can't tell" not in str([one.blocks for one in _cards(system)])
    ):
        yield f"{len(system.runs())} runs: {[one.text for one in _cards(system)]}"


def _of(system: System, channel: str, kind: str) -> list[Message]:
    roots = [one.ts for one in system.slack.messages(channel)]
    shown = [one for root in roots for one in system.slack.messages(channel, root)]
    return [one for one in shown if one.user == BRIDGE and (one.metadata or {}).get("event_type") == kind]


def _incidents(system: System) -> list[Message]:
    found = [one for one in _of(system, OPS, "bridge_incident") if not one.is_reply]
    return [one for one in found if "work" in one.text and "couldn't be finished" in one.text]


def _alerts(system: System) -> list[Message]:
    return [one for one in _of(system, GENERAL, "bridge_alert") if not one.is_reply]


def _replies(system: System, channel: str) -> list[Message]:
    roots = {one.ts for one in (*_incidents(system), *_alerts(system))}
    said = [*_of(system, channel, "bridge_incident"), *_of(system, channel, "bridge_alert")]
    return [one for one in said if one.is_reply and one.thread_ts in roots and one.text.startswith("✅")]


def _cards(system: System) -> list[Message]:
    return _of(system, GENERAL, "bridge_run")


async def test_each_edge_is_posted_and_run_once_whatever_dies(redis_server: RealRedis) -> None:
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        environ = {"BRIDGE_OPS_CHANNEL": OPS}
        baseline = await execute(KillRun(stories=(an_edge,), environ=environ), redis_server.url, Path(folder))
        assert report([baseline]) == ""
        (passed,) = baseline.point_logs
        kills = [one for one in passed if one.rpartition(" ")[0] in {f"after {step}" for step in OF_AN_EDGE}]
        runs = [KillRun((one,), (an_edge,), environ=environ) for one in kills]

        done = await execute_all(runs, redis_server.url, Path(folder), at_once=AT_ONCE)

        assert report(done) == ""
        missed = [one for run in done for one in run.missed_kills]
        assert len(missed) <= len(kills) // 4, f"these kills didn't happen: {missed}"
