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


def items(value: object) -> list[Any]:
    """*value* if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def text(where: Mapping[str, Any], name: str) -> str:
    """The text that *where* has under *name*, else ``""``."""
    value = where.get(name)
    return value if isinstance(value, str) else ""
