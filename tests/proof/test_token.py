"""A revoked bot token: nothing starts, nothing is lost, and the bridge recovers by itself."""

from __future__ import annotations

import pytest
import pytest_asyncio

from bridge.playground.emulator.sample import ALICE, GENERAL
from support.secrecy import BOT_TOKEN
from support.system import BridgeProcess, System, shared_system
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")

REFUSED = b"Slack rejected the bot token"
NEW_TOKEN = f"{BOT_TOKEN}-2"


opened, running = shared_system(BRIDGE_DEFAULT_AGENT="1")


@pytest_asyncio.fixture(loop_scope="module")
async def system(running: System) -> System:
    running.slack.people.give_token(BOT_TOKEN)
    await running.bridges[0].reaches("slack")
    return running


async def bridge_noticed(bridge: BridgeProcess) -> None:
    async def is_down() -> bool:
        return (await bridge.state())[1]["slack"] == "down"

    await wait_until(is_down, "the bridge notices that its token is rejected")


async def are_queued(system: System, count: int) -> None:
    async def boxes() -> bool:
        keys = [key for key in await system.keys() if ":box:" in key]
        return sum([await system.redis.llen(key) for key in keys]) == count

    await wait_until(boxes, f"{count} messages are queued in Redis")


async def dead_letters(system: System) -> list[str]:
    return [key for key in await system.keys() if ":dead" in key]


async def test_messages_wait_while_the_token_is_revoked(system: System) -> None:
    bridge = system.bridges[0]
    said_before = bridge.log.count(REFUSED)

    await system.slack.people.revoke_token("account_inactive")
    await bridge_noticed(bridge)
    root = await system.mention(ALICE, GENERAL, "said while nobody can answer")
    await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 later")
    await are_queued(system, 2)
    status, state = await bridge.state()
    assert (status, state["ready"], state["slack"]) == (200, True, "down")
    assert state["slack_trouble"] == "tokens_revoked"
    assert (system.slack.deliveries[-1].status, system.chats(), system.runs()) == (200, [], [])

    system.slack.people.give_token()
    await system.answered(GENERAL, root)

    assert system.chats() == ["said while nobody can answer"]
    assert bridge.log.count(REFUSED) == said_before + 1, "once, not for each call"
    await bridge.reaches("slack")
    assert await dead_letters(system) == []


async def test_a_bridge_with_a_working_token_takes_over(system: System) -> None:
    await system.slack.people.revoke_token()
    await bridge_noticed(system.bridges[0])
    root = await system.mention(ALICE, GENERAL, "kept for whoever can")
    await are_queued(system, 1)

    system.slack.people.give_token(NEW_TOKEN)
    other = await system.bridge(SLACK_BOT_TOKEN=NEW_TOKEN, BRIDGE_DEFAULT_AGENT="1").start()
    await system.answered(GENERAL, root)

    assert (await system.bridges[0].state())[1]["slack"] == "down"
    await other.end()
