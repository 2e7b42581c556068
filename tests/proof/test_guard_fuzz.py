"""Fuzz the HTTP endpoint and Socket Mode: one answer per request, never a 5xx, no errors and no body in a log.

Each test tries 100 inputs; ``FUZZ=10000`` changes the number.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bridge.door.guard import LARGEST_BODY, Guard
from bridge.features.conversations import menu
from bridge.features.workflows import forms, run_card
from bridge.metrics import Metrics
from support.harness import Harness
from support.slack_requests import FORM, JSON, SECRET, Headers, request, signed

EXAMPLES = int(os.environ.get("FUZZ", "100"))
WORDS = "words-that-must-not-be-logged"
fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
pytestmark = pytest.mark.timeout(60 + EXAMPLES // 10)

ODD = st.sampled_from(
    [b"", b"v0=", b"0", b"-1", b"1e9", b"9" * 400, b"\x00", b"\xff\xfe", "\u0661".encode(), b"v0=" + b"0" * 64, b" "]
)
NAMES = st.sampled_from(
    [b"x-slack-signature", b"x-slack-request-timestamp", b"content-type", b"content-length", b"x-slack-retry-num"]
)
HEADERS = st.lists(st.tuples(NAMES | st.binary(max_size=12), ODD | st.binary(max_size=40)), max_size=6)
TYPES = st.sampled_from([JSON, FORM, (b"content-type", b"text/plain"), (b"content-type", b"application/json;\xff")])
TEXTS = st.text(max_size=12) | st.sampled_from(
    ["", "\ud800", "\x00", "x" * 5000, "payload", "!stop", "<@U0BRIDGE> \ud800", "{", "V1"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


class Inside:
    """The app behind the guard; records what reaches it."""

    def __init__(self) -> None:
        self.payloads: list[object] = []

    async def __call__(self, request: AsyncBoltRequest) -> BoltResponse:
        self.payloads.append(request.body)
        return BoltResponse(status=200)


@st.composite
def bodies(draw: st.DrawFn) -> list[bytes]:
    """Arbitrary bytes in chunks, some close to what Slack sends."""
    begin = draw(
        st.binary(max_size=60)
        | st.sampled_from([b'{"type":"event_callback","event":{"type":"message"}}', b"payload=%7B%7D", b"ssl_check=1"])
        | st.sampled_from([b"[" * 3000, b'{"a":' * 3000, b"a=&" * 3000, b"%", b'{"type":' + b"9" * 5000 + b"}"])
    )
    filler = draw(st.sampled_from([0, 0, 0, 1, 1000, LARGEST_BODY // 2, LARGEST_BODY]))
    return [WORDS.encode() + begin if draw(st.booleans()) else begin, *[b"x" * filler] * draw(st.integers(0, 3))]


@st.composite
def requests(draw: st.DrawFn) -> tuple[list[bytes], Headers, bool, str]:
    """Arbitrary requests: chunks of a body, headers, whether the signature is valid, and a method."""
    chunks, is_signed = draw(bodies()), draw(st.booleans())
    own = [draw(TYPES), *(signed(b"".join(chunks)) if is_signed else [])]
    return chunks, [*own, *draw(HEADERS)], is_signed, draw(st.sampled_from(["POST"] * 9 + ["GET"]))


@fuzzed
@given(what=requests())
async def test_any_request_gets_one_answer(
    what: tuple[list[bytes], Headers, bool, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.clear()
    chunks, headers, is_signed, method = what
    inside = Inside()

    response = await request(Guard(SECRET, Metrics(), inside), chunks, headers, method)

    assert response.status in {200, 400, 401, 405, 413}
    assert response.bytes_read <= LARGEST_BODY + max(map(len, chunks)), "reading stops at the size limit"
    assert is_signed or (response.status != 200 and not inside.payloads)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert WORDS not in caplog.text


def an_event(event: dict[str, Any]) -> dict[str, Any]:
    stamp = f"{int(time.time())}.000100"
    return {
        "type": "event_callback", "team_id": "T0HOME", "event_id": "Ev1", "authorizations": [{"team_id": "T0HOME"}],
        "event": {"user": "U0ALICE", "team": "T0HOME", "channel": "C0GENERAL", "ts": stamp,
                  "text": f"<@U0BRIDGE> {WORDS}", **event},
    }  # fmt: skip


PERSON = {"id": "U0ALICE", "team_id": "T0HOME", "name": "alice"}
MESSAGE = {"user": "U0ALICE", "ts": "1700000000.000100", "text": WORDS}
INTERACTION = {
    "user": PERSON,
    "team": {"id": "T0HOME"},
    "channel": {"id": "C0GENERAL"},
    "trigger_id": "1.2.a",
    "token": "t",
}
FIELDS = {"1": {"workflow": {"selected_option": {"value": "3"}}}, "2": {"input": {"value": WORDS}}}
VIEW = {
    "id": "V1", "callback_id": forms.RunForm.id, "private_metadata": '{"channel": "C0GENERAL"}', "type": "modal",
    "state": {"values": FIELDS},
}  # fmt: skip
EVENTS = [
    an_event({"type": "app_mention"}),
    an_event({"type": "message", "channel_type": "channel", "thread_ts": "1700000000.000001"}),
    an_event({"type": "message", "channel_type": "im", "files": [{"id": "F1"}], "subtype": "file_share"}),
    an_event({"type": "message", "subtype": "message_changed", "message": MESSAGE, "previous_message": {"text": ""}}),
    an_event({"type": "message", "subtype": "message_deleted", "deleted_ts": "1700000000.000100"}),
    an_event({"type": "reaction_added", "item": {"type": "message"}}),
    an_event({"type": "app_home_opened", "tab": "home"}),
    {"type": "url_verification", "challenge": "c"},
    {"type": "app_rate_limited", "minute_rate_limited": 1},
]
INTERACTIONS = [
    {**INTERACTION, "type": "block_actions", "actions": [{"action_id": action, "value": '{"w": 3}', "block_id": "b"}],
     "container": {"type": "message", "message_ts": "1700000000.000100"}, "message": MESSAGE}
    for action in (run_card.AGAIN, run_card.CONFIRM, menu.CHOOSE)
] + [
    {**INTERACTION, "type": "view_submission", "view": VIEW},
    {**INTERACTION, "type": "view_closed", "view": VIEW},
    {**INTERACTION, "type": "block_suggestion", "action_id": menu.CHOOSE, "value": "su"},
    {**INTERACTION, "type": "shortcut", "callback_id": "c"},
    {**INTERACTION, "type": "message_action", "callback_id": "c", "message": MESSAGE},
]  # fmt: skip
LEGACY = [
    {**INTERACTION, "type": "interactive_message", "callback_id": "c", "actions": [{"name": "n", "value": "v"}]},
    {**INTERACTION, "type": "dialog_submission", "callback_id": "c", "submission": {"name": "v"}},
    {**INTERACTION, "type": "dialog_cancellation", "callback_id": "c"},
    {**INTERACTION, "type": "dialog_suggestion", "callback_id": "c", "name": "n", "value": "su"},
    {**INTERACTION, "type": "workflow_step_edit", "callback_id": "c", "workflow_step": {"step_id": "s", "inputs": {}}},
    {**INTERACTION, "type": "view_submission", "view": {**VIEW, "type": "workflow_step"},
     "workflow_step": {"workflow_step_edit_id": "1.2"}, "response_urls": [{"response_url": "https://x"}]},
]  # fmt: skip
"""Payloads for legacy app features, which the bridge doesn't use."""
COMMAND = {
    "command": "/workflows", "text": f"run 3 {WORDS}", "user_id": "U0ALICE",
    "team_id": "T0HOME", "channel_id": "C0GENERAL",
    "response_url": "https://hooks.slack.com/commands/T1/1/a", "trigger_id": "1.2.a",
}  # fmt: skip


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container in *value* with each of its keys."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from places(inner)


@st.composite
def corrupted(draw: st.DrawFn, templates: list[dict[str, Any]]) -> dict[str, Any]:
    """A Slack payload with some values removed or replaced."""
    payload = copy.deepcopy(draw(st.sampled_from(templates)))
    for _ in range(draw(st.integers(0, 3))):
        if not payload:
            break
        container, key = draw(st.sampled_from(list(places(payload))))
        if draw(st.booleans()):
            container[key] = draw(VALUES)
        else:
            del container[key]
    return payload


def sent(payload: dict[str, Any], kind: str) -> tuple[bytes, tuple[bytes, bytes]]:
    """Encode *payload* as Slack does."""
    if kind == "event":
        return json.dumps(payload).encode(), JSON
    fields = {"payload": json.dumps(payload)} if kind == "interaction" else payload
    return urlencode(fields, errors="replace").encode(), FORM


REQUESTS = (
    st.tuples(corrupted(EVENTS), st.just("event"))
    | st.tuples(corrupted(INTERACTIONS + LEGACY), st.just("interaction"))
    | st.tuples(corrupted([COMMAND]), st.just("command"))
)


HALF = "\ud800"  # a lone surrogate, valid in JSON but not in UTF-8
ODD_FORM = {"1": {"workflow": {"selected_option": {"value": "3"}}}, "2": {"input": {"value": HALF}}}


@fuzzed
@given(request_=REQUESTS)
@example(request_=(an_event({"type": "app_mention", "text": f"<@U0BRIDGE> {HALF}"}), "event"))
@example(request_=({**INTERACTIONS[0], "trigger_id": HALF}, "interaction"))
@example(request_=({**INTERACTIONS[3], "view": {**VIEW, "state": {"values": ODD_FORM}}}, "interaction"))
@example(request_=({**INTERACTIONS[3], "view": {"id": "V1", "callback_id": forms.RunForm.id}}, "interaction"))
@example(request_=({**INTERACTIONS[0], "user": 1.5}, "interaction"))
@example(request_=({**EVENTS[5], "authorizations": [[]]}, "event"))
@example(request_=({"type": "event_callback", "event": {"type": "app_mention"}}, "event"))
@example(request_=(an_event({"type": "message", "text": 7, "channel": {}, "ts": None}), "event"))
@example(request_=(an_event({"type": "message", "ts": "not a ts", "thread_ts": "neither"}), "event"))
@example(request_=(an_event({"type": "message", "subtype": {"a": 1}}), "event"))
@example(request_=(an_event({"type": "message", "subtype": "message_changed", "message": {"ts": 7}}), "event"))
@example(request_=(an_event({"type": "message", "subtype": "message_deleted", "deleted_ts": 7}), "event"))
@example(request_=(an_event({"type": "something_new"}), "event"))
@example(request_=({"command": "/nothing", "text": "\x00payload=1", "user_id": "", "channel_id": ""}, "command"))
@example(request_=({**INTERACTIONS[0], "message": 7}, "interaction"))
@example(request_=({**INTERACTIONS[5], "value": 7}, "interaction"))
async def test_a_malformed_signed_request_logs_no_error(
    request_: tuple[dict[str, Any], str], harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.clear()
    body, kind = sent(*request_)

    response = await harness.send(body, kind, *harness.signed(body))

    assert response.status in {200, 400, 404}
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert not harness.counted("broken_inside")
    assert WORDS not in caplog.text


PAYLOADS = (
    st.tuples(st.just("events_api"), corrupted(EVENTS))
    | st.tuples(st.just("interactive"), corrupted(INTERACTIONS + LEGACY))
    | st.tuples(st.just("slash_commands"), corrupted([COMMAND]))
    | st.tuples(
        st.sampled_from(["events_api", "interactive", "slash_commands", "", "hello"]),
        st.dictionaries(TEXTS | st.sampled_from(["type", "event", "command", "actions"]), VALUES, max_size=4),
    )
)


@fuzzed
@given(carried=PAYLOADS)
@example(carried=("slash_commands", {**COMMAND, "text": ["x"], "enterprise_id": 7}))
@example(carried=("slash_commands", {**COMMAND, "is_enterprise_install": False}))
@example(carried=("events_api", {**EVENTS[5], "authorizations": False}))
@example(carried=("events_api", {"type": "event_callback", "event": {**EVENTS[0]["event"], "ts": ""}}))
@example(carried=("interactive", {**INTERACTIONS[0], "actions": [{"action_id": []}]}))
@example(carried=("interactive", {"type": "of tomorrow", "command": {}}))
async def test_a_malformed_envelope_logs_no_error(
    carried: tuple[str, dict[str, Any]], harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.clear()

    json.dumps(await harness.envelope(*carried, accepts_response_payload=True))

    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert not harness.counted("broken_inside")
    assert WORDS not in caplog.text


@pytest.mark.parametrize("payload", LEGACY, ids=[str(payload["type"]) for payload in LEGACY])
async def test_a_legacy_interaction_gets_200(payload: dict[str, Any], harness: Harness) -> None:
    assert (await harness.interaction(payload)).status == 200
