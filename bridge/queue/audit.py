"""The audit: who did what, where and when, whether they were allowed to, and the outcome. Never any text.

The script that ends a turn (`finish`) also adds an entry to a stream, so none is missing and none costs a round trip;
refusals are turns too. Not included: what is still waiting, what wasn't for the bridge, and what Redis couldn't store.

The heartbeat trims the stream by time, each entry by length.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from bridge.queue.scripting import Scripts, epoch_ms, from_epoch_ms

REFUSED: Final = frozenset({"NotAllowed", "TooOften", "TooManyRequests"})
"""Outcomes in which the person was refused: names of classes in `bridge.errors`."""

FACTS: Final = ("approval", "sha256", "rule")
"""More facts of an entry: its request for approval, the hash of that's input, and the rule that decided."""

_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One person's action: *did* is ``message``, ``/workflows run``, ``click run:again`` or the like.

    *about* is its subject: a kind, an ID and a name (``workflow 3 Daily digest``), or only the first one or two.
    *asked_at* is when the request arrived, *ended_at* when *outcome* was final. *cause* says why a call of the project
    service failed, if one did. *project* is the one that it was about, ``""`` for the default one. *approval* is a
    request for approval, *sha256* the hash of its input as canonical JSON, and *rule* the rule that decided.
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
    cause: str = ""
    project: str = ""
    approval: str = ""
    sha256: str = ""
    rule: str = ""

    @classmethod
    def from_redis(cls, entry: str, fields: Mapping[str, str]) -> AuditEntry:
        """Read an *entry* of the stream; its ID has the time."""
        ended = entry.partition("-")[0]
        asked = fields.get("at", "")
        return cls(
            ended_at=from_epoch_ms(ended),
            asked_at=from_epoch_ms(asked if asked.isdecimal() else ended),
            is_allowed=fields.get("allowed") != "0",
            **{
                name: fields.get(name, "")
                for name in ("user", "channel", "thread", "did", "about", "outcome", "turn", "cause", "project", *FACTS)
            },
        )


async def audit_since(scripts: Scripts, moment: datetime) -> AsyncIterator[AuditEntry]:
    """Read every entry that ended at *moment* or later, oldest first. Raises `StoreUnavailable`."""
    start = str(epoch_ms(moment))
    while True:
        entries: Any = await scripts.redis.xrange(scripts.keys.audit(), min=start, count=_PAGE) or []
        for entry, fields in entries:
            yield AuditEntry.from_redis(entry, fields)
        if len(entries) < _PAGE:
            return
        start = f"({entries[-1][0]}"


def named(kind: str, id_: object, name: str = "") -> str:
    """Name the subject of an action: ``agent 7 Support``."""
    return f"{kind} {id_} {name}".rstrip()
