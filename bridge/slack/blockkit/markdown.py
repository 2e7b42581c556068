"""Make an agent's Markdown safe, and cut it into parts for Slack's markdown blocks.

Slack doesn't document whether markdown blocks can mention people; we assume so. A word joiner (U+2060, zero width) goes
after the first character of anything Slack could parse as a mention or a labeled link in its own syntax, and into links
whose label shows another address (`bridge.slack.blockkit.links`), but not into code, which people copy. This is
idempotent and invisible. `pieces` cuts, and records the lines it added; the bodies joined are exactly the input.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise, zip_longest
from typing import Final

from bridge.slack.blockkit import commonmark, kit, links
from bridge.slack.blockkit.commonmark import CodeOrTable
from bridge.unseen import is_blank

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

# A line on which another block may begin: with the marks of quotations and lists, of another block, or of both. Of a
# table, it's the line below its header. Each pattern of lines starts with the line break before it, for which Python
# searches fast: the first line needs one, too.
_MARK = r"\*(?:[ \t]*+\*)*+|[#`~+_=<\n-]|[|:](?=[-:| \t]*+(?:\n|\Z))|\d(?=\d{0,8}[.)])"
_MAY_START = re.compile(
    rf"\n(?:((?:[ \t]*+(?:>|[-*+](?=[ \t])|\d{{1,9}}[.)](?=[ \t])))++)[ \t]*+(?=({_MARK})?)|[ \t]*+(?=({_MARK})))"
)
_INDENTED_LINE = re.compile(r"\n[ >]*+(?:(?<=    )|\t)")
_UNDERLINE = re.compile(r"\n[ \t>]*+(?:=++|-++)[ \t]*+(?=\n|\Z)")  # of a heading
_BLANK_LINE = re.compile(r"\n[ \t\r]*+\n")
_INDENTED = re.compile(r"(?:[ \t\r]*+\n){0,3}+[ >]*?(?:    |\t)")  # the next line that isn't blank
_AHEAD = 50_000  # characters searched for blocks at once
_LONGEST_CLOSING = 100
_LONGEST_SPAN = 2000  # characters of code in a paragraph that isn't split
_MARKS = re.compile(r"[ \t]|(?:`{3}|~{3})")
_SMALLEST_LIMIT = 400  # a fence is opened and closed again within each part
_GROW_BY_ONE = ("<", "&", "@", "](", "][", "]:", "![")  # where a word joiner may be added
_ROOM_FOR_JOINERS = 200

# Slack makes several blocks of one. A message has room for 50, and for about 13,200 characters, with &<> escaped and
# about 100 for each heading. Measured by others: archestra-ai/archestra#4980, slackapi/bolt-js#2509.
_MOST_BLOCKS = 40  # leaves room for the footer
_MOST_ESCAPED = 12_000
_HEADING = 100


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
    pings = [*_pings(markdown), *((match.end(), kit.WORD_JOINER) for match in _ANY_LINK.finditer(markdown))]
    return _with_inserted(markdown, dict(pings))


def harmless_title(text: str) -> str:
    """Make a short text harmless where Slack may parse it in its own ways, so that not even code is an exception."""
    return _with_inserted(shown := neutralized(text), dict(_pings(shown)))


def _pings(markdown: str) -> Iterator[tuple[int, str]]:
    """Yield where Slack could parse a mention or a labeled link of its own, in code or not."""
    if "@" in markdown or "&" in markdown:
        yield from ((match.end("at"), kit.WORD_JOINER) for match in kit.BARE_BROADCAST.finditer(markdown))
    if "<" in markdown or "&" in markdown:
        yield from ((match.end("opening"), kit.WORD_JOINER) for match in _SLACK_TOKEN.finditer(markdown))


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
    positions = sorted(inserted)
    cuts = [0, *positions, len(markdown)]
    pieces = [markdown[begin:end] for begin, end in pairwise(cuts)]
    return "".join(chain.from_iterable(zip_longest(pieces, (inserted[at] for at in positions), fillvalue="")))


def messages(markdown: str) -> Iterator[str]:
    """Cut into harmless parts, each made when it's requested, at a cost that depends only on its own size.

    Each part is checked alone, since Slack parses one message at a time. Parts without visible characters, which Slack
    rejects, are left out.
    """
    if len(markdown) > kit.MARKDOWN_PART // 2 or not _fits(markdown):
        yield from (neutralized(str(piece)) for piece in pieces(markdown) if not is_blank(piece.body))
    elif not is_blank(markdown):  # one message, like most answers, even with word joiners
        yield neutralized(markdown)


def pieces(markdown: str, limit: int = kit.MARKDOWN_PART) -> Iterator[Piece]:
    """Cut at paragraphs, else lines, else words, else anywhere; code and tables stay whole if possible.

    A part that many word joiners could lengthen, or of which Slack would make too much, is cut shorter.
    """
    if limit < _SMALLEST_LIMIT:
        raise ValueError("limit too small")
    text, at = _Text(markdown), 0
    while at < len(markdown):
        until = text.end_of_most_blocks(at, limit)
        piece = text.piece(at, limit, until)
        if (growth := sum(map(str(piece).count, _GROW_BY_ONE))) > _ROOM_FOR_JOINERS:
            piece = text.piece(at, max(limit - growth, limit // 2), until)
        while (cost := text.cost(at, piece)) > _MOST_ESCAPED and len(piece.body) > _SMALLEST_LIMIT:
            length = min(len(piece.body) * _MOST_ESCAPED // cost, len(piece.body) * 9 // 10)
            piece = text.piece(at, limit, at + length)
        at += len(piece.body)
        yield piece


def _fits(markdown: str) -> bool:
    """Whether what Slack makes of *markdown* fits into a message; few texts that are short need parsing."""
    blocks, headings = blocks_and_headings_at_most(markdown)
    if blocks <= _MOST_BLOCKS and _escaped(markdown) + _HEADING * headings <= _MOST_ESCAPED:
        return True
    text, length = _Text(markdown), len(markdown)
    is_one = text.end_of_most_blocks(0, length) >= length
    return is_one and text.cost(0, Piece("", markdown, "")) <= _MOST_ESCAPED


def blocks_and_headings_at_most(markdown: str) -> tuple[int, int]:
    """Return numbers of blocks, and of headings among them, that *markdown* surely doesn't exceed, without parsing it.

    A paragraph may follow a heading, a rule or indented code without a blank line, and what's inside a list interrupts
    it.
    """
    lines = f"\n{markdown}"
    blocks, headings = 1 + len(_INDENTED_LINE.findall(lines)), len(_UNDERLINE.findall(markdown))
    for outer, inner, mark in _MAY_START.findall(lines):
        blocks += 1 + 2 * outer.count(">") + 2 * bool(inner) + (inner in {"`", "~"})  # an open fence ends with its list
        blocks += mark in {"#", "_"} or mark.count("*") > 2  # noqa: PLR2004 - a rule
        headings += "#" in (inner, mark)
    return blocks, headings


def _escaped(markdown: str) -> int:
    return len(markdown) + 4 * markdown.count("&") + 3 * (markdown.count("<") + markdown.count(">"))


@dataclass(frozen=True, slots=True)
class Piece:
    """A part: its *body* from the text, and the lines added around it: of a fence, or the header of a table."""

    opening: str
    body: str
    closing: str

    def __str__(self) -> str:
        """Return the text to send."""
        return self.opening + self.body + self.closing


class _Text:
    """A text and where it may be cut. Its blocks are found once, and only as far as the cuts need them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._seen = 0  # how far the text was searched for blocks
        self._blocks: list[CodeOrTable] = []
        self._starts: list[int] = []
        self._rendered: list[int] = []  # where each block that Slack makes starts
        self._headings: list[int] = []

    def end_of_most_blocks(self, at: int, limit: int) -> int:
        """Return where what's after *at* becomes more blocks than a message may have, or *limit* characters end."""
        self._look(at + limit)
        index = bisect_left(self._rendered, at) + _MOST_BLOCKS
        return self._rendered[index] if index < len(self._rendered) else at + limit

    def cost(self, at: int, piece: Piece) -> int:
        """Return how many characters Slack counts for a *piece* that starts at *at*."""
        self._look(until := at + len(piece.body))
        return _escaped(str(piece)) + _HEADING * (bisect_left(self._headings, until) - bisect_left(self._headings, at))

    def piece(self, at: int, limit: int, until: int) -> Piece:
        """Cut the part that starts at *at*, with at most *limit* characters, and ends no later than *until*."""
        torn, opening = self._block_around(at), ""
        if torn and (torn.closing or self.text[at - 1] == "\n") and len(torn.opening) <= limit // 2:
            opening = torn.opening  # of the fence or table that the cut before splits
        end = min(at + limit - len(opening), until)
        if len(self.text) <= end:
            return Piece(opening, self.text[at:], "")
        cut = self._cut(at, end)
        if len(opening) + cut - at + len(self._closing(cut)) > limit:
            cut = self._cut(at, at + limit - len(opening) - _LONGEST_CLOSING)
        return Piece(opening, self.text[at:cut], self._closing(cut))

    def _look(self, at: int) -> None:
        """Find the blocks before *at*."""
        while self._seen < at and self._seen < len(self.text):
            structure = commonmark.structure(self.text, self._seen, _AHEAD)
            self._seen = structure.end
            self._blocks += structure.torn
            self._starts += [block.start for block in structure.torn]
            self._rendered += structure.rendered
            self._headings += structure.headings

    def _block_around(self, at: int) -> CodeOrTable | None:
        """Find the block that a cut at *at* would split."""
        self._look(at)
        block = self._blocks[index] if (index := bisect_left(self._starts, at) - 1) >= 0 else None
        return block if block and at < block.end else None

    def _closing(self, at: int) -> str:
        """Return the line that closes the fence split by a cut at *at*; ``""`` if it splits none."""
        torn = self._block_around(at)
        if torn is None or not torn.closing:
            return ""
        return torn.closing if self.text[at - 1] == "\n" else "\n" + torn.closing

    def _cut(self, at: int, end: int) -> int:
        """Choose where the part that starts at *at* ends, no later than *end*."""
        if (paragraph := self._at_paragraph(at, end)) is not None:
            return paragraph
        cut = self._at_line(at, end) or self._in_line(at, end)
        span = self._code_span_around(at, cut) if self._block_around(cut) is None else cut
        return span if span > (at + end) // 2 else cut

    def _at_paragraph(self, at: int, end: int) -> int | None:
        """Choose a cut outside of code and tables, in the second half, to avoid many small parts."""
        half = (at + end) // 2
        before = max(at, self.text.rfind("\n", at, half))
        after_blanks = [blank.end() for blank in _BLANK_LINE.finditer(self.text, before, end)]
        shallow = None
        while after_blanks and after_blanks[-1] > half:
            position = after_blanks[-1]
            torn = self._block_around(position)
            if torn is None and position <= end:
                if not self.text[position : position + 1].isspace():
                    return position
                shallow = shallow or (None if _INDENTED.match(self.text, position) else position)  # inside of a list
            del after_blanks[bisect_right(after_blanks, torn.start) if torn else -1 :]
        if shallow:
            return shallow
        start = self._last_line_start(at, end)
        torn = self._block_around(start)
        free = torn.start if torn else self._last_line_start(at, end, is_shallow=True)
        return free if free > half else None

    def _at_line(self, at: int, end: int) -> int | None:
        """Choose a cut before the code or table at *end* if that fits into one part, otherwise between its lines."""
        torn = self._block_around(end)
        before = torn.start if torn and torn.start > at else None
        if torn and before and torn.end - torn.start <= end - at:
            return before
        start = self._last_line_start(at, end)
        block = self._block_around(start)
        if block is None and (shallow := self._last_line_start(at, end, is_shallow=True)) > at:
            start, block = shallow, self._block_around(shallow)
        if block is None:
            return start if start > at else before
        tear = min(start, block.last_tear)
        if tear >= block.first_tear and tear > at:
            return tear
        return block.start if block.start > at else before

    def _in_line(self, at: int, end: int) -> int:
        """Choose a cut between words, or anywhere, but not within a fence's last line."""
        torn = self._block_around(end)
        if torn and torn.closing and at < torn.last_line < end:
            return torn.last_line
        half = (at + end) // 2
        blanks = (position for position in range(end, half, -1) if self.text[position - 1] in " \t")
        # Fence marks or blanks in the middle of a line begin no code, but would at the beginning of a part.
        positions = (
            position for position in chain(blanks, range(end, half, -1)) if not _MARKS.match(self.text, position)
        )
        return next(positions, end)

    def _code_span_around(self, at: int, cut: int) -> int:
        """Return the start of the code in a paragraph that a cut would split; *cut* if it splits none."""
        paragraph = self.text.rfind("\n\n", at, cut)
        if "`" not in self.text[max(paragraph, at) : cut]:
            return cut
        begin = max(paragraph, at)
        try:
            reading = commonmark.read(self.text[begin : cut + _LONGEST_SPAN], [cut - begin], lambda _paragraph: False)
        except RecursionError:
            return cut
        position = next((begin + start for start, end in reading.code if start < cut - begin < end), cut)
        while position > at and _MARKS.match(self.text, position):  # three backticks would begin a fence
            position -= 1
        return position

    def _last_line_start(self, at: int, end: int, *, is_shallow: bool = False) -> int:
        """Return the start of the last line that starts between *at* and *end*; *at* if there's none.

        One that *is_shallow* can't become code at the beginning of a part.
        """
        newline = self.text.rfind("\n", at, end)
        while is_shallow and newline >= 0 and _INDENTED.match(self.text, newline + 1):
            if self._block_around(newline + 1) is not None:  # it's code already
                break
            newline = self.text.rfind("\n", at, newline)
        return newline + 1 if newline >= 0 else at
