"""Markdown as an independent reader of CommonMark shows it: its code, its links, and the text between."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

READERS = [
    MarkdownIt("commonmark", {"html": html, "maxNesting": 200}).enable(["table", "strikethrough"])
    for html in (True, True, False)
]
"""Slack doesn't say what it makes of HTML, so there are three readers: with blocks of HTML, with tags, with neither."""
for reader in READERS[1:]:
    reader.disable("html_block")
READER = READERS[-1]


def inline(markdown: str, reader: MarkdownIt = READER) -> Iterator[list[Token]]:
    """Yield the tokens of each paragraph, heading, cell, and code block; a block of HTML has none."""
    for token in reader.parse(markdown):
        if token.type in {"fence", "code_block"}:
            yield [token]
        elif token.children is not None:
            yield token.children


def code(markdown: str, reader: MarkdownIt = READER) -> list[str]:
    """Return what a reader could copy out of each piece of code."""
    return [
        token.content
        for tokens in inline(markdown, reader)
        for token in tokens
        if token.type in {"fence", "code_block", "code_inline"}
    ]


def outside_of_code(markdown: str, reader: MarkdownIt = READER) -> str:
    """Return the text without its code; a change of style ends a run of text, which no mention crosses."""
    return "\n\n".join("".join(map(_shown, tokens)) for tokens in inline(markdown, reader))


def _shown(token: Token) -> str:
    if token.type in {"text", "text_special", "html_inline"}:
        return token.content
    return "\n" if token.type.endswith("break") else "\0"


def links(tokens: list[Token]) -> Iterator[tuple[str, str]]:
    """Yield the label and the target of each link, once with the tags in it and once without.

    An address in angle brackets shows its own target.
    """
    target = label = bare = ""
    for token in tokens:
        if token.type == "link_open" and token.info != "auto":
            target, label, bare = str(token.attrs["href"]), "", ""
        elif token.type == "link_close" and target:
            yield from ((label, target), (bare, target))
            target = ""
        elif target:
            label += "\n" if token.type.endswith("break") else token.content
            bare += "" if token.type == "html_inline" else "\n" if token.type.endswith("break") else token.content


def expanded(markdown: str) -> Iterator[str]:
    """Yield the kind of each block that Slack makes of a markdown block."""
    kinds = {"heading_open": "heading", "fence": "code", "code_block": "code", "hr": "rule", "table_open": "table"}
    for token in READER.parse(markdown):
        if token.type in kinds:
            yield kinds[token.type]
        elif token.level == 0 and token.nesting == 1:
            yield "text"
