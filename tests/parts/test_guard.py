"""Which requests the guard lets through, and how it answers the rest."""

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

from bridge.door.guard import LARGEST_BODY, MOST_HELD, SMALL_BODY, Guard
from bridge.door.listeners.app import dispatcher
from bridge.door.sockets import Sockets
from bridge.metrics import Metrics
from support.slack_requests import FORM, JSON, SECRET, Headers, Response, no_socket, request, signed
from support.tables import each

NOW = 1_700_000_000
EVENT = json.dumps({"type": "event_callback", "event": {"type": "message", "text": "hello"}}).encode()
STAMP, SIGNATURE = signed(EVENT, NOW)
ARABIC_17 = "\u0661\u0667".encode()  # digits according to str.isdigit


class Inner(AsyncApp):
    """The app behind the guard: records payloads and answers as configured."""

    def __init__(self) -> None:
        """Skip the setup of a real app."""
        self.status, self.error = 200, None
        self.payloads: list[Any] = []

    async def async_dispatch(self, req: AsyncBoltRequest) -> BoltResponse:
        self.payloads.append(req.body)
        if self.error is not None:
            raise self.error
        return BoltResponse(status=self.status, body={"from": "inside"})


@dataclass
class GuardedApp:
    """A guard and a socket in front of *inner*."""

    inner: Inner = field(default_factory=Inner)
    metrics: Metrics = field(default_factory=Metrics)
    now: float = NOW
    slacks_time: float = NOW
    is_clock_known: bool = True
    monotonic: float = 1000.0

    def __post_init__(self) -> None:
        dispatch = dispatcher(self.inner.async_dispatch, self.metrics)
        self.guard = Guard(
            SECRET,
            self.metrics,
            dispatch,
            now=lambda: self.now,
            ask_clock=self._ask_clock,
            body_seconds=1.0,
            monotonic=lambda: self.monotonic,
        )
        self.sockets = Sockets(no_socket, dispatch, self.metrics)

    async def _ask_clock(self, _stamp: int) -> bool:
        if self.is_clock_known:
            self.now = self.slacks_time
        return self.is_clock_known

    async def post(
        self, body: bytes, headers: Headers | None = None, content_type: tuple[bytes, bytes] = JSON
    ) -> Response:
        return await request(self.guard, [body], [content_type, *(signed(body, NOW) if headers is None else headers)])

    def count(self, line: str) -> bool:
        return line in self.metrics.exposition().decode()


@pytest.fixture
def guarded() -> GuardedApp:
    return GuardedApp()


async def test_a_body_in_pieces_is_joined(guarded: GuardedApp) -> None:
    pieces = [EVENT[:7], EVENT[7:20], EVENT[20:]]

    response = await request(guarded.guard, pieces, [JSON, *signed(EVENT, NOW)])

    assert response.status == 200
    assert guarded.inner.payloads == [{**json.loads(EVENT), "retry_attempt": 0}]


def stamped(stamp: bytes) -> Headers:
    """Sign the event with an arbitrary timestamp."""
    digest = hmac.new(SECRET.encode(), b"v0:" + stamp + b":" + EVENT, hashlib.sha256).hexdigest()
    return [(b"x-slack-request-timestamp", stamp), (b"x-slack-signature", f"v0={digest}".encode())]


BROKEN_SIGNATURES: dict[str, Headers] = {
    "none at all": [],
    "no timestamp": [SIGNATURE],
    "no signature": [STAMP],
    "of another body": signed(EVENT + b" ", NOW),
    "of another secret": signed(EVENT, NOW, "other"),
    "not ASCII": [STAMP, (b"x-slack-signature", "v0=äöü☃".encode())],
    "not a number": stamped(b"now"),
    "not an integer": stamped(b"%d.5" % NOW),
    "other digits": stamped(ARABIC_17),
    "a huge number": stamped(b"9" * 5000),
    "negative": stamped(b"-5"),
    "empty": [(b"x-slack-request-timestamp", b""), (b"x-slack-signature", b"")],
    "doubled": [STAMP, SIGNATURE, SIGNATURE],
    "doubled timestamp": [(b"x-slack-request-timestamp", b"1"), STAMP, SIGNATURE],
    "too old": signed(EVENT, NOW - 301),
    "from the future": signed(EVENT, NOW + 301),
}


@pytest.mark.parametrize("headers", BROKEN_SIGNATURES.values(), ids=BROKEN_SIGNATURES.keys())
async def test_a_bad_signature_gets_401_and_one_warning(
    guarded: GuardedApp, headers: Headers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    response = await guarded.post(EVENT, headers)

    assert response.status == 401
    assert guarded.inner.payloads == []
    assert guarded.count("bridge_rejected_requests_total{reason=")
    (record,) = caplog.records
    assert (record.levelname, record.message) == ("WARNING", "refused requests with 401")


@pytest.mark.parametrize(
    ("headers", "likely"),
    [
        ([], "someone is scanning this address"),
        (stamped(b"now"), "someone is scanning this address"),
        (signed(EVENT, NOW, "other"), "SLACK_SIGNING_SECRET is another app's"),
        (signed(EVENT, NOW - 301, "other"), "SLACK_SIGNING_SECRET is another app's"),
        (signed(EVENT, NOW - 301), "someone repeats an old request"),
    ],
    ids=["unsigned", "no time", "another secret", "old, another secret", "old"],
)
async def test_a_warning_names_the_likely_cause(
    guarded: GuardedApp, headers: Headers, likely: str, caplog: pytest.LogCaptureFixture
) -> None:
    await guarded.post(EVENT, headers)

    assert vars(caplog.records[0])["likely"].startswith(likely)


async def test_refusals_are_logged_once_a_minute(guarded: GuardedApp, caplog: pytest.LogCaptureFixture) -> None:
    for headers in ([], [], signed(EVENT, NOW, "other"), signed(EVENT, NOW)):
        await guarded.post(EVENT, headers)
    assert len(caplog.records) == 1

    guarded.monotonic += 60
    await guarded.post(EVENT, [])

    assert len(caplog.records) == 2
    facts = vars(caplog.records[1])
    assert (facts["unsigned"], facts["signature"]) == (2, 1)
    assert facts["likely"].startswith("SLACK_SIGNING_SECRET")


@pytest.mark.parametrize("off", [-3600, 3600])
async def test_slacks_clock_decides_about_a_timestamp(guarded: GuardedApp, off: int) -> None:
    guarded.slacks_time = NOW + off

    assert (await guarded.post(EVENT, signed(EVENT, NOW + off))).status == 200
    assert (await guarded.post(EVENT, signed(EVENT, NOW))).status == 401, "a replay"
    assert not guarded.guard.refuses_by_clock


async def test_a_time_that_cannot_be_checked_is_an_outage(
    guarded: GuardedApp, caplog: pytest.LogCaptureFixture
) -> None:
    guarded.is_clock_known = False

    statuses = [(await guarded.post(EVENT, signed(EVENT, NOW + off))).status for off in (3600, 3601, 3599)]

    assert statuses == [401] * 3
    assert guarded.guard.refuses_by_clock
    assert [moment.timestamp() - NOW for moment in await guarded.guard.refused()] == [3599, 3601]
    assert vars(caplog.records[0])["seconds_off"] == -3600
    assert vars(caplog.records[0])["likely"].startswith("this machine's clock is wrong")


@pytest.mark.parametrize("is_accepted", [True, False])
async def test_a_refusing_clock_may_be_right_again(guarded: GuardedApp, *, is_accepted: bool) -> None:
    guarded.is_clock_known = False
    await guarded.post(EVENT, signed(EVENT, NOW + 3600))

    if is_accepted:
        await guarded.post(EVENT, signed(EVENT, NOW))
    else:
        guarded.monotonic += 300

    assert not guarded.guard.refuses_by_clock


@pytest.mark.parametrize("age", [-300, 299, 300])
async def test_a_signature_is_valid_for_five_minutes(guarded: GuardedApp, age: int) -> None:
    assert (await guarded.post(EVENT, signed(EVENT, NOW - age))).status == 200


async def test_a_declared_length_over_the_limit_gets_413_unread(guarded: GuardedApp) -> None:
    response = await request(guarded.guard, [b"x"], [(b"content-length", b"%d" % (LARGEST_BODY + 1)), JSON])

    assert response.status == 413
    assert response.bytes_read == 0


async def test_a_body_over_the_limit_is_read_no_further(guarded: GuardedApp) -> None:
    chunk = b"x" * (256 * 1024)

    response = await request(guarded.guard, [chunk] * 40, [JSON])

    assert response.status == 413
    assert response.bytes_read == 17 * len(chunk)


async def test_large_bodies_in_flight_are_bounded_together(guarded: GuardedApp) -> None:
    count = MOST_HELD // LARGEST_BODY
    slow = [request(guarded.guard, [b"x" * LARGEST_BODY], [], is_whole=False) for _ in range(count)]
    tasks = [asyncio.create_task(one) for one in slow]
    await asyncio.sleep(0)

    refused = await request(guarded.guard, [b"x" * (SMALL_BODY + 1)], [], is_whole=False)
    small = await guarded.post(EVENT)

    assert (refused.status, small.status) == (503, 200)
    assert {(await task).status for task in tasks} == {408}
    assert (await request(guarded.guard, [b"x" * (SMALL_BODY + 1)], [])).status == 401


async def test_a_body_of_exactly_the_limit_is_accepted(guarded: GuardedApp) -> None:
    body = EVENT[:-1] + b" " * (LARGEST_BODY - len(EVENT)) + b"}"

    assert (await guarded.post(body)).status == 200


async def test_a_slow_body_gets_408(guarded: GuardedApp) -> None:
    guard = Guard(SECRET, guarded.metrics, body_seconds=0.01)

    response = await request(guard, [EVENT[:5]] * 2, signed(EVENT), is_whole=False)

    assert response.status == 408


async def test_a_client_that_leaves_gets_no_answer(guarded: GuardedApp) -> None:
    response = await request(guarded.guard, [EVENT[:5]], signed(EVENT, NOW), is_left=True)

    assert response.statuses == []
    assert guarded.inner.payloads == []
    assert guarded.count('bridge_rejected_requests_total{reason="client_left"} 1.0')


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_other_methods_get_405(guarded: GuardedApp, method: str) -> None:
    response = await request(guarded.guard, [b""], [], method)

    assert response.status == 405
    assert response.headers[b"allow"] == b"POST"


MALFORMED: dict[str, tuple[bytes, tuple[bytes, bytes]]] = {
    "empty": (b"", JSON),
    "not UTF-8": (b'{"type": "\xff"}', JSON),
    "not JSON": (b'{"type": ', JSON),
    "a list": (b'[{"type": "event_callback"}]', JSON),
    "a string": (b'"event_callback"', JSON),
    "deep": (b"[" * 100_000, JSON),
    "a little too deep": (EVENT[:-1] + b', "deep": ' + b"[" * 100 + b"]" * 100 + b"}", JSON),
    "a payload that is too deep": (
        b'payload={"type":"shortcut","callback_id":"x","deep":' + b"[" * 100 + b"]" * 100 + b"}",
        FORM,
    ),
    "a very long number": (b'{"type": ' + b"9" * 5000 + b"}", JSON),
    "no type": (b"{}", JSON),
    "an event that is none": (b'{"type": "event_callback", "event": []}', JSON),
    "no event": (b'{"type": "event_callback"}', JSON),
    "an event without a type": (b'{"type": "event_callback", "event": {"type": {}}}', JSON),
    "an event by a number": (b'{"type": "event_callback", "event": {"type": "message", "user": 7}}', JSON),
    "an event in a truth": (b'{"type": "event_callback", "event": {"type": "message", "channel": true}}', JSON),
    "authorizations that are none": (
        b'{"type": "event_callback", "event": {"type": "message"}, "authorizations": [[]]}',
        JSON,
    ),
    "an event that is a command": (b'{"type": "event_callback", "event": {"type": "message"}, "command": {}}', JSON),
    "a challenge that is none": (b'{"type": "url_verification", "challenge": 5}', JSON),
    "a form without anything": (b"a=1&b=2", FORM),
    "an empty form": (b"", FORM),
    "no form at all": (b"\x00\x01", FORM),
    "a payload that is no JSON": (b"payload=%7B", FORM),
    "a payload that is a list": (b"payload=%5B%5D", FORM),
    "ssl_check that is none": (b"ssl_check=0", FORM),
}


@each(("body", "content_type"), MALFORMED.values())
async def test_a_malformed_body_gets_400(guarded: GuardedApp, body: bytes, content_type: tuple[bytes, bytes]) -> None:
    response = await guarded.post(body, content_type=content_type)

    assert response.status == 400
    assert guarded.inner.payloads == []


async def test_a_signed_challenge_is_answered(guarded: GuardedApp) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1aB"}).encode()

    assert (await guarded.post(body)).body == b"3eZbrw1aB"
    assert (await guarded.post(body, [])).status == 401
    assert guarded.inner.payloads == []


async def test_a_signed_ssl_check_is_answered(guarded: GuardedApp) -> None:
    assert (await guarded.post(b"ssl_check=1&token=x", content_type=FORM)).status == 200
    assert (await guarded.post(b"ssl_check=1&token=x", [], FORM)).status == 401
    assert guarded.inner.payloads == []


async def test_a_rate_limit_notice_is_acknowledged_and_logged(
    guarded: GuardedApp, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await guarded.post(b'{"type": "app_rate_limited", "team_id": "T1"}')).status == 200
    assert [record.message for record in caplog.records] == ["Slack is dropping events: more than 30,000 in an hour"]


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"type": "block_actions", "actions": [{"action_id": "a"}]}, "click"),
        ({"type": "view_submission", "view": {"callback_id": "c", "type": "m"}}, "submission"),
        ({"type": "block_suggestion", "action_id": "a"}, "options"),
        ({"type": "of_tomorrow"}, "other"),
    ],
)
async def test_an_interaction_is_accepted_and_counted_by_kind(
    guarded: GuardedApp, payload: dict[str, Any], kind: str
) -> None:
    body = urlencode({"payload": json.dumps(payload)})

    assert (await guarded.post(body.encode(), content_type=FORM)).status == 200
    assert guarded.inner.payloads == [payload]
    assert guarded.count(f'bridge_ack_seconds_count{{kind="{kind}"}} 1.0')


async def test_a_command_with_payload_in_its_text_stays_a_command(guarded: GuardedApp) -> None:
    command = {"command": "/workflows", "text": 'run 3 {"payload": 1}'}

    assert (await guarded.post(urlencode(command).encode(), content_type=FORM)).status == 200
    assert guarded.inner.payloads == [command]
    assert guarded.count('bridge_ack_seconds_count{kind="command"} 1.0')


INCOMPLETE: list[dict[str, Any]] = [
    {},
    {"type": ["odd"]},
    {"type": "block_actions"},
    {"type": "block_actions", "actions": []},
    {"type": "block_actions", "actions": [3]},
    {"type": "block_actions", "actions": [{"action_id": "a"}], "command": "/workflows"},
    {"type": "view_submission", "view": 3},
    {"type": "view_submission", "view": {"callback_id": "c", "type": "workflow_step"}},
    {"type": "view_submission", "view": {"callback_id": "c", "type": "modal"}, "response_urls": None},
    {"type": "view_submission", "view": {"callback_id": "c", "type": "modal"}, "response_urls": [7]},
    {"type": "block_suggestion"},
    {"type": "of_tomorrow", "command": {}},
    {"type": "of_tomorrow", "event": 5},
    {"type": "interactive_message", "callback_id": "c"},
    {"type": "interactive_message", "callback_id": "c", "actions": []},
    {"type": "interactive_message", "callback_id": "c", "actions": {}},
    {"type": "interactive_message", "callback_id": 7, "actions": [{"name": "n"}]},
    {"type": "dialog_submission", "callback_id": 7},
    {"type": "dialog_cancellation", "callback_id": ["c"]},
    {"type": "dialog_suggestion", "callback_id": {}},
    {"type": "workflow_step_edit", "callback_id": "c"},
    {"type": "workflow_step_edit", "callback_id": 7, "workflow_step": {}},
]


async def test_an_incomplete_interaction_gets_400_and_no_retry(guarded: GuardedApp) -> None:
    answers = {}
    for payload in INCOMPLETE:
        response = await guarded.post(urlencode({"payload": json.dumps(payload)}).encode(), content_type=FORM)
        ack = await guarded.sockets.acknowledgement({"type": "interactive", "envelope_id": "e", "payload": payload})
        answers[json.dumps(payload)] = (response.status, ack)

    assert answers == dict.fromkeys(map(json.dumps, INCOMPLETE), (400, {"envelope_id": "e"}))
    assert guarded.inner.payloads == []
    assert guarded.count(f'bridge_rejected_requests_total{{reason="malformed"}} {2.0 * len(INCOMPLETE)}')


async def test_metadata_of_other_apps_may_have_any_shape(guarded: GuardedApp) -> None:
    message = {"ts": "1.2", "metadata": {"event_type": "order", "event_payload": {"user": 5, "item": 17, "team": []}}}
    payload = json.dumps({"type": "message_action", "callback_id": "c", "message": message})

    assert (await guarded.post(urlencode({"payload": payload}).encode(), content_type=FORM)).status == 200


async def test_a_failure_inside_gets_503_and_a_logged_reference(
    guarded: GuardedApp, caplog: pytest.LogCaptureFixture
) -> None:
    guarded.inner.error = RuntimeError("broken")

    response = await guarded.post(EVENT)
    ack = await guarded.sockets.acknowledgement(
        {"type": "events_api", "envelope_id": "e", "payload": json.loads(EVENT)}
    )

    assert (response.status, response.body, ack) == (503, b"unavailable", None)
    assert guarded.count('bridge_rejected_requests_total{reason="broken_inside"} 2.0')
    for record in caplog.records:
        assert len(vars(record)["reference"]) == 8
        assert record.exc_info is not None
    assert "hello" not in caplog.text


@pytest.mark.parametrize(
    ("said", "understood"), [(None, 0), ("", 0), ("0", 0), ("2", 2), ("many", 0), ("9" * 5000, 0), ("-1", 0)]
)
async def test_a_retry_number_is_read_from_header_and_envelope(
    guarded: GuardedApp, said: str | None, understood: int
) -> None:
    header = [(b"x-slack-retry-num", said.encode())] if said is not None else []

    await guarded.post(EVENT, [*signed(EVENT, NOW), *header])
    await guarded.sockets.acknowledgement({"type": "events_api", "payload": json.loads(EVENT), "retry_attempt": said})

    assert [payload["retry_attempt"] for payload in guarded.inner.payloads] == [understood, understood]


async def test_a_starting_guard_answers_503(guarded: GuardedApp) -> None:
    response = await request(Guard(SECRET, guarded.metrics), [EVENT], [JSON, *signed(EVENT)])

    assert (response.status, response.body) == (503, b"starting")
