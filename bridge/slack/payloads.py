"""Slack's payloads, read without trusting their shape.

Bolt reads payloads without checking types, and an unexpected type causes a 500, so a body is first checked for the
fields Bolt needs. Slack sends no malformed payloads today, but future payloads, or someone with the signing secret,
might contain them. Further inside, a value that is missing or of another type counts as empty.

Bolt gets the parsed body, even over HTTP (``mode="socket_mode"``): its own parser mistakes a command with the word
"payload" in it for an interaction.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl

from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bridge.json_reader import Json, read_json

Dispatch = Callable[[AsyncBoltRequest], Awaitable[BoltResponse]]
"""Answers a request, and never raises (`bridge.door.listeners.app`)."""

MESSAGES: Final = ("message", "app_mention")
DELETED: Final = ("message_deleted", "tombstone")
"""The subtypes of a deletion, and of what an edit leaves of a deleted message that has replies."""

ABOUT_ANOTHER: Final = ("message_changed", "message_deleted")
"""The subtypes of events about an earlier message."""

RETRY: Final = "retry_attempt"
"""The field added to an event's payload for how often Slack sent it before, from a header or the envelope."""

_INTERACTIONS: Final = frozenset(
    {
        "block_actions", "view_submission", "view_closed", "block_suggestion", "shortcut", "message_action",
        "interactive_message", "dialog_submission", "dialog_cancellation", "dialog_suggestion", "workflow_step_edit",
    }
)  # fmt: skip
_DIGITS: Final = 3  # of that number; Slack retries three times
_MOST_FIELDS: Final = 100  # of a form; a command has some 15
_TS: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")


class Malformed(Exception):
    """A payload that Slack never sends; *reason* is for the metrics."""

    def __init__(self, reason: str = "malformed") -> None:
        super().__init__(reason)
        self.reason = reason


def read_body(body: bytes, headers: Mapping[bytes, bytes]) -> tuple[str, AsyncBoltRequest | BoltResponse]:
    """Read a signed body. Returns its kind, for the metrics, and Bolt's request, or an answer if Bolt isn't needed.

    Raises `Malformed`.
    """
    try:
        words = body.strip().decode()
    except UnicodeDecodeError:
        raise Malformed("not_utf8") from None
    is_form = not words.startswith("{") and not headers.get(b"content-type", b"").startswith(b"application/json")
    if is_form:
        try:
            form = dict(parse_qsl(words, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
        except ValueError:
            raise Malformed from None
        if "payload" not in form:
            if "command" in form:
                return _read("slash_commands", dict(form))
            if form.get("ssl_check") == "1":
                return "verification", BoltResponse(status=HTTPStatus.OK)
            raise Malformed
        words = form["payload"]
    try:
        payload = read_json(words)
    except ValueError:
        raise Malformed from None
    match payload:
        case dict() if is_form:
            return _read("interactive", payload)
        case {"type": "url_verification", "challenge": str() as challenge}:
            return "verification", BoltResponse(status=HTTPStatus.OK, body=challenge)
        case {"type": "app_rate_limited"}:
            return "rate_limited", BoltResponse(status=HTTPStatus.OK)
        case dict():  # https://docs.slack.dev/apis/events-api/#retries
            return _read("events_api", payload, headers.get(b"x-slack-retry-num", b"").decode("latin-1"))
    raise Malformed


def read_envelope(envelope: Mapping[str, Any]) -> tuple[str, AsyncBoltRequest]:
    """Read an envelope of Socket Mode. Returns its kind, and Bolt's request. Raises `Malformed`."""
    return _read(envelope.get("type"), dict(mapping(envelope.get("payload"))), str(envelope.get(RETRY)))


def _read(envelope: object, payload: Json, retry: str = "") -> tuple[str, AsyncBoltRequest]:
    """Check that *payload* has every field Bolt reads in an *envelope* of this type (as in Socket Mode)."""
    if not isinstance(payload.get("event", {}), dict) or (envelope != "slash_commands" and "command" in payload):
        raise Malformed
    match envelope, payload:
        case "events_api", {"type": "event_callback", "event": {"type": str() as event}}:
            kind = event if event in MESSAGES else "event"
            payload[RETRY] = int(retry) if retry.isdecimal() and len(retry) <= _DIGITS else 0
        case "slash_commands", {"command": str()}:
            kind = "command"
        case "interactive", {"type": "block_actions", "actions": [{"action_id": str()}, *_]}:
            kind = "click"
        case "interactive", {"type": "view_submission", "view": {"type": "workflow_step", "callback_id": str()}} if (
            not isinstance(payload.get("workflow_step"), dict)
        ):
            raise Malformed
        case "interactive", {"type": "view_submission" | "view_closed", "view": {"callback_id": str(), "type": str()}}:
            kind = "submission"
        case "interactive", {"type": "block_suggestion", "action_id": str()}:
            kind = "options"
        case "interactive", {"type": "shortcut" | "message_action", "callback_id": str()}:
            kind = "shortcut"
        # Only legacy apps get these. https://docs.slack.dev/legacy/legacy-messaging
        case "interactive", (
            {"type": "interactive_message", "callback_id": str(), "actions": [{}, *_]}
            | {"type": "workflow_step_edit", "callback_id": str(), "workflow_step": {}}
            | {"type": "dialog_submission" | "dialog_cancellation" | "dialog_suggestion", "callback_id": str()}
        ):
            kind = "other"
        case "interactive", {"type": str() as of} if of not in _INTERACTIONS:
            kind = "other"
        case _:
            raise Malformed
    try:
        return kind, AsyncBoltRequest(mode="socket_mode", body=payload)
    except (AttributeError, IndexError, KeyError, TypeError, RecursionError):  # Bolt expects an object or an ID there
        raise Malformed from None


def mapping(value: object) -> Mapping[str, Any]:
    """Return *value* if it's an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return *value* if it's an array, else an empty one."""
    return value if isinstance(value, list) else []


def objects(value: object) -> list[Json]:
    """Return the objects in *value* if it's an array."""
    return [item for item in items(value) if isinstance(item, dict)]


def next_cursor(page: Mapping[str, Any]) -> str:
    """Return the cursor of the next page, ``""`` after the last. https://docs.slack.dev/apis/web-api/pagination."""
    return text(mapping(page.get("response_metadata")), "next_cursor")


def text(where: Mapping[str, Any], name: str) -> str:
    """Return the field *name* of *where* if it's a string, else ``""``.

    Lone surrogates, which JSON can write but UTF-8 and Redis can't, are replaced.
    """
    value = where.get(name)
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode(errors="replace").decode()


def timestamp(where: Mapping[str, Any], name: str) -> str:
    """Return the field *name* of *where* if it's a ``ts``, else ``""``."""
    value = where.get(name)
    return value if isinstance(value, str) and _TS.fullmatch(value) else ""
