"""What makes people feel at home in a thread: catching up, names, the hourglass, asking again, and feedback."""

from __future__ import annotations

import json
import os

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL, RANDOM
from bridge.playground.sample_project.answers import Proper
from support.forks import run
from support.waiting import wait_until
from support.world import World, shared_world, words_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/api/sdk/agents/1/chat"


opened, world = shared_world(BRIDGE_DEFAULT_AGENT="1")


async def test_called_into_a_thread_the_agent_knows_what_was_said_and_then_who_speaks(world: World) -> None:
    root = await world.slack.people.say(BOB, GENERAL, "the build is red")
    await world.slack.people.say(ALICE, GENERAL, f"did <@{BOB}> look?", thread_ts=root)
    await world.mention(ALICE, GENERAL, "what now?", thread_ts=root)
    await world.answered(GENERAL, root)
    await world.replied(ALICE, GENERAL, root, "and then?")
    await world.replied(BOB, GENERAL, root, "and I?")

    first, *others = world.chats()
    assert first.split("\n")[1:3] == ["> Bob Brandt: the build is red", "> Alice Adler: did @Bob Brandt look?"]
    assert first.endswith("\nAlice Adler: what now?")
    assert others == ["and then?", "Bob Brandt: and I?"]
    assert len(world.called("conversations.replies")) == 1


async def test_what_waits_has_an_hourglass_until_it_is_answered(world: World) -> None:
    world.project.on("POST", CHAT, Proper(delay=2.0))
    root = await world.mention(ALICE, RANDOM, "the first")
    await wait_until(world.chats, "the agent was asked")
    waits = await world.slack.people.say(ALICE, RANDOM, "the second", thread_ts=root)
    await wait_until(lambda: world.called("reactions.add"), "the sign is there")
    assert [call.args["timestamp"] for call in world.called("reactions.add")] == [waits]

    await world.answered(RANDOM, root, 2)

    await wait_until(lambda: world.called("reactions.remove"), "the sign is taken away")
    assert [call.args["timestamp"] for call in world.called("reactions.remove")] == [waits]


async def test_a_changed_message_is_asked_again_when_its_author_wants_that(world: World) -> None:
    root = await world.mention(ALICE, GENERAL, "how many in April?")
    await world.answered(GENERAL, root)

    await world.slack.people.edit(GENERAL, root, f"<@{BRIDGE}> how many in May?")
    await world.whispered(ALICE)
    offer = world.whispers(ALICE)[0]
    await world.slack.ui.click(ALICE, GENERAL, offer.ts, "turn:edited")
    await world.answered(GENERAL, root, 2)

    assert world.chats() == ["how many in April?", "how many in May?"]
    assert "last in this thread's queue" in words_of(offer)


async def test_a_vote_is_counted_and_told_by_bridge_feedback(world: World) -> None:
    root = await world.mention(ALICE, GENERAL, "was that helpful?")
    await world.answered(GENERAL, root)
    answer = world.answers(GENERAL, root)[0]
    pair = answer.all_blocks[-1]["elements"][0]

    await world.slack.ui.select(BOB, GENERAL, answer.ts, pair["action_id"], pair["negative_button"]["value"])
    await world.whispered(BOB)

    here = {"REDIS_URL": world.redis_url, "BRIDGE_NAMESPACE": world.namespace}
    code, said, _ = await run(("feedback", "--json"), "/", {**os.environ, **here})
    (vote,) = [json.loads(line) for line in said.splitlines()]
    assert (code, vote["vote"], vote["user"], vote["agent"]) == (0, "down", BOB, 1)
    assert vote["session"] == answer.metadata["event_payload"]["session"]
