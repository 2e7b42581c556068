"""Benchmark traffic looks like Slack's: signed, and parsed by the bridge as intended."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

from slack_sdk.signature import SignatureVerifier

from bench.traffic import BOT, SIGNING_SECRET, TEAM, ChatMessage, Clock, chatter, command, mention, reply
from bridge.door.listeners.messages import parse
from bridge.inbound import InboundMessage
from bridge.slack.api import Identity

WE = Identity(team=TEAM, enterprise="", bot_user=BOT, bot_id="B0BRIDGE")
ROOT = "1790000000.000001"


def test_every_request_carries_a_signature_that_slacks_own_library_accepts() -> None:
    verifier = SignatureVerifier(SIGNING_SECRET)

    for request in (
        mention(ChatMessage(ROOT, 0)),
        reply(ChatMessage(ROOT, 1), "1790000000.000002"),
        command("list", 1, "http://x"),
    ):
        headers, body = _split(request)
        assert verifier.is_valid_request(body, headers)
        assert int(headers["content-length"]) == len(body)


def test_a_mention_starts_a_thread() -> None:
    message = _understood(mention(ChatMessage(ROOT, 0)))

    assert (message.is_mention, message.is_root, message.ts) == (True, True, ROOT)
    assert message.text == f"<@{BOT}> ask {ROOT} 0"


def test_a_mention_is_delivered_as_two_events_about_one_message() -> None:
    first, second = (_understood(mention(ChatMessage(ROOT, 0), kind)) for kind in ("app_mention", "message"))

    assert first.key == second.key
    assert first.event_id != second.event_id


def test_a_reply_is_in_its_thread_and_needs_no_mention() -> None:
    message = _understood(reply(ChatMessage(ROOT, 3), "1790000000.000009"))

    assert (message.thread.root, message.ts, message.is_mention) == (ROOT, "1790000000.000009", False)
    assert message.text == ChatMessage(ROOT, 3).words


def test_chatter_mentions_no_one() -> None:
    message = _understood(chatter(ROOT))

    assert (message.is_mention, message.is_root) == (False, True)


def test_a_command_says_where_to_answer() -> None:
    _, body = _split(command("show 3", 1, "http://127.0.0.1:1/response_url"))
    form = parse_qs(body.decode())

    assert (form["command"], form["text"]) == (["/workflows"], ["show 3"])
    assert form["response_url"] == ["http://127.0.0.1:1/response_url"]


def test_no_two_messages_have_one_timestamp() -> None:
    clock = Clock(start=1790000000, used=999_998)

    assert [clock.next() for _ in range(3)] == ["1790000000.999999", "1790000001.000000", "1790000001.000001"]


def _split(request: bytes) -> tuple[dict[str, str], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}, body


def _understood(request: bytes) -> InboundMessage:
    body: dict[str, Any] = json.loads(_split(request)[1])
    message = parse(body, WE)
    assert isinstance(message, InboundMessage)
    return message
