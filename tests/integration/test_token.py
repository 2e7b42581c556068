"""A revoked bot token: nothing starts, nothing is lost, and the bridge recovers by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL
from bridge.playground.sample_project.answers import Proper
from support.real_redis import RealRedis
from support.secrecy import BOT_TOKEN
from support.system import BridgeProcess, System, open_system
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/api/sdk/agents/1/chat"
REFUSED = b"Slack rejected the bot token"
NEW_TOKEN = f"{BOT_TOKEN}-2"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(redis_server: RealRedis, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[System]:
    file = tmp_path_factory.mktemp("secrets") / "token"
    file.write_text(f"{BOT_TOKEN}\n")
    async with open_system(redis_server.url, "test-token") as system:
        await system.start_bridge(SLACK_BOT_TOKEN="", SLACK_BOT_TOKEN_FILE=str(file), BRIDGE_DEFAULT_AGENT="1")
        yield system


@pytest_asyncio.fixture(loop_scope="module")
async def system(opened: System) -> System:
    opened.start_test()
    opened.slack.people.give_token(BOT_TOKEN)
    the_file(opened).write_text(BOT_TOKEN)
    opened.slack.unsubscribed.discard("tokens_revoked")
    await opened.bridges[0].reaches("slack")
    return opened


def the_file(system: System) -> Path:
    return Path(system.bridges[0].environ["SLACK_BOT_TOKEN_FILE"])


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
    assert (system.slack.deliveries[-1].status, system.project.calls[system.asked_before :]) == (200, [])

    system.slack.people.give_token()
    await system.answered(GENERAL, root)

    assert system.chats() == ["said while nobody can answer"]
    assert bridge.log.count(REFUSED) == said_before + 1, "once, not for each call"
    await bridge.reaches("slack")
    assert await dead_letters(system) == []


async def test_a_recorded_answer_waits_for_the_token_and_is_posted_once(system: System) -> None:
    system.slack.unsubscribed.add("tokens_revoked")  # only Slack's responses show it
    system.project.on("POST", CHAT, Proper(delay=0.3))

    root = await system.mention(ALICE, GENERAL, "asked before")
    await wait_until(lambda: system.chats() == ["asked before"], "the agent is asked")
    await system.slack.people.revoke_token()
    await bridge_noticed(system.bridges[0])
    later = await system.mention(ALICE, GENERAL, "asked after")
    calls = len(system.slack.calls)
    await are_queued(system, 2)
    system.slack.people.give_token()
    await system.answered(GENERAL, root)
    await system.answered(GENERAL, later)

    assert system.chats() == ["asked before", "asked after"]
    assert len(system.answers(GENERAL, root)) == 1
    assert {call.method for call in system.slack.calls[calls:] if not call.is_ok} <= {"auth.test"}, (
        "only the token is checked"
    )
    assert await dead_letters(system) == []


async def test_a_new_token_in_the_file_is_used_if_it_is_the_same_bots(system: System) -> None:
    bridge, bot = system.bridges[0], system.slack.workspace.people[BRIDGE]
    await system.slack.people.revoke_token()
    await bridge_noticed(bridge)
    root = await system.mention(ALICE, GENERAL, "for the new token")
    system.slack.people.give_token(NEW_TOKEN)

    bot.id = "U0ANOTHER"
    the_file(system).write_text(f"{NEW_TOKEN}\n")
    await wait_until(lambda: b"which is another bot's" in bridge.log, "the bridge reports whose token it is")
    assert (await bridge.state())[1]["slack"] == "down"
    bot.id = BRIDGE

    await system.answered(GENERAL, root)
    await bridge.reaches("slack")


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


@pytest.mark.parametrize(
    "event",
    [
        {"type": "tokens_revoked", "tokens": {"oauth": [ALICE], "bot": []}},
        {"type": "app_uninstalled"},
        {"type": "tokens_revoked", "tokens": {"bot": [BRIDGE]}},
    ],
)
async def test_a_false_revocation_event_is_recovered_from(system: System, event: dict[str, object]) -> None:
    await system.slack.people.send_event(event)
    root = await system.mention(ALICE, GENERAL, "still here?")

    await system.answered(GENERAL, root)

    assert system.chats() == ["still here?"]
