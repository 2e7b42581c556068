"""The audit: who did what, where and when, whether they were allowed to, and what came of it. Never what was said.

One entry of a stream for each turn that has ended, added by the very script that ends it (`finish`), so that none is
missing and none costs a round trip; refusals are turns too, since the person is told. What is not there: what still
waits, what was never for the bridge, and what Redis could not keep.

The stream is trimmed by time with the heartbeat, and by length with each entry.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from bridge.inbound import (
    Click,
    HomeOpened,
    Inbound,
    InboundMessage,
    MessagesTabOpened,
    Notice,
    Report,
    Shortcut,
    SlashCommand,
    StopRequest,
    Submission,
)
from bridge.queue.records import Record
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms

REFUSED: Final = frozenset({"NotAllowed", "TooOften"})
"""Outcomes that say that a person may not: `bridge.errors`."""

FixedWords = Mapping[str, frozenset[str]]
"""The commands, each with the words that may follow it and that nobody chose: only those are named."""

_PAGE = 500
_BANG: Final = re.compile(r"\s*(?:<@[^>]*>\s*)?!([a-z]+)(?:\s+([a-z]+))?(?!\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """What one person did: *did* it (``message``, ``/workflows run``, ``click run:again``) to *about*.

    That is a kind, an id and a name (``workflow 3 Daily digest``), or the beginning of these. *asked_at* is when it
    came in, *ended_at* when *outcome* was settled.
    """

    ended_at: datetime
    asked_at: datetime
    user: str
    channel: str
    thread: str
    did: str
    about: str
    is_allowed: bool
    outcome: str
    turn: str

    @classmethod
    def from_redis(cls, entry: str, fields: Mapping[str, str]) -> AuditEntry:
        """Read an *entry* of the stream, which its id dates."""
        ended = entry.partition("-")[0]
        asked = fields.get("at", "")
        return cls(
            ended_at=datetime.fromtimestamp(int(ended) / 1000, UTC),
            asked_at=datetime.fromtimestamp(int(asked if asked.isdecimal() else ended) / 1000, UTC),
            is_allowed=fields.get("allowed") != "0",
            **{name: fields.get(name, "") for name in ("user", "channel", "thread", "did", "about", "outcome", "turn")},
        )


async def audit_since(scripts: Scripts, moment: datetime) -> AsyncIterator[AuditEntry]:
    """Read every entry that ended at *moment* or later, oldest first. Raises `StoreUnavailable`."""
    start = str(epoch_ms(moment))
    while True:
        with translated():
            entries: Any = await scripts.redis.xrange(scripts.keys.audit(), min=start, count=_PAGE) or []
        for entry, fields in entries:
            yield AuditEntry.from_redis(entry, fields)
        if len(entries) < _PAGE:
            return
        start = f"({entries[-1][0]}"


def named(kind: str, id_: object, name: str = "") -> str:
    """Name what an act was about: ``agent 7 Support``."""
    return f"{kind} {id_} {name}".rstrip()


def facts(turn: Record | None, about: str, outcome: str, commands: FixedWords) -> tuple[str, ...]:
    """What `finish` writes of a *turn*: user, channel, thread, did, about, allowed. None: it could not be read."""
    if turn is None:
        return ("", "", "", "", about, "1")
    body = turn.body
    is_refused = (
        outcome in REFUSED
        or (isinstance(body, Notice) and not body.is_offer)
        or (isinstance(body, HomeOpened | Shortcut) and body.refusal != "")
    )
    thread = getattr(body, "thread_ts", "")
    return (body.user, body.channel, thread, action_name(body, commands), about, "0" if is_refused else "1")


def action_name(inbound: Inbound, commands: FixedWords) -> str:
    """Name what a person did, in words that are ours; an event without a name of its own by its kind."""
    match inbound:
        case InboundMessage():
            found = None if inbound.is_text else _BANG.match(inbound.text)
            word = found[1].casefold() if found else ""
            return _with_second(f"!{word}", found[2] or "", commands) if found and word in commands else "message"
        case SlashCommand():
            return _with_second(inbound.command, (inbound.text.split(maxsplit=1) or [""])[0], commands)
        case Click():
            return f"click {inbound.action_id}"
        case StopRequest():
            return "click turn:stop"
        case Submission():
            return f"form {inbound.form}"
        case Notice():
            return inbound.of or "message"
        case MessagesTabOpened():
            return "click messages:opened"
        case Shortcut():
            return f"shortcut {inbound.name}"
        case Report():
            return "report, by hand" if inbound.is_asked_for else "report"
        case _:
            return inbound.kind


def _with_second(command: str, second: str, commands: FixedWords) -> str:
    """Name a command with its second word where that is a fixed one."""
    is_fixed = second.casefold() in commands.get(command[1:].casefold(), ())
    return f"{command} {second.casefold()}" if is_fixed else command
