"""What an agent is told beside a message: who speaks, and what was said in the thread before, as a quotation.

All of it goes into the message itself, so nothing in it may pass for anything else: each quoted line begins with a
mark of its own, and a name is one line.
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
"""Which of the messages of a thread a quotation shows."""

MESSAGE: Final = 2000  # characters of one message
ALL: Final = 8000
_NAME: Final = 80
_FILE: Final = 100
_FILES: Final = 10


@dataclass(frozen=True, slots=True)
class Quoted:
    """What *name* said, and the names of the *files* that came with it."""

    name: str
    text: str
    files: tuple[str, ...] = ()


def spoken(name: str, text: str) -> str:
    """Say who speaks."""
    return f"{kit.one_line(name, _NAME)}: {text}"


def looking_at(channel: str, text: str) -> str:
    """Say what the person has open in Slack beside their direct message with the bot: "this channel"."""
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
    """Put what was said before *text*: the *root* always, and of the *newest* as many as there is room for.

    *left_out* are those that were not read (None: nobody knows how many). What the others are *called* is not always
    the newest, where Slack did not let more be read.
    """
    entries = [_entry(one) for one in newest]
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
    """Put the words of the *report* that a thread is about before what is said of it."""
    quoted = "\n".join(f"> {line}" for line in kit.cut(kit.clean(report).strip(), ALL).split("\n"))
    return f"The report at the top of this Slack thread, quoted:\n{quoted}\n\n{text}"


def _entry(said: Quoted) -> str:
    files = [kit.one_line(name, _FILE) or "unnamed" for name in said.files[:_FILES]]
    attached = [f"[attached: {', '.join(files)}]"] if files else []
    text = spoken(said.name, kit.cut(kit.clean(said.text).strip(), MESSAGE))
    return "\n".join(f"> {line}" for line in [*text.split("\n"), *attached])
