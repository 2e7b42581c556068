"""`bridge audit`: reads the acts, and writes each in a line for people or in a line of JSON for programs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Final

from bridge.store.audit import Act, AuditLog
from bridge.store.connection import connect

_FORM: Final = "{:<20}  {:<11}  {:<11}  {:<7}  {:<24}  {:<12}  {}"
TITLE: Final = _FORM.format("when (UTC)", "who", "where", "", "did", "to", "outcome")


async def acts(url: str, namespace: str, since: datetime) -> AsyncIterator[Act]:
    """What ended at *since* or later, oldest first. Raises `StoreUnavailable`."""
    redis = connect(url)
    try:
        async for act in AuditLog(redis, namespace).since(since):
            yield act
    finally:
        await redis.aclose()


def line(act: Act) -> str:
    """Write *act* for people; what comes from outside cannot move the cursor."""
    words = (
        f"{act.ended_at:%Y-%m-%d %H:%M:%S}",
        act.user,
        act.channel,
        "" if act.is_allowed else "refused",
        act.did,
        act.about,
        act.outcome,
    )
    return _FORM.format(*(_printable(word) for word in words)).rstrip()


def to_json(act: Act) -> str:
    """Write *act* for programs, in ASCII."""
    return json.dumps(act.to_json())


def _printable(word: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in word)
