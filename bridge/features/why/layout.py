"""The private answer to *Why no answer?*."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from bridge.ends import Cure, notices
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Block, Reply

_OPEN: Final = "Open my reply"
_OPENS: Final = re.compile(r"Open (?:my|its) reply|\b(?:the menu|its card)\b", re.IGNORECASE)  # what a link may lead to
_LONGEST: Final = 1000  # characters of a sentence, with the service's own words
_TYPED: Final = re.compile(r"(/invite|/agents channel(?: ask| run)?|/workflows run|![a-z]+|bridge check)")
NOT_STORED: Final = kit.reply(
    "⚠️ My database is unavailable, so I can't look this up, and messages aren't being answered. "
    "I'll read what I missed once it's back, so try again in a minute."
)


def explained(
    happened: str,
    cure: str,
    *,
    since: datetime | None = None,
    button: Cure = "",
    value: str = "",
    workspace: str = "",
    shown_at: tuple[str, str, str] = ("", "", ""),
    reference: str = "",
) -> Reply:
    """Say what *happened*, with the moment *since* in place of ``{since}``, and what helps.

    A *button* of the table sends its *value*. *shown_at* is the channel, ``ts`` and thread of the bot's message about
    it, which is linked. *reference* is for people who can look it up in a trace.
    """
    link = kit.permalink(workspace, *shown_at)
    happened, cure = kit.cut(happened, _LONGEST), kit.cut(cure, _LONGEST)
    before, has_moment, after = happened.partition("{since}") if since else (happened, "", "")
    spoken = kit.DATE_AND_TIME.format(moment=since.astimezone(UTC)) if since else ""
    runs: list[Block | str] = [before]
    if since and has_moment:
        runs.append(kit.date(since.astimezone(UTC)))
    runs += [after, " "]
    offered = _OPENS.search(cure) if link else None
    opens, cure_after = (cure[: offered.start()], cure[offered.end() :]) if offered else (cure, "")
    runs += [kit.words(piece, code=True) if _TYPED.fullmatch(piece) else piece for piece in _TYPED.split(opens)]
    if link:
        opens_it = {"type": "link", "url": link, "text": offered[0] if offered else _OPEN}
        runs += ["" if offered else " ", opens_it, cure_after]
    blocks = [kit.rich(kit.paragraph(*runs))]
    blocks += [kit.actions(*buttons)] if (buttons := notices.buttons_of(button, value)) else []
    blocks += [kit.context(reference)] if reference else []
    text = f"{before}{spoken if has_moment else ''}{after} {cure}"
    return kit.reply(f"{text} {link}".rstrip(), *blocks)
