"""What the door lets through, and what it says to everything else."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from starlette.types import Message

from bridge.listeners.app import dispatcher
from bridge.metrics import Metrics
from bridge.slack.guard import LARGEST_BODY, Guard
from bridge.slack.sockets import Sockets
from support.front_door import no_socket, request

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
NOW = 1_700_000_000
EVENT = json.dumps({"type": "event_callback", "event": {"type": "message", "text": "hello"}}).encode()
JSON = [(b"content-type", b"application/json")]
FORM = [(b"content-type", b"application/x-www-form-urlencoded")]
Headers = list[tuple[bytes, bytes]]
ARABIC_17 = "\u0661\u0667".encode()  # digits, says str.isdigit


def signature(body: bytes, timestamp: bytes = b"%d" % NOW, secret: str = SECRET) -> bytes:
    return b"v0=" + hmac.new(secret.encode(), b"v0:" + timestamp + b":" + body, hashlib.sha256).hexdigest().encode()


def signed(body: bytes, at: int = NOW) -> Headers:
    stamp = b"%d" % at
    return [(b"x-slack-request-timestamp", stamp), (b"x-slack-signature", signature(body, stamp))]


class Inner(AsyncApp):
    """What is behind the guard: notes the payloads it gets and answers as it is told."""

    def __init__(self, status: int = 200, error: Exception | None = None) -> None:
        """Need nothing that an app needs."""
        self.status, self.error = status, error
        self.payloads: list[Any] = []

    async def async_dispatch(self, req: AsyncBoltRequest) -> BoltResponse:
        self.payloads.append(req.body)
        if self.error is not None:
            raise self.error
        return BoltResponse(status=self.status, body={"from": "inside"})


@dataclass
class Response:
    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    received: int = 0


@dataclass
class Door:
    """A guard, and a client that speaks ASGI to it."""

    inner: Inner = field(default_factory=Inner)
    metrics: Metrics = field(default_factory=Metrics)

    async def send(
        self, chunks: list[bytes], headers: Headers, *, method: str = "POST", last: Message | None = None, **more: Any
    ) -> Response:
        response = Response()
        pending = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks[:-1]]
        pending += [last or {"type": "http.request", "body": chunks[-1], "more_body": False}]

        async def receive() -> Message:
            response.received += 1
            if not pending:
                await asyncio.Event().wait()
            return pending.pop(0)

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                assert response.status == 0, "answered twice"
                response.status = message["status"]
                response.headers = dict(message["headers"])
            else:
                response.body += message["body"]

        dispatch = dispatcher(self.inner, self.metrics)
        guard = Guard(SECRET, self.metrics, dispatch, now=lambda: NOW, **more)
        await guard({"type": "http", "method": method, "path": "/slack/events", "headers": headers}, receive, send)
        return response

    async def post(self, body: bytes, headers: Headers | None = None, content_type: Headers = JSON) -> Response:
        return await self.send([body], [*content_type, *(signed(body) if headers is None else headers)])

    def count(self, line: str) -> bool:
        return line in self.metrics.exposition().decode()


@pytest.fixture
def door() -> Door:
    return Door()


async def test_what_is_signed_and_well_formed_goes_in_parsed(door: Door) -> None:
    response = await door.post(EVENT)

    assert (response.status, response.body) == (200, b'{"from": "inside"}')
    assert response.headers[b"content-type"] == b"application/json;charset=utf-8"
    assert door.inner.payloads == [{**json.loads(EVENT), "retry_attempt": 0}]
    assert door.count('bridge_ack_seconds_count{kind="message"} 1.0')


async def test_a_body_that_comes_in_pieces_is_put_together(door: Door) -> None:
    pieces = [EVENT[:7], EVENT[7:20], EVENT[20:]]

    response = await door.send(pieces, [*JSON, *signed(EVENT)])

    assert response.status == 200
    assert door.inner.payloads == [{**json.loads(EVENT), "retry_attempt": 0}]


BROKEN_SIGNATURES: dict[str, Headers] = {
    "none at all": [],
    "no timestamp": [(b"x-slack-signature", signature(EVENT))],
    "no signature": [(b"x-slack-request-timestamp", b"%d" % NOW)],
    "of another body": signed(EVENT + b" "),
    "of another secret": [
        (b"x-slack-request-timestamp", b"%d" % NOW),
        (b"x-slack-signature", signature(EVENT, secret="other")),
    ],
    "not ASCII": [(b"x-slack-request-timestamp", b"%d" % NOW), (b"x-slack-signature", "v0=äöü☃".encode())],
    "not a number": [(b"x-slack-request-timestamp", b"now"), (b"x-slack-signature", signature(EVENT, b"now"))],
    "not an integer": [
        (b"x-slack-request-timestamp", b"%d.5" % NOW),
        (b"x-slack-signature", signature(EVENT, b"%d.5" % NOW)),
    ],
    "other digits": [
        (b"x-slack-request-timestamp", ARABIC_17),
        (b"x-slack-signature", signature(EVENT, ARABIC_17)),
    ],
    "a huge number": [
        (b"x-slack-request-timestamp", b"9" * 5000),
        (b"x-slack-signature", signature(EVENT, b"9" * 5000)),
    ],
    "negative": [(b"x-slack-request-timestamp", b"-5"), (b"x-slack-signature", signature(EVENT, b"-5"))],
    "empty": [(b"x-slack-request-timestamp", b""), (b"x-slack-signature", b"")],
    "doubled": [*signed(EVENT), (b"x-slack-signature", signature(EVENT))],
    "doubled timestamp": [(b"x-slack-request-timestamp", b"1"), *signed(EVENT)],
    "too old": signed(EVENT, NOW - 301),
    "from the future": signed(EVENT, NOW + 301),
}


@pytest.mark.parametrize("headers", BROKEN_SIGNATURES.values(), ids=BROKEN_SIGNATURES.keys())
async def test_without_a_good_signature_nothing_gets_in_and_nothing_is_logged(
    door: Door, headers: Headers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    response = await door.post(EVENT, headers)

    assert response.status == 401
    assert door.inner.payloads == []
    assert caplog.records == []
    assert door.count("bridge_rejected_requests_total{reason=")


@pytest.mark.parametrize("age", [-300, 299, 300])
async def test_five_minutes_are_tolerated_either_way(door: Door, age: int) -> None:
    assert (await door.post(EVENT, signed(EVENT, NOW - age))).status == 200


async def test_a_length_beyond_the_limit_is_refused_unread(door: Door) -> None:
    response = await door.send([b"x"], [(b"content-length", b"%d" % (LARGEST_BODY + 1)), *JSON])

    assert response.status == 413
    assert response.received == 0


async def test_a_body_that_grows_beyond_the_limit_is_read_no_further(door: Door) -> None:
    chunk = b"x" * (256 * 1024)

    response = await door.send([chunk] * 40, JSON)

    assert response.status == 413
    assert response.received == 17


async def test_a_body_of_just_the_limit_is_taken(door: Door) -> None:
    body = EVENT[:-1] + b" " * (LARGEST_BODY - len(EVENT)) + b"}"

    assert (await door.post(body)).status == 200


async def test_who_trickles_is_sent_away(door: Door) -> None:
    never = asyncio.Event()

    async def receive() -> Message:
        await never.wait()
        raise AssertionError

    statuses: list[int] = []

    async def send(message: Message) -> None:
        statuses.append(message.get("status", 0))

    guard = Guard(SECRET, door.metrics, now=lambda: NOW, body_seconds=0.01)
    await guard({"type": "http", "method": "POST", "path": "/", "headers": signed(EVENT)}, receive, send)

    assert statuses == [408, 0]


async def test_who_leaves_in_the_middle_is_not_answered(door: Door) -> None:
    response = await door.send([EVENT[:5], b""], signed(EVENT), last={"type": "http.disconnect"})

    assert response.status == 0
    assert door.inner.payloads == []
    assert door.count('bridge_rejected_requests_total{reason="client_left"} 1.0')


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_only_post_is_understood(door: Door, method: str) -> None:
    response = await door.send([b""], [], method=method)

    assert response.status == 405
    assert response.headers[b"allow"] == b"POST"


MALFORMED: dict[str, tuple[bytes, Headers]] = {
    "empty": (b"", JSON),
    "not UTF-8": (b'{"type": "\xff"}', JSON),
    "not JSON": (b'{"type": ', JSON),
    "a list": (b'[{"type": "event_callback"}]', JSON),
    "a string": (b'"event_callback"', JSON),
    "deep": (b"[" * 100_000, JSON),
    "a very long number": (b'{"type": ' + b"9" * 5000 + b"}", JSON),
    "no type": (b"{}", JSON),
    "an event that is none": (b'{"type": "event_callback", "event": []}', JSON),
    "no event": (b'{"type": "event_callback"}', JSON),
    "a challenge that is none": (b'{"type": "url_verification", "challenge": 5}', JSON),
    "a form without anything": (b"a=1&b=2", FORM),
    "an empty form": (b"", FORM),
    "no form at all": (b"\x00\x01", FORM),
    "a payload that is no JSON": (b"payload=%7B", FORM),
    "a payload that is a list": (b"payload=%5B%5D", FORM),
    "ssl_check that is none": (b"ssl_check=0", FORM),
}


@pytest.mark.parametrize(("body", "content_type"), MALFORMED.values(), ids=MALFORMED.keys())
async def test_what_is_signed_but_malformed_is_a_bad_request(door: Door, body: bytes, content_type: Headers) -> None:
    response = await door.post(body, content_type=content_type)

    assert response.status == 400
    assert door.inner.payloads == []


async def test_a_challenge_is_answered_if_it_is_signed(door: Door) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1aB"}).encode()

    assert (await door.post(body)).body == b"3eZbrw1aB"
    assert (await door.post(body, [])).status == 401
    assert door.inner.payloads == []


async def test_ssl_check_is_answered_if_it_is_signed(door: Door) -> None:
    assert (await door.post(b"ssl_check=1&token=x", content_type=FORM)).status == 200
    assert (await door.post(b"ssl_check=1&token=x", [], FORM)).status == 401
    assert door.inner.payloads == []


async def test_being_told_of_held_back_events_is_acknowledged_and_logged(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await door.post(b'{"type": "app_rate_limited", "team_id": "T1"}')).status == 200
    assert [record.message for record in caplog.records] == ["slack holds events back: more than 30,000 in an hour"]


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"type": "block_actions", "actions": [{"action_id": "a"}]}, "click"),
        ({"type": "view_submission", "view": {"callback_id": "c", "type": "m"}}, "submission"),
        ({"type": "block_suggestion", "action_id": "a"}, "options"),
        ({"type": "of_tomorrow"}, "other"),
    ],
)
async def test_interactions_go_in_and_are_counted_by_kind(door: Door, payload: dict[str, Any], kind: str) -> None:
    body = urlencode({"payload": json.dumps(payload)})

    assert (await door.post(body.encode(), content_type=FORM)).status == 200
    assert door.inner.payloads == [payload]
    assert door.count(f'bridge_ack_seconds_count{{kind="{kind}"}} 1.0')


async def test_a_command_that_says_payload_goes_in_as_a_command(door: Door) -> None:
    command = {"command": "/workflows", "text": 'run 3 {"payload": 1}'}

    assert (await door.post(urlencode(command).encode(), content_type=FORM)).status == 200
    assert door.inner.payloads == [command]
    assert door.count('bridge_ack_seconds_count{kind="command"} 1.0')


@pytest.mark.parametrize(
    "payload",
    [
        "{}",
        '{"type": ["odd"]}',
        '{"type": "block_actions"}',
        '{"type": "block_actions", "actions": []}',
        '{"type": "block_actions", "actions": [3]}',
        '{"type": "view_submission", "view": 3}',
        '{"type": "block_suggestion"}',
        '{"type": "of_tomorrow", "command": {}}',
        '{"type": "of_tomorrow", "event": 5}',
        '{"type": "block_actions", "actions": [{"action_id": "a"}], "command": "/workflows"}',
    ],
)
async def test_an_interaction_that_is_not_whole_is_a_bad_request(door: Door, payload: str) -> None:
    assert (await door.post(urlencode({"payload": payload}).encode(), content_type=FORM)).status == 400
    assert door.inner.payloads == []


async def test_what_other_apps_write_into_a_message_may_look_like_anything(door: Door) -> None:
    message = {"ts": "1.2", "metadata": {"event_type": "order", "event_payload": {"user": 5, "item": 17, "team": []}}}
    payload = json.dumps({"type": "message_action", "callback_id": "c", "message": message})

    assert (await door.post(urlencode({"payload": payload}).encode(), content_type=FORM)).status == 200


async def test_what_breaks_inside_becomes_503_and_is_logged_with_a_reference_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    door = Door(Inner(error=RuntimeError("broken")))

    response = await door.post(EVENT)

    assert (response.status, response.body) == (503, b"unavailable")
    assert door.count('bridge_rejected_requests_total{reason="broken_inside"} 1.0')
    (record,) = caplog.records
    assert len(vars(record)["reference"]) == 8
    assert record.exc_info is not None
    assert "hello" not in caplog.text


@pytest.mark.parametrize(
    ("said", "understood"), [(None, 0), ("", 0), ("0", 0), ("2", 2), ("many", 0), ("9" * 5000, 0), ("-1", 0)]
)
async def test_an_event_says_how_often_slack_has_sent_it_before(door: Door, said: str | None, understood: int) -> None:
    header = [(b"x-slack-retry-num", said.encode())] if said is not None else []
    sockets = Sockets(no_socket, dispatcher(door.inner, door.metrics), door.metrics)

    await door.post(EVENT, [*signed(EVENT), *header])
    await sockets.acknowledgement({"type": "events_api", "payload": json.loads(EVENT), "retry_attempt": said})

    assert [payload["retry_attempt"] for payload in door.inner.payloads] == [understood, understood]


@pytest.mark.parametrize("status", [200, 404, 503])
async def test_other_answers_from_inside_are_passed_on(status: int) -> None:
    response = await Door(Inner(status)).post(EVENT)

    assert (response.status, response.body) == (status, b'{"from": "inside"}')


async def test_until_there_is_somebody_inside_slack_is_asked_to_come_again(door: Door) -> None:
    guard = Guard(SECRET, door.metrics, now=lambda: NOW)

    response = await request(guard, [EVENT], [*JSON, *signed(EVENT)])

    assert (response.status, response.body) == (503, b"starting")


async def test_an_envelope_that_breaks_inside_is_not_acknowledged(door: Door) -> None:
    door.inner.error = TypeError("broken")
    sockets = Sockets(no_socket, dispatcher(door.inner, door.metrics), door.metrics)

    ack = await sockets.acknowledgement({"type": "events_api", "envelope_id": "e1", "payload": json.loads(EVENT)})

    assert ack is None
    assert door.count('bridge_rejected_requests_total{reason="broken_inside"} 1.0')
