"""Threads and commands as Slack delivers them: other bots, busy threads, group messages, long answers, wrong input."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta

import httpx
import pytest

from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL, NOBOT, OTHER_BOT, TEAM
from support.harness import Harness

MENTION = f"<@{BRIDGE}> "


@pytest.fixture
def harness(harness: Harness) -> Harness:
    harness.configure(BRIDGE_DEFAULT_AGENT="7")
    return harness


async def test_another_apps_bot_whose_posts_lack_their_bot_id_never_reaches_an_agent(harness: Harness) -> None:
    root = await harness.say(f"{MENTION}hello there")
    about = {"user": OTHER_BOT, "team": TEAM, "channel": GENERAL, "channel_type": "channel", "thread_ts": root}

    for kind, ts, text in (("message", "100", "beep"), ("app_mention", "200", f"{MENTION}beep")):
        await harness.event({"type": kind, **about, "ts": f"{root[:-3]}{ts}", "text": text}, event_id=f"Ev{ts}")
    await harness.say("the last one", root)

    assert harness.service.messages == ["hello there", "the last one"]
    assert len(harness.seen.called("users.info")) <= 2, "users are looked up once in ten minutes"


async def test_an_answer_costs_one_slack_call_besides_its_status(harness: Harness) -> None:
    root = await harness.say(f"{MENTION}hello there")
    harness.slack.calls.clear()

    await harness.say("and again", root)

    called = [call.method for call in harness.slack.calls]
    assert [method for method in called if method != "agents.sessions.setStatus"] == ["chat.postMessage"]


async def test_a_command_in_a_channel_without_the_bot_explains_and_starts_no_thread(harness: Harness) -> None:
    await harness.type_command("/agents chat Support my name is Alice", channel=NOBOT)

    assert "Invite me" in harness.seen.ephemerals[-1].text
    assert harness.service.messages == []
    assert harness.seen.messages == []


async def test_invalid_json_input_runs_only_after_a_choice(harness: Harness) -> None:
    await harness.type_command('/workflows run 3 {"day": }')
    assert "Line 1, character 9: expected a value" in harness.seen.ephemerals[-1].text
    assert any(":choice:" in key for key in await harness.keys())

    await harness.press("run:fix")
    view = harness.slack.views(ALICE)[-1]
    shown = {block["block_id"]: block["element"] for block in view.blocks}
    assert shown["input"]["initial_value"] == '{"day": }'
    assert shown["kind"]["initial_option"]["value"] == "json"
    assert harness.service.runs == []
    await harness.slack.ui.submit(view.id, {"input": '{"day": 1}'}, ALICE)
    await harness.work()
    for _ in range(2):
        await harness.press("run:text", works=False)
    await harness.work()

    assert "You already used" in harness.seen.ephemerals[-1].text
    assert harness.service.runs == [{"day": 1}, '{"day": }'], "one question, one run as text"
    assert not any(":choice:" in key for key in await harness.keys()), "the button works once, its input is deleted"


async def test_with_fifteen_messages_per_call_the_newest_are_quoted(harness: Harness) -> None:
    harness.slack.rates.page_limit = 15
    root = await harness.say("the root")
    for number in range(40):
        await harness.slack.people.say(BOB, GENERAL, f"reply {number}", thread_ts=root)
        harness.store.clock.time += timedelta(seconds=1)

    await harness.say(f"{MENTION}what happened?", root)

    (asked,) = harness.service.messages
    assert "> Alice Adler: the root" in asked
    assert re.search(r"^> \[showing (the newest )?\d+ of 40 messages\]$", asked, re.MULTILINE)
    assert re.search(r"^> Bob Brandt: reply [23]\d$", asked, re.MULTILINE)
    assert "> Bob Brandt: reply 3\n" not in asked


@pytest.mark.parametrize("has_twin", [False, True])
async def test_a_group_direct_message_is_like_a_channel(harness: Harness, *, has_twin: bool) -> None:
    harness.slack.events.mentions_in_mpims = has_twin
    group = harness.slack.people.start_group(ALICE, BOB, BRIDGE)
    await harness.say("nothing for the bot", user=BOB, channel=group)

    root = await harness.say(f"{MENTION}hello there", channel=group)
    await harness.say("not for the bot", root, BOB, group)
    await harness.say(f"{MENTION}and me?", root, BOB, group)

    assert [one.rpartition("\n")[2] for one in harness.service.messages] == ["hello there", "Bob Brandt: and me?"]
    assert len(harness.seen.replies()) == 2


async def test_a_long_answer_of_short_lines_delays_no_other_turn(harness: Harness) -> None:
    answer = "1\n" * 200_000
    harness.service.chats = [httpx.Response(200, json={"sessionId": 1, "message": answer})]
    await harness.slack.people.say(ALICE, GENERAL, f"{MENTION}tell me everything")
    work, steps = await harness.start_next(), 0

    while not work.done():
        await asyncio.sleep(0)
        steps += bool(harness.service.asked)

    assert harness.slack.files[-1].content == answer.encode()
    assert steps > 100, "others go on while it's laid out"
