"""What only shows between a real bridge and Slack, in threads and commands; one bridge for the file."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from functools import partial

import pytest

from bridge.playground.emulator.faults import RateLimited
from bridge.playground.emulator.sample import (
    ALICE,
    BOB,
    BRIDGE,
    GENERAL,
    NOBOT,
    OTHER_BOT,
    PRIVATE,
    RANDOM,
    RUNNERS,
    TEAM,
)
from bridge.playground.sample_project.answers import PlannedAnswer
from support.forks import run
from support.secrecy import API_KEY
from support.system import System, shared_system, text_of
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/api/sdk/agents/1/chat"


opened, system = shared_system(is_at_rest=True, BRIDGE_DEFAULT_AGENT="1")


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


async def private_answer(system: System, user: str, channel: str, command: str, text: str) -> str:
    before = len(system.ephemerals(user))
    answer = await system.slack.ui.command(user, channel, command, text)
    assert answer.status == 200
    return await system.ephemeral_text(user, before + 1)


async def test_a_command_in_a_channel_without_the_bot_explains_and_starts_no_thread(system: System) -> None:
    notice = await private_answer(system, ALICE, NOBOT, "/agents", "chat Memory my name is Alice")

    assert "Invite me" in notice
    assert system.chats() == []
    assert system.posted(NOBOT) == []


async def test_invalid_json_input_runs_only_after_a_choice(system: System) -> None:
    await system.slack.ui.command(ALICE, GENERAL, "/workflows", 'run Echo {"day": }')
    assert "Line 1, character 9: expected a value" in await system.ephemeral_text(ALICE)
    question, before = system.ephemerals(ALICE)[-1], len(system.slack.views(ALICE))
    (key,) = [key for key in await system.keys() if ":typed:" in key and await system.redis.ttl(key) > 60]

    await system.slack.ui.click(ALICE, GENERAL, question.ts, "run:fix")
    await wait_until(lambda: len(system.slack.views(ALICE)) > before, "the form is open")
    view = system.slack.views(ALICE)[-1]
    shown = {block["block_id"]: block["element"] for block in view.blocks}
    assert shown["input"]["initial_value"] == '{"day": }'
    assert shown["kind"]["initial_option"]["value"] == "json"
    assert system.runs() == []
    await system.slack.ui.submit(view.id, {"input": '{"day": 1}'}, ALICE)
    await wait_until(lambda: len(system.runs()) == 1, "the corrected input runs")
    for _ in range(2):
        await system.slack.ui.click(ALICE, GENERAL, question.ts, "run:text")
    await wait_until(
        lambda: "You already used" in text_of(system.ephemerals(ALICE)[-1]), "the second press is answered"
    )

    async def is_deleted() -> bool:
        return not await system.redis.exists(key)

    await wait_until(is_deleted, "the button works once, and its input is deleted")
    assert system.runs() == [{"day": 1}, '{"day": }'], "one question, one run as text"


async def human_thread(system: System, channel: str, replies: int) -> str:
    """Start a thread between people; return its root."""
    root = await system.slack.people.say(ALICE, channel, "the root")
    for number in range(replies):
        await system.slack.people.say(BOB, channel, f"reply {number}", thread_ts=root)
    return root


async def test_with_fifteen_messages_per_call_the_newest_are_quoted(system: System) -> None:
    system.slack.page_limit = 15
    first = await human_thread(system, GENERAL, 18)
    await system.mention(ALICE, GENERAL, "what happened?", thread_ts=first)
    await system.answered(GENERAL, first)
    system.start_test()

    second = await human_thread(system, GENERAL, 40)
    await system.mention(ALICE, GENERAL, "what happened?", thread_ts=second)
    await system.answered(GENERAL, second)

    (asked,) = system.chats()
    assert "> Alice Adler: the root" in asked
    assert re.search(r"^> \[showing (the newest )?\d+ of 40 messages\]$", asked, re.MULTILINE)
    assert re.search(r"^> Bob Brandt: reply [23]\d$", asked, re.MULTILINE), "people wrote at irregular intervals"
    assert "> Bob Brandt: reply 3\n" not in asked


@pytest.mark.parametrize("has_twin", [False, True])
async def test_a_group_direct_message_is_like_a_channel(system: System, *, has_twin: bool) -> None:
    system.slack.events.mentions_in_mpims = has_twin
    group = system.slack.people.start_group(ALICE, BOB, BRIDGE)
    await system.slack.people.say(BOB, group, "nothing for the bot")

    root = await system.mention(ALICE, group, "hello there")
    await system.answered(group, root)
    await system.slack.people.say(BOB, group, "not for the bot", thread_ts=root)
    await system.replied(BOB, group, root, f"<@{BRIDGE}> and me?")

    assert [one.rpartition("\n")[2] for one in system.chats()] == ["hello there", "Bob Brandt: and me?"]
    assert len(system.answers(group, root)) == 2


async def test_user_groups_and_channels_without_a_label_are_named(system: System) -> None:
    root = await system.mention(ALICE, GENERAL, f"who of <!subteam^{RUNNERS}> is in <#{RANDOM}> or <#{PRIVATE}|>?")
    await system.answered(GENERAL, root)

    assert system.chats() == ["who of @runners is in #random or #private?"]


async def asked(system: System, answer: str) -> str:
    """Have an agent give *answer*, and wait until all of it is posted."""
    system.project.on("POST", CHAT, PlannedAnswer(200, {"sessionId": 1, "message": answer, "toolsUsed": ["the_tool"]}))
    root = await system.mention(ALICE, GENERAL, "tell me everything")
    posts = partial(system.called, "chat.postMessage")
    await wait_until(
        lambda: any("the_tool" in str(call.args) and call.is_ok for call in posts()), "the last part is posted", 20
    )
    return root


async def test_a_long_answer_of_short_lines_delays_no_other_turn(system: System) -> None:
    answer = "1\n" * 200_000
    waited: list[float] = []

    async def ask_how_it_is() -> None:
        while True:
            began = time.monotonic()
            await system.bridges[0].state()
            waited.append(time.monotonic() - began)
            await asyncio.sleep(0.02)

    asking = asyncio.create_task(ask_how_it_is())
    root = await asked(system, answer)
    asking.cancel()

    await wait_until(lambda: len(system.answers(GENERAL, root)) == 2, "the file is uploaded")
    assert (system.slack.files[-1].content or b"").decode() == answer
    assert max(waited) < 15  # it took twenty and more, time after time
