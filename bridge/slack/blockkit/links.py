"""Detect links in an agent's Markdown that show a different address from the one they lead to.

Readers trust the address they see. So if a link's label shows a host other than its target's, in any notation
(entities, escapes, emphasis, full-width letters, nested brackets, two lines), a word joiner (U+2060, no width) after
the label breaks the link, and its source becomes visible. Links whose label has no address, or is a file name, stay.

A reader's client would fetch images, which tells the server who reads the message, so images become links.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Container, Iterator
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

from bridge.slack.blockkit import kit

_BRACKET: Final = re.compile(r"[^\\\[\]]*+(?:\\.[^\\\[\]]*+)*+[\[\]]", re.DOTALL)  # the next bracket
_CLOSED: Final = re.compile(  # the whole address or none: its beginning may lead elsewhere
    r"\](?=\(\s*+(?:<(?P<in_angles>[^<>\n]*)>|(?P<url>(?:[^\s()]|\([^\s()]*\)){0,2000}+)(?=[\s)]))?"
    r"|\[|:\s*+(?:<(?P<defined_in_angles>[^<>\n]*)>|(?P<defined>\S{1,2000}+)(?!\S))?)"
)
_REFERENCE_IMAGE: Final = re.compile(r"!(?=\[)")
_DEFINITION: Final = re.compile(r"^[ \t>*+-]*\[[^\]]{1,999}\]:", re.MULTILINE)
_CODE: Final = re.compile(  # code binds tighter than a link, and never spans a blank line
    r"(?<![\\`])(?P<marks>`{1,9})(?!`)(?:(?!\n[ \t]*\n).){1,2000}?(?<!`)(?P=marks)(?!`)", re.DOTALL
)
_TAG: Final = re.compile(r"<[a-z/!?][^>]{0,400}>", re.IGNORECASE)
_LONGEST_LABEL: Final = 400  # a longer one isn't checked
_MOST_CHECKED: Final = 12_000  # characters of labels that may show a host, in one text; a message has 11,000
_COST_OF_LABEL: Final = 20  # characters added to each label's length

_COSTLY: Final = "[]`<"
_MOST_COSTLY: Final = 1200  # of these characters in one text

_MAY_SHOW_A_HOST: Final = re.compile(r"[.&/]|[^\x00-\x7f]")  # a quick test, since most labels are plain words
_AFTER_SCHEME: Final = re.compile(r"//(?P<host>[^\s/?#:\]()\"'“”,]+)")
_BARE: Final = re.compile(r"(?<![\w./-])(?P<host>(?:[\w-]+\.)+(?:xn--[\w-]+|[^\W\d_]{2,}))", re.IGNORECASE)
_FILE_NAME: Final = re.compile(
    r".*\.(?:c|cc|cfg|conf|cpp|css|csv|docx?|env|go|h|html?|ini|ipynb|java|jpe?g|js|json|jsx|kt|log|lua|md|pdf|php|png"
    r"|pptx?|py|rb|rs|rst|sh|sql|svg|tex|toml|tsx?|txt|xlsx?|xml|ya?ml)",
    re.IGNORECASE,
)
_INVISIBLE: Final = re.compile(  # emphasis, escapes, tags, and characters without a width
    r"[*`~\u00ad\u200b-\u200f\u2060-\u2064\ufeff]|\\(?=[!-/:-@\[-`{-~])|</?[a-z]+(?:\s[^<>]*)?/?>", re.IGNORECASE
)


def honest(markdown: str) -> str:
    """Break links that show one address and lead to another, and turn images into links.

    The cost is bounded: in a text with too many brackets, all links are broken, and with too many addresses in labels,
    the last ones.
    """
    if sum(map(markdown.count, _COSTLY)) > _MOST_COSTLY:  # breaking definitions breaks links by reference
        return markdown.replace("](", f"]{kit.WORD_JOINER}(").replace("]:", f"]{kit.WORD_JOINER}:")
    leads_to = {found.end(): next(filter(None, found.groups()), "") for found in _CLOSED.finditer(markdown)}
    if not leads_to:
        return markdown
    # Brackets in code or a tag don't end a label, but Slack may parse code and tags differently: try each way.
    without_code = _CODE.sub(lambda code: "`" * len(code[0]), markdown) if "`" in markdown else markdown
    without_tags = _TAG.sub(lambda tag: "<" * len(tag[0]), without_code) if "<" in markdown else without_code
    # Sorted, so that each process checks the same links.
    found = sorted({link for seen in {markdown, without_code, without_tags} for link in _links(seen, leads_to)})
    places = {start for start, _end in found if start and markdown[start - 1] == "!"}
    room = _MOST_CHECKED
    for start, end in found:
        length = end - start
        if length <= _LONGEST_LABEL and not _MAY_SHOW_A_HOST.search(markdown, start + 1, end - 1):
            continue
        room -= _COST_OF_LABEL + length
        if length > _LONGEST_LABEL or room < 0 or _misleads(markdown[start + 1 : end - 1], leads_to[end]):
            places.add(end)
    if _DEFINITION.search(markdown):
        places |= {found.end() for found in _REFERENCE_IMAGE.finditer(markdown)}
    cuts = [0, *sorted(places), len(markdown)]
    return kit.WORD_JOINER.join(markdown[begin:end] for begin, end in pairwise(cuts))


def _links(seen: str, leads_to: Container[int]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each label in *seen* whose end is in *leads_to*, by matching brackets."""
    opened: list[int] = []
    end = 0
    while bracket := _BRACKET.match(seen, end):  # a search would scan the rest many times
        end = bracket.end()
        if seen[end - 1] == "[":
            opened.append(end - 1)
        elif opened:
            start = opened.pop()
            if end in leads_to:
                yield start, end


def _misleads(label: str, url: str) -> bool:
    """Whether a label shows a host other than that of *url*; an invalid *url* has none."""
    shown = unicodedata.normalize("NFKC", _INVISIBLE.sub("", html.unescape(_INVISIBLE.sub("", label))))
    hosts = {found["host"] for found in _AFTER_SCHEME.finditer(shown)}
    bare = {found["host"] for found in _BARE.finditer(_AFTER_SCHEME.sub(" ", shown))}
    hosts |= {host for host in bare if not _FILE_NAME.fullmatch(host)}
    if not hosts:
        return False
    url = html.unescape(url)
    if url.lower().startswith("mailto:"):
        leads_to = url.partition("?")[0].rpartition("@")[2]
    else:
        try:
            leads_to = urlsplit(url if "//" in url else f"//{url}").hostname or ""
        except ValueError:
            leads_to = ""
    return {_plain_host(host) for host in hosts} != {_plain_host(leads_to)}


def _plain_host(host: str) -> str:
    return host.lower().rstrip(".").removeprefix("www.")
