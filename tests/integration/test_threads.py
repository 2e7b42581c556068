"""Which thread messages are for the agent, and how they reach it; one bridge for the file."""

from __future__ import annotations

import json
import os

import pytest

from bridge.playground.emulator.faults import RateLimited
from bridge.playground.emulator.sample import (
    ALICE,
    BOB,
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
from support.forks import run
from support.real_redis import RealRedis
from support.secrecy import API_KEY
from support.system import System, open_shared_system, shared_system
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/api/sdk/agents/1/chat"


opened, system = shared_system(BRIDGE_DEFAULT_AGENT="1")


async def a_conversation(system: System, channel: str = GENERAL) -> str:
    """Start a conversation and clear the records after its first answer."""
    root = await system.mention(ALICE, channel, "hello there")
    await system.answered(channel, root)
    system.start_test()
    return root


async def asked_next(system: System, root: str, channel: str = GENERAL) -> list[str]:
    """What reached the agent by the time a last message is answered."""
    before = len([words for words in system.said(channel, root) if "the last one" in words])
    await system.slack.people.say(ALICE, channel, "the last one", thread_ts=root)
    await wait_until(
        lambda: len([words for words in system.said(channel, root) if "the last one" in words]) > before,
        "the last message is answered",
    )
    return system.chats()


@pytest.mark.parametrize(
    "twins", [("app_mention", "message"), ("message", "app_mention"), ("message",), ("app_mention",)]
)
async def test_a_mention_is_answered_once_however_slack_delivers_it(system: System, twins: tuple[str, ...]) -> None:
    system.slack.events.twins = twins

    root = await system.mention(ALICE, GENERAL, "hello there")
    await system.answered(GENERAL, root)

    assert await asked_next(system, root) == ["hello there", "the last one"]
    assert len(system.answers(GENERAL, root)) == 2


async def test_replies_during_the_first_turn_wait_and_are_answered_in_its_session(system: System) -> None:
    system.project.on("POST", CHAT, Proper(delay=0.4))

    root = await system.mention(ALICE, GENERAL, "my name is Alice")
    await system.slack.people.say(ALICE, GENERAL, "one", thread_ts=root)
    await system.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
    answers = await system.answered(GENERAL, root, 3)

    assert system.chats() == ["my name is Alice", "one", "what is my name?"]
    assert "Alice" in answers[2]
    assert len({body.get("sessionId") for body in system.bodies()[1:]}) == 1


async def test_only_waiting_messages_can_be_edited_and_withdrawn(system: System) -> None:
    system.project.on("POST", CHAT, Proper(delay=0.8))
    root = await system.mention(ALICE, GENERAL, "the first")
    await wait_until(system.chats, "the agent is asked")
    replies = [await system.slack.people.say(ALICE, GENERAL, f"reply {n}", thread_ts=root) for n in range(4)]

    await system.slack.people.edit(GENERAL, root, f"<@{BRIDGE}> the first, changed too late")
    await system.slack.people.edit(GENERAL, replies[0], "reply zer")
    await system.slack.people.edit(GENERAL, replies[0], "reply zero")
    await system.slack.people.delete(GENERAL, replies[1])
    await system.slack.people.edit(GENERAL, replies[2], f"<@{BRIDGE}> reply two, with a mention")
    await system.answered(GENERAL, root, 4)

    assert system.chats() == ["the first", "reply zero", "reply two, with a mention", "reply 3"]


async def test_a_direct_message_starts_a_thread_that_replies_continue(system: System) -> None:
    root = await system.slack.people.say(ALICE, DM_ALICE, "my name is Alice")
    await system.answered(DM_ALICE, root)
    answers = await system.replied(ALICE, DM_ALICE, root, "what is my name?")
    other = await system.slack.people.say(ALICE, DM_ALICE, "what is my name?")
    apart = await system.answered(DM_ALICE, other)

    assert "Alice" in answers[1]
    assert "haven't told" in apart[0], "another root is another conversation"
    assert all(message.thread_ts == root for message in system.answers(DM_ALICE, root))


async def test_other_bots_joins_and_edits_of_answered_messages_are_never_sent(system: System) -> None:
    root = await a_conversation(system)

    await system.slack.people.say(OTHER_BOT, GENERAL, "beep", thread_ts=root)
    await system.slack.people.say(OTHER_BOT, GENERAL, f"<@{BRIDGE}> beep")
    await system.slack.people.edit(GENERAL, root, f"<@{BRIDGE}> hello there, again")
    await system.slack.people.send_event(
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
    await system.slack.people.send_event(
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

    assert await asked_next(system, root) == ["the last one"]
    assert len(system.answers(GENERAL, root)) == 2


@pytest.mark.parametrize("user", [SLACK, SLACKBOT])
async def test_slackbots_messages_never_reach_an_agent(system: System, user: str) -> None:
    root = await a_conversation(system)

    await system.slack.people.slack_says(GENERAL, "Reminder: the weekly meeting", user=user, thread_ts=root)
    await system.slack.people.slack_says(GENERAL, f"Reminder: ask <@{BRIDGE}>", user=user)
    await system.slack.people.slack_says(DM_ALICE, "archived the channel", user=user)

    assert await asked_next(system, root) == ["the last one"]
    assert system.called("users.info") == []
    assert system.ephemerals(user) == []


async def test_another_apps_bot_whose_posts_lack_their_bot_id_never_reaches_an_agent(system: System) -> None:
    root = await a_conversation(system)
    about = {"user": OTHER_BOT, "team": TEAM, "channel": GENERAL, "channel_type": "channel"}

    for kind, ts, text in (("message", "100", "beep"), ("app_mention", "200", f"<@{BRIDGE}> beep")):
        stamp = f"{root[:-3]}{ts}"
        await system.slack.people.send_event(
            {"type": kind, **about, "ts": stamp, "text": text, "thread_ts": root}, GENERAL
        )

    assert await asked_next(system, root) == ["the last one"]
    assert len(system.called("users.info")) <= 1, "users are looked up once in ten minutes"


async def test_files_with_text_and_broadcast_replies_are_ordinary_messages(system: System) -> None:
    root = await a_conversation(system)
    file = {"id": "F0FILE", "name": "list.csv", "mimetype": "text/csv"}

    await system.slack.people.say(ALICE, GENERAL, "what is in this file?", thread_ts=root, files=[file])
    await system.slack.people.say(ALICE, GENERAL, "everybody may read this", thread_ts=root, broadcast=True)

    named = "what is in this file?\n\n[file “list.csv”]"
    assert await asked_next(system, root) == [named, "everybody may read this", "the last one"]


async def test_an_answer_carries_its_session_and_its_tools(system: System) -> None:
    root = await system.mention(ALICE, GENERAL, "Support: what time is it?")
    answers = await system.answered(GENERAL, root)

    answer = system.answers(GENERAL, root)[0]
    metadata = answer.metadata or {}
    assert metadata["event_type"] == "bridge_turn"
    assert metadata["event_payload"]["agent"] == 4
    assert metadata["event_payload"]["session"] == max(system.project.operations.talks)
    assert "search_docs, current_time" in answers[0]
    assert [block["type"] for block in answer.blocks] == ["markdown", "context", "context_actions"]


async def test_a_vote_is_counted_and_shown_by_bridge_feedback(system: System) -> None:
    root = await system.mention(ALICE, GENERAL, "was that helpful?")
    await system.answered(GENERAL, root)
    answer = system.answers(GENERAL, root)[0]
    pair = answer.all_blocks[-1]["elements"][0]

    await system.slack.ui.select(BOB, GENERAL, answer.ts, pair["action_id"], pair["negative_button"]["value"])
    await system.ephemeral_text(BOB)

    here = {"REDIS_URL": system.redis_url, "BRIDGE_NAMESPACE": system.namespace}
    code, output, _ = await run(("feedback", "--json"), "/", {**os.environ, **here})
    (vote,) = [json.loads(line) for line in output.splitlines()]
    assert (code, vote["vote"], vote["user"], vote["agent"]) == (0, "down", BOB, 1)
    assert vote["session"] == answer.metadata["event_payload"]["session"]

    project = {"PROJECT_BASE_URL": system.project.base_url, "PROJECT_API_KEY": API_KEY}
    _, output, _ = await run(("feedback",), "/", {**os.environ, **here, **project})
    assert output.splitlines()[1].split() == ["Memory", "(1)", "0", "1", str(vote["session"])]


async def test_a_rate_limited_channel_delays_no_other(system: System) -> None:
    system.slack.faults.on("chat.postMessage", RateLimited(3), channel=RANDOM)
    slowed = await system.mention(BOB, RANDOM, "slowed down")
    await wait_until(lambda: system.called("chat.postMessage"), "Slack has sent Retry-After")

    root = await system.mention(ALICE, GENERAL, "in no hurry")
    await system.answered(GENERAL, root)

    assert system.answers(RANDOM, slowed) == []
    await system.answered(RANDOM, slowed)
    tried = [call for call in system.called("chat.postMessage") if call.args["channel"] == RANDOM]
    assert tried[1].at - tried[0].at >= 3
    assert [call.status for call in tried] == [429, 200]


async def test_an_answer_costs_one_slack_call_besides_its_status(system: System) -> None:
    root = await a_conversation(system)
    await wait_until(lambda: system.slack.status(GENERAL, root) == "", "the first turn's status is cleared")
    system.start_test()

    await system.replied(ALICE, GENERAL, root, "and again")

    # A busy machine slows down a quick agent. That quick agents show no status: test_slack_indicators.
    called = [call.method for call in system.slack.calls[system.called_before :]]
    assert [method for method in called if method != "agents.sessions.setStatus"] == ["chat.postMessage"]


async def test_a_slow_agent_shows_a_status_until_it_answers(redis_server: RealRedis) -> None:
    # A bridge of its own: each shows at most twenty statuses a minute, and earlier tests may have used them up.
    async with open_shared_system(redis_server.url, BRIDGE_DEFAULT_AGENT="1") as system:
        system.project.on("POST", CHAT, Proper(delay=1.6))

        root = await system.mention(ALICE, GENERAL, "take your time")
        await system.answered(GENERAL, root)

        assert system.slack.statuses(GENERAL, root)[0].status == "processing"
        await wait_until(lambda: system.slack.status(GENERAL, root) == "", "the status is cleared")
