"""``rich_text`` blocks as HTML: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block.

The emulated Slack doesn't validate them, so nothing in them is sure to have the documented shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any, Final

from bridge.playground.emulator.entities import Json
from bridge.playground.page.clean import MOST_INDENT, clean
from bridge.playground.page.emojis import emoji_html, glyph, with_emoji
from bridge.playground.page.names import Names

_STYLES: Final = (("code", "code"), ("bold", "strong"), ("italic", "em"), ("strike", "del"), ("underline", "u"))


def rich_text_html(block: Json, names: Names) -> str:
    """The HTML of a block, or of a table cell, with ``elements``."""
    return clean("".join(part_html(part, names, section="p") for part in _elements(block)))


def _elements(holder: Json) -> Iterator[Json]:
    elements = holder.get("elements")
    return (element for element in elements if isinstance(element, dict)) if isinstance(elements, list) else iter(())


def part_html(part: Json, names: Names, *, section: str) -> str:
    """The HTML of a part of a block, not sanitized yet; a *section* of text is in that element, if any."""
    match part.get("type"):
        case "rich_text_list":
            return _list(part, names)
        case "rich_text_quote":
            return f"<blockquote>{_inside(part, names)}</blockquote>"
        case "rich_text_preformatted":
            return f"<pre><code>{_inside(part, names, in_code=True)}</code></pre>"
        case _:
            shown = _inside(part, names)
            return f"<{section}>{shown}</{section}>" if section else shown


def _list(part: Json, names: Names) -> str:
    tag = "ol" if part.get("style") == "ordered" else "ul"
    depth = min(_number(part.get("indent")), MOST_INDENT)
    indent = f' class="indent-{depth}"' if depth else ""
    start = f' start="{_number(part.get("offset")) + 1}"' if tag == "ol" and _number(part.get("offset")) else ""
    items = "".join(f"<li>{_inside(element, names)}</li>" for element in _elements(part))
    return f"<{tag}{indent}{start}>{items}</{tag}>"


def _inside(part: Json, names: Names, *, in_code: bool = False) -> str:
    return "".join(_styled(element, _element(element, names, in_code=in_code)) for element in _elements(part))


def _styled(element: Json, shown: str) -> str:
    style = element.get("style")
    if isinstance(style, dict):
        for name, tag in _STYLES:
            shown = f"<{tag}>{shown}</{tag}>" if style.get(name) else shown
    return shown


def _element(element: Json, names: Names, *, in_code: bool) -> str:

    def word(name: str) -> str:
        return str(element.get(name) or "")

    match element.get("type"):
        case "link":
            shown = word("text") or re.sub(r"^(?:mailto|tel):", "", word("url"))
            return f'<a href="{escape(word("url"))}">{escape(shown)}</a>'
        case "user":
            return names.person(word("user_id"))
        case "channel":
            return names.channel(word("channel_id"))
        case "usergroup":
            return names.group(word("usergroup_id"))
        case "broadcast":
            return names.broadcast(word("range"))
        case "date":
            return names.date(word("timestamp"), word("format"), word("url"), word("fallback"))
        case "emoji":
            return emoji_html(word("name")) if glyph(word("name")) else escape(f":{word('name')}:")
        case "color":
            return f"<code>{escape(word('value'))}</code>"
    shown = escape(word("text")) if in_code else with_emoji(word("text"))
    return shown if in_code else shown.replace("\n", "<br>")


def _number(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
