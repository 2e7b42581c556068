"""The drawer shows the traffic that a message caused on each wire."""

from __future__ import annotations

import json
from typing import Any

import httpx
from starlette.responses import PlainTextResponse

from bridge.playground.emulator import EmulatedSlack, sample
from bridge.playground.page.supervisor import StoredTrace
from support.page_client import FakeSupervisor, Window, calls
from support.slack_app import TOKEN, App


def written_by(turn: str, *, answers: str = "") -> dict[str, Any]:
    """Metadata of what a *turn* posts, for the message that it *answers*, as the bridge writes it."""
    return {"event_type": "bridge_turn", "event_payload": {"turn": turn, "message": answers}}


async def asks(service: httpx.AsyncClient, path: str, turn: str, body: dict[str, Any]) -> None:
    """Call the project service for a *turn* as the bridge does."""
    await service.post(f"/api/sdk/{path}", json=body, headers={"Idempotency-Key": turn})


async def test_the_wires_show_event_steps_chat_and_answer_in_order(
    alice: Window, slack: EmulatedSlack, service: httpx.AsyncClient, supervisor: FakeSupervisor
) -> None:
    http, clock = alice.http, slack.workspace.clock
    ts = (await alice.does("say", channel=sample.GENERAL, text="@bridge my name is *Ada*"))["ts"]
    await slack.settled()
    link = slack.permalink(sample.GENERAL, ts)
    asked_at = clock()
    await asks(service, "agents/1/chat", "t-2", {"message": "another matter"})
    await asks(service, "agents/1/chat", "t-1", {"message": "my name is *Ada*"})
    await service.get("/api/sdk/agents")
    sent = {"at": asked_at, "what": "sent", "detail": "agent 1", "process": "p1"}
    answered = {"at": clock(), "what": "answered", "detail": "", "process": "p1"}
    supervisor.records[link] = StoredTrace(frozenset({"t-1"}), [sent, answered])
    posts = {"channel": sample.GENERAL, "thread_ts": ts, "text": "hello"}
    answer = await calls(http, "chat.postMessage", **posts, metadata=written_by("t-1", answers=ts))
    await calls(http, "chat.postMessage", **posts, metadata=written_by("t-2"))
    await calls(http, "chat.postMessage", channel=sample.RANDOM, text="elsewhere")
    await calls(http, "assistant.threads.setStatus", channel_id=sample.GENERAL, thread_ts=ts, status="")

    steps = await alice.wires(sample.GENERAL, ts)
    of_the_answer = await alice.wires(sample.GENERAL, answer["ts"])

    assert [(one["wire"], one["what"]) for one in steps] == [
        ("Slack → bridge", "event app_mention"),
        ("Slack → bridge", "event message"),
        ("queue", "sent"),
        ("bridge → service", "POST /api/sdk/agents/1/chat"),
        ("queue", "answered"),
        ("bridge → Slack", "chat.postMessage"),
        ("bridge → Slack", "assistant.threads.setStatus"),
    ]
    assert {one["outcome"] for one in steps} == {"ok"}
    assert steps[3]["body"] == {"message": "my name is *Ada*"}
    assert all(one["ms"] is not None for one in steps if one["wire"] != "queue")
    assert steps[2]["detail"] == "agent 1; process p1"
    assert of_the_answer == steps
    assert TOKEN not in json.dumps(steps)
    assert supervisor.asked == [link], "an open drawer polls often, the bridge only now and then"


async def test_what_isnt_recorded_isnt_guessed(alice: Window, service: httpx.AsyncClient) -> None:
    ts = (await alice.does("say", channel=sample.DM_ALICE, text="hello"))["ts"]
    await asks(service, "agents/1/chat", "t-1", {"message": "hello"})

    steps = await alice.wires(sample.DM_ALICE, ts)

    assert [one["what"] for one in steps] == ["event message"]


async def test_a_late_answer_belongs_to_the_message_that_it_answers(alice: Window, slack: EmulatedSlack) -> None:
    first = (await alice.does("say", channel=sample.GENERAL, text="@bridge one"))["ts"]
    second = (await alice.does("say", channel=sample.GENERAL, text="two", thread_ts=first))["ts"]
    posts = {"channel": sample.GENERAL, "thread_ts": first, "text": "hello"}
    answers = [
        await calls(alice.http, "chat.postMessage", **posts, metadata=written_by(turn, answers=answered))
        for turn, answered in (("t-1", first), ("t-2", second))
    ]
    await slack.settled()

    stories = [await alice.wires(sample.GENERAL, ts) for ts in (first, second)]

    assert [await alice.wires(sample.GENERAL, answer["ts"]) for answer in answers] == stories
    assert stories[0] != stories[1]


async def test_a_refused_event_shows_each_attempt_and_the_reason(alice: Window, app: App, slack: EmulatedSlack) -> None:
    app.answers.append(PlainTextResponse("busy", status_code=503))

    ts = (await alice.does("say", channel=sample.DM_ALICE, text="hello"))["ts"]
    await slack.settled()

    (step,) = await alice.wires(sample.DM_ALICE, ts)
    assert (step["outcome"], step["detail"], step["what"]) == ("HTTP 503", "over HTTP", "event message")


async def test_a_card_shows_the_command_that_the_bridge_recorded(
    alice: Window, slack: EmulatedSlack, service: httpx.AsyncClient, supervisor: FakeSupervisor
) -> None:
    """Another command follows at once, and its run, too, before either has a card."""
    for number, turn in enumerate(("t-1", "t-2"), 1):
        await alice.does("command", channel=sample.GENERAL, command="/workflows", text=f"run {number} x")
        await asks(service, f"workflows/{number}/run", turn, {"input": "x"})
    first = slack.deliveries[0]
    posts = {"channel": sample.GENERAL, "text": "done"}
    await calls(alice.http, "chat.postMessage", **posts, metadata=written_by("t-2"))
    card = await calls(alice.http, "chat.postMessage", **posts, metadata=written_by("t-1"))
    file = await calls(alice.http, "chat.postMessage", **posts, thread_ts=card["ts"], metadata=written_by("t-1"))
    await alice.http.post(first.payload["response_url"], json={"text": "just for you"})
    received = {"at": first.at, "what": "received", "event": f"trigger:{first.payload['trigger_id']}"}
    supervisor.records[slack.permalink(sample.GENERAL, card["ts"])] = StoredTrace(frozenset({"t-1"}), [received])

    steps = await alice.wires(sample.GENERAL, card["ts"])

    posted = ["chat.postMessage", "chat.postMessage", "response_url"]
    assert [one["what"] for one in steps] == [
        "command /workflows",
        "received",
        "POST /api/sdk/workflows/1/run",
        *posted,
    ]
    assert steps[0]["body"]["text"] == "run 1 x"
    assert await alice.wires(sample.GENERAL, file["ts"]) == steps


async def test_a_private_line_shows_the_command_that_it_responds_to(
    alice: Window, app: App, service: httpx.AsyncClient
) -> None:
    app.answers.append(PlainTextResponse("right away"))
    for text in ("show 1", "list"):
        await alice.does("command", channel=sample.GENERAL, command="/workflows", text=text)
    await service.get("/api/sdk/workflows/1")
    await alice.http.post(app.received[-1].payload["response_url"], json={"text": "just for you"})

    at_once, later = (await alice.sees(sample.GENERAL))["messages"][-2:]
    stories = [await alice.wires(sample.GENERAL, line["ts"]) for line in (at_once, later)]

    read = "GET /api/sdk/workflows/1"
    assert [[one["what"] for one in steps] for steps in stories] == [
        ["command /workflows", read],
        ["command /workflows", read, "response_url"],
    ]
    assert [steps[0]["body"]["text"] for steps in stories] == ["show 1", "list"]


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
