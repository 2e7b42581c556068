"""What an agent asks and hands over in its Markdown: a fence ``options`` becomes buttons, one with a file name a file.

Both are explicit: an answer without such a fence is shown as it is, and so is a fence that doesn't fit.
https://spec.commonmark.org/0.31.2/#fenced-code-blocks
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from markdown_it import MarkdownIt

from bridge.slack.blockkit import kit
from bridge.slack.blockkit.content_words import size
from bridge.slack.blockkit.legible import legible
from bridge.slack.blockkit.reply import Attachment, Audience, Reply, Speaker
from bridge.unseen import is_blank

CHOSEN: Final = tuple(f"option:{number}" for number in range(10))
"""The buttons' action IDs, which differ within a block; the value is the option."""

CHOSEN_IN_MENU: Final = "option:menu"
MEANT: Final = "option:meant"

MAY_HAVE: Final = re.compile(r"^ {0,3}(?:`{3,}+|~{3,}+)[ \t]*+(?:options[ \t\r]*$|[^`\n]*\.[A-Za-z])", re.MULTILINE)
"""A line with which such a fence may begin."""

_ASK: Final = "options"
_MOST_FILES: Final = 5
_LARGEST: Final = 1024 * 1024  # bytes
_ITEM: Final = re.compile(r"^\s*[-*+•]\s+")
_FILE: Final = re.compile(r"(?:\S+[ \t]+)?+(?P<name>[^\s/\\][^/\\]*\.[A-Za-z][A-Za-z0-9]{0,9})")
_LANGUAGES: Final = frozenset({"asp.net", "node.js", "vb.net", "vue.js"})  # look like a file's name
_UNSAFE: Final = re.compile(r"[^\w .()+@=,-]")
_LONGEST_NAME: Final = 100
_BEGINNING: Final = 60


@dataclass(frozen=True, slots=True)
class Read:
    """An answer's *text* without those fences, the *options* to choose from, and the *files* that it hands over."""

    text: str
    options: tuple[str, ...] = ()
    files: tuple[Attachment, ...] = ()


@lru_cache(1)
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


def read(answer: str, *, has_files: bool) -> Read:
    """Find the fences in an agent's *answer*; without *has_files*, files stay fences."""
    answer = answer.replace("\r\n", "\n").replace("\r", "\n")  # as the parser counts lines
    lines, options, files = answer.split("\n"), tuple[str, ...](), list[Attachment]()
    fences = [token for token in _parser().parse(answer) if token.type == "fence" and not token.level]
    handed_over = [
        token
        for token in fences
        if has_files
        and _name(token.info)
        and not is_blank(token.content)
        and len(token.content.encode(errors="replace")) <= _LARGEST
    ][:_MOST_FILES]
    for token in reversed(fences):
        if token.map is None:
            continue
        begin, end = token.map
        if token.info.strip() == _ASK:
            items = (" ".join(_ITEM.sub("", line).split()) for line in token.content.split("\n"))
            asked = tuple(dict.fromkeys(item for item in items if not is_blank(item)))
            do_fit = 0 < len(asked) <= kit.OPTIONS and all(len(option) <= kit.OPTION_VALUE for option in asked)
            if options or not do_fit:
                lines[begin:end] = [f"- {option}" for option in asked]
            else:
                lines[begin:end], options = [], asked
        elif token in handed_over:
            name, content = _name(token.info), token.content
            files.insert(0, Attachment(name=name, content=content))
            count, length = content.count("\n"), size(len(content.encode(errors="replace")))
            first = next(line for line in content.split("\n") if line.strip())
            start = kit.one_line(first, _BEGINNING).replace("`", "'")
            lines[begin:end] = [f"📎 `{name}` · {kit.counted(count, 'line')}, {length} · `{start}`"]
    return Read("\n".join(lines).strip("\n"), options, tuple(files))


def _name(info: str) -> str:
    """Return the name of a file in an info string, made safe: no folder, no invisible characters; ``""`` if none."""
    match = _FILE.fullmatch(info.strip())
    if match is None or info.strip().lower() in _LANGUAGES:
        return ""
    stem, _, suffix = _UNSAFE.sub("_", legible(match["name"])).lstrip(". ").rpartition(".")
    return f"{stem[:_LONGEST_NAME]}.{suffix}" if stem.strip("_ ") else ""


def question(options: Sequence[str], speaker: Speaker | None) -> Reply:
    """Ask for one of the *options*, below the answer: with buttons or, if they are many or long, with a menu."""
    if len(options) <= len(CHOSEN) and all(len(option) <= kit.BUTTON_TEXT for option in options):
        elements = [kit.button(option, id_, option) for id_, option in zip(CHOSEN, options, strict=False)]
    else:
        elements = [kit.select(CHOSEN_IN_MENU, "Choose one", [kit.option(option, option) for option in options])]
    listed = "\n".join(f"• {option}" for option in options[: kit.OPTIONS])
    question = kit.reply(listed, *kit.rows_of(elements), audience=Audience.THREAD)
    return question.model_copy(update={"speaker": speaker})


def wasnt_asked(option: str, value: str) -> Reply:
    """Say that an option wasn't sent, as the agent asked someone else, and offer to send it with a button's *value*."""
    text = f"I didn't send {kit.quoted(option, 80)} to the agent, because it's talking with someone else here."
    return kit.ask(text, kit.button("Send it", MEANT, value))


def answered(option: str, name: str) -> Reply:
    """Replace the buttons: who chose what."""
    who = f" · {kit.named(name, 80)}" if name else ""
    return kit.note(f"✓ {option}{who}", audience=Audience.THREAD, replaces_original=True)
