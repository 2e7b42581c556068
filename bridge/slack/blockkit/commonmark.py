"""What CommonMark makes of a text, and where in the text: its code, its links, and its blocks.

markdown-it-py says what, but not where within a line. So its rules are wrapped: each records between which positions it
found something. They are mapped back to the text, from which quotations and lists removed the beginnings of lines, and
tables the backslashes before ``|``.

Slack doesn't show HTML, but what exactly it makes of it isn't documented. A tag may hide a bracket or a backtick, and a
block of HTML the mark of a fence, so a text with ``<`` is read in three ways (`Html`).

Blocks take 0.35 ms for 1 kB, and the inside of paragraphs as much again, so only those of interest are read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.utils import MD_TRIM_CHARS
from markdown_it.rules_block import StateBlock, fence, heading, table
from markdown_it.rules_inline import StateInline, autolink, backtick, html_inline, image, link
from markdown_it.token import Token

Html = Literal["none", "tags", "blocks"]
"""Whether HTML is text like any other, or tags are skipped, also as whole blocks."""

_NESTED: Final = 100  # quotations and lists within each other; more would be left out
_MOST_BRACKETS: Final = 600  # in one paragraph; those of a crowded one are not matched with each other
_CROWDED: Final = re.compile(r"\](?=[(\[:])|!(?=\[)")
_LONGEST_OPENING: Final = 100
_LONGEST_HEADER: Final = 2000
_DEEP: Final = re.compile(r"^[ >]*+(?:(?<=    )|\t)", re.MULTILINE)
_LONG: Final = frozenset({"bullet_list_open", "ordered_list_open", "blockquote_open", "table_open"})
_MOST_AHEAD: Final = 90_000
_TORN: Final = frozenset({"fence", "code_block", "table_open"})
_CODE_BLOCKS: Final = frozenset({"fence", "code_block"})


class LinkFound(NamedTuple):
    """A link or an image from *start* to *end*: its label ends at *label_end*, with a ``]``; *href* is its target."""

    start: int
    label_end: int
    end: int
    href: str
    is_image: bool = False


class Opaque(NamedTuple):
    """A tag or an address in angle brackets, in which nothing else is parsed."""

    start: int
    end: int
    is_tag: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a text: where its *code* is, its *links*, what is *opaque*, and brackets that nobody matched."""

    code: list[tuple[int, int]]
    links: list[LinkFound]
    opaque: list[Opaque]
    unmatched: list[int]

    def is_code(self, at: int) -> bool:
        """Whether *at* is inside code."""
        index = bisect_right(self.code, at, key=itemgetter(0)) - 1
        return index >= 0 and at < self.code[index][1]


@dataclass(slots=True)
class _Found:
    """What the wrapped rules found in one paragraph."""

    content: str
    code: list[tuple[int, int]]
    links: list[LinkFound]
    opaque: list[Opaque]


def read(text: str, wanted: Iterable[int], wants: Callable[[str], bool], html: Html = "none") -> Reading:
    """Read *text*, and the inside of paragraphs only where there's a *wanted* position, or if the paragraph *wants* it.

    Raises `RecursionError` if too much is nested.
    """
    source, reading = _Source(text), Reading([], [], [], [])
    parser, env = _parser(html), dict[str, Any]()
    lines = {source.line_of(at) for at in wanted}
    for token in source.blocks(parser, env):
        begin, end = token.map or (0, 0)
        if token.type in _CODE_BLOCKS:
            reading.code.append((source.starts[begin], source.starts[end]))
        elif token.type == "html_block":
            start = source.text.find("<", source.starts[begin])
            reading.opaque.append(Opaque(start, source.starts[end] - 1, is_tag=True))
        elif token.type == "inline" and (
            wants(token.content)
            or ("references" in env and "[" in token.content)
            or not lines.isdisjoint(range(begin, end))
        ):
            _read_paragraph(source, token, parser, env, reading)
    reading.code.sort()
    return reading


def _read_paragraph(source: _Source, token: Token, parser: MarkdownIt, env: dict[str, Any], reading: Reading) -> None:
    is_crowded = token.content.count("[") > _MOST_BRACKETS
    inside = env["found"] = _Found(token.content, [], [], [])
    (_without_links("tags" if parser.options["html"] else "none") if is_crowded else parser).inline.parse(
        token.content, parser, env, []
    )
    position = source.positions_of(token)
    reading.code.extend((position(begin), position(end - 1) + 1) for begin, end in inside.code)
    reading.opaque.extend(
        Opaque(position(begin), position(end - 1) + 1, is_tag) for begin, end, is_tag in inside.opaque
    )
    for link_found in inside.links:
        start, label_end, end = (
            position(link_found.start),
            position(link_found.label_end),
            position(link_found.end - 1) + 1,
        )
        reading.links.append(link_found._replace(start=start, label_end=label_end, end=end))
    if is_crowded:
        reading.unmatched.extend(position(match.end() - 1) + 1 for match in _CROWDED.finditer(token.content))


class CodeOrTable(NamedTuple):
    """Code or a table, from *start* to *end*, which is kept whole if possible.

    Otherwise it's split before a line, from *first_tear* to *last_tear*; a fence ends with its *last_line*. *opening*
    opens it again in the next part, and *closing* closes a fence.
    """

    start: int
    end: int
    first_tear: int
    last_tear: int
    last_line: int
    opening: str
    closing: str = ""


class Structure(NamedTuple):
    """The blocks of a stretch of text, which was read up to *end*: those that may be *torn*.

    Also where each of those starts that Slack makes of it, and the *headings* among them. Slack doesn't document it; so
    what's inside of a list or quotation counts, and what follows it, too.
    """

    end: int
    torn: list[CodeOrTable]
    rendered: list[int]
    headings: list[int]


def structure(text: str, at: int, ahead: int) -> Structure:
    """Read the blocks of *text* between *at* and about *at* + *ahead*.

    Blocks at the end may go on, so all is read up to the last of those that aren't inside of another one.
    """
    while True:
        newline = text.find("\n", at + ahead)
        end = len(text) if newline < 0 else newline + 1
        source = _Source(text[at:end])
        try:
            tokens = source.blocks(_parser("none"), {})
        except RecursionError:
            return Structure(end, [], [], [])
        last = max((token.map[0] for token in tokens if token.map and token.level == 0), default=0)
        if end == len(text) or last > 0 or not (tokens and tokens[0].type in _LONG) or ahead > _MOST_AHEAD:
            break
        ahead *= 4
    if tokens and tokens[0].type == "fence" and tokens[0].level == last == 0:
        return _one_fence(text, at, _torn(source, tokens[0], at, 0), tokens[0].markup)
    read = end if end == len(text) or last == 0 else at + source.starts[last]
    blocks, deepest = Structure(read, [], [], []), 0
    for token in tokens:
        start = at + source.starts[token.map[0]] if token.map else read
        if start >= read:
            continue
        if token.level == 0 and token.map:  # in the rest of a list, what is deep would be code
            begin, stop = (source.starts[line] for line in token.map)
            deep = (
                [indent.start() for indent in _DEEP.finditer(source.text, begin, stop)] if "list" in token.type else []
            )
            deepest = deep[-1] if deep else 0
        if token.type in _TORN:
            blocks.torn.append(_torn(source, token, at, deepest))
        if token.type in _RENDERED or (token.level == 0 and token.type in _RENDERED_OUTSIDE):
            blocks.rendered.extend([start] * (2 if token.level else 1))
        if token.type == "heading_open":
            blocks.headings.append(start)
    return blocks


_RENDERED: Final = frozenset({"heading_open", "fence", "code_block", "hr", "table_open", "blockquote_open"})
_RENDERED_OUTSIDE: Final = frozenset({"paragraph_open", "bullet_list_open", "ordered_list_open"})


def _one_fence(text: str, at: int, fence: CodeOrTable, marks: str) -> Structure:
    """Find the end of a fence that is longer than what was read."""
    if fence.last_line == fence.end < len(text):
        closes = re.compile(rf"^ {{0,3}}{marks[0]}{{{len(marks)},}}[ \t]*$", re.MULTILINE)
        closed = closes.search(text, fence.end)
        end = min(closed.end() + 1, len(text)) if closed else len(text)
        last_line = closed.start() if closed else end
        last_tear = text.rfind("\n", 0, max(last_line - 1, 0)) + 1
        fence = fence._replace(end=end, last_line=last_line, last_tear=last_tear)
    return Structure(fence.end, [fence], [at], [])


def _torn(source: _Source, token: Token, offset: int, deepest: int) -> CodeOrTable:
    """Find out where a block may be split, and how it's opened and closed again, with what's *deepest* in its list."""
    begin, end = token.map or (0, 0)
    start, stop = source.starts[begin], min(source.starts[end], len(source.text))
    position = token.meta.get("at")
    if position is None:  # code by its indent
        content = token.content.partition("\n")[0]
        position = max(start, start + len(source.text[start:stop].partition("\n")[0]) - len(content) - 4)
    line = source.text[start:position]
    outer = line.rpartition(">")[0] + ">" if ">" in line else ""
    outer = re.sub(r"[^\s>]", " ", outer)
    inner = re.sub(r"\S", " ", line[len(outer) :]).expandtabs(4)
    deep = len(inner) - bool(outer)
    most = 3 if token.type != "code_block" else 0
    is_listed = deepest >= stop
    mark = f"{_list_marks(lead)}\n" if (lead := len(outer) - len(outer.lstrip())) and is_listed else ""
    if deep > most or (deep and is_listed):
        mark += f"{outer}{' ' if outer else ''}{_list_marks(deep - most)}\n"
    prefix = outer + inner
    lines = source.starts
    match token.type:
        case "fence":
            shown = len(token.content.split("\n")) - (not token.content or token.content.endswith("\n"))
            is_closed = end - begin - 1 > shown
            last_line = lines[end - 1] if is_closed else stop
            first, last = lines[min(begin + 2, end)], lines[max(end - 1 - is_closed, begin)]
            opening = f"{mark}{prefix}{token.markup}{token.info}\n"
            if len(opening) > _LONGEST_OPENING:
                opening = f"{mark}{prefix}{token.markup}\n"
            is_long = len(opening) > _LONGEST_OPENING
            opening, closing = ("", "") if is_long else (opening, prefix + token.markup)
        case "table_open":
            last_line, closing = stop, ""
            first, last = lines[min(begin + 3, end)], lines[end - 1]
            header = source.text[position : lines[begin + 2]] if begin + 2 < len(lines) else ""
            opening = f"{mark}{prefix}{header}" if header.endswith("\n") and len(header) < _LONGEST_HEADER else ""
        case _:
            last_line, closing, opening = stop, "", mark
            first, last = lines[min(begin + 1, end)], lines[end - 1]
    return CodeOrTable(
        offset + start, offset + stop, offset + first, offset + last, offset + last_line, opening, closing
    )


def _list_marks(width: int) -> str:
    """Return the marks of lists within each other, whose contents start at *width*, or at 2, which is the least."""
    width = max(width, 2)
    return (f"{'- ' * ((width - 3) // 2)}1." if width % 2 else "- " * (width // 2)).rstrip()


def label_of(source: str) -> list[str]:
    """Return what a link's label shows, with the tags in it and without: one of both is what Slack shows."""
    shown = []
    for html in (True, False):
        [token] = _whole_parser(html=html).parseInline(source, {})
        shown += ["".join(_shown(token.children or (), has_tags=has_tags)) for has_tags in (True, False)]
    return shown


def _shown(tokens: Iterable[Token], *, has_tags: bool) -> Iterator[str]:
    for token in tokens:
        if token.type == "image":
            yield from _shown(token.children or (), has_tags=has_tags)
        elif token.type.endswith("break"):
            yield " "
        elif has_tags or token.type != "html_inline":
            yield token.content


class _Source:
    """A text, its lines, and where in it the contents of its blocks come from."""

    def __init__(self, text: str) -> None:
        # As markdown-it normalizes it, but without changing a position.
        self.text = text.replace("\r\n", " \n").replace("\r", "\n").replace("\0", "\ufffd")
        self.starts = [0, *(newline.end() for newline in re.finditer("\n", self.text)), len(self.text) + 1]

    def line_of(self, at: int) -> int:
        """Return the number of a position's line."""
        return bisect_right(self.starts, at) - 1

    def blocks(self, parser: MarkdownIt, env: dict[str, Any]) -> list[Token]:
        """Parse the text's blocks."""
        tokens: list[Token] = []
        parser.block.parse(self.text, parser, env, tokens)
        if any(token.level >= _NESTED - 1 for token in tokens):
            raise RecursionError
        return tokens

    def positions_of(self, token: Token) -> Callable[[int], int]:
        """Return a function from a position in a token's content to that in the text."""
        begin, end = token.map or (0, 0)
        if (at := token.meta.get("at")) is not None:
            cell = token.meta.get("cell", "")
            if "\\|" not in cell:
                return lambda index: at + index
            positions = [position for position in range(len(cell)) if cell[position : position + 2] != "\\|"]
            return lambda index: at + positions[index]
        ends, total = [], 0  # of each line, in the content and in the text
        for number, line in enumerate(token.content.split("\n"), begin):
            total += len(line)
            last = self.starts[number + 1] - 1
            if number == end - 1:
                last = len(self.text[:last].rstrip(MD_TRIM_CHARS))
            ends.append((total, last))
            total += 1

        def position(index: int) -> int:
            total, last = ends[bisect_right(ends, index, key=itemgetter(0)) if index < ends[-1][0] else -1]
            return last - (total - index)

        return position


@cache
def _parser(html: Html) -> MarkdownIt:
    """Make a parser that records where it finds something, but not what it shows."""
    parser = _whole_parser.__wrapped__(html=html != "none")
    if html != "blocks":
        parser.disable("html_block")
    parser.disable(["emphasis", "strikethrough", "entity", "newline"])
    parser.inline.ruler2.enableOnly([])
    for name, block_rule in (("fence", fence), ("heading", heading), ("table", table)):
        parser.block.ruler.at(name, _with_place(block_rule), {"alt": _ALT[name]})
    rules = {"backticks": backtick, "autolink": autolink, "html_inline": html_inline, "link": link, "image": image}
    for name, inline_rule in rules.items():
        parser.inline.ruler.at(name, _recorded(inline_rule))
    return parser


@cache
def _without_links(html: Html) -> MarkdownIt:
    """Make a parser for crowded paragraphs."""
    return _parser.__wrapped__(html).disable(["link", "image"])


@cache
def _whole_parser(*, html: bool) -> MarkdownIt:
    """Make a parser of all that Slack shows."""
    parser = MarkdownIt("commonmark", {"html": html, "maxNesting": _NESTED}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign] # noqa: ARG005 - Slack may show any
    return parser


_ALT: Final = {
    "fence": ["paragraph", "reference", "blockquote", "list"],
    "heading": ["paragraph", "reference", "blockquote"],
    "table": ["paragraph", "reference"],
}
"""What each rule may interrupt, as in markdown-it's own table, which replacing a rule empties."""


def _with_place(
    rule: Callable[[StateBlock, int, int, bool], bool],
) -> Callable[[StateBlock, int, int, bool], bool]:
    """Wrap a rule for blocks so that its tokens know where they start."""

    def wrapped(state: StateBlock, begin: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's
        before = len(state.tokens)
        if not rule(state, begin, end, silent):
            return False
        if not silent:
            tokens = state.tokens[before:]
            tokens[0].meta["at"] = at = state.bMarks[begin] + state.tShift[begin]
            cells: Iterator[tuple[int, str]] = iter(())
            for token in tokens:
                if token.type == "tr_open" and token.map:
                    cells = _cells(state, token.map[0])
                elif token.type == "inline" and tokens[0].type == "table_open":
                    token.meta["at"], token.meta["cell"] = next(cells, (at, ""))
                elif token.type == "inline":  # a heading
                    token.meta["at"] = state.src.find(token.content, at + len(tokens[0].markup))
        return True

    return wrapped


def _cells(state: StateBlock, line: int) -> Iterator[tuple[int, str]]:
    """Yield where each cell of a row starts, and its text, cut as markdown-it cuts it."""
    row = state.src[: state.eMarks[line]].rstrip(MD_TRIM_CHARS)
    at = state.bMarks[line] + state.tShift[line]
    at += len(row[at:]) - len(row[at:].lstrip(MD_TRIM_CHARS))
    pieces = re.split(r"(?<!\\)\|", row[at:])
    if not pieces[0]:
        at += 1
        del pieces[0]
    for piece in pieces:
        cell = piece.strip(MD_TRIM_CHARS)
        yield at + piece.find(cell), cell
        at += len(piece) + 1


def _recorded(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Wrap a rule for the inside of paragraphs so that it records what it finds, and where."""

    def wrapped(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's
        start, before = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        found: _Found | None = state.env.get("found")
        if silent or found is None or state.src is not found.content or len(state.tokens) == before:
            return True  # a look ahead, or an image's label
        for token in state.tokens[before:]:
            match token.type:
                case "code_inline" if rule is backtick:
                    found.code.append((start, state.pos))
                case "html_inline" if rule is html_inline:
                    found.opaque.append(Opaque(start, state.pos, is_tag=True))
                case "link_open" if rule is autolink:
                    found.opaque.append(Opaque(start, state.pos, is_tag=False))
                case "link_open" | "image" if rule in {link, image}:
                    is_image = token.type == "image"
                    label_end = state.md.helpers.parseLinkLabel(state, start + is_image, not is_image)
                    target = str(token.attrs["src" if is_image else "href"])
                    found.links.append(LinkFound(start, label_end, state.pos, target, is_image))
                    break
        return True

    return wrapped
