"""`card`: a message of several lines, whose blocks and fallback text come from one source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Attachment, Audience, Block, Reply

_MOMENT: Final = re.compile(r"<!date\^[^<|>]*\|([^<>]*)>")
_SHORTEST: Final = 40  # characters of a line in a text that's too long


def card(
    *lines: Block | str | None,
    buttons: Iterable[Block] = (),
    plainer: Sequence[Sequence[Block]] = (),
    audience: Audience = Audience.PRIVATE,
    files: Sequence[Attachment] = (),
    replaces_original: bool = False,
) -> Reply:
    """Make a message of *lines* from top to bottom, with *buttons* or menus below.

    A string is a paragraph; empty ones and None are left out. *plainer* are simpler forms of all blocks
    (`Reply.plainer`). The fallback text says what the plainest form shows, line by line, without the buttons.
    """
    shown = [kit.section(line) if isinstance(line, str) else line for line in lines if line]
    blocks = (*shown, *kit.rows_of(buttons))[: kit.BLOCKS]
    return Reply(
        text=in_words(plainer[-1] if plainer else blocks),
        blocks=blocks,
        plainer=tuple(map(tuple, plainer)),
        files=tuple(files),
        audience=audience,
        replaces_original=replaces_original,
    )


def in_words(blocks: Iterable[Block]) -> str:
    """Return what blocks show as escaped text that notifies nobody; if it's too long, each line is shortened."""
    lines = [line for block in blocks for line in _written(block).split("\n") if line.strip()]
    if sum(map(len, lines)) + len(lines) > kit.FALLBACK_TEXT:
        most = max(kit.FALLBACK_TEXT // len(lines) - 1, _SHORTEST)
        lines = [kit.cut_escaped(line, most) for line in lines]
    return kit.cut_escaped(kit.quiet("\n".join(lines)), kit.FALLBACK_TEXT) or kit.fallback("")


def _written(block: Block) -> str:
    match block["type"]:
        case "header" | "section":
            return " · ".join(map(_text, block.get("fields") or [block["text"]]))
        case "context":
            return " · ".join(map(_text, block["elements"]))
        case "rich_text":
            return "\n".join(map(_paragraph, block["elements"]))
    return ""  # buttons and menus


def _text(shown: Block) -> str:
    """Write a text object; markup is the bridge's own, and has only moments."""
    return _MOMENT.sub(r"\1", shown["text"]) if shown["type"] == "mrkdwn" else _escaped(shown["text"])


def _paragraph(shown: Block) -> str:
    if shown["type"] == "rich_text_list":
        return "\n".join(f"• {_paragraph(item)}" for item in shown["elements"])
    words = "".join(map(_run, shown["elements"]))
    if shown["type"] == "rich_text_section":
        return words
    return "\n".join(f"&gt; {line}" for line in words.split("\n"))  # a quotation or code: not the bridge's own words


def _run(run: Block) -> str:
    match run["type"]:
        case "date":
            return _escaped(run["fallback"])
        case "channel":
            return f"<#{run['channel_id']}>"
        case "emoji":
            return f":{run['name']}:"
        case "usergroup":
            return "a user group"  # a mention would notify its people twice
    return _escaped(run["text"])  # of a link, too, as a button's address isn't said either


def _escaped(text: str) -> str:
    return kit.escape(kit.quiet(text))
