"""The audit: who did what, where and when, whether they were allowed to, and what came of it. Never what was said.

One entry of a stream for each turn that has ended, added by the very script that ends it (`finish`), so that none is
missing and none costs a round trip; refusals are turns too, since the person is told. What is not there: what still
waits, what was never for the bridge, and what Redis could not keep.

The stream is trimmed by time with the heartbeat, and by length with each entry.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

from redis.asyncio import Redis

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
from bridge.queue.keys import Keys
from bridge.queue.records import Turn
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import epoch_ms

REFUSED: Final = frozenset({"NotAllowed", "TooOften"})
"""Outcomes that say that a person may not: `bridge.errors`."""

SUBCOMMANDS: Final[dict[str, frozenset[str]]] = {
    "workflows": frozenset({"list", "show", "run", "help"}),
    "agents": frozenset({"list", "show", "chat", "default", "help"}),
    "project": frozenset({"help"}),
    "stats": frozenset({"since", "report", "reports", "help"}),
    **dict.fromkeys(("stop", "mute", "unmute", "new", "agent", "session", "help"), frozenset[str]()),
}
"""The fixed words of commands, which may be named because nobody chose them; a test holds them to the commands."""

_PAGE = 500
_BANG: Final = re.compile(r"\s*(?:<@[^>]*>\s*)?!([a-z]+)(?:\s+([a-z]+))?(?!\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
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
    def from_redis(cls, entry: str, fields: Mapping[str, str]) -> Act:
        """Read an entry of the stream."""
        ended_at = _moment(entry.partition("-")[0])
        return cls(
            ended_at=ended_at,
            asked_at=_moment(fields["at"]) if fields.get("at", "").isdecimal() else ended_at,
            user=fields.get("user", ""),
            channel=fields.get("channel", ""),
            thread=fields.get("thread", ""),
            did=fields.get("did", ""),
            about=fields.get("about", ""),
            is_allowed=fields.get("allowed") != "0",
            outcome=fields.get("outcome", ""),
            turn=fields.get("turn", ""),
        )

    def to_json(self) -> dict[str, object]:
        """The form for programs."""
        return {**asdict(self), "ended_at": self.ended_at.isoformat(), "asked_at": self.asked_at.isoformat()}


def named(kind: str, id_: object, name: str = "") -> str:
    """Name what an act was about: ``agent 7 Support``."""
    return f"{kind} {id_} {name}".rstrip()


def facts(turn: Turn | None, about: str, outcome: str) -> tuple[str, ...]:
    """What `finish` writes of a *turn*: user, channel, thread, did, about, allowed. None: it could not be read."""
    if turn is None:
        return ("", "", "", "", about, "1")
    body = turn.body
    is_refused = (isinstance(body, Notice) and not body.is_offer) or outcome in REFUSED or bool(refusal_of(body))
    return (body.user, body.channel, getattr(body, "thread_ts", ""), deed(body), about, "0" if is_refused else "1")


def refusal_of(inbound: Inbound) -> str:
    """Say why somebody may not, where what they did itself carries that."""
    return inbound.refusal if isinstance(inbound, HomeOpened | Shortcut) else ""


def deed(inbound: Inbound) -> str:  # noqa: C901 - a line for each kind
    """Name what a person did, in words that are ours."""
    match inbound:
        case InboundMessage():
            return _command_in(inbound) or "message"
        case SlashCommand():
            return _with_second(inbound.command, (inbound.text.split(maxsplit=1) or [""])[0])
        case Click():
            return f"click {inbound.action_id}"
        case StopRequest():
            return "click turn:stop"
        case Submission():
            return f"form {inbound.form}"
        case Notice():
            return inbound.of or "message"
        case HomeOpened():
            return "home"
        case MessagesTabOpened():
            return "click messages:opened"
        case Shortcut():
            return f"shortcut {inbound.name}"
        case Report():
            return "report, by hand" if inbound.is_asked_for else "report"


def _command_in(message: InboundMessage) -> str:
    found = None if message.is_text else _BANG.match(message.text)
    return (
        _with_second(f"!{found[1].casefold()}", found[2] or "") if found and found[1].casefold() in SUBCOMMANDS else ""
    )


def _with_second(command: str, second: str) -> str:
    """Name a command with its second word where that is a fixed one."""
    is_fixed = second.casefold() in SUBCOMMANDS.get(command[1:].casefold(), ())
    return f"{command} {second.casefold()}" if is_fixed else command


class AuditLog:
    """Reads the audit of one *namespace*."""

    def __init__(self, redis: Redis, namespace: str) -> None:
        self._redis = redis
        self._key = Keys(namespace).audit()

    async def since(self, moment: datetime) -> AsyncIterator[Act]:
        """Every act that ended at *moment* or later, oldest first. Raises `StoreUnavailable`."""
        start = str(epoch_ms(moment))
        while True:
            with translated():
                entries = cast(Any, await self._redis.xrange(self._key, min=start, count=_PAGE)) or []
            for entry, fields in entries:
                yield Act.from_redis(entry, fields)
            if len(entries) < _PAGE:
                return
            start = f"({entries[-1][0]}"


def _moment(milliseconds: str) -> datetime:
    return datetime.fromtimestamp(int(milliseconds) / 1000, UTC)
