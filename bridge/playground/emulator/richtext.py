"""The ``rich_text`` block that Slack makes of a person's text, and of mrkdwn without blocks.

https://docs.slack.dev/messaging/formatting-message-text. Mrkdwn has no lists: a line that starts with a dash stays one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby
from typing import Final

from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.escapes import unescaped

_FENCE: Final = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
_QUOTE: Final = re.compile(r"(?:&gt;|>) ?")
_LONG_QUOTE: Final = re.compile(r"^(?:&gt;&gt;&gt;|>>>) ?", re.MULTILINE)
_INNER: Final = r"(?:`[^`\n]++`|<[^<>\n]++>|[^{}\n`<])++"


def _between(mark: str, name: str) -> str:
    """Text between two marks that touch it but no letter outside."""
    return rf"(?<![\w{mark}]){mark}(?P<{name}>(?=\S){_INNER.replace('{}', mark)}(?<=\S)){mark}(?![\w{mark}])"


_TOKEN: Final = re.compile(r"<(?P<token>[^<>\n]+)>")
_INLINE: Final = re.compile(
    "|".join(
        [
            r"`(?P<code>[^`\n]+)`",
            _TOKEN.pattern,
            r":(?P<emoji>[a-z0-9_+'-]{1,60}):",
            _between(r"\*", "bold"),
            _between("_", "italic"),
            _between("~", "strike"),
        ]
    )
)
_STYLES: Final = ("bold", "italic", "strike")
_LINK: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def rich_text(text: str, *, block_id: str) -> list[Json]:
    """The blocks of a person's message with this *text*."""
    section = {"type": "rich_text_section", "elements": _elements(text)}
    return [{"type": "rich_text", "block_id": block_id, "elements": [section]}]


def from_mrkdwn(text: str, *, block_id: str) -> list[Json]:
    """The blocks of a bot's message with only *text*: its styles, quotations and code are parsed."""
    return [{"type": "rich_text", "block_id": block_id, "elements": parts_of_mrkdwn(text)}]


def parts_of_mrkdwn(text: str) -> list[Json]:
    """The sections, quotations and code of mrkdwn, as a ``rich_text`` block has them."""
    elements: list[Json] = []
    for at, part in enumerate(_FENCE.split(text)):  # every second part is fenced code
        if at % 2:
            elements.append({"type": "rich_text_preformatted", "elements": _elements(part), "border": 0})
        else:
            elements += _paragraphs(part)
    return elements


def _paragraphs(text: str) -> list[Json]:
    """Alternating sections and quotations; after ``>>>`` the rest is one quotation."""
    long_quote = _LONG_QUOTE.search(text)
    before = text[: long_quote.start()].removesuffix("\n") if long_quote else text
    elements: list[Json] = []
    for is_quoted, lines in groupby(before.split("\n"), lambda line: bool(_QUOTE.match(line))):
        passage = "\n".join(_QUOTE.sub("", line, count=1) if is_quoted else line for line in lines)
        if passage:
            kind = "rich_text_quote" if is_quoted else "rich_text_section"
            elements.append({"type": kind, "elements": _styled(passage, {})})
    if long_quote:
        elements.append({"type": "rich_text_quote", "elements": _styled(text[long_quote.end() :], {})})
    return elements


def _styled(text: str, style: Mapping[str, bool]) -> list[Json]:
    elements: list[Json] = []
    end = 0
    for part in _INLINE.finditer(text):
        elements += [*_with_style(_plain(text[end : part.start()]), style), *_marked(part, style)]
        end = part.end()
    return elements + _with_style(_plain(text[end:]), style)


def _marked(part: re.Match[str], style: Mapping[str, bool]) -> list[Json]:
    if part["code"]:
        return _with_style(_elements(part["code"]), {**style, "code": True})
    if part["token"]:
        return _with_style([_special(part["token"])], style)
    if part["emoji"]:
        return _with_style([{"type": "emoji", "name": part["emoji"]}], style)
    name = next(name for name in _STYLES if part[name])
    return _styled(part[name], {**style, name: True})  # a mark can't contain itself, so this terminates


def _with_style(elements: list[Json], style: Mapping[str, bool]) -> list[Json]:
    return [{**element, "style": dict(style)} for element in elements] if style else elements


def _elements(text: str) -> list[Json]:
    elements: list[Json] = []
    end = 0
    for part in _TOKEN.finditer(text):
        elements += [*_plain(text[end : part.start()]), _special(part["token"])]
        end = part.end()
    return elements + _plain(text[end:])


def _plain(text: str) -> list[Json]:
    return [{"type": "text", "text": unescaped(text)}] if text else []


def _special(token: str) -> Json:
    """The element of a token in angle brackets; of an unknown one, its text."""
    body, _, label = token.partition("|")
    if body.startswith("@"):
        return {"type": "user", "user_id": body[1:]}
    if body.startswith("#"):
        return {"type": "channel", "channel_id": body[1:]}
    if body.startswith("!date^"):
        timestamp, wording, url = (*body.split("^", 3)[1:], "", "")[:3]
        date: Json = {"type": "date", "timestamp": timestamp, "format": unescaped(wording), "url": unescaped(url)}
        return date | {"fallback": unescaped(label)}
    if body.startswith("!"):
        kind, _, group = body[1:].partition("^")
        return {"type": "usergroup", "usergroup_id": group} if group else {"type": "broadcast", "range": kind}
    if not _LINK.match(body):
        return {"type": "text", "text": f"<{token}>"}
    link: Json = {"type": "link", "url": unescaped(body)}
    return link | {"text": unescaped(label)} if label else link


def names(value: object, user: str) -> bool:
    """Whether rich text mentions *user*, at any depth."""
    if isinstance(value, list):
        return any(names(part, user) for part in value)
    if not isinstance(value, dict):
        return False
    is_it = value.get("type") == "user" and value.get("user_id") == user
    return is_it or names([*value.values()], user)
