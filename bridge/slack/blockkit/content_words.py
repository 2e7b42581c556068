"""A message for an agent as text: quotations, tables and files in Markdown, below the author's own text.

No part can be mistaken for another: each quoted line starts with a mark, a fence is longer than any fence inside it,
and a name is one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from bridge.inbound import TABLE_MARK, Alert, LeftOut, MessageFile, MessagePart, Quotation, Table
from bridge.slack.blockkit import kit

Resolve = Callable[[str], str]
"""Undoes Slack's escapes, and replaces IDs with names."""

MOST: Final = 200_000  # bytes of a message with all its parts
FILE: Final = 100_000  # bytes of one file
_NAME: Final = 100
_TOO_LITTLE: Final = 200  # bytes, for a cut part to be useful
_CUT: Final = "cut here because the message is too long"
_BACKTICKS: Final = re.compile(r"`+")

KINDS: Final = {
    "text": "file", "mail": "mail", "document": "document", "clip": "voice clip", "image": "image", "video": "video",
    "link": "link to a file elsewhere", "gone": "file", "other": "file", "unknown": "file",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Passage:
    """A part as text: a *head* that describes it, its content in *body*, and a *note* on what's missing.

    *is_name*: it only names a file or the like.
    """

    head: str
    body: str = ""
    shown: Literal["quoted", "fenced", "plain"] = "plain"
    note: str = ""
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Composed:
    """A message as text. *cut* counts the passages that are incomplete or missing for lack of room."""

    text: str
    cut: int = 0


def composed(own: str, passages: Sequence[Passage]) -> Composed:
    """Join the message's *own* text and the *passages*, as far as there's room; cuts are shown."""
    room, parts = MOST - len(own.encode()), [own] if own else []
    for place, entry in enumerate(passages):
        whole = _written(entry)
        if len(whole.encode()) + 2 > room:
            left_out = len(passages) - place
            if shorter := _shortened(entry, room):
                parts.append(shorter)
                left_out -= 1
            if left_out:
                parts.append(f"[{kit.counted(left_out, 'part')} left out because the message is too long]")
            return Composed("\n\n".join(parts), len(passages) - place)
        room -= len(whole.encode()) + 2
        parts.append(whole)
    return Composed("\n\n".join(parts))


def _shortened(entry: Passage, room: int) -> str:
    """Cut a passage to *room* bytes; ``""`` if that's too little to be useful."""
    note = "; ".join(filter(None, (entry.note, _CUT)))
    limit = room - len(entry.head.encode()) - _TOO_LITTLE
    while entry.body and limit > 0:  # quoting lengthens lines, so the first guess may be too long
        written = _written(replace(entry, body=cut_bytes(entry.body, limit), note=note))
        if len(written.encode()) + 2 <= room:
            return written
        limit = limit * 3 // 4
    return ""


def passage(part: MessagePart, resolve: Resolve) -> Passage | None:
    """Write one part; None for a file, whose content the caller fetches."""
    note = _CUT if part.is_cut else ""
    match part:
        case Quotation():
            author = kit.escape(part.author) if part.author else f"<@{part.author_id}>" if part.author_id else ""
            named = f"#{kit.escape(part.channel_name)}" if part.channel_name else ""
            channel = named or (f"<#{part.channel}>" if part.channel else "")
            is_direct = part.channel.startswith("D") or part.channel_name == "Direct Message"
            by, where = f" from {author}" if author else "", " in a direct message" if is_direct else f" in {channel}"
            head = kit.one_line(resolve(f"A forwarded message{by}{where if is_direct or channel else ''}"), 4 * _NAME)
            tables = iter([_markdown(table, resolve) for table in part.tables])
            texts = [kit.clean(resolve(words)).strip() for words in part.text.split(TABLE_MARK)]
            placed = (piece for words in texts[1:] for piece in (next(tables, ""), words))
            body = "\n\n".join(filter(None, [texts[0], *placed, *tables]))
            link = part.link.replace("&amp;", "&")
            return Passage(f"{head}{f' ({link})' if link else ''}:", body, "quoted", note)
        case Table():
            return Passage("A table:", _markdown(part, resolve), "plain", note)
        case Alert(is_own=True):
            return Passage("", kit.clean(resolve(part.text)).strip(), "plain", note)
        case Alert():
            return Passage("From an app:", kit.clean(resolve(part.text)).strip(), "quoted", note)
        case LeftOut(is_unknown=True):
            return Passage(f"[{kit.counted(part.count, 'part')} that can't be read]", is_name=True)
        case LeftOut():
            return Passage(f"[{kit.counted(part.count, 'more part')} left out]", is_name=True)
    return None


def files_in(parts: Sequence[MessagePart]) -> Iterator[MessageFile]:
    """Yield the files, including those of forwarded messages."""
    for part in parts:
        match part:
            case MessageFile():
                yield part
            case Quotation():
                yield from part.files


def with_escapes(own: str, parts: Sequence[MessagePart]) -> str:
    """Put everything but the files below the *own* text, all with Slack's escapes.

    An app's post without text of its own starts with what the app shows, since all of it is quoted anyway.
    """
    if not own and parts and isinstance(parts[0], Alert) and not parts[0].is_cut:
        own, parts = parts[0].text, parts[1:]
    passages = [passage(part, lambda words: words) for part in parts]
    return composed(own, [entry for entry in passages if entry is not None]).text


def named_file(file: MessageFile) -> Passage:
    """Name a file whose content isn't included."""
    facts = [described(file)]
    if file.kind == "link" and file.url:
        facts.append(file.url)
    if file.alt_text.strip():
        facts.append(f"described as {kit.quoted(file.alt_text, 1000)}")
    return Passage(f"[{'; '.join(facts)}]", is_name=len(facts) == 1)


def file_with(file: MessageFile, content: str, note: str = "") -> Passage:
    """Write a file with its *content*; *note* says what's missing."""
    head = kit.capitalized(described(file))
    if file.kind == "clip":
        return Passage(f"{head}, as Slack transcribed it:", kit.clean(content).strip(), "quoted", note)
    return Passage(f"{head}:", kit.clean(content).strip("\n"), "fenced", note)


def described(file: MessageFile) -> str:
    """Describe a file: its kind, name, format and size."""
    more = ", ".join(filter(None, (kit.one_line(file.type, _NAME), size(file.size))))
    return f"{KINDS[file.kind]} {kit.quoted(file.name or 'unnamed', _NAME)}{f' ({more})' if more else ''}"


def size(count: int) -> str:
    """Write a size: ``12 kB``; ``""`` if it's unknown (0)."""
    for unit, of in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= of:
            return f"{count / of:.1f} {unit}".replace(".0 ", " ")
    return f"{count} bytes" if count > 0 else ""


def cut_bytes(words: str, limit: int) -> str:
    """Shorten a text to *limit* bytes of UTF-8."""
    return words.encode()[: max(0, limit)].decode(errors="ignore")


def _written(passage: Passage) -> str:
    lines = [passage.head] if passage.head else []
    if passage.body:
        match passage.shown:
            case "quoted":
                lines += [f"> {line}".rstrip() for line in passage.body.split("\n")]
            case "fenced":
                longest = max(map(len, _BACKTICKS.findall(passage.body)), default=0)
                fence = "`" * max(3, longest + 1)
                lines += [fence, passage.body, fence]
            case _:
                lines += ["", passage.body] if lines else [passage.body]
    if passage.note:
        lines.append(f"[{passage.note}]")
    return "\n".join(lines)


def _markdown(part: Table, resolve: Resolve) -> str:
    """Write a table as Markdown."""
    width = max(map(len, part.rows), default=0)
    rows = [
        [" ".join(kit.clean(resolve(cell)).split()).replace("|", "\\|") for cell in row] + [""] * (width - len(row))
        for row in part.rows
    ]
    if not rows:
        return ""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * width}", *lines[1:]])
