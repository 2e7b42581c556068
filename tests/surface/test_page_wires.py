"""The drawer shows the traffic that a message caused on each wire."""

from __future__ import annotations

import json
from typing import Any

import httpx
from starlette.responses import PlainTextResponse

from bridge.playground.emulator import EmulatedSlack, sample
from support.page_client import FakeSupervisor, Window, calls
from support.slack_app import TOKEN, App


def answer_in(session: int, channel: str, thread: str, *, to: str = "") -> dict[str, Any]:
    """Arguments for an agent's answer *to* a message, the first of the thread by default, as the bridge posts it."""
    payload = {"turn": "t-1", "session": session, "message": to or thread}
    metadata = {"event_type": "bridge_turn", "event_payload": payload}
    return {"channel": channel, "thread_ts": thread, "text": "hello Ada", "metadata": metadata}


async def test_the_wires_show_event_steps_chat_and_answer_in_order(
    alice: Window, slack: EmulatedSlack, service: httpx.AsyncClient, supervisor: FakeSupervisor
) -> None:
    http, bob = alice.http, Window(alice.http, sample.BOB)

    async def chat(message: str) -> int:
        return int((await service.post("/api/sdk/agents/1/chat", json={"message": message})).json()["sessionId"])

    clock = slack.workspace.clock
    other = (await bob.does("say", channel=sample.RANDOM, text="another *matter*"))["ts"]
    ts = (await alice.does("say", channel=sample.GENERAL, text="@bridge my name is *Ada*"))["ts"]
    await slack.settled()
    link = slack.permalink(sample.GENERAL, ts)
    asked_at = clock()
    await chat("another matter")
    session = await chat("my name is *Ada*")
    supervisor.steps[link] = [
        {"at": asked_at, "what": "sent", "detail": "agent 1", "process": "p1"},
        {"at": clock(), "what": "answered", "detail": "", "process": "p1"},
    ]
    answer = await calls(http, "chat.postMessage", **answer_in(session, sample.GENERAL, ts))
    await calls(http, "chat.postMessage", channel=sample.RANDOM, thread_ts=other, text="elsewhere")

    steps = await alice.wires(sample.GENERAL, ts)
    of_the_answer = await alice.wires(sample.GENERAL, answer["ts"])

    assert [(one["wire"], one["what"]) for one in steps] == [
        ("Slack → bridge", "event app_mention"),
        ("Slack → bridge", "event message"),
        ("queue", "sent"),
        ("bridge → service", "POST /api/sdk/agents/1/chat"),
        ("queue", "answered"),
        ("bridge → Slack", "chat.postMessage"),
    ]
    assert {one["outcome"] for one in steps} == {"ok"}
    assert steps[3]["body"] == {"message": "my name is *Ada*"}
    assert all(one["ms"] is not None for one in steps if one["wire"] != "queue")
    assert steps[2]["detail"] == "agent 1; process p1"
    assert of_the_answer == steps
    assert TOKEN not in json.dumps(steps)
    assert supervisor.asked == [link], "an open drawer polls often, the bridge only now and then"


async def test_without_the_bridges_trace_chats_are_found_by_the_threads_session(
    alice: Window, service: httpx.AsyncClient
) -> None:
    first = (await alice.does("say", channel=sample.DM_ALICE, text="a < b"))["ts"]
    await service.post("/api/sdk/agents/1/chat", json={"message": "another thread's"})
    await service.post("/api/sdk/agents/99/chat", json={"message": "a < b"})
    unanswered = await alice.wires(sample.DM_ALICE, first)
    session = (await service.post("/api/sdk/agents/1/chat", json={"message": "reworded"})).json()["sessionId"]
    await calls(alice.http, "chat.postMessage", **answer_in(session, sample.DM_ALICE, first))

    steps = await alice.wires(sample.DM_ALICE, first)

    services = [one for one in steps if one["wire"] == "bridge → service"]
    assert [(one["what"], one["outcome"], one["detail"]) for one in services] == [
        ("POST /api/sdk/agents/99/chat", "HTTP 404", ""),
        ("POST /api/sdk/agents/1/chat", "ok", f"session {session}"),
    ]
    assert [one["wire"] for one in unanswered if one["wire"] == "bridge → service"] == []


async def test_a_late_answer_belongs_to_the_message_that_it_answers(alice: Window, slack: EmulatedSlack) -> None:
    first = (await alice.does("say", channel=sample.GENERAL, text="@bridge one"))["ts"]
    second = (await alice.does("say", channel=sample.GENERAL, text="two", thread_ts=first))["ts"]
    late = await calls(alice.http, "chat.postMessage", **answer_in(5, sample.GENERAL, first))
    answer = await calls(alice.http, "chat.postMessage", **answer_in(5, sample.GENERAL, first, to=second))
    await slack.settled()

    stories = [await alice.wires(sample.GENERAL, ts) for ts in (first, second)]

    assert [await alice.wires(sample.GENERAL, one["ts"]) for one in (late, answer)] == stories
    assert stories[0] != stories[1]


async def test_a_chat_without_an_answer_is_shown_while_its_session_is_unknown(
    alice: Window, slack: EmulatedSlack, service: httpx.AsyncClient, supervisor: FakeSupervisor
) -> None:
    ts = (await alice.does("say", channel=sample.DM_ALICE, text="hello"))["ts"]
    sent = {"at": slack.workspace.clock(), "what": "sent", "detail": "", "process": "p1"}
    supervisor.steps[slack.permalink(sample.DM_ALICE, ts)] = [sent]
    await service.post("/api/sdk/agents/1/chat", json={"message": "hello"})

    steps = await alice.wires(sample.DM_ALICE, ts)

    assert [one["what"] for one in steps if one["wire"] == "bridge → service"] == ["POST /api/sdk/agents/1/chat"]


async def test_a_refused_event_shows_each_attempt_and_the_reason(alice: Window, app: App, slack: EmulatedSlack) -> None:
    app.answers.append(PlainTextResponse("busy", status_code=503))

    ts = (await alice.does("say", channel=sample.DM_ALICE, text="hello"))["ts"]
    await slack.settled()

    (step,) = await alice.wires(sample.DM_ALICE, ts)
    assert (step["outcome"], step["detail"], step["what"]) == ("HTTP 503", "over HTTP", "event message")


async def test_a_card_shows_the_command_that_it_came_from(
    alice: Window, app: App, http: httpx.AsyncClient, service: httpx.AsyncClient
) -> None:
    await alice.does("command", channel=sample.GENERAL, command="/workflows", text="run 1 x")
    await service.post("/api/sdk/workflows/1/run", json={"input": "x"})
    card = await calls(http, "chat.postMessage", channel=sample.GENERAL, text="done")
    response_url = app.received[-1].payload["response_url"]
    await http.post(response_url, json={"text": "just for you"})
    private = (await alice.sees(sample.GENERAL))["messages"][-1]
    await alice.does("command", channel=sample.GENERAL, command="/workflows", text="list")
    await http.post(app.received[-1].payload["response_url"], json={"text": "just for you"})

    steps = [one["what"] for one in await alice.wires(sample.GENERAL, card["ts"])]
    of_the_line = [one["what"] for one in await alice.wires(sample.GENERAL, private["ts"])]

    expected = ["command /workflows", "POST /api/sdk/workflows/1/run", "chat.postMessage", "response_url"]
    assert steps == expected
    assert of_the_line == ["command /workflows", "POST /api/sdk/workflows/1/run", "response_url"]


async def test_a_late_card_shows_the_command_that_the_bridge_recorded(
    alice: Window, slack: EmulatedSlack, supervisor: FakeSupervisor
) -> None:
    await alice.does("command", channel=sample.GENERAL, command="/workflows", text="run 1 slow")
    at = slack.deliveries[-1].at - 0.0009  # in milliseconds, rounded down
    received = {"at": at, "what": "received", "detail": "a slash command", "process": "p1"}
    await alice.does("command", channel=sample.GENERAL, command="/workflows", text="list")
    card = await calls(alice.http, "chat.postMessage", channel=sample.GENERAL, text="done")
    supervisor.steps[slack.permalink(sample.GENERAL, card["ts"])] = [received]

    command, _received, posted = await alice.wires(sample.GENERAL, card["ts"])

    assert [delivery.payload["text"] for delivery in slack.deliveries] == ["run 1 slow", "list"]
    assert command["body"]["text"] == "run 1 slow"
    assert posted["what"] == "chat.postMessage"


async def test_a_file_download_is_on_its_messages_wires(
    alice: Window, slack: EmulatedSlack, http: httpx.AsyncClient
) -> None:
    result = await alice.does("say", channel=sample.GENERAL, text="", files=[{"name": "a.txt", "content": "words"}])
    (file,) = slack.workspace.files.values()

    await http.get(f"/files-pri/{file.id}/download/a.txt", headers={"Authorization": f"Bearer {TOKEN}"})
    await http.get(f"/files-pri/{file.id}/download/a.txt")

    steps = [one for one in await alice.wires(sample.GENERAL, result["ts"]) if one["wire"] == "bridge → Slack"]
    assert [(one["what"], one["outcome"]) for one in steps] == [("download", "ok"), ("download", "sign-in page")]
    assert "words" not in json.dumps(steps)
