"""Socket Mode: the same conversations over Slack's WebSocket, whatever happens to the socket."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest

from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BOB, GENERAL
from bridge.playground.sample_project.answers import Proper
from bridge.queue.turn_log import Delivery, read_log
from support.real_redis import RealRedis
from support.secrecy import APP_TOKEN
from support.system import System, open_system, text_of
from support.waiting import wait_until

SAYS_READY = b'"message": "ready"'
CHAT = "/api/sdk/agents/1/chat"
NONSENSE: list[tuple[str, object]] = [
    ("events_api", None),
    ("events_api", {"type": "event_callback", "event": {"type": "reaction_added", "user": 5, "item": []}}),
    ("interactive", {"type": "block_actions", "actions": [{"action_id": []}]}),
    ("of tomorrow", {}),
]
"""Envelopes that Slack never sends. Over HTTP they are answered with 400."""


async def test_a_socket_carries_conversations_commands_and_forms(system: System) -> None:
    await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1")

    root = await system.mention(ALICE, GENERAL, "my name is Alice")
    await system.answered(GENERAL, root)
    await system.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
    answers = await system.answered(GENERAL, root, 2)
    answer = await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run echo")
    await wait_until(lambda: system.slack.views(ALICE), "the form is open")
    view = system.slack.views(ALICE)[-1]
    options = await system.slack.ui.suggestions(ALICE, view, "workflow", "summ")
    wrong = await system.slack.ui.submit(view.id, {"input": "{", "kind": "json"}, ALICE)
    await system.slack.ui.submit(view.id, {"input": "hello", "kind": "text"}, ALICE)
    await wait_until(
        lambda: "/api/sdk/workflows/1/run" in {call.path for call in system.project.calls}, "the workflow runs"
    )

    assert "Alice" in answers[1]
    assert answer.status == 200
    assert [option["text"]["text"] for option in options] == ["Summarize text"]
    assert "input" in (wrong.json or {})["errors"]


async def test_a_replaced_socket_loses_nothing(system: System) -> None:
    await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1")
    (old,) = system.slack.sockets

    await system.slack.socket_mode.disconnect("warning", closes_after=2.0)
    roots = [await system.mention(ALICE, GENERAL, f"hello {number}") for number in range(10)]
    answer = await system.slack.ui.command(ALICE, GENERAL, "/stats")
    await wait_until(lambda: old not in system.slack.sockets, "the old socket is closed")
    roots += [await system.mention(ALICE, GENERAL, f"hello {number}") for number in range(10, 20)]
    for root in roots:
        await system.answered(GENERAL, root)

    assert answer.status == 200
    assert sorted(system.chats()) == sorted(f"hello {number}" for number in range(20))
    assert len(system.slack.sockets) == 1


async def test_a_broken_socket_loses_nothing(system: System) -> None:
    await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1")
    roots = []

    for number in range(30):
        roots.append(await system.slack.people.say(BOB, GENERAL, f"<@U0BRIDGE> hello {number}", wait=False))
        if number == 15:
            system.slack.socket_mode.cut()
        await asyncio.sleep(0.01)
    for root in roots:
        await system.answered(GENERAL, root, timeout=20)

    assert sorted(system.chats()) == sorted(f"hello {number}" for number in range(30))
    assert all(len(system.answers(GENERAL, root)) == 1 for root in roots)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only forked bridges have less patience")
async def test_a_silent_socket_is_not_ready_and_replaced(system: System) -> None:
    bridge = await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1", timing={"silence": 2.0})
    (silent,) = system.slack.sockets

    system.slack.socket_mode.mute()
    system.slack.socket_mode.refuse("internal_error")

    async def is_red() -> bool:
        return (await bridge.state())[0] == 503

    await wait_until(is_red, "readiness fails")
    system.slack.socket_mode.refuse("")
    await bridge.ready(timeout=30)
    root = await system.mention(ALICE, GENERAL, "hello there")
    await system.answered(GENERAL, root)

    assert silent not in system.slack.sockets or len(system.slack.sockets) > 1


async def test_the_bridge_is_ready_once_a_socket_is_open(system: System) -> None:
    system.slack.use_sockets = True
    system.slack.socket_mode.refuse("internal_error")
    bridge = await system.bridge(SLACK_APP_TOKEN=APP_TOKEN, SLACK_SIGNING_SECRET="").start()
    await wait_until(lambda: b"can't open a socket to Slack yet" in bridge.log, "the bridge tries to open a socket")
    early = (await bridge.state())[0], SAYS_READY in bridge.log

    system.slack.socket_mode.refuse("")
    await wait_until(lambda: SAYS_READY in bridge.log, "the bridge reports the problem")
    answer = await system.slack.ui.command(ALICE, GENERAL, "/stats")

    assert early == (503, False)
    assert (answer.status, (await bridge.state())[0]) == (200, 200)


async def test_an_event_that_was_not_stored_is_not_acknowledged(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    async with open_system(server.url, "test") as system:
        await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1")
        server.kill()

        await system.slack.people.say(ALICE, GENERAL, "<@U0BRIDGE> hello there", wait=False)
        answer = await system.slack.ui.command(ALICE, GENERAL, "/stats")
        await wait_until(
            lambda: any("couldn't queue " in text_of(m) for m in system.slack.ephemerals(ALICE)),
            "the refusal is shown",
        )
        server.start()
        await wait_until(lambda: system.chats() == ["hello there"], "Slack retried it", timeout=30)

        assert answer.ms < 3000
        records = [await system.redis.hgetall(key) for key in await system.keys() if ":turn:" in key]
        (came,) = [Delivery.of(read_log(record)[0]) for record in records]
        assert came is not None
        assert came.retry > 0, "the trace shows the retry"


async def test_a_malformed_envelope_is_acknowledged_and_dropped(system: System) -> None:
    bridge = await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1")
    (socket,) = system.slack.sockets

    for number, (kind, payload) in enumerate(NONSENSE):
        await socket.send({"type": kind, "envelope_id": f"nonsense-{number}", "payload": payload})
    root = await system.mention(ALICE, GENERAL, "hello there")
    await system.answered(GENERAL, root)

    assert system.slack.sockets == [socket]
    assert [ack["envelope_id"] for ack in socket.acked if "nonsense" in ack["envelope_id"]] == [
        f"nonsense-{number}" for number in range(len(NONSENSE))
    ], "none of it would succeed on a retry"
    assert b"Traceback" not in bridge.log


async def test_a_refused_app_token_ends_the_process(system: System) -> None:
    bridge = system.bridge(SLACK_APP_TOKEN="xapp-of-somebody-else", SLACK_SIGNING_SECRET="")

    await bridge.start()
    code = await bridge.wait()

    assert code == 1
    assert "SLACK_APP_TOKEN" in bridge.log.decode()


async def test_a_bridge_reconnects_once_its_app_is_reinstalled(system: System) -> None:
    bridge = await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1")
    system.slack.unsubscribed.add("tokens_revoked")

    await system.slack.people.revoke_token("account_inactive")
    system.slack.faults.on("apps.connections.open", Error("invalid_auth"), times=1)
    await system.slack.socket_mode.disconnect("refresh_requested", closes_after=0.0)
    await wait_until(lambda: b"Slack rejected the bot token" in bridge.log, "the bridge notices")
    system.slack.people.give_token()
    await bridge.ready()
    root = await system.mention(ALICE, GENERAL, "here again")

    await system.answered(GENERAL, root)


async def test_draining_keeps_the_socket_for_the_last_turn(system: System) -> None:
    bridge = await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1", BRIDGE_DRAIN_SECONDS="10")
    system.project.on("POST", CHAT, Proper(delay=1.5))
    root = await system.mention(ALICE, GENERAL, "this takes a while")
    await wait_until(system.chats, "the agent is asked")

    async def drains() -> bool:
        return bool((await bridge.state())[1].get("draining"))

    bridge.process.terminate()  # type: ignore[union-attr]
    await wait_until(drains, "the bridge received the signal")
    late = await system.mention(BOB, GENERAL, "this waits")
    code = await bridge.wait()

    assert code == 0
    assert len(system.answers(GENERAL, root)) == 1
    assert system.chats() == ["this takes a while"]
    await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1")
    await system.answered(GENERAL, late)
