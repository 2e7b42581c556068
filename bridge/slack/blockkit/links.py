"""Detect links in an agent's Markdown that show a different address from the one they lead to.

Readers trust the address they see. So if a link's label shows a host other than its target's, in any notation
(entities, escapes, emphasis, full-width letters, tags, two lines), a word joiner (U+2060, no width) breaks the link,
and its source becomes visible. What is a link, and what its label shows, is decided by a parser
(`bridge.slack.blockkit.commonmark`). Links whose label has no address, or is a file name, stay.

A reader's client would fetch images, which tells the server who reads the message, so images become links.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from markdown_it.common.normalize_url import normalizeLink

from bridge.slack.blockkit import kit
from bridge.slack.blockkit.commonmark import Reading, label_of

_ORDINARY: Final = re.compile(  # on one line, and with nothing in its label that could hide or be a bracket
    r"(?<![\\!])\[(?P<label>[^\[\]\\`<>&\n]*+)\]\((?P<url>[^\s()<>\\`]*+)\)"
)
_DEFINITION: Final = re.compile(r"^[ \t>*+\d.)-]*+\[(?:[^\[\]\\]|\\.)*+\]:", re.MULTILINE | re.DOTALL)
_LONGEST_LABEL: Final = 400  # a longer one isn't checked

_MARKS: Final = re.compile("[*_~]")  # of emphasis
_MAY_SHOW_A_HOST: Final = re.compile(r"[.&/]|[^\x00-\x7f]")  # a quick test, since most labels are plain words
_AFTER_SCHEME: Final = re.compile(r"//(?P<host>[^\s/?#:\]()\"'“”,]+)")
_BARE: Final = re.compile(r"(?<![\w./-])(?P<host>(?:[\w-]++\.)++(?:xn--[\w-]+|[^\W\d_]{2,}))", re.IGNORECASE)
_FILE_NAME: Final = re.compile(
    r".*\.(?:c|cc|cfg|conf|cpp|css|csv|docx?|env|go|h|html?|ini|ipynb|java|jpe?g|js|json|jsx|kt|log|lua|md|pdf|php|png"
    r"|pptx?|py|rb|rs|rst|sh|sql|svg|tex|toml|tsx?|txt|xlsx?|xml|ya?ml)",
    re.IGNORECASE,
)
_NO_WIDTH: Final = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")


def are_ordinary(markdown: str) -> bool:
    """Whether a quick look shows that no link in *markdown* misleads, and that there are no images."""
    if "](" not in markdown and "]:" not in markdown:
        return True
    if "![" in markdown or ("]:" in markdown and _DEFINITION.search(markdown)):
        return False
    return "](" not in _ORDINARY.sub(lambda link: "" if _is_ordinary(link["label"], link["url"]) else "](", markdown)


def _is_ordinary(label: str, url: str) -> bool:
    return not _MAY_SHOW_A_HOST.search(label) or not (_MARKS.search(label) or _misleads(label, url))


def edits(markdown: str, reading: Reading) -> Iterator[tuple[int, str]]:
    """Yield what to insert, and where, so that no link in a *reading* misleads, and images become links."""
    for link in reading.links:
        source = markdown[link.start + 1 : link.label_end]
        if link.is_image:
            yield link.start + 1, kit.WORD_JOINER
            yield from escapes(markdown, link.start, link.label_end)  # an image's label has no code
        elif len(source) > _LONGEST_LABEL or (
            _MAY_SHOW_A_HOST.search(source) and any(_misleads(label, link.href) for label in label_of(source))
        ):
            # Without a bracket or backtick of its target becoming the beginning of something else
            follows = markdown[link.label_end + 1 : link.label_end + 2] if link.end > link.label_end + 1 else ""
            if follows == "(":
                yield link.label_end + 1, kit.WORD_JOINER
                yield from escapes(markdown, link.label_end, link.end)
            elif follows == "[" and link.end > link.label_end + len("[]") + 1:
                yield link.label_end + 1, kit.WORD_JOINER
                yield link.end - 1, kit.WORD_JOINER  # or it's a link by itself
            else:
                yield link.label_end, kit.WORD_JOINER
    for at in reading.unmatched:
        yield at, kit.WORD_JOINER


def escapes(markdown: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield backslashes for the backticks between *start* and *end*."""
    for at in range(start, end):
        if markdown[at] == "`" and (at - len(markdown[:at].rstrip("\\"))) % 2 == 0:  # it isn't escaped yet
            yield at, "\\"


def _misleads(label: str, url: str) -> bool:
    """Whether a label shows a host other than that of *url*; an invalid *url* has none."""
    if not _MAY_SHOW_A_HOST.search(label):
        return False
    shown = unicodedata.normalize("NFKC", _NO_WIDTH.sub("", label))
    hosts = {match["host"] for match in _AFTER_SCHEME.finditer(shown)}
    bare = {match["host"] for match in _BARE.finditer(_AFTER_SCHEME.sub(" ", shown))}
    hosts |= {host for host in bare if not _FILE_NAME.fullmatch(host)}
    if not hosts:
        return False
    if url.lower().startswith("mailto:"):
        leads_to = url.partition("?")[0].rpartition("@")[2]
    else:
        try:
            leads_to = urlsplit(url if "//" in url else f"//{url}").hostname or ""
        except ValueError:
            leads_to = ""
    return {_plain_host(host) for host in hosts} != {_plain_host(leads_to)}


def _plain_host(host: str) -> str:
    encoded = normalizeLink(f"//{host}").removeprefix("//") if not host.isascii() else host
    return encoded.lower().rstrip(".").removeprefix("www.")
