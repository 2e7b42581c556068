"""Who may, where the operator has named channels, people and those who run workflows."""

from __future__ import annotations

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, CAROL, DM_ALICE, GENERAL, RANDOM, RUNNERS
from support.real_redis import RealRedis
from support.waiting import wait_until
from support.world import World, a_shared_world, shared_world

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, world = shared_world(
    BRIDGE_ALLOWED_CHANNELS=GENERAL,
    BRIDGE_ALLOWED_USERS=f"{ALICE}, {BOB}",
    BRIDGE_RUNNERS=f"{RUNNERS},U0NOBODY",
    BRIDGE_DEFAULT_AGENT="memory",
)


def runs(world: World) -> list[object]:
    return [call.body["input"] for call in world.project.calls[world.asked_before :] if call.path.endswith("/run")]


async def a_card(world: World) -> Message:
    """Let Alice run a workflow; gives its card."""
    await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")

    def posted() -> list[str]:
        calls = [call for call in world.called("chat.postMessage") if not call.args.get("thread_ts")]
        return [call.answer["ts"] for call in calls if call.is_ok]

    await wait_until(posted, "the card is there")
    return next(message for message in world.slack.messages(GENERAL) if message.ts == posted()[-1])


async def test_a_channel_that_is_not_named_is_closed(world: World) -> None:
    root = await world.mention(ALICE, RANDOM, "hello there")
    told = await world.whispered(ALICE)
    await world.slack.people.say(ALICE, RANDOM, "still there?", thread_ts=root)
    await world.slack.ui.command(ALICE, RANDOM, "/workflows", "run 1 hello")
    await world.whispered(ALICE, 2)
    await world.slack.people.say(ALICE, DM_ALICE, "hello there")
    await world.whispered(ALICE, 3)

    assert "enabled in this channel" in told
    assert len(world.whispers(ALICE)) == 3, "nothing for the reply in a thread that is not bound"
    assert world.chats() == []
    assert runs(world) == []
    assert world.answers(RANDOM, root) == []


async def test_a_person_who_is_not_named_is_refused_everywhere(world: World) -> None:
    root = await world.mention(ALICE, GENERAL, "hello there")
    await world.answered(GENERAL, root)
    card = await a_card(world)

    await world.mention(CAROL, GENERAL, "hello")
    await world.slack.people.say(CAROL, GENERAL, "hello", thread_ts=root)
    await world.slack.people.say(CAROL, GENERAL, "!stats", thread_ts=root)
    await world.slack.ui.command(CAROL, GENERAL, "/stats")
    await world.slack.ui.click(CAROL, GENERAL, card.ts, "run:again")
    told = await world.whispered(CAROL, 5)
    await world.replied(BOB, GENERAL, root, "and I?")

    assert "have access to the bridge" in told
    assert world.chats() == ["hello there", "Bob Brandt: and I?"]
    assert runs(world) == ["hello"]


async def test_who_does_not_run_workflows_reads_and_talks_all_the_same(world: World) -> None:
    root = await world.mention(BOB, GENERAL, "hello there")
    await world.answered(GENERAL, root)
    card = await a_card(world)

    await world.slack.people.say(BOB, GENERAL, "!workflows run 1 no", thread_ts=root)
    await world.slack.ui.command(BOB, GENERAL, "/workflows", "run 1 no")
    await world.slack.ui.command(BOB, GENERAL, "/workflows", "run 1")
    await world.slack.ui.command(BOB, GENERAL, "/workflows", "run 12 no")
    told = await world.whispered(BOB, 4)
    await world.slack.ui.click(BOB, GENERAL, card.ts, "run:again")
    await world.whispered(BOB, 5)
    await world.slack.ui.click(BOB, GENERAL, card.ts, "run:nodes")
    await world.answered(GENERAL, card.ts, 2)

    assert "have permission to run workflows" in told
    assert runs(world) == ["hello"]
    assert world.slack.views(BOB) == [], "not even a form"


async def test_a_form_runs_for_those_who_may_only(world: World) -> None:
    await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1")
    await wait_until(lambda: world.slack.views(ALICE), "the form is open")
    view = world.slack.views(ALICE)[-1]

    await world.slack.ui.submit(view.id, {"input": "no"}, BOB)  # whoever sends it counts, not who opened it
    told = await world.whispered(ALICE)  # where the form was opened
    assert runs(world) == []
    await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1")
    await wait_until(lambda: world.slack.views(ALICE), "the form is open")
    await world.slack.ui.submit(world.slack.views(ALICE)[-1].id, {"input": "yes"}, ALICE)
    await wait_until(lambda: runs(world), "it runs")

    assert "have permission to run workflows" in told
    assert runs(world) == ["yes"]


async def test_a_refused_person_does_not_keep_others_from_the_thread(world: World) -> None:
    root = await world.mention(CAROL, GENERAL, "hello there")
    await world.whispered(CAROL)

    await world.slack.people.say(ALICE, GENERAL, "not for the bot", thread_ts=root)
    await world.mention(ALICE, GENERAL, "this is", thread_ts=root)
    await world.answered(GENERAL, root)

    (asked,) = world.chats()
    assert asked.endswith("\nAlice Adler: this is")
    assert all(message.user == BRIDGE for message in world.answers(GENERAL, root))


async def test_where_only_mentions_count_a_reply_without_one_is_left_alone(redis_server: RealRedis) -> None:
    async with a_shared_world(redis_server.url, BRIDGE_DEFAULT_AGENT="1", BRIDGE_THREAD_REPLIES="mentions") as world:
        root = await world.mention(ALICE, GENERAL, "hello there")
        await world.answered(GENERAL, root)

        await world.slack.people.say(BOB, GENERAL, "between us", thread_ts=root)
        await world.slack.people.say(ALICE, GENERAL, "!session", thread_ts=root)
        await world.mention(BOB, GENERAL, "and for you", thread_ts=root)
        await world.answered(GENERAL, root, 2)
        await world.slack.people.say(ALICE, DM_ALICE, "no mention needed")
        await wait_until(lambda: len(world.chats()) == 3, "the direct message is answered")

        first, second, third = world.chats()
        assert (first, third) == ("hello there", "no mention needed")
        assert "since your last answer" in second
        assert "\n> Bob Brandt: between us\n" in second
        assert second.endswith("\nBob Brandt: and for you")
        assert "Memory answers here" in await world.whispered(ALICE)
