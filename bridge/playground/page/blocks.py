"""Adds HTML to every text in blocks, for the page's scripts."""

from __future__ import annotations

from typing import Any, Final

from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.widgets import is_hidden
from bridge.playground.page.clean import clean
from bridge.playground.page.emojis import with_emoji
from bridge.playground.page.markdown import markdown_html
from bridge.playground.page.mrkdwn import mrkdwn_html
from bridge.playground.page.names import Names
from bridge.playground.page.rich_text import rich_text_html

_DEEPEST: Final = 20  # Slack allows less than half of that; anything deeper is dropped


def shown_blocks(blocks: list[Json], names: Names) -> list[Json]:
    """The app's *blocks*, each text with its ``html``."""
    return [_shown(block, names, 0) for block in blocks]


def plain_html(text: str, *, has_emoji: bool = True) -> str:
    return clean(with_emoji(text).replace("\n", "<br>")) if has_emoji else clean(_bare(text))


def _bare(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\n", "<br>")


def _shown(value: Any, names: Names, depth: int) -> Any:
    if isinstance(value, list):
        seen = [part for part in value if not is_hidden(part, names.me)]
        return [_shown(part, names, depth + 1) for part in seen] if depth < _DEEPEST else []
    if not isinstance(value, dict):
        return value
    # The app's own "html" fields are dropped: the page would trust them.
    inside = {name: _shown(part, names, depth + 1) for name, part in value.items() if name != "html"}
    html = _html(value, names)
    return inside if html is None else inside | {"html": html}


def _html(value: Json, names: Names) -> str | None:
    kind, text = value.get("type"), value.get("text")
    if kind == "rich_text":
        return rich_text_html(value, names)
    if not isinstance(text, str):
        return None
    match kind:
        case "mrkdwn":
            return mrkdwn_html(text, names, is_verbatim=bool(value.get("verbatim")))
        case "plain_text":
            return plain_html(text, has_emoji=value.get("emoji") is not False)
        case "markdown":
            return markdown_html(text, names)
        case _:
            return None
