"""Which messages are for the agent, and how they reach it: everything in a thread, with one bridge for the file."""

from __future__ import annotations

import pytest

from bridge.playground.emulator.sample import (
    ALICE,
    BRIDGE,
    DM_ALICE,
    GENERAL,
    OTHER_BOT,
    RANDOM,
    SLACK,
    SLACKBOT,
    TEAM,
)
from bridge.playground.sample_project.answers import Proper
from support.real_redis import RealRedis
from support.waiting import wait_until
from support.world import World, a_shared_world, shared_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/api/sdk/agents/1/chat"


opened, world = shared_world(BRIDGE_DEFAULT_AGENT="1")


async def a_conversation(world: World, channel: str = GENERAL) -> str:
    """Begin a conversation, and look at nothing before its first answer."""
    root = await world.mention(ALICE, channel, "hello there")
    await world.answered(channel, root)
    world.look_from_here()
    return root


async def asked_next(world: World, root: str, channel: str = GENERAL) -> list[str]:
    """What has reached the agent, once a last message is answered."""
    before = len([words for words in world.said(channel, root) if "the last one" in words])
    await world.slack.people.say(ALICE, channel, "the last one", thread_ts=root)
    await wait_until(
        lambda: len([words for words in world.said(channel, root) if "the last one" in words]) > before,
        "the last message is answered",
    )
    return world.chats()


@pytest.mark.parametrize(
    "twins", [("app_mention", "message"), ("message", "app_mention"), ("message",), ("app_mention",)]
)
async def test_a_mention_is_answered_once_however_slack_delivers_it(world: World, twins: tuple[str, ...]) -> None:
    world.slack.events.twins = twins

    root = await world.mention(ALICE, GENERAL, "hello there")
    await world.answered(GENERAL, root)

    assert await asked_next(world, root) == ["hello there", "the last one"]
    assert len(world.answers(GENERAL, root)) == 2


async def test_what_slack_repeats_hours_later_is_not_answered_again(world: World) -> None:
    root = await a_conversation(world)
    await world.replied(ALICE, GENERAL, root, "how are you?")
    earlier = [
        one.payload for one in world.slack.deliveries if one.payload.get("event", {}).get("text") == "how are you?"
    ]

    for payload in earlier:
        await world.slack.people.send_event(payload["event"], GENERAL, event_id=payload["event_id"])
        await world.slack.people.send_event(payload["event"], GENERAL)  # the same message under another event's id

    assert earlier
    assert await asked_next(world, root) == ["how are you?", "the last one"]


async def test_replies_during_the_first_turn_wait_and_are_answered_in_its_session(world: World) -> None:
    world.project.on("POST", CHAT, Proper(delay=0.4))

    root = await world.mention(ALICE, GENERAL, "my name is Alice")
    await world.slack.people.say(ALICE, GENERAL, "one", thread_ts=root)
    await world.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
    said = await world.answered(GENERAL, root, 3)

    assert world.chats() == ["my name is Alice", "one", "what is my name?"]
    assert "Alice" in said[2]
    assert len({body.get("sessionId") for body in world.bodies()[1:]}) == 1


async def test_a_direct_message_begins_a_thread_and_its_replies_go_on(world: World) -> None:
    root = await world.slack.people.say(ALICE, DM_ALICE, "my name is Alice")
    await world.answered(DM_ALICE, root)
    said = await world.replied(ALICE, DM_ALICE, root, "what is my name?")
    other = await world.slack.people.say(ALICE, DM_ALICE, "what is my name?")
    apart = await world.answered(DM_ALICE, other)

    assert "Alice" in said[1]
    assert "haven't told" in apart[0], "another root is another conversation"
    assert all(message.thread_ts == root for message in world.answers(DM_ALICE, root))


async def test_other_bots_joins_and_edits_of_answered_messages_are_never_sent(world: World) -> None:
    root = await a_conversation(world)

    await world.slack.people.say(OTHER_BOT, GENERAL, "beep", thread_ts=root)
    await world.slack.people.say(OTHER_BOT, GENERAL, f"<@{BRIDGE}> beep")
    await world.slack.people.edit(GENERAL, root, f"<@{BRIDGE}> hello there, again")
    await world.slack.people.send_event(
        {
            "type": "message",
            "subtype": "channel_topic",
            "channel": GENERAL,
            "user": ALICE,
            "text": "a new topic",
            "ts": "1700000000.000100",
            "thread_ts": root,
            "channel_type": "channel",
        },
        GENERAL,
    )
    await world.slack.people.send_event(
        {
            "type": "message",
            "hidden": True,
            "channel": GENERAL,
            "user": ALICE,
            "text": "hidden",
            "ts": "1700000000.000200",
            "thread_ts": root,
            "channel_type": "channel",
        },
        GENERAL,
    )

    assert await asked_next(world, root) == ["the last one"]
    assert len(world.answers(GENERAL, root)) == 2


@pytest.mark.parametrize("user", [SLACK, SLACKBOT])
async def test_what_slack_itself_writes_never_reaches_an_agent(world: World, user: str) -> None:
    root = await a_conversation(world)

    await world.slack.people.slack_says(GENERAL, "Reminder: the weekly meeting", user=user, thread_ts=root)
    await world.slack.people.slack_says(GENERAL, f"Reminder: ask <@{BRIDGE}>", user=user)
    await world.slack.people.slack_says(DM_ALICE, "archived the channel", user=user)

    assert await asked_next(world, root) == ["the last one"]
    assert world.called("users.info") == []
    assert world.whispers(user) == []


async def test_another_apps_bot_whose_posts_lack_their_bot_id_never_reaches_an_agent(world: World) -> None:
    root = await a_conversation(world)
    about = {"user": OTHER_BOT, "team": TEAM, "channel": GENERAL, "channel_type": "channel"}

    for kind, ts, text in (("message", "100", "beep"), ("app_mention", "200", f"<@{BRIDGE}> beep")):
        stamp = f"{root[:-3]}{ts}"
        await world.slack.people.send_event(
            {"type": kind, **about, "ts": stamp, "text": text, "thread_ts": root}, GENERAL
        )

    assert await asked_next(world, root) == ["the last one"]
    assert len(world.called("users.info")) <= 1, "who they are is asked once in ten minutes"


async def test_files_with_words_and_replies_that_are_broadcast_are_ordinary_messages(world: World) -> None:
    root = await a_conversation(world)
    file = {"id": "F0FILE", "name": "list.csv", "mimetype": "text/csv"}

    await world.slack.people.say(ALICE, GENERAL, "what is in this file?", thread_ts=root, files=[file])
    await world.slack.people.say(ALICE, GENERAL, "everybody may read this", thread_ts=root, broadcast=True)

    named = "what is in this file?\n\n[file “list.csv”]"
    assert await asked_next(world, root) == [named, "everybody may read this", "the last one"]


async def test_a_file_without_words_goes_along_by_its_name_with_a_private_line(world: World) -> None:
    root = await a_conversation(world)
    file = {"id": "F0FILE", "name": "list.csv", "mimetype": "text/csv"}

    await world.slack.people.say(ALICE, GENERAL, "", thread_ts=root, files=[file])
    said = await world.whispered(ALICE)

    assert "list.csv" in said
    assert "It can read text" in said
    assert world.whispers(ALICE)[0].thread_ts == root
    assert await asked_next(world, root) == ["[file “list.csv”]", "the last one"]


async def test_each_thread_has_a_session_of_its_own(world: World) -> None:
    roots = [(GENERAL, await a_conversation(world)), (GENERAL, await a_conversation(world))]
    roots.append((RANDOM, await a_conversation(world, RANDOM)))

    for number, (channel, root) in enumerate(roots):
        await world.replied(ALICE, channel, root, f"my name is Alice{number}")
    asked = [await world.replied(ALICE, channel, root, "what is my name?") for channel, root in roots]

    assert [f"Alice{number}" in words[-1] for number, words in enumerate(asked)] == [True, True, True]


async def test_an_answer_carries_its_session_and_its_tools(world: World) -> None:
    root = await world.mention(ALICE, GENERAL, "Support: what time is it?")
    said = await world.answered(GENERAL, root)

    answer = world.answers(GENERAL, root)[0]
    metadata = answer.metadata or {}
    assert metadata["event_type"] == "bridge_turn"
    assert metadata["event_payload"]["agent"] == 4
    assert metadata["event_payload"]["session"] == max(world.project.operations.talks)
    assert "search_docs, current_time" in said[0]
    assert [block["type"] for block in answer.blocks] == ["markdown", "context", "context_actions"]


async def test_an_answer_costs_one_call_to_slack_beside_the_sign_of_work(world: World) -> None:
    root = await a_conversation(world)
    await wait_until(lambda: world.slack.status(GENERAL, root) == "", "the first turn's sign is gone")
    world.look_from_here()

    await world.replied(ALICE, GENERAL, root, "and again")

    # A busy machine makes a quick agent slow. That a quick one is not shown to be working: test_say_status.
    called = [call.method for call in world.slack.calls[world.called_before :]]
    assert [method for method in called if method != "agents.sessions.setStatus"] == ["chat.postMessage"]


async def test_a_slow_agent_is_shown_to_be_working_until_it_has_answered(redis_server: RealRedis) -> None:
    # With a bridge of its own: one shows twenty signs a minute, and on a slow machine those before have had them.
    async with a_shared_world(redis_server.url, BRIDGE_DEFAULT_AGENT="1") as world:
        world.project.on("POST", CHAT, Proper(delay=1.6))

        root = await world.mention(ALICE, GENERAL, "take your time")
        await world.answered(GENERAL, root)

        assert world.slack.statuses(GENERAL, root)[0].status == "processing"
        await wait_until(lambda: world.slack.status(GENERAL, root) == "", "nothing is shown any more")
