"""Context added to a message for an agent: the speaker's name, and the thread's earlier messages, quoted.

The context is part of the message's text, so no part may look like another: each quoted line starts with a mark, and a
name is one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bridge.slack.blockkit import kit

BEFORE: Final = "Earlier messages in this Slack thread, quoted:"
SINCE: Final = "Messages in this Slack thread since your last answer, quoted:"
NOW: Final = "The new message to you:"

NEWEST: Final = "the newest "
FIRST: Final = "the first "
SOME: Final = ""
"""Which messages of a thread a quotation shows."""

MESSAGE: Final = 2000  # characters of one message
ALL: Final = 8000
_NAME: Final = 80
_FILE: Final = 100
_FILES: Final = 10


@dataclass(frozen=True, slots=True)
class Quoted:
    """A message by the person or app *name*, with the names of its *files*."""

    name: str
    text: str
    files: tuple[str, ...] = ()


def spoken(name: str, text: str) -> str:
    """Put the speaker's name before *text*."""
    return f"{kit.one_line(name, _NAME)}: {text}"


def looking_at(channel: str, text: str) -> str:
    """Put before *text* which channel the person has open beside the direct message: they may write "this channel"."""
    return f"[In Slack, this person is looking at #{kit.one_line(channel, _NAME)}.]\n{text}"


def with_quotation(
    text: str,
    root: Quoted | None,
    newest: Sequence[Quoted],
    *,
    left_out: int | None,
    is_since: bool = False,
    called: str = NEWEST,
) -> str:
    """Put earlier messages before *text*: always the *root*, and as many of the *newest* as there's room for.

    *left_out* counts messages that weren't read (None: unknown). *called* is other than `NEWEST` if Slack didn't allow
    reading the newest.
    """
    entries = [_entry(message) for message in newest]
    first = [_entry(root)] if root else []
    room = ALL - sum(map(len, first))
    dropped = 0
    while entries and sum(map(len, entries)) > room:
        entries.pop(0)
        dropped += 1
    if not (first or entries):
        return text
    shown = len(entries)
    if left_out is None:
        gap = [f"> [showing {kit.counted(shown, 'message')}; there are more]"]
    else:
        total = shown + dropped + left_out
        gap = [f"> [showing {called}{shown} of {kit.counted(total, 'message')}]"] if total > shown else []
    what = SINCE if is_since else BEFORE
    return "\n".join([what, *first, *gap, *entries, "", NOW, text])


def below_report(report: str, text: str) -> str:
    """Put the text of the thread's *report* before a message."""
    quoted = "\n".join(f"> {line}" for line in kit.cut(kit.clean(report).strip(), ALL).split("\n"))
    return f"The report at the top of this Slack thread, quoted:\n{quoted}\n\n{text}"


def edited_post(name: str, text: str) -> str:
    """Say that an app edited its post, whose *text* follows: the agent knows an earlier one."""
    return f"[{kit.one_line(name, _NAME) or 'The app'} edited its post. It now says:]\n{text}"


def below_edited(root: str, text: str) -> str:
    """Put what the post at the top of a thread says now before a message: the agent knows an earlier text."""
    quoted = "\n".join(f"> {line}" for line in kit.cut(kit.clean(root).strip(), ALL).split("\n"))
    return f"The post at the top of this Slack thread was edited. It now says:\n{quoted}\n\n{text}"


def _entry(message: Quoted) -> str:
    files = [kit.one_line(name, _FILE) or "unnamed" for name in message.files[:_FILES]]
    attached = [f"[attached: {', '.join(files)}]"] if files else []
    text = spoken(message.name, kit.cut(kit.clean(message.text).strip(), MESSAGE))
    return "\n".join(f"> {line}" for line in [*text.split("\n"), *attached])
