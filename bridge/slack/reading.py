"""What came in from Slack: read just far enough to know that whoever is inside can go on with it.

Bolt looks into payloads without a look at their types, and a surprise there is a 500. Slack sends none of those; but
what it sends tomorrow, and what somebody sends who got hold of the secret, is not for Bolt to break over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

from bridge.slack.payloads import is_message

_INTERACTIONS: Final = frozenset(
    {
        "block_actions", "view_submission", "view_closed", "block_suggestion", "shortcut", "message_action",
        "interactive_message", "dialog_submission", "dialog_cancellation", "dialog_suggestion", "workflow_step_edit",
    }
)  # fmt: skip
_MOST_FIELDS: Final = 100  # of a form; a command has some 15
_LOOKED_INTO: Final = (
    "assistant_thread", "channel", "enterprise", "function_data", "item", "message", "previous_message", "team",
    "user", "view",
)  # fmt: skip
_NEITHER: Final = (bool, int, float, list)
"""What is neither an id, nor an object, nor missing."""


class Malformed(Exception):
    """Nothing of Slack's: *reason* is for the metrics."""

    def __init__(self, reason: str = "malformed") -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Understood:
    """A signed body: its *kind* for the metrics, and the *answer* where the guard has it, else the *payload*."""

    kind: str
    answer: bytes | None = None
    payload: dict[str, Any] = field(default_factory=dict)


def understand(body: bytes, content_type: bytes) -> Understood:
    """Read a signed body far enough to know that what is inside will be able to. Raises `Malformed`."""
    body = body.strip()
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise Malformed("not_utf8") from None
    if text.startswith("{") or content_type.startswith(b"application/json"):
        return _understand_json(_object(text))
    return _understand_form(_fields(text))


def kind_in_envelope(envelope: str, payload: dict[str, Any]) -> str:
    """Name what a socket's *envelope*, of this type, carries, for the metrics. Raises `Malformed`."""
    match envelope:
        case "events_api":
            return _kind_of_event(payload)
        case "interactive":
            return _kind_of(payload)
        case "slash_commands" if isinstance(payload.get("command"), str) and not _is_odd(payload):
            return "command"
    raise Malformed


def _understand_json(payload: dict[str, Any]) -> Understood:
    match payload:
        case {"type": "url_verification", "challenge": str() as challenge}:
            return Understood("verification", challenge.encode(errors="replace"))
        case {"type": "app_rate_limited"}:
            return Understood("rate_limited", b"")
    return Understood(_kind_of_event(payload), payload=payload)


def _kind_of_event(payload: dict[str, Any]) -> str:
    """Name an event that is whole enough for Bolt."""
    match payload:
        case {"type": "event_callback", "event": {"type": str() as kind}} if not _is_odd(payload):
            return kind if is_message(payload) else "event"
    raise Malformed


def _understand_form(form: dict[str, str]) -> Understood:
    if "payload" in form:
        interaction = _object(form["payload"])
        return Understood(_kind_of(interaction), payload=interaction)
    if "command" in form:
        return Understood("command", payload=dict(form))
    if form.get("ssl_check") == "1":
        return Understood("verification", b"")
    raise Malformed


def _kind_of(interaction: dict[str, Any]) -> str:
    """Name an interaction, whole enough for Bolt, which breaks over what it looks for and does not find."""
    if _is_odd(interaction):
        raise Malformed
    match interaction:
        case {"type": "block_actions", "actions": [{"action_id": str()}, *_]}:
            return "click"
        case {"type": "view_submission" | "view_closed", "view": {"callback_id": str(), "type": str()}}:
            return "submission"
        case {"type": "block_suggestion", "action_id": str()}:
            return "options"
        case {"type": "shortcut" | "message_action", "callback_id": str()}:
            return "shortcut"
        # What Slack sends to older kinds of apps. https://docs.slack.dev/legacy/legacy-messaging
        case (
            {"type": "interactive_message", "callback_id": str(), "actions": [{}, *_]}
            | {"type": "workflow_step_edit", "callback_id": str(), "workflow_step": {}}
            | {"type": "dialog_submission" | "dialog_cancellation" | "dialog_suggestion", "callback_id": str()}
        ):
            return "other"
        case {"type": str() as kind} if kind not in _INTERACTIONS:
            return "other"
    raise Malformed


def _is_odd(payload: dict[str, Any]) -> bool:
    """Whether there is a number or the like where Bolt looks for a command, an id or an object that has one.

    It looks no deeper than into ``event.message``; what is below may be other people's: the metadata of a message.
    """
    match payload:
        case {"type": "view_submission", "view": {"type": "workflow_step"}} if not isinstance(
            payload.get("workflow_step"), dict
        ):
            return True
        case {"response_urls": addresses} if addresses != [] and not _is_an_address(addresses):
            return True
    return not isinstance(payload.get("command", ""), str) or _has_odd_ids(payload, depth=2)


def _is_an_address(addresses: object) -> bool:
    """Whether there is one: Bolt 1.30 breaks over two, and forms of ours ask for none."""
    return isinstance(addresses, list) and len(addresses) == 1 and isinstance(addresses[0], dict)


def _has_odd_ids(value: object, depth: int) -> bool:
    if isinstance(value, list):
        return depth > 0 and any(_has_odd_ids(inner, depth - 1) for inner in value)
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(name), _NEITHER) for name in _LOOKED_INTO):
        return True
    entries = value.get("authorizations")
    if entries is not None and not (isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)):
        return True
    return depth > 0 and any(_has_odd_ids(inner, depth - 1) for inner in value.values())


def _fields(text: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise Malformed from None


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # a number of 5,000 digits is a ValueError, 100,000 brackets the other
        raise Malformed from None
    if not isinstance(value, dict):
        raise Malformed
    return value
