"""Who may, in a channel that is shared with another company: its people are refused, those of home are served."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import (
    ALICE,
    BOB,
    BRIDGE,
    CAROL,
    GENERAL,
    GUEST,
    NOBOT,
    RANDOM,
    SHARED,
    STRANGER,
    VISITOR,
)
from support.forks import run
from support.waiting import wait_until
from support.world import World, shared_world, words_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, world = shared_world(BRIDGE_CONTEXT="off")


def runs(world: World) -> list[object]:
    return [call.body["input"] for call in world.project.calls[world.asked_before :] if call.path.endswith("/run")]


async def a_card(world: World, channel: str) -> Message:
    """Let Alice run a workflow; gives its card."""
    before = {message.ts for message in world.slack.messages(channel)}

    def new() -> list[Message]:
        return [one for one in world.slack.messages(channel) if one.ts not in before and "completed" in words_of(one)]

    await world.slack.ui.command(ALICE, channel, "/workflows", "run 1 hello")
    await wait_until(new, "the card shows the result")
    return new()[0]


async def test_a_strangers_mention_is_refused_in_private_and_binds_nothing(world: World) -> None:
    root = await world.mention(STRANGER, SHARED, "Memory: hello there")
    told = await world.whispered(STRANGER)
    await world.slack.people.say(ALICE, SHARED, "is anybody there?", thread_ts=root)
    assert world.answers(SHARED, root) == []
    await world.mention(ALICE, SHARED, "Memory: I may", thread_ts=root)
    await world.answered(SHARED, root)

    assert "Only members of the bridge's own workspace" in told
    assert world.chats() == ["I may"]


async def test_a_strangers_reply_is_refused_and_those_of_home_are_answered(world: World) -> None:
    root = await world.mention(ALICE, SHARED, "Memory: my name is Alice")
    await world.answered(SHARED, root)

    await world.slack.people.say(STRANGER, SHARED, "and I am Sam", thread_ts=root)
    await world.slack.people.say(STRANGER, SHARED, "!workflows run 1 hello", thread_ts=root)
    await world.slack.people.say(STRANGER, SHARED, "nice", thread_ts=root, broadcast=True)
    await world.whispered(STRANGER, 3)
    await world.replied(ALICE, SHARED, root, "what is my name?")

    assert world.chats() == ["my name is Alice", "what is my name?"]
    assert {message.thread_ts for message in world.whispers(STRANGER)} == {root}
    assert runs(world) == []


async def test_a_strangers_reply_where_nobody_talks_with_the_bot_is_not_even_refused(world: World) -> None:
    root = await world.slack.people.say(ALICE, SHARED, "lunch?")

    await world.slack.people.say(STRANGER, SHARED, "gladly", thread_ts=root)
    await world.mention(STRANGER, SHARED, "hello")
    await world.whispered(STRANGER)

    assert len(world.whispers(STRANGER)) == 1, "for the mention"


async def test_a_strangers_clicks_choices_and_commands_do_nothing(world: World) -> None:
    card = await a_card(world, SHARED)
    root = await world.mention(ALICE, SHARED, "hello there")
    await world.answered(SHARED, root)
    menu = world.answers(SHARED, root)[0]

    await world.slack.ui.click(STRANGER, SHARED, card.ts, "run:again")
    await world.slack.ui.click(STRANGER, SHARED, card.ts, "run:nodes")
    await world.slack.ui.select(STRANGER, SHARED, menu.ts, "agent:choose", "1")
    await world.slack.ui.command(STRANGER, SHARED, "/workflows", "run 1 hello")
    told = await world.whispered(STRANGER, 4)
    await world.slack.ui.select(BOB, SHARED, menu.ts, "agent:choose", "1")
    await world.answered(SHARED, root, 2)

    assert "Only members of the bridge's own workspace" in told
    assert runs(world) == ["hello"]
    assert world.answers(SHARED, card.ts) == [card], "no node results"
    assert world.chats() == ["hello there"]


async def test_guests_of_the_workspace_are_served_and_run_nothing(world: World) -> None:
    card = await a_card(world, GENERAL)
    root = await world.mention(GUEST, GENERAL, "Memory: my name is Gus")
    said = await world.answered(GENERAL, root)

    await world.slack.people.say(GUEST, GENERAL, "!workflows run 1 no", thread_ts=root)
    await world.slack.ui.command(GUEST, GENERAL, "/workflows", "run 1 no")
    await world.slack.ui.command(VISITOR, RANDOM, "/workflows", "run 1")
    await world.slack.ui.click(GUEST, GENERAL, card.ts, "run:again")
    told = [await world.whispered(GUEST, 3), await world.whispered(VISITOR)]

    assert "Gus" in said[0]
    assert all("have permission to run workflows" in words for words in told)
    assert runs(world) == ["hello"]
    assert world.slack.views(VISITOR) == []


def said_at_the_top(world: World, channel: str, words: str) -> list[Message]:
    return [one for one in world.slack.messages(channel) if one.user == BRIDGE and words in words_of(one)]


async def test_a_guests_change_of_a_channels_agent_is_refused_however_it_is_made(world: World) -> None:
    key, root = f"{{{world.namespace}}}:defaults", await world.mention(GUEST, RANDOM, "Memory: hello")
    await world.answered(RANDOM, root)
    await world.slack.ui.command(CAROL, RANDOM, "/agents", "default")
    await wait_until(lambda: world.slack.views(CAROL), "a member gets the form")

    await world.slack.ui.command(GUEST, RANDOM, "/agents", "default Writer")
    await world.slack.ui.command(GUEST, RANDOM, "/agents", "default none")
    await world.slack.ui.command(GUEST, RANDOM, "/agents", "default")
    await world.slack.people.say(GUEST, RANDOM, "!agents default Writer", thread_ts=root)
    told = await world.whispered(GUEST, 4)
    writer = {"text": {"type": "plain_text", "text": "Writer"}, "value": "2"}
    await world.slack.ui.submit(world.slack.views(CAROL)[-1].id, {"agent": writer}, GUEST)  # who sends it counts
    await world.whispered(CAROL)

    assert "permission" in told
    assert f"T0HOME:{RANDOM}" not in await world.redis.hgetall(key)
    assert world.slack.views(GUEST) == []
    assert said_at_the_top(world, RANDOM, "default agent") == []


async def test_a_channel_is_told_once_who_changed_its_agent_to_which(world: World) -> None:
    await world.slack.ui.command(ALICE, GENERAL, "/agents", "default Writer")
    await world.whispered(ALICE)
    await wait_until(lambda: said_at_the_top(world, GENERAL, "Writer"), "the channel is told")
    await world.slack.ui.command(CAROL, GENERAL, "/agents", "default Writer")  # changes nothing
    await world.whispered(CAROL)
    await world.slack.ui.command(ALICE, NOBOT, "/agents", "default Writer")  # nobody to tell there
    await world.whispered(ALICE, 2)
    await world.slack.ui.command(ALICE, GENERAL, "/agents", "default none")
    await wait_until(lambda: said_at_the_top(world, GENERAL, "no longer"), "the channel is told")

    (set_,), (removed,) = said_at_the_top(world, GENERAL, "Writer"), said_at_the_top(world, GENERAL, "no longer")
    assert all("Alice Adler" in words_of(one) for one in (set_, removed))
    assert "<@" not in str([set_.text, set_.blocks, removed.text, removed.blocks])
    assert await world.redis.zcard(f"{{{world.namespace}}}:dead") == 0


async def test_without_the_scope_to_know_guests_everybody_at_home_may_run(world: World) -> None:
    world.slack.scopes.discard("users:read")
    try:
        await world.slack.ui.command(CAROL, GENERAL, "/workflows", "run 1 yes")
        await wait_until(lambda: runs(world) == ["yes"], "the workflow runs")
    finally:
        world.slack.scopes.add("users:read")


async def test_the_check_says_what_a_person_may_do_and_why(world: World) -> None:
    async def check(*words: str) -> tuple[int, str]:
        here = {**os.environ, **world.bridges[0].environ}
        code, said, aside = await run(("check", "--json", "--access", *words), Path.cwd(), here)
        return code, said + aside

    member, guest, named = await asyncio.gather(
        check(ALICE, GENERAL), check(GUEST, SHARED), check("@alice", "#general")
    )

    rows = {row["what"]: row["state"] for row in json.loads(guest[1])["rows"]}
    assert (member[0], json.loads(member[1])["ok"]) == (0, True)
    assert guest[0] == 1
    assert rows == {
        **dict.fromkeys(("person", "channel", "talk", "use commands"), "ok"),
        **dict.fromkeys(("run workflows", "schedule reports", "change channel settings"), "failure"),
    }
    assert named[0] == 2
    assert "isn't a member ID" in named[1]


async def test_where_slack_does_not_say_from_where_a_person_is_it_is_asked_and_never_guessed(world: World) -> None:
    world.slack.faults.on("users.info", Error("internal_error"), times=None)
    roots = {user: world.slack.workspace.messages.post(user, SHARED, "?").ts for user in (BOB, STRANGER)}

    async def send(user: str) -> int | None:
        """Send a mention without a word of where *user* is from, as Slack does now and then, always the same one."""
        text = f"<@{BRIDGE}> Memory: I am {user}"
        event = {"type": "app_mention", "user": user, "text": text, "ts": roots[user], "channel": SHARED}
        before = len(world.slack.deliveries)
        await world.slack.people.send_event(event, SHARED, event_id=f"Ev{user}")
        return world.slack.deliveries[before].status

    async def both_are_taken() -> bool:
        return [await send(user) for user in roots] == [200, 200]

    assert [await send(user) for user in roots] == [503, 503]
    assert world.chats() == []
    world.slack.faults.clear()
    await wait_until(both_are_taken, "Slack's repetitions are taken")
    await world.whispered(STRANGER)
    await wait_until(world.chats, "Bob's is answered")

    assert world.chats() == [f"I am {BOB}"]
