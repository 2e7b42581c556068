"""Slack's own markup as HTML: https://docs.slack.dev/messaging/formatting-message-text.

It has no lists: a line that starts with a dash is shown as it is, as in Slack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Final

from bridge.playground.emulator.escapes import unescaped
from bridge.playground.page.clean import clean
from bridge.playground.page.emojis import emoji_html, glyph
from bridge.playground.page.names import Names

_FENCE: Final = re.compile(r"```(.+?)```", re.DOTALL)
_QUOTE: Final = re.compile(r"(?:&gt;|>) ?")
_INNER: Final = r"(?:`[^`\n]++`|<[^<>\n]++>|[^{}\n`<])++"


def _between(mark: str, name: str) -> str:
    """Text between two marks that touch it but no letter outside."""
    return rf"(?<![\w{mark}]){mark}(?P<{name}>(?=\S){_INNER.replace('{}', mark)}(?<=\S)){mark}(?![\w{mark}])"


_INLINE: Final = re.compile(
    "|".join(
        [
            r"`(?P<code>[^`\n]+)`",
            r"<(?P<token>[^<>\n]+)>",
            r"(?P<url>https?://[^\s<>|`*]+[^\s<>|`*.,;:!?)'\"_~])",
            r":(?P<emoji>[a-z0-9_+'-]{1,60}):",
            _between(r"\*", "strong"),
            _between("_", "em"),
            _between("~", "del"),
        ]
    )
)
_TOKEN: Final = re.compile(r"<([^<>\n]+)>")
_STYLES: Final = ("strong", "em", "del")


def mrkdwn_html(text: str, names: Names, *, is_verbatim: bool = False) -> str:
    """Slack's markup as HTML. In a *verbatim* text only marked links are links."""
    return clean("".join(_parts(text, _Reader(names, is_verbatim=is_verbatim))))


def _parts(text: str, reader: _Reader) -> Iterator[str]:
    """Fenced code and the lines between."""
    at = 0
    for fence in _FENCE.finditer(text):
        yield _lines(text[at : fence.start()].removesuffix("\n"), reader)
        code = fence[1].removeprefix("\n").removesuffix("\n")
        yield f"<pre><code>{reader.code(code)}</code></pre>"
        at = fence.end() + (text[fence.end() : fence.end() + 1] == "\n")
    yield _lines(text[at:], reader)


def _lines(text: str, reader: _Reader) -> str:
    """Lines, with those of a quote together; after ``>>>`` the rest is one quote."""
    before, all_the_rest, rest = _split_at_long_quote(text)
    shown = ""
    for is_quote, group in groupby(before.split("\n") if before else [], lambda line: bool(_QUOTE.match(line))):
        lines = [_QUOTE.sub("", line, count=1) if is_quote else line for line in group]
        inside = "<br>".join(reader.inline(line) for line in lines)
        between = "<br>" if shown and not is_quote and not shown.endswith("</blockquote>") else ""
        shown += f"<blockquote>{inside}</blockquote>" if is_quote else between + inside
    if all_the_rest:
        shown += f"<blockquote>{'<br>'.join(reader.inline(line) for line in rest.split(chr(10)))}</blockquote>"
    return shown


def _split_at_long_quote(text: str) -> tuple[str, bool, str]:
    found = re.search(r"(?:^|\n)(?:>>>|&gt;&gt;&gt;) ?", text)
    return (text[: found.start()], True, text[found.end() :]) if found else (text, False, "")


class _Reader:
    """Renders the text of a line."""

    def __init__(self, names: Names, *, is_verbatim: bool) -> None:
        self._names = names
        self._is_verbatim = is_verbatim

    def inline(self, text: str) -> str:
        """Marks, links, mentions and emoji. A mark can't contain itself, so this terminates."""
        shown, at = [], 0
        for found in _INLINE.finditer(text):
            shown += [_escaped(text[at : found.start()]), self._one(found)]
            at = found.end()
        return "".join([*shown, _escaped(text[at:])])

    def code(self, text: str) -> str:
        """Code: no marks, and tokens in angle brackets are shown as text."""
        shown, at = [], 0
        for found in _TOKEN.finditer(text):
            shown += [_escaped(text[at : found.start()]), self._words(found[1])]
            at = found.end()
        return "".join([*shown, _escaped(text[at:])])

    def _one(self, found: re.Match[str]) -> str:
        if code := found["code"]:
            return f"<code>{self.code(code)}</code>"
        if token := found["token"]:
            return self.token(token)
        if url := found["url"]:
            return _escaped(url) if self._is_verbatim else _link(url, "")
        if name := found["emoji"]:
            return emoji_html(name) if glyph(name) else escape(found[0])
        style = next(style for style in _STYLES if found[style])
        return f"<{style}>{self.inline(found[style])}</{style}>"

    def token(self, inside: str) -> str:
        """The HTML of a token in angle brackets."""
        target, _, label = inside.partition("|")
        if target.startswith("@"):
            return self._names.person(target[1:], unescaped(label))
        if target.startswith("#"):
            return self._names.channel(target[1:])
        if target.startswith("!"):
            return self._special(target[1:], unescaped(label))
        return _link(target, label) if re.match(r"[a-z][a-z0-9+.-]*:", target, re.IGNORECASE) else escape(f"<{inside}>")

    def _special(self, what: str, label: str) -> str:
        kind, _, rest = what.partition("^")
        if kind == "date":
            seconds, wording, link = (*rest.split("^", 2), "", "")[:3]
            return self._names.date(seconds, unescaped(wording), unescaped(link), label)
        return self._names.group(rest, label) if kind == "subteam" else self._names.broadcast(kind)

    def _words(self, inside: str) -> str:
        target, _, label = inside.partition("|")
        return self.token(inside) if target[0] in "@#!" else _escaped(label or target)


def _link(target: str, label: str) -> str:
    address = unescaped(target)
    shown = unescaped(label) or re.sub(r"^(?:mailto|tel):", "", address)
    return f'<a href="{escape(address)}">{escape(shown)}</a>'


def _escaped(text: str) -> str:
    return escape(unescaped(text), quote=False)
