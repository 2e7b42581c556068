"""kill -9 at any moment: nothing is lost or doubled, and the order stays.

One test waits for a lease to expire; the others expire it as soon as its owner is killed.
"""

from __future__ import annotations

import secrets
import signal
import time

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import Slow
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL
from bridge.playground.sample_project.answers import Hang, Proper
from support.lives import end_leases
from support.real_redis import RealRedis
from support.waiting import wait_until
from support.world import TAKEOVER_SECONDS, World, a_world, words_of

CHAT = "/api/sdk/agents/1/chat"
PATIENCE = TAKEOVER_SECONDS + 10.0


async def test_a_request_without_a_response_is_unknown_and_can_be_resent(world: World) -> None:
    world.project.on("POST", CHAT, Hang())
    bridge = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    root = await world.mention(ALICE, GENERAL, "remember the number 42")
    await wait_until(lambda: len(world.chats()) == 1, "the agent is asked")
    await world.slack.people.say(ALICE, GENERAL, "and the number 43", thread_ts=root)

    await bridge.kill()
    await end_leases(world)
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    said = await world.answered(GENERAL, root, 2, timeout=PATIENCE)

    assert "can't tell" in said[0]
    assert world.chats() == ["remember the number 42", "and the number 43"], "asked once each, in order"

    notice = world.answers(GENERAL, root)[0]
    await world.slack.ui.click(ALICE, GENERAL, notice.ts, "turn:again")
    await world.slack.ui.click(ALICE, GENERAL, notice.ts, "turn:again")
    said = await world.answered(GENERAL, root, 3)

    assert world.chats()[2:] == ["remember the number 42"], "sent again once, at the end"
    assert "Sent again" in words_of(world.answers(GENERAL, root)[0])


async def test_an_answer_that_slack_accepted_is_not_reposted_by_a_successor(world: World) -> None:
    bridge = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    root = await world.mention(ALICE, GENERAL, "hello there")
    await world.answered(GENERAL, root)
    world.slack.faults.on("chat.postMessage", Slow(1.0))
    await world.slack.people.say(ALICE, GENERAL, "hello again", thread_ts=root)
    await wait_until(lambda: len(world.chats()) == 2, "the agent is asked")
    await wait_until(lambda: len(world.slack.calls_of("chat.postMessage")) == 2, "the answer is being posted")

    await bridge.kill()
    # A lease outlasts a post in flight. This one is expired early, so the post has to arrive first.
    await world.answered(GENERAL, root, 2)
    await end_leases(world)
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await world.slack.people.say(ALICE, GENERAL, "and once more", thread_ts=root)
    await world.answered(GENERAL, root, 3, timeout=PATIENCE)

    assert world.chats() == ["hello there", "hello again", "and once more"]
    assert len(world.answers(GENERAL, root)) == 3


async def test_a_run_whose_bridge_is_killed_keeps_one_card(world: World) -> None:
    world.project.on("POST", "/api/sdk/workflows/1/run", Hang())
    bridge = await world.start_bridge()
    await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")
    await wait_until(lambda: _cards(world), "the card says running")

    await bridge.kill()
    await end_leases(world)
    await world.start_bridge()
    await wait_until(lambda: "can't tell" in words_of(_cards(world)[0]), "the card says that the outcome is unknown")
    await wait_until(world.is_at_rest, "nothing is queued")

    assert len(_cards(world)) == 1
    assert world.runs() == ["hello"]


async def test_a_wrong_clock_does_not_repeat_a_post_made_before_a_kill(redis_server: RealRedis) -> None:
    """This machine's clock is ten minutes ahead of Slack's; the search for the post has to use Slack's."""
    async with a_world(redis_server.url, f"test-{secrets.token_hex(4)}", clock=lambda: time.time() - 600) as world:
        bridge = await world.start_bridge_on_a_socket()
        world.slack.faults.on("chat.postMessage", Slow(0.5))
        await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")
        await wait_until(lambda: world.called("chat.postMessage"), "the card is being posted")

        await bridge.kill()
        await wait_until(lambda: _cards(world), "the card is posted")
        await end_leases(world)
        await world.start_bridge_on_a_socket()
        await wait_until(world.is_at_rest, "the run has ended", PATIENCE)

        assert len(_cards(world)) == 1


def _cards(world: World) -> list[Message]:
    return [one for one in world.slack.messages(GENERAL) if one.user == BRIDGE]


async def test_another_process_continues_within_twenty_seconds_of_a_suspension(world: World) -> None:
    first = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    world.project.on("POST", CHAT, Proper(delay=3.0))
    root = await world.mention(ALICE, GENERAL, "this takes a while")
    await wait_until(lambda: len(world.chats()) == 1, "the agent is asked")
    first.send_signal(signal.SIGSTOP)

    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await world.slack.people.say(ALICE, GENERAL, "are you there?", thread_ts=root)
    said = await world.answered(GENERAL, root, 2, timeout=PATIENCE)
    first.send_signal(signal.SIGCONT)
    await world.slack.people.say(ALICE, GENERAL, "still there?", thread_ts=root)
    await world.answered(GENERAL, root, 3, timeout=PATIENCE)

    assert "can't tell" in said[0]
    assert world.chats() == ["this takes a while", "are you there?", "still there?"]
    assert len(world.answers(GENERAL, root)) == 3, "the suspended process posted nothing late"


async def test_two_processes_share_the_work_and_answer_everything_once(world: World) -> None:
    first = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    second = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    roots = []
    for number in range(20):
        world.slack.events_url = f"{(first, second)[number % 2].url}/slack/events"
        roots.append(await world.mention(ALICE, GENERAL, f"thread {number}"))
        await world.slack.people.say(ALICE, GENERAL, f"reply {number}", thread_ts=roots[-1])

    for root in roots:
        await world.answered(GENERAL, root, 2, timeout=30)

    assert sorted(world.chats()) == sorted([f"{what} {number}" for what in ("thread", "reply") for number in range(20)])
    assert all(len(world.answers(GENERAL, root)) == 2 for root in roots)
