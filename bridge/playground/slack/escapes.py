"""What Slack makes of the ``text`` of a message: ``&``, ``<`` and ``>`` that mean themselves are escaped.

https://docs.slack.dev/messaging/formatting-message-text#escaping
"""

from __future__ import annotations

import re

_KEPT = re.compile(
    r"&(?:amp|lt|gt);"  # escaped already
    r"|<(?:@[UW]\w+|#C\w+|!(?:here|channel|everyone|subteam\^\w+|date\^[^<>]*))(?:\|[^<>]*)?>"
    r"|<(?:https?|mailto|tel|slack):[^<>\s|]*(?:\|[^<>]*)?>"
)
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


def _plain(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
