"""An agent's Markdown, made harmless and cut into parts for Slack's markdown blocks.

**Harmless.** Whether Slack finds mentions in markdown blocks is not documented, so it is assumed that it does. A word
joiner (U+2060, no width) goes behind the first character of whatever Slack could take for a mention or a link with a
label. Escaping ``<`` as ``&lt;`` would do outside of code, but inside of code Markdown shows entities as they are
written. The word joiner is not seen in either place; nothing that is visible changes, and doing it twice is doing it
once. Links that show one address and lead to another are taken apart in the same way (`bridge.blocks.links`).

**Cut.** `pieces` cuts, and each piece says what was added around its own characters to keep a code fence whole: the
bodies put together are the input, character for character.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from bridge.blocks import kit
from bridge.blocks.links import honest

_ENTITY = r"&#?\w+;"  # Markdown undoes these, and escapes, before anybody looks for mentions
_SLACK_TOKEN = re.compile(
    r"(?P<opening><|&lt;|&#0*60;|&#x0*3c;)(?=\\?(?:"
    rf"(?:!|&excl;|&#0*33;|&#x0*21;)\\?(?:channel|here|everyone|group|subteam\^|date\^|[a-z]*{_ENTITY})"
    rf"|(?:@|&commat;|&#0*64;|&#x0*40;)(?:[UWB][A-Z0-9]|{_ENTITY})"
    rf"|(?:#|&num;|&#0*35;|&#x0*23;)(?:[CDG][A-Z0-9]|{_ENTITY})"
    rf"|[a-z0-9+.-]*{_ENTITY}"
    r"|[a-z][a-z0-9+.-]*:[^<>|]{0,2000}\|))",  # <https://there.example|label>
    re.IGNORECASE,
)

_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<marks>`{3,60}|~{3,60})(?P<info>.*)$")
_TABLE_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?\s*$")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BLANK_LINE_BEFORE = re.compile(r"(?:^|\n)[ \t\r]*\n\Z")
_MARKS = re.compile(r"[ \t]*(?:`{3}|~{3})")
_LONGEST_FENCE_LINE = 80
_SMALLEST_LIMIT = 400  # a fence is opened and closed again within each part


def neutralised(markdown: str) -> str:
    """Change what would ping, or hide where a link leads, into text that looks the same."""
    without_tokens = _SLACK_TOKEN.sub(lambda token: token["opening"] + kit.WORD_JOINER, kit.quiet(markdown))
    return honest(without_tokens)


def plain(markdown: str) -> str:
    """Make a message's ``text`` of Markdown, losing nothing: the source itself, made harmless and escaped."""
    return kit.escape(neutralised(markdown))


def split(markdown: str, limit: int = kit.MARKDOWN_PART) -> list[str]:
    """Cut into parts of at most *limit* characters. A part with nothing to see, which Slack refuses, is left out."""
    return [str(piece) for piece in pieces(markdown, limit) if not piece.body.isspace()]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part: the characters of the text itself, and the fence lines added before and after them."""

    opening: str
    body: str
    closing: str

    def __str__(self) -> str:
        """Put together what is sent."""
        return self.opening + self.body + self.closing


class _Fence(NamedTuple):
    """A code fence: its first line, to be repeated in the next part, and its last."""

    opening: str
    closing: str


class _Block(NamedTuple):
    """A code fence or a table, from *start* to *end*: whole where it can be, else torn between two of its lines."""

    start: int
    end: int
    first_tear: int  # not between a fence and its first line, nor between a table's header and its first row
    last_tear: int
    last_line: int
    fence: _Fence | None  # none: a table


def pieces(markdown: str, limit: int = kit.MARKDOWN_PART) -> Iterator[Piece]:
    """Cut at paragraphs, else lines, else words, else anywhere; code and tables stay whole where they can."""
    if limit < _SMALLEST_LIMIT:
        raise ValueError("limit too small")
    text = _Text(markdown)
    at = 0
    while at < len(markdown):
        torn = text.block_around(at)
        opening = torn.fence.opening if torn and torn.fence else ""
        room = limit - len(opening)
        if len(markdown) - at <= room:
            yield Piece(opening, markdown[at:], "")
            return
        until = text.cut(at, at + room - text.longest_closing)
        yield Piece(opening, markdown[at:until], text.closing(until))
        at = until


class _Text:
    """A text, and where it may be cut."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.blocks = list(_blocks(text))
        self.starts = [block.start for block in self.blocks]
        self.longest_closing = max((len(block.fence.closing) + 1 for block in self.blocks if block.fence), default=0)

    def block_around(self, at: int) -> _Block | None:
        """Find the block that a cut at *at* would tear."""
        block = self.blocks[index] if (index := bisect_right(self.starts, at) - 1) >= 0 else None
        return block if block and block.start < at < block.end else None

    def closing(self, at: int) -> str:
        """Make what closes the fence that a cut at *at* tears, if it tears one."""
        torn = self.block_around(at)
        if torn is None or torn.fence is None:
            return ""
        return torn.fence.closing if self.text[at - 1] == "\n" else "\n" + torn.fence.closing

    def cut(self, at: int, end: int) -> int:
        """Choose where the part that begins at *at* ends, at *end* at the latest."""
        return self._at_paragraph(at, end) or self._at_line(at, end) or self._in_line(at, end)

    def _at_paragraph(self, at: int, end: int) -> int | None:
        """Cut outside of code and tables, in the second half, so that parts do not become many and small."""
        free = [
            start for start in self._line_starts(at, end) if start > (at + end) // 2 and not self.block_around(start)
        ]
        return next(
            (start for start in free if _BLANK_LINE_BEFORE.search(self.text, at, start)), next(iter(free), None)
        )

    def _at_line(self, at: int, end: int) -> int | None:
        """Cut before the code or table in the way if it fits into a part of its own, else between its lines."""
        torn = self.block_around(end)
        before = torn.start if torn and torn.start > at else None
        if torn and before and torn.end - torn.start <= end - at:
            return before
        return next((start for start in self._line_starts(at, end) if self._may_tear(start)), before)

    def _may_tear(self, start: int) -> bool:
        torn = self.block_around(start)
        return torn is None or torn.first_tear <= start <= torn.last_tear

    def _in_line(self, at: int, end: int) -> int:
        """Cut between words, or anywhere, but not within a fence's last line."""
        torn = self.block_around(end)
        if torn and max(at, torn.last_line - 1) < torn.last_line < end:
            return torn.last_line
        half = (at + end) // 2
        blanks = (place for place in range(end, half, -1) if self.text[place - 1] in " \t")
        # Marks in the middle of a line open no fence, and must not at the beginning of a part.
        places = (place for place in chain(blanks, range(end, half, -1)) if not _MARKS.match(self.text, place))
        return next(places, end)

    def _line_starts(self, at: int, end: int) -> Iterator[int]:
        """Go back over the beginnings of lines between *at* and *end*, the last first."""
        newline = self.text.rfind("\n", at, end)
        while newline >= at:
            yield newline + 1
            newline = self.text.rfind("\n", at, newline)


def _blocks(text: str) -> Iterator[_Block]:
    """Find the code fences and tables."""
    lines = list(_LINE.finditer(text))
    number = 0
    while number < len(lines):
        if fence := _opened_fence(lines[number][0]):
            last = _last_line_of_fence(lines, number, fence)
            yield _block(lines, number, last, fence)
        elif _is_table(lines, number):
            last = _last_line_of_table(lines, number)
            yield _block(lines, number, last, None)
        else:
            last = number
        number = last + 1


def _block(lines: list[re.Match[str]], first: int, last: int, fence: _Fence | None) -> _Block:
    closes = fence is not None and _closes(lines[last][0], fence) and last > first
    return _Block(
        start=lines[first].start(),
        end=lines[last].start() + len(lines[last][0].rstrip()) if closes else lines[last].end(),
        first_tear=lines[min(first + (2 if fence else 3), last)].start(),
        last_tear=lines[last - 1 if closes else last].start(),
        last_line=lines[last].start() if closes else lines[last].end(),
        fence=fence,
    )


def _opened_fence(line: str) -> _Fence | None:
    """Read a line that opens a fence. Overlong ones are none: they could not be repeated."""
    found = _FENCE.match(line.rstrip("\r\n"))
    if found is None or len(line) > _LONGEST_FENCE_LINE or ("`" in found["marks"] and "`" in found["info"]):
        return None
    indent = found["indent"][:3]  # further in, it would not be a fence outside of the list that it was in
    return _Fence(f"{indent}{found['marks']}{found['info']}\n", indent + found["marks"])


def _closes(line: str, fence: _Fence) -> bool:
    marks = fence.closing.strip()
    shown = line.strip()
    return len(shown) >= len(marks) and set(shown) == set(marks) and len(line.rstrip()) <= _LONGEST_FENCE_LINE


def _last_line_of_fence(lines: list[re.Match[str]], first: int, fence: _Fence) -> int:
    after = range(first + 1, len(lines))
    return next((number for number in after if _closes(lines[number][0], fence)), len(lines) - 1)


def _is_table(lines: list[re.Match[str]], number: int) -> bool:
    rule = lines[number + 1][0] if number + 1 < len(lines) else ""
    return "|" in lines[number][0] and "-" in rule and _TABLE_RULE.match(rule) is not None


def _last_line_of_table(lines: list[re.Match[str]], first: int) -> int:
    after = range(first + 1, len(lines))
    return next(
        (number - 1 for number in after if not lines[number][0].strip() or _opened_fence(lines[number][0])),
        len(lines) - 1,
    )
