"""What people see of controls in a message: labels, choices and what's chosen, as text with Slack's escapes.

https://docs.slack.dev/reference/block-kit/block-elements
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from bridge.slack.payloads import items, mapping, objects, text

_BARE: Final = re.compile(r"&(?!(?:amp|lt|gt);)")
_MOST: Final = 100  # options of a menu, or groups of them
_NAMES: Final = {
    "datepicker": "date", "timepicker": "time", "datetimepicker": "date and time", "file_input": "file",
    "plain_text_input": "field", "email_text_input": "field", "url_text_input": "field", "number_input": "field",
}  # fmt: skip
_MENTIONS: Final = {"user": "<@{}>", "conversation": "<#{}>", "channel": "<#{}>"}


def control_words(element: Mapping[str, Any]) -> str | None:
    """Return what people see of a control; None if it isn't one. Links of buttons are the caller's."""
    match text(element, "type"):
        case "checkboxes" | "radio_buttons":
            chosen = _chosen(element)
            marks = (("x" if text(option, "value") in chosen else " ", option) for option in _options(element))
            return "\n".join(f"- [{mark}] {_option(option)}" for mark, option in marks)
        case "button" | "workflow_button" | "icon_button":
            return _named("button", _label(element.get("text")) or escape_once(text(element, "text")))
        case "feedback_buttons":
            sides = (mapping(element.get(f"{side}_button")) for side in ("positive", "negative"))
            return " ".join(_named("button", _label(side.get("text"))) for side in sides)
        case "overflow" | "select":
            return _menu(element)
        case str() as kind if kind.endswith("_select"):
            return _menu(element)
        case str() as kind if kind in _NAMES:
            return _named(_NAMES[kind], _initial(element) or _label(element.get("placeholder")))
    return None


def in_utc(seconds: object) -> str:
    """Write Unix *seconds* as people read them; ``""`` if they aren't any."""
    try:
        return datetime.fromtimestamp(float(str(seconds)), UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return ""


def escape_once(words: str) -> str:
    """Escape text for Slack, unless it's already escaped.

    Slack sends some plain texts escaped and others not, and doesn't document which: slackapi/bolt-python#513.
    """
    if "&" in words:
        words = _BARE.sub("&amp;", words)
    return words.replace("<", "&lt;").replace(">", "&gt;") if "<" in words or ">" in words else words


def _menu(element: Mapping[str, Any]) -> str:
    """Write a menu: what it's called, its choices by group, and which of them are chosen."""
    chosen = _chosen(element)

    def names(where: Mapping[str, Any]) -> str:
        marked = (
            (_option(option), " (chosen)" if text(option, "value") in chosen else "") for option in _options(where)
        )
        return ", ".join(f"{name}{mark}" for name, mark in marked if name)

    groups = [(_label(group.get("label")), names(group)) for group in objects(element.get("option_groups"))[:_MOST]]
    choices = "; ".join(filter(None, [names(element), *(": ".join(filter(None, group)) for group in groups)]))
    if not choices:  # its choices aren't in the message, except those that are chosen
        choices = ", ".join(filter(None, map(_option, _initial_options(element)))) or _initial(element)
    called = _label(element.get("placeholder")) or escape_once(text(element, "text"))
    return _named("menu", ": ".join(filter(None, (called, choices))))


def _options(element: Mapping[str, Any]) -> list[dict[str, Any]]:
    return objects(element.get("options"))[:_MOST]


def _initial_options(element: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from objects(element.get("initial_options"))[:_MOST]
    yield from objects([element.get("initial_option")])
    yield from objects(element.get("selected_options"))[:_MOST]  # of attachments


def _chosen(element: Mapping[str, Any]) -> set[str]:
    return {text(option, "value") for option in _initial_options(element)}


def _option(option: Mapping[str, Any]) -> str:
    texts = (_label(option.get("text")) or escape_once(text(option, "text")), _label(option.get("description")))
    return ": ".join(filter(None, texts))


def _initial(element: Mapping[str, Any]) -> str:
    """Return what a control is filled in with."""
    mentions: list[str] = []
    for kind, mention in _MENTIONS.items():
        mentions += [mention.format(id_)] if (id_ := text(element, f"initial_{kind}")) else []
    for kind, mention in _MENTIONS.items():
        ids = items(element.get(f"initial_{kind}s"))[:_MOST]
        mentions += [mention.format(id_) for id_ in ids if isinstance(id_, str)]
    values = (text(element, name) for name in ("initial_value", "initial_date", "initial_time"))
    return (
        ", ".join(mentions) or escape_once(next(filter(None, values), "")) or in_utc(element.get("initial_date_time"))
    )


def _label(value: object) -> str:
    """Return the text of a text object, with escapes."""
    label = mapping(value)
    words = " ".join(text(label, "text").split())
    return words if label.get("type") == "mrkdwn" else escape_once(words)


def _named(kind: str, words: str) -> str:
    return f"[{kind}: {words}]" if words else f"[{kind}]"
