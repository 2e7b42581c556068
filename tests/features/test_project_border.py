"""What the project service sends, and people see of it: odd answers are shown, failures are explained everywhere."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.cli.audit import for_programs
from bridge.cli.trace import steps_of
from bridge.ids import MessageKey
from bridge.metrics import Metrics
from bridge.queue.finished_turns import FinishedTurn, finished_turns_since
from bridge.queue.records import Conversation
from bridge.queue.scripting import Scripts
from bridge.queue.trace import trace_of
from support.harness import API_KEY, Harness
from support.store import CHANNEL, NAMESPACE, ROOT, START, TEAM, THREAD, message, ts

NO_SESSION = "no session I can use"
ANSWER = b'{"sessionId": 42, "message": "hello"%s}'


def raw(body: bytes | str, content_type: str = "application/json", status: int = 200) -> httpx.Response:
    return httpx.Response(status, headers={"content-type": content_type}, content=body)


def logged(caplog: pytest.LogCaptureFixture, phrase: str) -> list[Any]:
    return [record for record in caplog.records if record.getMessage() == phrase]


def below(harness: Harness) -> str:
    return json.dumps(harness.seen.messages[-1].blocks, ensure_ascii=False)


async def audited(redis: Redis) -> list[FinishedTurn]:
    scripts = Scripts(redis, NAMESPACE, Metrics())
    return [entry async for entry in finished_turns_since(scripts, START - timedelta(days=90))]


async def traced(harness: Harness) -> str:
    known = await trace_of(harness.store.scripts, MessageKey(TEAM, CHANNEL, ROOT))
    return next(step.detail for step in steps_of(known) if step.what in {"answered", "unknown"})


# Answers that came


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        (raw(ANSWER % b', "toolsUsed": NaN'), "toolsUsed: not a number that JSON has"),
        (raw(ANSWER % b', "toolsUsed": [{"name": "a\xffb"}]'), "characters that aren't in its encoding"),
        (raw(ANSWER % (b', "toolsUsed": ' + b"[" * 969 + b"]" * 969)), "toolsUsed: nested more than 100 levels deep"),
        (raw(ANSWER % b', "toolsUsed": ["a",]'), "commas before a closing bracket"),
    ],
    ids=["NaN", "bytes", "depth", "comma"],
)
async def test_an_odd_detail_is_logged_and_the_answer_shown(
    harness: Harness, caplog: pytest.LogCaptureFixture, answer: httpx.Response, field: str
) -> None:
    harness.service.chats = [answer]
    await harness.store.queue(message("hi"))

    await harness.work()

    assert harness.seen.texts == ["hello"]
    assert await harness.store.sessions.thread(THREAD) == Conversation(agent=7, session=42, heard=ROOT)
    (record,) = logged(caplog, "part of a project response couldn't be used")
    assert record.fields == [field]


@pytest.mark.parametrize(
    ("message_", "shown"), [(b"two\nlines", "two\nlines"), (b"\xed\xa0\xbd\xed\xb8\x80", "😀"), (b"\\ud83d", "�")]
)
async def test_odd_characters_are_shown_as_far_as_they_go(harness: Harness, message_: bytes, shown: str) -> None:
    harness.service.chats = [raw(b'{"sessionId": 42, "message": "%s"}' % message_)]
    await harness.store.queue(message("hi"))

    await harness.work()

    assert harness.seen.texts == [shown]


@pytest.mark.parametrize("session", ["abc", None, True, 1.5, {}, "missing"])
async def test_an_unusable_session_is_said_and_not_stored(harness: Harness, session: Any) -> None:
    body = {"message": "hello", **({} if session == "missing" else {"sessionId": session})}
    harness.service.chats = [httpx.Response(200, json=body)]
    await harness.store.queue(message("hi"))
    await harness.work()
    await harness.store.queue(message("again", ts(1)))

    assert NO_SESSION in below(harness)
    assert harness.seen.texts == ["hello"]
    assert await harness.store.sessions.thread(THREAD) == Conversation(agent=7, heard=ROOT)
    await harness.work()
    assert "sessionId" not in harness.service.asked[1]
    assert NO_SESSION not in below(harness)
    assert await harness.store.sessions.thread(THREAD) == Conversation(agent=7, session=42, heard=ts(1))


async def test_a_session_as_digits_is_continued(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(200, json={"message": "hello", "sessionId": "9007199254740993"})]
    await harness.store.queue(message("hi"))
    await harness.store.queue(message("again", ts(1)))

    await harness.work()

    assert harness.service.asked[1]["sessionId"] == 9007199254740993


async def test_a_known_session_outlives_an_answer_without_one(harness: Harness) -> None:
    harness.service.chats = [None, httpx.Response(200, json={"message": "hello"})]
    for number in range(3):
        await harness.store.queue(message("hi", ts(number) if number else ROOT))

    await harness.work()

    assert [body.get("sessionId") for body in harness.service.asked] == [None, 42, 42]
    assert NO_SESSION not in str(harness.seen.messages)


async def test_of_an_oversized_answer_the_beginning_is_shown(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(200, json={"sessionId": 42, "message": "word " * 3_000_000})]
    await harness.store.queue(message("hi"))

    await harness.work()

    assert "This answer is 15 MB, so I could read only its beginning." in str(harness.seen.messages[0].blocks)
    (file,) = harness.slack.files
    assert 4_000_000 < len(file.content or b"") < 4_300_000


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ({"runId": "r-9", "status": None, "output": "o", "nodeResults": "none"}, ("finished", "run r-9", "o")),
        ({"output": "a\ud800"}, ("finished", "a�")),
        ({"data": {"runId": 9, "status": "failed", "output": [1]}}, ("failed", "run 9", "[\n  1\n]")),
    ],
)
async def test_a_result_is_shown_as_far_as_it_goes(harness: Harness, result: Any, shown: tuple[str, ...]) -> None:
    harness.service.run_answers = [raw(json.dumps(result))]

    await harness.type_command("/workflows run 3 hello")

    (card,) = harness.seen.messages
    assert [one for one in shown if one not in f"{card.text} {_texts(card.blocks)}"] == []


async def test_of_an_oversized_result_the_beginning_is_attached(harness: Harness) -> None:
    body = {"runId": 9, "status": "completed", "output": [["row"] * 10] * 250_000, "nodeResults": {}}
    harness.service.run_answers = [httpx.Response(200, json=body)]

    await harness.type_command("/workflows run 3 hello")

    card = harness.seen.messages[0]
    assert "so I could read only its beginning. It's attached in the thread." in str(card.blocks)
    (file,) = harness.slack.files
    assert (file.content or b"").startswith(b'[["row"')


async def test_an_output_beyond_the_limit_is_not_called_empty(harness: Harness) -> None:
    body = {"runId": 9, "status": "completed", "nodeResults": {"a": "x" * 5_000_000}, "output": "end"}
    harness.service.run_answers = [httpx.Response(200, json=body)]

    await harness.type_command("/workflows run 3 hello")

    assert "The result is 5 MB, so I couldn't read its output." in str(harness.seen.messages[0].blocks)


# Rows


async def test_one_bad_row_costs_only_itself(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    harness.service.agents = [{"id": 7, "name": "Support", "model": None}, {"id": "x"}, 3, {"id": 8, "name": "B"}]
    harness.service.workflows = [{"id": 3, "name": "Import"}, {"name": "nameless"}]
    for line in ("/agents", "/workflows", "/agents", "/workflows run 3 hello"):
        await harness.type_command(line)

    agents, workflows, *_ = (_texts(one.blocks) for one in harness.seen.ephemerals)
    assert all(words in agents for words in ("Support", "ID 7", "ID 8"))
    assert "Import" in workflows
    assert harness.service.started == [(3, "hello")]
    noted = [
        field for record in logged(caplog, "part of a project response couldn't be used") for field in record.fields
    ]
    assert noted.count("agents[1].id: not a number but a string (left out)") == 1
    assert "workflows[1].id: missing (left out)" in noted


async def test_statistics_are_shown_as_far_as_they_go(harness: Harness) -> None:
    tags = [{"name": "good", "count": 5}, {"name": "bad", "count": None}]
    body = {
        "promptCount": None,
        "runCount": 12,
        "versionCount": "3",
        "categories": None,
        "tags": tags,
        "lastUpdated": 0,
    }
    harness.service.always = httpx.Response(200, json=body)

    await harness.type_command("/stats")

    (card,) = harness.seen.ephemerals
    shown = f"{card.text} {_texts(card.blocks)}"
    assert all(words in shown for words in ("12", "Versions", "good"))
    assert "Prompts" not in shown
    assert "bad" not in shown


@pytest.mark.parametrize(
    ("body", "shown"), [({"name": "Shop", "createdAt": 0}, "Shop"), ({"id": None, "memberCount": "many"}, "Project")]
)
async def test_a_project_without_facts_is_shown(harness: Harness, body: dict[str, Any], shown: str) -> None:
    harness.service.always = httpx.Response(200, json=body)

    await harness.type_command("/project")

    (card,) = harness.seen.ephemerals
    assert card.blocks[0]["text"]["text"] == shown


# Failures


async def test_a_failed_chat_is_explained_everywhere(
    harness: Harness, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    said = f"model overloaded\n key {API_KEY} " + "x" * 400
    harness.service.chats = [httpx.Response(500, json={"error": {"message": said}})]
    await harness.store.queue(message("hi"))

    await harness.work()

    cause = "500, “model overloaded key *** xxx"
    assert "Support answered with an error (500)" in harness.seen.texts[0]
    assert f"(agent 7 Support: {cause}" in await traced(harness)
    (entry,) = await audited(redis)
    assert (entry.outcome, entry.about) == ("unknown", "agent 7 Support")
    assert entry.cause.startswith(cause)
    assert entry.cause.endswith("…”, after 0.0 s")
    assert json.loads(for_programs(entry))["cause"] == entry.cause
    (record,) = logged(caplog, "project call failed")
    assert record.levelno == logging.WARNING
    assert (record.operation, record.about, record.cause) == ("send_message", "agent 7", entry.cause)
    counted = harness.metrics.exposition().decode()
    assert 'bridge_project_failures_total{cause="http_500",operation="send_message"} 1.0' in counted


@pytest.mark.parametrize(
    ("answer", "cause", "label"),
    [
        (httpx.Response(422, json={"detail": "no"}), "422, “no”", "http_422"),
        (httpx.Response(301, headers={"Location": "/v2"}), "301, redirected to", "http_301"),
        (httpx.Response(200, json={}), "200, unusable (message: missing)", "not_understood"),
        (httpx.ReadTimeout(""), "TimedOut: no answer within 120 s", "timed_out"),
        (httpx.ReadError(""), "ConnectionLost: ReadError", "connection_lost"),
    ],
    ids=["422", "301", "unusable", "time-out", "connection lost"],
)
async def test_every_cause_is_traced_and_counted(
    harness: Harness, answer: httpx.Response | Exception, cause: str, label: str
) -> None:
    harness.service.chats = [answer]
    await harness.store.queue(message("hi"))

    await harness.work()

    assert f"(agent 7 Support: {cause}" in await traced(harness)
    assert f'{{cause="{label}",operation="send_message"}} 1.0' in harness.metrics.exposition().decode()


async def test_a_failed_run_is_explained_everywhere(harness: Harness, redis: Redis) -> None:
    harness.service.run_answers = [
        httpx.Response(500, json={"error": "boom"}),
        httpx.Response(400, json={"error": "no"}),
    ]
    for _ in range(2):
        await harness.type_command("/workflows run 3 hello")

    unknown, failed = await audited(redis)
    assert [unknown.cause, failed.cause] == ["500, “boom”, after 0.0 s", "400, “no”, after 0.0 s"]
    assert unknown.about == failed.about == "workflow 3 Import"
    shown = _texts(harness.seen.messages[0].blocks)
    assert "The workflow answered with an error (500), and I can't tell whether this ran." in shown


async def test_not_found_does_not_mean_that_a_listed_workflow_is_gone(harness: Harness) -> None:
    harness.service.details = {"id": 3, "name": "Import"}
    harness.service.run_answers = [httpx.Response(404)]
    await harness.type_command("/workflows run 3 hello")

    assert "has this workflow, but answered “not found” (404)." in _texts(harness.seen.messages[0].blocks)


async def test_a_failed_list_is_explained_in_the_audit(harness: Harness, redis: Redis) -> None:
    harness.service.always = httpx.Response(404)
    await harness.type_command("/stats")

    (entry,) = await audited(redis)
    assert (entry.outcome, entry.cause) == ("NotFound", "404, after 0.0 s")
    assert "The project service has no statistics (404)." in harness.seen.ephemerals[0].text


# Sessions


@pytest.mark.parametrize(
    ("gone", "is_replaced"),
    [
        (raw('{"error": "no such session"}', status=404), True),
        (raw("no such session", "text/plain", 410), True),
        (raw("<!DOCTYPE html><h1>Not Found</h1>", "text/html", 404), False),
        (raw("<html>", "text/plain", 410), False),
    ],
    ids=["JSON", "text", "page", "page called text"],
)
async def test_only_the_service_itself_ends_a_session(
    harness: Harness, gone: httpx.Response, *, is_replaced: bool
) -> None:
    await harness.store.queue(message("first"))
    await harness.work()
    harness.service.chats = [gone, httpx.Response(200, json={"sessionId": 43, "message": "anew"})]
    await harness.store.queue(message("second", ts(1)))

    await harness.work()

    bound = await harness.store.sessions.thread(THREAD)
    assert bound is not None
    assert (bound.session, len(harness.service.asked)) == ((43, 3) if is_replaced else (42, 2))
    assert is_replaced or "shows a web page" in harness.seen.texts[-1]


def _texts(value: Any) -> str:
    """All texts in blocks, with their line breaks."""
    if isinstance(value, dict):
        return " ".join(_texts(one) if not isinstance(one, str) else one for one in value.values())
    return " ".join(map(_texts, value)) if isinstance(value, list) else ""
