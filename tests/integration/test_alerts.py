"""An alert with two bridges, one of which is killed: posted once, and over once."""

from __future__ import annotations

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import Slow
from bridge.playground.emulator.sample import ALICE, GENERAL
from support.kill_runs import end_leases
from support.system import System, text_of
from support.waiting import wait_until

PATIENCE = 30.0


def alerts(system: System) -> list[Message]:
    shown = system.slack.workspace.messages.of(GENERAL)
    return [one for one in shown if (one.metadata or {}).get("event_type") == "bridge_alert"]


async def is_evaluated_again(system: System) -> None:
    """Have the bridges evaluate all alerts at their next look, as in another minute."""
    async for claim in system.redis.scan_iter(f"{{{system.namespace}}}:claimed:alerts.evaluate_all:*"):
        await system.redis.delete(claim)


async def test_an_alert_survives_the_kill_of_a_bridge(system: System) -> None:
    first = await system.start_bridge()
    await system.start_bridge()
    await system.slack.ui.command(ALICE, GENERAL, "/stats", "alert dead letters > 0")
    await wait_until(lambda: system.ephemerals(ALICE), "the preview is shown", PATIENCE)
    await system.slack.ui.click(ALICE, GENERAL, system.ephemerals(ALICE)[-1].ts, "alert:save")

    async def is_set_up() -> int:
        return int(await system.redis.zcard(f"{{{system.namespace}}}:alerts"))

    await wait_until(is_set_up, "the alert is set up", PATIENCE)
    system.slack.faults.on("chat.postMessage", Slow(0.5))
    dead = f"{{{system.namespace}}}:dead"
    await system.redis.zadd(dead, {"gone": 1})
    await is_evaluated_again(system)
    await wait_until(lambda: system.called("chat.postMessage"), "the alert is being posted", PATIENCE)

    await first.kill()
    await wait_until(lambda: alerts(system), "the alert is posted", PATIENCE)
    await end_leases(system)
    await system.redis.zrem(dead, "gone")

    async def is_over() -> bool:
        await is_evaluated_again(system)
        return len(alerts(system)) > 1

    await wait_until(is_over, "it's over", PATIENCE)
    await wait_until(system.is_at_rest, "all is done", PATIENCE)

    edited, reply = alerts(system)
    assert text_of(edited).startswith("✅")
    assert reply.thread_ts == edited.ts
    assert text_of(reply).startswith("✅ Recovered")
