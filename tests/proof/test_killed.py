"""Two processes, one after or beside the other: nothing is lost or doubled, and the order stays.

One test waits for a short lease to expire; the others expire it as soon as its owner is killed.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import Slow
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL
from bridge.playground.sample_project.answers import Proper
from support.kill_runs import end_leases
from support.real_redis import RealRedis
from support.system import TAKEOVER_SECONDS, System, open_system, text_of
from support.waiting import wait_until

CHAT = "/api/sdk/agents/1/chat"
PATIENCE = TAKEOVER_SECONDS + 10.0

needs_forks = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only forked bridges have another lease")


async def test_a_wrong_clock_does_not_repeat_a_post_made_before_a_kill(redis_server: RealRedis) -> None:
    """This machine's clock is ten minutes ahead of Slack's; the search for the post has to use Slack's."""
    async with open_system(redis_server.url, f"test-{secrets.token_hex(4)}", clock=lambda: time.time() - 600) as system:
        bridge = await system.start_bridge_on_a_socket()
        system.slack.faults.on("chat.postMessage", Slow(0.5))
        await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")
        await wait_until(lambda: system.called("chat.postMessage"), "the card is being posted")

        await bridge.kill()
        await wait_until(lambda: _cards(system), "the card is posted")
        await end_leases(system)
        await system.start_bridge_on_a_socket()
        await wait_until(system.is_at_rest, "the run has ended", PATIENCE)

        assert len(_cards(system)) == 1


def _cards(system: System) -> list[Message]:
    return [one for one in system.slack.messages(GENERAL) if one.user == BRIDGE]


@needs_forks
async def test_another_process_continues_within_a_lease_of_a_suspension(system: System) -> None:
    first = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", timing={"lease": 2.0})
    system.project.on("POST", CHAT, Proper(delay=3.0))
    root = await system.mention(ALICE, GENERAL, "this takes a while")
    await wait_until(lambda: len(system.chats()) == 1, "the agent is asked")
    first.send_signal(signal.SIGSTOP)

    await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", timing={"lease": 2.0})
    await system.slack.people.say(ALICE, GENERAL, "are you there?", thread_ts=root)
    answers = await system.answered(GENERAL, root, 2, timeout=PATIENCE)
    first.send_signal(signal.SIGCONT)
    await system.slack.people.say(ALICE, GENERAL, "still there?", thread_ts=root)
    await system.answered(GENERAL, root, 3, timeout=PATIENCE)

    assert "can't tell" in answers[0]
    assert system.chats() == ["this takes a while", "are you there?", "still there?"]
    assert len(system.answers(GENERAL, root)) == 3, "the suspended process posted nothing late"


async def test_two_processes_share_the_load_and_answer_everything_once(system: System) -> None:
    first = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    second = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    roots = []
    for number in range(20):
        system.slack.events_url = f"{(first, second)[number % 2].url}/slack/events"
        roots.append(await system.mention(ALICE, GENERAL, f"thread {number}"))
        await system.slack.people.say(ALICE, GENERAL, f"reply {number}", thread_ts=roots[-1])

    for root in roots:
        await system.answered(GENERAL, root, 2, timeout=30)

    assert sorted(system.chats()) == sorted(
        [f"{what} {number}" for what in ("thread", "reply") for number in range(20)]
    )
    assert all(len(system.answers(GENERAL, root)) == 2 for root in roots)


def notices(system: System, channel: str, words: str) -> list[Message]:
    """The bot's top-level messages in *channel* that contain these *words*."""
    return [one for one in system.slack.messages(channel) if one.user == BRIDGE and words in text_of(one)]


async def change(system: System, text: str, channel: str = GENERAL, user: str = ALICE) -> None:
    """Change a setting of *channel* and wait for the notice."""
    before = len(notices(system, channel, "Changed by"))
    await system.slack.ui.command(user, channel, "/agents", text)
    await wait_until(lambda: len(notices(system, channel, "Changed by")) > before, "the channel is notified")


async def test_a_changed_setting_reaches_every_process(system: System) -> None:
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1")
    await change(system, "channel answers all")

    roots = [await system.slack.people.say(ALICE, GENERAL, f"question {number}") for number in range(6)]
    for root in roots:
        await system.answered(GENERAL, root)

    assert sorted(system.chats()) == [f"question {number}" for number in range(6)]


async def test_an_older_release_does_not_keep_what_it_gives_back(system: System) -> None:
    """It waits for lanes by the second, and gives back, after almost two, one that it can't read. This one is empty."""
    await system.start_bridge()
    ready = f"{{{system.namespace}}}:ready"
    given_back = []

    async def give_back(entry: str) -> None:
        await asyncio.sleep(1.95)
        async with system.redis.pipeline(transaction=True) as pipe:
            pipe.xack(ready, "workers", entry).xdel(ready, entry).xadd(ready, {"lane": "o:newer"})
            await pipe.execute()
        given_back.append(entry)

    async def wait_for_lanes(group: asyncio.TaskGroup) -> None:
        group.create_task(give_back(await system.redis.xadd(ready, {"lane": "o:newer"})))
        group.create_task(give_back("0-1"))  # as if it had just been taken
        while True:
            for _stream, entries in await system.redis.xreadgroup("workers", "older", {ready: ">"}, block=1000):
                group.create_task(give_back(entries[0][0]))

    async def is_taken() -> bool:
        return bool(given_back) and not await system.redis.xlen(ready)

    async with asyncio.TaskGroup() as group:
        older = group.create_task(wait_for_lanes(group))
        await wait_until(is_taken, f"the bridge takes it; it was given back {len(given_back)} times", PATIENCE)
        older.cancel()
