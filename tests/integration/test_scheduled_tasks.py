"""Scheduled questions and runs with two bridges, one of which is killed: each slot starts them once."""

from __future__ import annotations

import time

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL
from bridge.playground.sample_project.answers import Proper
from support.kill_runs import end_leases
from support.system import TAKEOVER_SECONDS, System, text_of
from support.waiting import wait_until

CHAT, RUN = "/api/sdk/agents/1/chat", "/api/sdk/workflows/1/run"
PATIENCE = TAKEOVER_SECONDS + 10.0
TASKS = {
    "question": ("/agents", 'ask 1 daily 9:00 "What changed?"', CHAT),
    "run": ("/workflows", 'schedule 1 daily 9:00 {"day": "monday"}', RUN),
}


async def becomes_due(system: System, command: str, words: str) -> None:
    """Schedule a task, and make it due now."""
    key = f"{{{system.namespace}}}"
    await system.slack.ui.command(ALICE, GENERAL, command, words)
    await wait_until(lambda: system.redis.zcard(f"{key}:reports"), "it is scheduled")
    (id_,) = await system.redis.zrange(f"{key}:reports", 0, -1)
    await system.redis.zadd(f"{key}:due", {id_: int(time.time() * 1000)})


def effects(system: System) -> int:
    return len(system.chats()) + len(system.runs())


def roots(system: System) -> list[Message]:
    """The questions and cards in #general."""
    kinds = {"bridge_root", "bridge_run"}
    shown = [one for one in system.slack.messages(GENERAL) if one.user == BRIDGE and not one.is_reply]
    return [one for one in shown if (one.metadata or {}).get("event_type") in kinds]


@pytest.mark.parametrize("task", list(TASKS))
async def test_one_of_two_processes_starts_a_slot(system: System, task: str) -> None:
    command, words, _ = TASKS[task]
    await system.start_bridge()
    await system.start_bridge()

    await becomes_due(system, command, words)
    await wait_until(lambda: effects(system), "it is started", PATIENCE)
    await wait_until(system.is_at_rest, "it has ended", PATIENCE)

    assert effects(system) == 1
    assert len(roots(system)) == 1


@pytest.mark.parametrize("task", list(TASKS))
async def test_a_kill_while_it_works_is_an_unknown_outcome_with_a_button(system: System, task: str) -> None:
    command, words, path = TASKS[task]
    first = await system.start_bridge()
    system.project.on("POST", path, Proper(delay=20.0))
    await becomes_due(system, command, words)
    await wait_until(lambda: effects(system), "it is started", PATIENCE)

    await first.kill()
    await end_leases(system)
    await system.start_bridge()
    await wait_until(system.is_at_rest, "it has ended", PATIENCE)

    assert effects(system) == 1
    (root,) = roots(system)
    said = [text_of(root), *system.said(GENERAL, root.ts)]
    assert any("I can't tell whether" in one for one in said)
