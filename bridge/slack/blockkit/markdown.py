"""Make an agent's Markdown safe, and cut it into parts for Slack's markdown blocks.

Slack doesn't document whether markdown blocks can mention people; we assume so. A word joiner (U+2060, zero width) goes
after the first character of anything Slack could parse as a mention or a labeled link in its own syntax, and into links
whose label shows another address (`bridge.slack.blockkit.links`). This is idempotent and invisible; ``&lt;`` would be
shown literally inside code. `pieces` cuts, and records the fence lines it added; the bodies joined are exactly the
input.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise, zip_longest
from typing import Final, NamedTuple

from bridge.slack.blockkit import commonmark, kit, links

_ENTITY = r"&#?\w+;"  # Markdown decodes entities and escapes before Slack looks for mentions
_SLACK_TOKEN = re.compile(
    r"(?P<opening><|&lt;|&#0*60;|&#x0*3c;)(?=\\?(?:"
    rf"(?:!|&excl;|&#0*33;|&#x0*21;)\\?(?:channel|here|everyone|group|subteam\^|date\^|[a-z]*{_ENTITY})"
    rf"|(?:@|&commat;|&#0*64;|&#x0*40;)(?:[UWB][A-Z0-9]|{_ENTITY})"
    rf"|(?:#|&num;|&#0*35;|&#x0*23;)(?:[CDG][A-Z0-9]|{_ENTITY})"
    rf"|[a-z0-9+.-]*{_ENTITY}"
    r"|[a-z][a-z0-9+.-]*:[^<>|]{0,2000}\|))",  # <https://there.example|label>
    re.IGNORECASE,
)

_ANY_LINK = re.compile(r"\](?=[(\[:])|!(?=\[)")
_MOST_ROUNDS = 6
_WITH_HTML: Final[tuple[commonmark.Html, ...]] = ("tags", "blocks")

_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<marks>`{3,60}|~{3,60})(?P<info>.*)$")
_BLANKS = r"[^\S\n]*+"
_CELL = rf":?-++:?{_BLANKS}"
_TABLE = rf"[^\n|]*+\|[^\n]*+\n{_BLANKS}(?:\|{_BLANKS})?{_CELL}(?:\|{_BLANKS}{_CELL})*+(?:\|{_BLANKS})?(?=\n|\Z)"
# These start with the line break before a line, which makes them fast (see `_next_block`).
_OPENS_A_TABLE = re.compile(rf"\n{_TABLE}")
_MAY_OPEN = re.compile(rf"\n(?:[ \t]*+(?:`{{3}}|~{{3}})|{_TABLE})")
_MAY_END_A_TABLE = re.compile(rf"\n(?:{_BLANKS}(?:\n|\Z)|[ \t]*+(?:`{{3}}|~{{3}}))")
_BLANK_LINE = re.compile(r"\n(?=(?P<rest>[ \t\r]*+\n))")
_AHEAD = 20_000  # characters searched for blocks at once; 1 MB would take 60 ms
_LONGEST_FENCE_LINE = 80
_LONGEST_CLOSING = 64  # a line break, the indent and the marks
_MARKS = re.compile(rf"[ \t]{{0,{_LONGEST_FENCE_LINE}}}(?:`{{3}}|~{{3}})")
_SMALLEST_LIMIT = 400  # a fence is opened and closed again within each part
_GROW_BY_ONE = ("<", "&", "@", "](", "][", "]:", "![")  # where a word joiner may be added
_ROOM_FOR_JOINERS = 200


def neutralized(markdown: str) -> str:
    """Change what would ping people or hide a link's target into text that looks the same; code stays as it is.

    A quick look is enough for most texts: 0.1 ms for 4 kB. To parse 4 kB takes 2 ms, and most of what is changed is
    parsed once more: breaking a link may uncover another.
    """
    for _ in range(_MOST_ROUNDS):
        if links.are_ordinary(markdown) and not any(True for _ in _pings(markdown)):
            return markdown
        try:
            inserted = _edits(markdown)
        except RecursionError:
            break
        if not inserted:
            return markdown
        markdown = _with_inserted(markdown, inserted)
    pings = [*_pings(markdown), *((found.end(), kit.WORD_JOINER) for found in _ANY_LINK.finditer(markdown))]
    return _with_inserted(markdown, dict(pings))


def harmless_title(text: str) -> str:
    """Make a short text harmless where Slack may parse it in its own ways, so that not even code is an exception."""
    return _with_inserted(shown := neutralized(text), dict(_pings(shown)))


def _pings(markdown: str) -> Iterator[tuple[int, str]]:
    """Yield where Slack could parse a mention or a labeled link of its own, in code or not."""
    if "@" in markdown or "&" in markdown:
        yield from ((found.end("at"), kit.WORD_JOINER) for found in kit.BARE_BROADCAST.finditer(markdown))
    if "<" in markdown or "&" in markdown:
        yield from ((found.end("opening"), kit.WORD_JOINER) for found in _SLACK_TOKEN.finditer(markdown))


def _has_links(paragraph: str) -> bool:
    return not links.are_ordinary(paragraph)


def _edits(markdown: str) -> dict[int, str]:
    """Return what to insert, by position. Code stays as it is.

    Slack shows no HTML, so a reading without HTML says what is code. Where one with HTML disagrees, because backticks
    are in a tag, the tag is broken.
    """
    pings = dict(_pings(markdown))
    shown = commonmark.read(markdown, pings, _has_links)
    inserted = pings | dict(links.edits(markdown, shown))
    for opaque in shown.opaque:
        if opaque.start + 1 in inserted:  # an address, whose backticks must not begin code
            inserted |= links.escapes(markdown, opaque.start, opaque.end)
    for html in _WITH_HTML if "<" in markdown else ():
        other = commonmark.read(markdown, pings, _has_links, html)
        inserted |= links.edits(markdown, other)
        doubtful = sorted(at for at in inserted if shown.is_code(at) and not other.is_code(at))
        for tag in other.opaque if doubtful else ():
            covers = bisect_left(doubtful, tag.start) < bisect_left(doubtful, tag.end)
            if tag.is_tag and (covers or "`" in markdown[tag.start : tag.end]):
                inserted[tag.start + 1] = kit.WORD_JOINER
    return {at: text for at, text in inserted.items() if not shown.is_code(at)}


def _with_inserted(markdown: str, inserted: Mapping[int, str]) -> str:
    places = sorted(inserted)
    cuts = [0, *places, len(markdown)]
    pieces = [markdown[begin:end] for begin, end in pairwise(cuts)]
    return "".join(chain.from_iterable(zip_longest(pieces, (inserted[at] for at in places), fillvalue="")))


def messages(markdown: str) -> Iterator[str]:
    """Cut into harmless parts, each made when it's requested, at a cost that depends only on its own size.

    Each part is checked alone, since Slack parses one message at a time. Parts without visible characters, which Slack
    rejects, are left out.
    """
    if len(markdown) > kit.MARKDOWN_PART // 2:
        yield from (neutralized(str(piece)) for piece in pieces(markdown) if not piece.body.isspace())
    elif markdown.strip():  # one message, like most answers, even with word joiners
        yield neutralized(markdown)


def pieces(markdown: str, limit: int = kit.MARKDOWN_PART) -> Iterator[Piece]:
    """Cut at paragraphs, else lines, else words, else anywhere; code and tables stay whole if possible.

    A part that many word joiners could lengthen is cut shorter.
    """
    if limit < _SMALLEST_LIMIT:
        raise ValueError("limit too small")
    text, at = _Text(markdown), 0
    while at < len(markdown):
        piece = text.piece(at, limit)
        if (growth := sum(map(str(piece).count, _GROW_BY_ONE))) > _ROOM_FOR_JOINERS:
            piece = text.piece(at, max(limit - growth, limit // 2))
        at += len(piece.body)
        yield piece


@dataclass(frozen=True, slots=True)
class Piece:
    """A part: its *body* from the text, and the fence lines added around it."""

    opening: str
    body: str
    closing: str

    def __str__(self) -> str:
        """Return the text to send."""
        return self.opening + self.body + self.closing


class _Fence(NamedTuple):
    """A code fence: its first line, which the next part repeats, its last line, and the pattern of a closing line."""

    opening: str
    closing: str
    closes: re.Pattern[str]


class _Block(NamedTuple):
    """A code fence or a table, from *start* to *end*: kept whole if possible, otherwise cut between two lines."""

    start: int
    end: int
    last_line: int  # start of the line that closes a fence; otherwise the end
    fence: _Fence | None  # None for a table


class _Text:
    """A text and where it may be cut. Its blocks are found once, and only as far as the cuts need them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = f"\n{text}"  # a line's break here has the same index as the line's start in `text`
        self._seen = 0  # how far the text was searched for blocks
        self._blocks: list[_Block] = []
        self._starts: list[int] = []

    def piece(self, at: int, limit: int) -> Piece:
        """Cut the part that starts at *at*."""
        torn = self._block_around(at)
        opening = torn.fence.opening if torn and torn.fence else ""
        room = limit - len(opening)
        if len(self.text) - at <= room:
            return Piece(opening, self.text[at:], "")
        until = self._cut(at, at + room)
        if until + len(self._closing(until)) > at + room:
            until = self._cut(at, at + room - _LONGEST_CLOSING)
        return Piece(opening, self.text[at:until], self._closing(until))

    def _block_around(self, at: int) -> _Block | None:
        """Find the block that a cut at *at* would split."""
        while self._seen < at:
            block, self._seen = _next_block(self._lines, self._seen, at + _AHEAD)
            if block:
                self._blocks.append(block)
                self._starts.append(block.start)
        block = self._blocks[index] if (index := bisect_left(self._starts, at) - 1) >= 0 else None
        return block if block and at < block.end else None

    def _closing(self, at: int) -> str:
        """Return the line that closes the fence split by a cut at *at*; ``""`` if it splits none."""
        torn = self._block_around(at)
        if torn is None or torn.fence is None:
            return ""
        return torn.fence.closing if self.text[at - 1] == "\n" else "\n" + torn.fence.closing

    def _cut(self, at: int, end: int) -> int:
        """Choose where the part that starts at *at* ends, no later than *end*."""
        return self._at_paragraph(at, end) or self._at_line(at, end) or self._in_line(at, end)

    def _at_paragraph(self, at: int, end: int) -> int | None:
        """Choose a cut outside of code and tables, in the second half, to avoid many small parts."""
        half = (at + end) // 2
        before = max(at, self.text.rfind("\n", at, half))
        after_blanks = [found.end("rest") for found in _BLANK_LINE.finditer(self.text, before, end)]
        while after_blanks:
            torn = self._block_around(after_blanks[-1])
            if torn is None and half < after_blanks[-1] <= end:
                return after_blanks[-1]
            del after_blanks[bisect_right(after_blanks, torn.start) if torn else -1 :]
        start = self._last_line_start(at, end)
        torn = self._block_around(start)
        free = torn.start if torn else start
        return free if free > half else None

    def _at_line(self, at: int, end: int) -> int | None:
        """Choose a cut before the code or table at *end* if that fits into one part, otherwise between its lines."""
        torn = self._block_around(end)
        before = torn.start if torn and torn.start > at else None
        if torn and before and torn.end - torn.start <= end - at:
            return before
        start = self._last_line_start(at, end)
        block = self._block_around(start)
        if block is None:
            return start if start > at else before
        first, last = self._tears(block)
        if first <= min(start, last) and min(start, last) > at:
            return min(start, last)
        return block.start if block.start > at else before

    def _tears(self, block: _Block) -> tuple[int, int]:
        """Return the first and the last position where a block may be split, both at the start of a line.

        It isn't split between a fence and its first line, nor between a table's header and its first row.
        """
        last = self._last_line_start(
            block.start, block.end - 1 if block.last_line == block.end else block.last_line - 1
        )
        first = block.start
        for _ in range(2 if block.fence else 3):
            first = self.text.find("\n", first, block.end) + 1 or block.end
        closing = block.last_line if block.last_line < block.end else last
        return min(first, max(closing, block.start)), max(last, block.start)

    def _in_line(self, at: int, end: int) -> int:
        """Choose a cut between words, or anywhere, but not within a fence's last line."""
        torn = self._block_around(end)
        if torn and max(at, torn.last_line - 1) < torn.last_line < end:
            return torn.last_line
        half = (at + end) // 2
        blanks = (place for place in range(end, half, -1) if self.text[place - 1] in " \t")
        # Fence marks in the middle of a line open no fence, but would at the beginning of a part.
        places = (place for place in chain(blanks, range(end, half, -1)) if not _MARKS.match(self.text, place))
        return next(places, end)

    def _last_line_start(self, at: int, end: int) -> int:
        """Return the start of the last line that starts between *at* and *end*; *at* if there's none."""
        newline = self.text.rfind("\n", at, end)
        return newline + 1 if newline >= 0 else at


def _next_block(lines: str, at: int, until: int) -> tuple[_Block | None, int]:
    """Return the first code fence or table between *at* and about *until*, and how far the text was searched.

    Regular expressions skip all other lines: checking each costs too much, since there may be 50,000 in 100 kB.
    """
    last_line = lines.find("\n", until)
    end = lines.find("\n", last_line + 1) if last_line >= 0 else -1
    while found := _MAY_OPEN.search(lines, at, end if end >= 0 else len(lines)):
        start = found.start()
        if fence := _opened_fence(lines, start):
            block = _fenced(lines, start, fence)
            return block, block.end
        if _OPENS_A_TABLE.match(lines, start):
            ends = _MAY_END_A_TABLE.finditer(lines, start + 1)
            last = (end.start() for end in ends if end[0].isspace() or _opened_fence(lines, end.start()))
            block = _Block(start, table_end := next(last, len(lines) - 1), table_end, None)
            return block, block.end
        at = start + 1
    return None, last_line if end >= 0 else len(lines)  # the last line may be the head of a table


def _opened_fence(lines: str, start: int) -> _Fence | None:
    """Return the fence that a line opens, if any. Overlong lines don't count: they couldn't be repeated."""
    end = lines.find("\n", start + 1, start + 1 + _LONGEST_FENCE_LINE)
    if end < 0 and len(lines) > start + 1 + _LONGEST_FENCE_LINE:
        return None
    return _fence_of(lines[start + 1 : end if end >= 0 else len(lines)])


@lru_cache(maxsize=256)
def _fence_of(line: str) -> _Fence | None:
    found = _FENCE.match(line.rstrip("\r"))
    if found is None or ("`" in found["marks"] and "`" in found["info"]):
        return None
    indent = found["indent"][:3]  # indented further, it wouldn't be a fence outside of its list
    marks = found["marks"]
    closes = re.compile(rf"\n{_BLANKS}{marks[0]}{{{len(marks)},}}+(?={_BLANKS}(?:\n|\Z))")
    return _Fence(f"{indent}{marks}{found['info']}\n", indent + marks, closes)


def _fenced(lines: str, start: int, fence: _Fence) -> _Block:
    at = start + 1
    while closed := fence.closes.search(lines, at):
        at, end = closed.span()
        if end - at <= _LONGEST_FENCE_LINE + 1:
            return _Block(start, end - 1, at, fence)
        at = end
    return _Block(start, len(lines) - 1, len(lines) - 1, fence)
