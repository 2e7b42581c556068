"""Split a reply into messages, each with a name in its `MessageTag`, by which it can be found in Slack.

Pure and deterministic across processes, since a successor posts only what's missing. The names:

- ``2``: part 2 of a reply (from 0), as blocks
- ``2.text1``: the same part after Slack rejected its blocks, second message of plain text
- ``2.file``: the file for a part that Slack rejected even as text
- ``reply0``: the first message in the thread of the first part
- ``file0``: the first attachment, as a file; ``file0.text1``: as plain text, where files aren't allowed
- ``whole``: the file with the full answer if that's too long for messages
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from bridge.ids import TurnId
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.markdown import messages
from bridge.slack.blockkit.reply import Attachment, Block, Reply
from bridge.slack.in_project import is_marked

MOST_MESSAGES = 8  # for anything longer: its beginning and a file or, without files, its beginning and end
WHOLE = "whole"
TEXT = 4000  # characters; chat.postMessage accepts 40,000 and advises 4,000; chat.update accepts no more
_TEXTS = (TEXT, 8000, 16_000, 32_000, 39_000)
ANSWER_FILE = "answer.md"

_BREAKS = ("\n\n", "\n", " ")
_PREFIX = "bridge_"
_OPTIONAL = "context_actions"  # the buttons below an answer: if Slack rejects the blocks, they're left out first


@dataclass(frozen=True, slots=True)
class Place:
    """Where everyone sees a message: a *channel*, and a thread in it (``""``: the channel itself)."""

    channel: str
    thread_ts: str = ""


@dataclass(frozen=True, slots=True)
class MessageTag:
    """A message's metadata, by which the bot finds its messages: ``event_type`` and its payload.

    *kind* is ``bridge_turn`` (an agent's answer, or a notice instead), ``bridge_run`` or ``bridge_root``. *message* is
    the ``ts`` of the message it answers, *project* the project of the IDs (``""``: the default one). Everyone in the
    workspace can read metadata, so it has only IDs. If Slack rejects it, the ID of a block has the turn and the part
    (`in_blocks`); so does the name of a file, since files have no metadata.
    """

    kind: str
    turn: TurnId
    agent: int | None = None
    session: int | None = None
    message: str = ""
    project: str = ""

    def metadata(self, part: str, count: int) -> dict[str, Any]:
        """Return the metadata of one *part* of *count*."""
        payload: dict[str, Any] = {"turn": self.turn, "part": part, "parts": count}
        if self.agent is not None:
            payload["agent"] = _exact(self.agent)
        if self.session is not None:
            payload["session"] = _exact(self.session)
        if self.message:
            payload["message"] = self.message
        if self.project:
            payload["project"] = self.project
        return {"event_type": self.kind, "event_payload": payload}

    def in_blocks(self, part: str, blocks: Sequence[Block], text: str) -> list[Block]:
        """Return *blocks*, or sections with *text* if there are none, one of them with the tag as its ID.

        Slack doesn't keep the ID of a markdown block: if there's nothing else, a small line follows.
        https://docs.slack.dev/reference/block-kit/blocks/markdown-block
        """
        shown = list(blocks) or [
            {"type": "section", "text": {"type": "mrkdwn", "text": piece, "verbatim": True}}
            for piece in pieces(text, kit.SECTION_TEXT)
        ]
        free = (
            number
            for number, block in enumerate(shown)
            if block["type"] != "markdown" and not is_marked(block.get("block_id", ""))
        )
        at = next(free, len(shown))
        tagged = shown[at] if at < len(shown) else kit.context("·")
        return [*shown[:at], {**tagged, "block_id": f"{_PREFIX}{self.turn}:{part}"}, *shown[at + 1 :]]

    def file_name(self, name: str, part: str) -> str:
        """Return *name* with the turn and the *part*."""
        path = PurePath(name)
        return f"{path.stem or 'file'}-{self.turn}-{part}{path.suffix or '.txt'}"


@dataclass(frozen=True, slots=True)
class Part:
    """One message: *blocks* with their fallback *text*, and *instead*, its full content as plain text.

    If Slack rejects the blocks, the forms in *plainer* are tried first, then *instead*. One that *is_reply* belongs in
    the thread of the first part.
    """

    name: str
    text: str
    blocks: tuple[Block, ...] = ()
    instead: str = ""
    plainer: tuple[tuple[Block, ...], ...] = ()
    is_reply: bool = False

    @property
    def length(self) -> int:
        """The number of characters that people see."""
        return len(html.unescape(self.instead or self.text))

    def followed_by(self, notice: str) -> Part:
        """Return the part with a small line below it."""
        below = (kit.context(notice),) if self.blocks else ()
        return replace(
            self,
            text=self.text if below else f"{self.text}\n\n{kit.escape(notice)}",
            blocks=(*self.blocks, *below),
            instead=self.instead and f"{self.instead}\n\n{kit.escape(notice)}",
            plainer=tuple((*form, *below) for form in self.plainer),
        )


def parts_of(reply: Reply) -> Iterator[Part]:
    """Yield the messages that show a reply; none if there's nothing to show.

    Each is cut and escaped when it's requested.
    """
    if reply.markdown.strip():
        number, texts = 0, messages(reply.markdown)
        text = next(texts, "")
        while text:
            following = next(texts, "")
            escaped = kit.escape(kit.quiet(text))  # in plain text, code is text like any other
            shown = reply.text if reply.text and not number else escaped
            blocks: tuple[Block, ...] = ({"type": "markdown", "text": text}, *(() if following else reply.footer))
            yield Part(
                str(number), kit.cut_escaped(shown, kit.FALLBACK_TEXT), blocks, escaped, _without_optional(blocks)
            )
            number, text = number + 1, following
    elif reply.blocks:
        yield _in_blocks("0", reply)
    else:
        yield from (Part(str(number), piece) for number, piece in enumerate(pieces(reply.text)))
    if reply.replies:
        yield from replies_of(reply)


def replies_of(reply: Reply) -> Iterator[Part]:
    """Yield the messages in the thread of a reply."""
    for number, below in enumerate(reply.replies):
        yield replace(_in_blocks(f"reply{number}", below), is_reply=True)


def _in_blocks(name: str, reply: Reply) -> Part:
    blocks, *plainer = ((*form, *reply.footer) for form in (reply.blocks, *reply.plainer))
    return Part(name, kit.cut_escaped(reply.text, TEXT), blocks, reply.text, tuple(plainer))


def shortened(reply: Reply, beginning: Part) -> Part:
    """Turn the first part of a long answer into the message above the file with the full answer."""
    blocks = (*beginning.blocks, *reply.footer)
    return Part(beginning.name, beginning.text, blocks, beginning.instead, _without_optional(blocks))


def beginning_and_end(parts: Sequence[Part], most: int, why: str) -> list[Part]:
    """Return at most *most* of the *parts*: the first and the last, and between them a notice of what's left out.

    *why* says why it isn't in a file, and what to do.
    """
    if len(parts) <= most:
        return list(parts)
    first, last = parts[: (most + 1) // 2], parts[len(parts) - most // 2 :]
    count = sum(part.length for part in parts[len(first) : len(parts) - len(last)])
    return [*first[:-1], first[-1].followed_by(f"{kit.counted(count, 'character')} left out here. {why}"), *last]


def as_text(name: str, attachment: Attachment, most: int, why: str) -> list[Part]:
    """Return the messages that show a file as plain text, if files aren't allowed; see `beginning_and_end`."""
    return beginning_and_end(
        _texts(name, kit.escape(kit.quiet(attachment.instead or attachment.content)), TEXT), most, why
    )


def in_words(part: Part, most: int, why: str) -> list[Part]:
    """Return the messages that show a part as plain text, larger ones rather than more than *most*."""
    text, parts = part.instead or part.text, list[Part]()
    for limit in _TEXTS:
        parts = _texts(part.name, text, limit)
        if len(parts) <= most:
            break
    return beginning_and_end(parts, most, why)


def _texts(name: str, escaped: str, limit: int) -> list[Part]:
    return [Part(f"{name}.text{number}", piece) for number, piece in enumerate(pieces(escaped, limit))]


def is_posted_as_text(part: str, existing: Iterable[str]) -> bool:
    """Whether a part was at least partly posted as plain text, so that the rest must be, too."""
    return any(name.startswith(f"{part}.") for name in existing)


def _exact(number: int) -> int | str:
    """Return a number as JSON that every reader keeps exactly: many read all numbers as floats."""
    return number if abs(number) <= kit.EXACT_NUMBER else str(number)


def has_later_parts(existing: Iterable[str]) -> bool:
    """Whether a part after the first was posted, in any form."""
    return any(name[0].isdecimal() and name.partition(".")[0] != "0" for name in existing)


def tagged_parts(turn: TurnId, message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts of *turn* that one of the bot's messages shows, by its `MessageTag`."""
    match message.get("metadata"):
        case {"event_type": str() as kind, "event_payload": {"turn": str() as of, "part": str() as part}}:
            if kind.startswith(_PREFIX) and of == turn:
                yield part
    for block in message.get("blocks") or []:
        tagged, _, part = str(block.get("block_id") if isinstance(block, dict) else "").rpartition(":")
        if tagged == f"{_PREFIX}{turn}":
            yield part
    for file in message.get("files") or []:
        name = str(file.get("name") if isinstance(file, dict) else "")
        if match := re.search(rf"-{re.escape(turn)}-([a-z0-9.]+)\.[^.]*$", name):
            yield match[1]


def pieces(text: str, limit: int = TEXT) -> list[str]:
    """Cut an escaped text at paragraphs, else lines, else words, else anywhere, without changing it.

    Pieces without visible characters are left out, because Slack rejects them.
    """
    cut, at = [], 0
    while len(text) - at > limit:
        breaks = ((mark, text.rfind(mark, at + limit // 2, at + limit)) for mark in _BREAKS)
        end = next((place + len(mark) for mark, place in breaks if place >= 0), None)
        end = end or at + (len(kit.TORN_ENTITY.sub("", text[at : at + limit])) or limit)  # markup may be longer
        cut.append(text[at:end])
        at = end
    return [piece for piece in [*cut, text[at:]] if piece.strip()]


def _without_optional(blocks: tuple[Block, ...]) -> tuple[tuple[Block, ...], ...]:
    needed = tuple([block for block in blocks if block["type"] != _OPTIONAL])
    return (needed,) if len(needed) < len(blocks) else ()
