"""Reading Slack's payloads without trusting their shape: what is missing or of another type is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def mapping(value: object) -> Mapping[str, Any]:
    """*value* if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def is_message(payload: Mapping[str, Any]) -> bool:
    """Whether *payload* is an ``event_callback`` about a message: a mention or any other, new or changed."""
    return payload.get("type") == "event_callback" and mapping(payload.get("event")).get("type") in _MESSAGES


_MESSAGES = ("message", "app_mention")


RETRY = "retry_attempt"
"""Where a payload says how often Slack has sent it before: in Socket Mode its envelope says so, over HTTP a header."""


def retry_of(payload: Mapping[str, Any]) -> int:
    """How often Slack has sent *payload* before."""
    try:
        return int(payload.get(RETRY, 0))
    except (ValueError, TypeError):
        return 0


def items(value: object) -> list[Any]:
    """*value* if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def text(where: Mapping[str, Any], name: str) -> str:
    """The text that *where* has under *name*, else ``""``."""
    value = where.get(name)
    return whole(value) if isinstance(value, str) else ""


def whole(words: str) -> str:
    """*words* without half characters (lone surrogates), which JSON can write and UTF-8, and so Redis, cannot."""
    return words if words.isascii() else words.encode(errors="replace").decode()
