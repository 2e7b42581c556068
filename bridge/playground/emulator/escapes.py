"""What Slack makes of a text: ``&``, ``<`` and ``>`` that mean themselves are escaped.

https://docs.slack.dev/messaging/formatting-message-text#escaping

What is typed behind a slash command is sent with channels, people and links as ids only where the command's
``should_escape`` is set: https://docs.slack.dev/interactivity/implementing-slash-commands
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_KEPT = re.compile(
    r"&(?:amp|lt|gt);"  # escaped already
    r"|<(?:@[UW]\w+|#C\w+|!(?:here|channel|everyone|subteam\^\w+|date\^[^<>]*))(?:\|[^<>]*)?>"
    r"|<(?:https?|mailto|tel|slack):[^<>\s|]*(?:\|[^<>]*)?>"
)
_TYPED = re.compile(
    r"(?P<url>https?://[^\s<>]*[^\s<>.,;:!?)'\"*_~])|(?<![\w/&])(?P<sigil>[@#])(?P<name>\w(?:[\w.-]*\w)?)"
)
_BROADCASTS = frozenset({"here", "channel", "everyone"})
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escaped(text: str) -> str:
    """The *text* as Slack keeps it; what is escaped already stays as it is."""
    parts: list[str] = []
    end = 0
    for kept in _KEPT.finditer(text):
        parts += [_plain(text[end : kept.start()]), kept[0]]
        end = kept.end()
    # A ">" at the beginning of a line is a quotation: Slack keeps it escaped too, and shows it all the same.
    return "".join([*parts, _plain(text[end:])])


def entities(typed: str) -> str:
    """What a person *typed*, where nothing in it but the three characters is escaped."""
    return _plain(typed)


def with_ids(typed: str, *, channels: Mapping[str, str], people: Mapping[str, str]) -> str:
    """What a person *typed*, with what stands for these *channels* and *people* by their names."""

    def written(word: re.Match[str]) -> str:
        if word["url"]:
            return f"<{word['url']}>"
        name = word["name"].casefold()
        if word["sigil"] == "@" and name in _BROADCASTS:
            return f"<!{name}>"
        return (channels if word["sigil"] == "#" else people).get(name, word[0])

    return _TYPED.sub(written, _plain(typed))


def _plain(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
