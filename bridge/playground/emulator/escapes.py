"""Slack's escaping: literal ``&``, ``<`` and ``>`` become entities.

https://docs.slack.dev/messaging/formatting-message-text#escaping

Channels, people and links after a slash command are sent as IDs only if the command's ``should_escape`` is set: https://docs.slack.dev/interactivity/implementing-slash-commands
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_ESCAPED = re.compile(
    r"&(?:amp|lt|gt);"  # already escaped
    r"|<(?:@[UW]\w+|#C\w+|!(?:here|channel|everyone|subteam\^\w+|date\^[^<>]*))(?:\|[^<>]*)?>"
    r"|<(?:https?|mailto|tel|slack):[^<>\s|]*(?:\|[^<>]*)?>"
)
_TYPED = re.compile(
    r"(?P<url>https?://[^\s<>]*[^\s<>.,;:!?)'\"*_~])|(?<![\w/&])(?P<sigil>[@#])(?P<name>\w(?:[\w.-]*\w)?)"
)
BROADCASTS = frozenset({"here", "channel", "everyone"})
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escaped(text: str) -> str:
    """The *text* as Slack stores it; what is already escaped stays."""
    parts: list[str] = []
    end = 0
    for escape in _ESCAPED.finditer(text):
        parts += [_plain(text[end : escape.start()]), escape[0]]
        end = escape.end()
    # A ">" that starts a line is a quotation: Slack stores it escaped too, and still shows the quotation.
    return "".join([*parts, _plain(text[end:])])


def entities(typed: str) -> str:
    """*typed* text with just the three characters escaped."""
    return _plain(typed)


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def with_ids(typed: str, *, channels: Mapping[str, str], people: Mapping[str, str]) -> str:
    """*typed* text with the names of *channels* and *people* replaced by IDs."""

    def written(word: re.Match[str]) -> str:
        if word["url"]:
            return f"<{word['url']}>"
        name = word["name"].casefold()
        if word["sigil"] == "@" and name in BROADCASTS:
            return f"<!{name}>"
        return (channels if word["sigil"] == "#" else people).get(name, word[0])

    return _TYPED.sub(written, _plain(typed))


def _plain(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
