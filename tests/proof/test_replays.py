"""A replayed request, signature included, has no second effect."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from bridge.features.workflows import forms, run_card
from support.harness import Harness
from support.slack_requests import FORM, JSON, signed

PERSON = {"id": "U0ALICE", "team_id": "T0HOME"}
COMMAND = {
    "command": "/workflows", "text": "run 3 hello", "user_id": "U0ALICE",
    "team_id": "T0HOME", "channel_id": "C0GENERAL",
    "response_url": "https://hooks.slack.com/commands/T1/1/a", "trigger_id": "13345224609.738474920.8088930838",
}  # fmt: skip
CLICK = {
    "type": "block_actions", "user": PERSON, "channel": {"id": "C0GENERAL"}, "trigger_id": "1.2.a",
    "response_url": "https://hooks.slack.com/actions/T1/1/a",
    "container": {"type": "message", "message_ts": "1700000000.000100", "channel_id": "C0GENERAL"},
    "actions": [{"action_id": run_card.AGAIN, "value": '{"w": 3, "i": "hello"}'}],
}  # fmt: skip
CONFIRMATION = {**CLICK, "actions": [{"action_id": run_card.CONFIRM, "value": '{"w": 3, "i": "hello"}'}]}
SUBMISSION = {
    "type": "view_submission", "user": PERSON,
    "view": {
        "id": "V1", "type": "modal", "callback_id": forms.RunForm.id, "private_metadata": '{"channel": "C0GENERAL"}',
        "state": {"values": {
            "1": {"workflow": {"type": "external_select", "selected_option": {"value": "3"}}},
            "2": {"input": {"type": "plain_text_input", "value": "hello"}},
        }},
    },
}  # fmt: skip


def form(fields: dict[str, Any]) -> bytes:
    return urlencode(fields).encode()


def interaction(payload: dict[str, Any]) -> bytes:
    return form({"payload": json.dumps(payload)})


def without(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


RUNS = {
    "a command": form(COMMAND),
    "a command without a trigger": form(without("trigger_id", COMMAND)),
    "a click": interaction(CLICK),
    "a click without a trigger": interaction(without("trigger_id", CLICK)),
    "a confirmation": interaction(CONFIRMATION),
    "a form": interaction(SUBMISSION),
    "a form without an id": interaction({**SUBMISSION, "view": without("id", SUBMISSION["view"])}),
}


@pytest.mark.parametrize("body", RUNS.values(), ids=RUNS.keys())
async def test_a_replayed_request_starts_no_second_run(harness: Harness, body: bytes) -> None:
    headers = [FORM, *harness.signed(body)]  # a signature expires after five minutes

    first = await harness.send(body, *headers)
    at_once = await harness.send(body, *headers)
    await harness.work()
    later = await harness.send(body, *headers)
    await harness.work()

    assert (first.status, at_once.status, later.status) == (200, 200, 200)
    assert at_once.body == later.body == b"", "a replay reveals nothing"
    assert harness.service.runs == ["hello"]
    assert harness.counted('outcome="duplicate"} 2.0')


async def test_a_confirmation_pressed_twice_starts_one_run(harness: Harness) -> None:
    pressed = without("response_url", CONFIRMATION)  # which no one answers here
    await harness.interaction(pressed)
    await harness.interaction({**pressed, "trigger_id": "1.2.b"})
    await harness.work()

    assert harness.service.runs == ["hello"]
    assert "already used this button" in harness.seen.ephemerals[-1].text


async def test_the_same_command_typed_again_starts_another_run(harness: Harness) -> None:
    await harness.form(COMMAND)
    await harness.form({**COMMAND, "trigger_id": "13345224609.738474920.other"})
    await harness.work()

    assert harness.service.runs == ["hello", "hello"]


async def test_a_replayed_event_is_answered_by_the_agent_once(harness: Harness) -> None:
    event = {
        "type": "app_mention",
        "user": "U0ALICE",
        "team": "T0HOME",
        "channel": "C0GENERAL",
        "ts": "1700000000.000100",
        "text": "<@U0BRIDGE> hello",
    }
    body = json.dumps({"type": "event_callback", "event_id": "Ev1", "event": event}).encode()
    headers = [JSON, *harness.signed(body)]

    statuses = [(await harness.send(body, *headers)).status for _ in range(3)]
    await harness.work()

    assert statuses == [200, 200, 200]
    assert harness.service.messages == ["hello"]


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "view_closed", "user": PERSON, "view": {"id": "V1", "type": "modal", "callback_id": forms.RunForm.id}},
        {
            "type": "block_suggestion",
            "user": PERSON,
            "action_id": "workflow",
            "value": "imp",
            "channel": {"id": "C0GENERAL"},
        },
        {**SUBMISSION, "view": {**SUBMISSION["view"], "state": {"values": {}}}},
    ],
    ids=["a closed form", "options", "a form with errors"],
)
async def test_requests_answered_without_storing_change_nothing(harness: Harness, payload: dict[str, Any]) -> None:
    body = interaction(payload)
    headers = [FORM, *harness.signed(body)]
    before = await harness.keys()

    answers = [await harness.send(body, *headers) for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 200]
    assert len({answer.body for answer in answers}) == 1
    assert await harness.keys() == before
    assert harness.service.runs == []


async def test_a_replays_signature_expires_before_its_dedup_mark(harness: Harness) -> None:
    body = urlencode(COMMAND).encode()
    old = signed(body, at=0)

    assert (await harness.send(body, FORM, *old)).status == 401
    await harness.send(body, FORM, *harness.signed(body))
    (mark,) = [key for key in await harness.keys() if ":seen:e:trigger:" in key]
    assert await harness.store.redis.ttl(mark) > 24 * 3600, "a signature is valid for five minutes"
