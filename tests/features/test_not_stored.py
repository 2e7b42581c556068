"""How Slack and people are answered while Redis is unavailable or a listener fails."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from bridge.door.listeners.app import dispatcher, slack_app
from bridge.door.listeners.interactions import answer_not_stored
from bridge.metrics import Metrics
from support import real_redis
from support.harness import NOT_NOW, WHISPER, Harness
from support.sample_posts import US
from support.store import CHANNEL, TEAM, USER

REPORTED_FOR = "couldn't queue "
PERSON = {"user": {"id": USER, "team_id": TEAM}, "channel": {"id": CHANNEL}, "trigger_id": "1.2.a"}
PRESSED = {**PERSON, "type": "block_actions", "actions": [{"action_id": "a", "block_id": "b"}]}
INPUT = {"type": "input", "block_id": "field"}
VIEW = {"id": "V1", "callback_id": "f", "type": "modal", "state": {"values": {"workflow": {}}}}
FORM = {**PERSON, "type": "view_submission", "view": VIEW}


@pytest.fixture
def harness(harness: Harness) -> Iterator[Harness]:
    with real_redis.refused_commands(harness.store.redis):
        yield harness


async def test_an_event_gets_503(harness: Harness) -> None:
    for event in ({"type": "app_home_opened", "tab": "home"}, {"type": "agent_session_stopped", "thread_ts": "1.2"}):
        answer = await harness.event({**event, "user": USER, "channel": CHANNEL, "event_ts": "1.2"}, event_id="Ev1")

        assert answer.status == 503


async def test_a_command_is_answered_with_a_notice(harness: Harness) -> None:
    answer = await harness.form({"command": "/workflows", "user_id": USER, "team_id": TEAM, "channel_id": CHANNEL})

    assert (answer.status, answer.json["response_type"]) == (200, "ephemeral")
    assert REPORTED_FOR in answer.json["text"]


@pytest.mark.parametrize(("blocks", "field"), [([{"type": "section"}, INPUT], "field"), ([], "workflow")])
async def test_a_form_stays_open_with_a_line_under_a_field(
    harness: Harness, blocks: list[dict[str, Any]], field: str
) -> None:
    answer = await harness.interaction({**FORM, "view": {**VIEW, "blocks": blocks}})

    assert (answer.status, answer.json["response_action"]) == (200, "errors")
    assert REPORTED_FOR in answer.json["errors"][field]


@pytest.mark.parametrize(
    "payload", [PRESSED, {**PERSON, "type": "message_action", "callback_id": "ask_about", "message": {"ts": "1.2"}}]
)
@pytest.mark.parametrize("failures", [0, 1])
async def test_a_refused_click_or_shortcut_is_acknowledged_with_a_notice(
    harness: Harness, payload: dict[str, Any], failures: int
) -> None:
    harness.slack.faults.on(WHISPER, NOT_NOW, times=failures)

    answer = await harness.interaction(payload)

    assert (answer.status, answer.body) == (200, b"")
    assert [REPORTED_FOR in one.text for one in harness.seen.ephemerals] == [True] * (1 - failures)


async def test_a_shortcut_that_asks_why_says_that_the_database_is_unavailable(harness: Harness) -> None:
    answer = await harness.interaction(
        {**PERSON, "type": "message_action", "callback_id": "why", "message": {"ts": "1.2"}}
    )

    assert (answer.status, answer.body) == (200, b"")
    [told] = harness.seen.ephemerals
    assert "My database is unavailable, so I can't look this up" in told.text


async def test_a_global_shortcut_is_acknowledged(harness: Harness) -> None:
    answer = await harness.interaction({**PERSON, "channel": None, "type": "shortcut", "callback_id": "run"})

    assert answer.status == 200
    assert harness.seen.ephemerals == []


class Broken:
    def register(self, app: AsyncApp) -> None:
        app.event("message")(self.fail)
        app.options("a")(self.fail)

    async def fail(self) -> None:
        raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"type": "event_callback", "event": {"type": "message", "text": "hello"}}, (503, "")),
        ({"type": "block_suggestion", "action_id": "a", "value": "hello"}, (200, {"options": []})),
    ],
)
async def test_a_listener_that_fails_is_logged_by_a_reference(
    harness: Harness, caplog: pytest.LogCaptureFixture, body: dict[str, Any], answer: tuple[int, object]
) -> None:
    caplog.set_level(logging.ERROR)
    metrics, wires, poster = Metrics(), harness.wires, harness.parts().turns.deps.slack
    dispatch = dispatcher(
        slack_app(wires.web, US, metrics, partial(answer_not_stored, US, poster), Broken()).async_dispatch, metrics
    )

    response = await dispatch(AsyncBoltRequest(mode="socket_mode", body=body))

    assert (response.status, json.loads(response.body or '""')) == answer
    (record,) = caplog.records
    assert (record.message, len(vars(record)["reference"])) == ("a listener failed", 8)
    assert "hello" not in caplog.text
    assert b'bridge_rejected_requests_total{reason="broken_inside"} 1.0' in metrics.exposition()


@pytest.mark.parametrize(
    ("event", "status"),
    [
        ({"bot_id": US.bot_id}, 200),
        ({"subtype": "message_changed", "message": {"bot_id": US.bot_id, "text": "hello again"}}, 200),
        ({"subtype": "message_changed", "message": {"bot_id": US.bot_id, "subtype": "tombstone"}}, 503),
        ({"subtype": "message_deleted", "bot_id": US.bot_id}, 503),
        ({"bot_id": "B0OTHER"}, 503),
    ],
)
async def test_a_message_of_the_bots_own_reaches_no_listener(
    harness: Harness, event: dict[str, Any], status: int
) -> None:
    metrics, wires, poster = Metrics(), harness.wires, harness.parts().turns.deps.slack
    dispatch = dispatcher(
        slack_app(wires.web, US, metrics, partial(answer_not_stored, US, poster), Broken()).async_dispatch, metrics
    )
    body = {"type": "event_callback", "event": {"type": "message", "text": "hello", **event}}

    response = await dispatch(AsyncBoltRequest(mode="socket_mode", body=body))

    assert response.status == status
    is_counted = b'bridge_events_total{kind="message",outcome="ignored"}' in metrics.exposition()
    assert is_counted is (status == 200)
