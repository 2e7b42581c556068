"""Buttons as they were shown, to press them as someone else, or later."""

from __future__ import annotations

from typing import Any, NamedTuple

from support.harness import Harness


class Button(NamedTuple):
    """A button as it was shown."""

    value: str
    channel: str
    ts: str
    thread_ts: str = ""
    is_ephemeral: bool = False


def shown(harness: Harness, action_id: str, *, option: str = "") -> Button:
    """The newest button with this action, or that *option* of such a menu."""
    found = [one for one in (*harness.seen.messages, *harness.seen.ephemerals) if f"'{action_id}'" in str(one.blocks)]
    message = max(found, key=lambda one: one.ts).message
    elements = [one for block in message.blocks or [] for one in _elements(block) if one.get("action_id") == action_id]
    value = str(elements[0].get("value") or "")
    if option:
        value = next(one["value"] for one in elements[0]["options"] if one["value"].startswith(option))
    return Button(value, message.channel, message.ts, message.thread_ts or "", bool(message.to))


def _elements(block: dict[str, Any]) -> list[dict[str, Any]]:
    return [*block.get("elements", []), *([block["accessory"]] if "accessory" in block else [])]
