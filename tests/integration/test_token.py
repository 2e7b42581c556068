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
from support.waiting import wait_until
from support.world import BridgeProcess, World, a_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/api/sdk/agents/1/chat"
REFUSED = b"Slack rejected the bot token"
NEW_TOKEN = f"{BOT_TOKEN}-2"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(redis_server: RealRedis, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    file = tmp_path_factory.mktemp("secrets") / "token"
    file.write_text(f"{BOT_TOKEN}\n")
    async with a_world(redis_server.url, "test-token") as world:
        await world.start_bridge(SLACK_BOT_TOKEN="", SLACK_BOT_TOKEN_FILE=str(file), BRIDGE_DEFAULT_AGENT="1")
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def world(opened: World) -> World:
    opened.look_from_here()
    opened.slack.people.give_token(BOT_TOKEN)
    the_file(opened).write_text(BOT_TOKEN)
    opened.slack.unsubscribed.discard("tokens_revoked")
    await opened.bridges[0].reaches("slack")
    return opened


def the_file(world: World) -> Path:
    return Path(world.bridges[0].environ["SLACK_BOT_TOKEN_FILE"])


async def is_noticed(bridge: BridgeProcess) -> None:
    async def is_down() -> bool:
        return (await bridge.state())[1]["slack"] == "down"

    await wait_until(is_down, "the bridge notices that its token is rejected")


async def are_queued(world: World, count: int) -> None:
    async def boxes() -> bool:
        keys = [key for key in await world.keys() if ":box:" in key]
        return sum([await world.redis.llen(key) for key in keys]) == count

    await wait_until(boxes, f"{count} messages are queued in Redis")


async def dead_letters(world: World) -> list[str]:
    return [key for key in await world.keys() if ":dead" in key]


async def test_a_revoked_token_keeps_messages_until_it_works_again(world: World) -> None:
    bridge = world.bridges[0]
    said_before = bridge.log.count(REFUSED)

    await world.slack.people.revoke_token("account_inactive")
    await is_noticed(bridge)
    root = await world.mention(ALICE, GENERAL, "said while nobody can answer")
    await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 later")
    await are_queued(world, 2)
    status, state = await bridge.state()
    assert (status, state["ready"], state["slack"]) == (200, True, "down")
    assert state["slack_trouble"] == "tokens_revoked"
    assert (world.slack.deliveries[-1].status, world.project.calls[world.asked_before :]) == (200, [])

    world.slack.people.give_token()
    await world.answered(GENERAL, root)

    assert world.chats() == ["said while nobody can answer"]
    assert bridge.log.count(REFUSED) == said_before + 1, "once, not for each call"
    await bridge.reaches("slack")
    assert await dead_letters(world) == []


async def test_an_answer_that_is_recorded_waits_for_the_token_and_is_posted_once(world: World) -> None:
    world.slack.unsubscribed.add("tokens_revoked")  # only Slack's responses tell
    world.project.on("POST", CHAT, Proper(delay=0.3))

    root = await world.mention(ALICE, GENERAL, "asked before")
    await wait_until(lambda: world.chats() == ["asked before"], "the agent is asked")
    await world.slack.people.revoke_token()
    await is_noticed(world.bridges[0])
    later = await world.mention(ALICE, GENERAL, "asked after")
    calls = len(world.slack.calls)
    await are_queued(world, 2)
    world.slack.people.give_token()
    await world.answered(GENERAL, root)
    await world.answered(GENERAL, later)

    assert world.chats() == ["asked before", "asked after"]
    assert len(world.answers(GENERAL, root)) == 1
    assert {call.method for call in world.slack.calls[calls:] if not call.is_ok} <= {"auth.test"}, (
        "only the token is checked"
    )
    assert await dead_letters(world) == []


async def test_another_token_in_the_file_is_used_where_it_is_the_same_bots(world: World) -> None:
    bridge, bot = world.bridges[0], world.slack.workspace.people[BRIDGE]
    await world.slack.people.revoke_token()
    await is_noticed(bridge)
    root = await world.mention(ALICE, GENERAL, "for the new token")
    world.slack.people.give_token(NEW_TOKEN)

    bot.id = "U0ANOTHER"
    the_file(world).write_text(f"{NEW_TOKEN}\n")
    await wait_until(lambda: b"which is another bot's" in bridge.log, "the bridge reports whose token it is")
    assert (await bridge.state())[1]["slack"] == "down"
    bot.id = BRIDGE

    await world.answered(GENERAL, root)
    await bridge.reaches("slack")


async def test_a_bridge_with_a_working_token_takes_over(world: World) -> None:
    await world.slack.people.revoke_token()
    await is_noticed(world.bridges[0])
    root = await world.mention(ALICE, GENERAL, "kept for whoever can")
    await are_queued(world, 1)

    world.slack.people.give_token(NEW_TOKEN)
    other = await world.bridge(SLACK_BOT_TOKEN=NEW_TOKEN, BRIDGE_DEFAULT_AGENT="1").start()
    await world.answered(GENERAL, root)

    assert (await world.bridges[0].state())[1]["slack"] == "down"
    await other.end()


@pytest.mark.parametrize(
    "event",
    [
        {"type": "tokens_revoked", "tokens": {"oauth": [ALICE], "bot": []}},
        {"type": "app_uninstalled"},
        {"type": "tokens_revoked", "tokens": {"bot": [BRIDGE]}},
    ],
)
async def test_an_event_about_a_token_that_works_stops_nothing_for_long(world: World, event: dict[str, object]) -> None:
    await world.slack.people.send_event(event)
    root = await world.mention(ALICE, GENERAL, "still here?")

    await world.answered(GENERAL, root)

    assert world.chats() == ["still here?"]
