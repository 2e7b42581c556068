"""How a reply becomes messages: pure, and the same in every process, since a successor posts only what is missing.

Each message has a number, which travels in its metadata (a file's in its name) and comes back from `finding`:

- part *i* of a reply, as blocks: *i*
- the same part after Slack refused its blocks, as plain text, message *j*: ``text_number(i, j)``
- the file that stands for a part which even as text was refused: ``text_file_number(i)``
- attachment *k*, as a file: ``file_number(k)``; as plain text where files are not allowed: ``file_text_number(k, j)``

Outside of this module the numbers are opaque.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set as AbstractSet
from dataclasses import dataclass
from pathlib import PurePath

from bridge.ids import TurnId
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.markdown import messages
from bridge.slack.blockkit.reply import Attachment, Block, Reply

MOST_MESSAGES = 8  # beyond, a thread is no longer readable: the beginning, and the whole as a file
TEXT = 4000  # Slack takes 40,000 and advises 4,000; chat.update takes no more

_MOST_PIECES = 1000
_FILES = 2_000_000
_FILE_TEXTS = 3_000_000
_BREAKS = ("\n\n", "\n", " ")
_LONGEST_ENTITY = len("&amp;")

BLOCKS_REFUSED = frozenset(
    {
        "invalid_blocks",
        "invalid_blocks_format",
        "block_mismatch",
        "markdown_text_conflict",
        "msg_blocks_too_long",
        "msg_too_long",
        "too_many_blocks",
        "invalid_arguments",
        "invalid_payload",  # the word of a response_url
    }
)
"""What Slack says when it is the blocks, or the length, that it does not like: something plainer may pass."""


NOT_KNOWN = frozenset({"invalid_blocks", "invalid_blocks_format", "invalid_arguments", "invalid_payload"})
"""Those of them by which Slack may mean a kind of block that it does not have here, and not a length."""

_OPTIONAL = "context_actions"  # the buttons below an answer: sooner than its Markdown they can be left out


@dataclass(frozen=True, slots=True)
class Part:
    """One message: *text* beside *blocks*, and *instead*, all that it says in plain words, where blocks are refused.

    Before it comes to that, the forms in *plainer* are tried.
    """

    number: int
    text: str
    blocks: tuple[Block, ...] = ()
    instead: str = ""
    plainer: tuple[tuple[Block, ...], ...] = ()


def lay_out(reply: Reply) -> list[Part]:
    """Turn a reply into the messages that show it, in order; none where there is nothing to show."""
    return list(parts_of(reply))


def parts_of(reply: Reply) -> Iterator[Part]:
    """Give the messages one by one: the text of each is cut and made harmless when it is asked for."""
    if reply.markdown.strip():
        yield from _markdown_parts(reply, messages(reply.markdown))
    elif reply.blocks:
        blocks, *plainer = ((*form, *reply.footer) for form in (reply.blocks, *reply.plainer))
        yield Part(0, cut(reply.text), blocks, reply.text, tuple(plainer))
    else:
        yield from (Part(number, piece) for number, piece in enumerate(pieces(reply.text)))


def most_to_lay_out(reply: Reply) -> int:
    """Tell how many parts have to be laid out to know that a reply is to be a file: one, where its length says so."""
    return 1 if len(reply.markdown) > MOST_MESSAGES * kit.MARKDOWN_PART else MOST_MESSAGES + 1


def shortened(reply: Reply, beginning: Part) -> Part:
    """Make of the first part of a long answer what stands above the file that has the whole of it."""
    blocks = (*beginning.blocks, *reply.footer)
    return Part(0, beginning.text, blocks, beginning.instead, _without_optional(blocks))


def whole(reply: Reply) -> Attachment:
    """Make the file of an answer that is too long for messages."""
    return Attachment(name="answer.md", content=reply.markdown)


def text_number(part: int, piece: int) -> int:
    """Give the number of a piece of a part's plain text."""
    return (part + 1) * _MOST_PIECES + piece


def text_file_number(part: int) -> int:
    """Give the number of the file that has a part's plain text."""
    return text_number(part, _MOST_PIECES - 1)


def has_begun_as_text(part: int, existing: AbstractSet[int]) -> bool:
    """Tell whether some of a part is there as plain text, so that it is to be finished as that."""
    return any(text_number(part, 0) <= number <= text_file_number(part) for number in existing)


def goes_on_as_messages(existing: AbstractSet[int]) -> bool:
    """Tell whether more than the first part of a reply is there as messages, in one form or the other."""
    return any(0 < number < _MOST_PIECES or 2 * _MOST_PIECES <= number < _FILES for number in existing)


def file_number(attachment: int) -> int:
    """Give the number of an attachment that goes up as a file."""
    return _FILES + attachment


def file_text_number(attachment: int, piece: int) -> int:
    """Give the number of a piece of an attachment that is shown as text."""
    return _FILE_TEXTS + attachment * _MOST_PIECES + piece


def file_name(name: str, turn: TurnId, number: int) -> str:
    """Make the name under which a file goes up: Slack's files carry no metadata, so it says whose it is."""
    path = PurePath(name)
    return f"{path.stem or 'file'}-{turn}-{number}{path.suffix or '.txt'}"


def number_in(name: str, turn: TurnId) -> int | None:
    """Read the number out of a name made by `file_name`, if it is of this turn."""
    found = re.search(rf"-{re.escape(turn)}-(\d{{1,7}})\.[^.]*$", name)
    return int(found[1]) if found else None


def cut(text: str, limit: int = TEXT) -> str:
    """Keep the beginning of an escaped text, whole entities only."""
    if len(text) <= limit:
        return text
    return text[: _before_entity(text, limit - 1)] + "…"


def pieces(text: str, limit: int = TEXT) -> list[str]:
    """Cut an escaped text at paragraphs, else lines, else words, else anywhere; put together they are the text.

    A piece with nothing to see is left out: Slack refuses such a message.
    """
    found, at = [], 0
    while len(text) - at > limit:
        end = _end_of_piece(text, at, limit)
        found.append(text[at:end])
        at = end
    return [piece for piece in [*found, text[at:]] if piece.strip()]


def _end_of_piece(text: str, begin: int, limit: int) -> int:
    for mark in _BREAKS:
        at = text.rfind(mark, begin + limit // 2, begin + limit)
        if at >= 0:
            return at + len(mark)
    return _before_entity(text, begin + limit)


def _before_entity(text: str, end: int) -> int:
    """Step back where *end* is inside of ``&amp;`` or the like, so that it is not torn."""
    start = text.rfind("&", max(0, end - _LONGEST_ENTITY + 1), end)
    is_torn = start > 0 and ";" not in text[start:end] and ";" in text[end : start + _LONGEST_ENTITY]
    return start if is_torn else end


def _markdown_parts(reply: Reply, texts: Iterable[str]) -> Iterator[Part]:
    """Make a part of each text; the last, which is known as such only when no more comes, has the footer below."""
    before: str | None = None
    number = 0
    for text in texts:
        if before is not None:
            yield _markdown_part(reply, number, before, ())
            number += 1
        before = text
    if before is not None:
        yield _markdown_part(reply, number, before, reply.footer)


def _markdown_part(reply: Reply, number: int, text: str, footer: tuple[Block, ...]) -> Part:
    instead = kit.escape(text)
    shown = reply.text if number == 0 and reply.text else instead
    blocks: tuple[Block, ...] = ({"type": "markdown", "text": text}, *footer)
    return Part(number, cut(shown, kit.FALLBACK_TEXT), blocks, instead, _without_optional(blocks))


def _without_optional(blocks: tuple[Block, ...]) -> tuple[tuple[Block, ...], ...]:
    needed = tuple(block for block in blocks if block["type"] != _OPTIONAL)
    return () if needed == blocks else (needed,)
