"""Erase what is stored about a person, as the table of keys says (`bridge.queue.keys`)."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from bridge.queue.keys import SNAPSHOTS, TABLE, Key, milliseconds
from bridge.queue.scripting import Scripts

_SCAN: Final = 1000


@dataclass(slots=True)
class Erased:
    """How many *turns* and other *entries* of a person were deleted; *running* turns are being worked on."""

    turns: int = 0
    entries: int = 0
    running: int = 0


async def erase_person(scripts: Scripts, user: str, session_lifetime: timedelta) -> Erased:
    """Delete what is stored about *user*, except what they ``set up`` (`bridge.engine.standing`). Repeatable.

    Raises `StoreUnavailable`.
    """
    redis, prefix, erased = scripts.redis, scripts.keys.everything(), Erased()
    is_theirs = re.compile(rf"(?<![A-Z0-9]){re.escape(user)}(?![A-Z0-9])").search
    # What follows from their finished turns isn't derived from now on, also by a process that has read them already.
    erased.entries += await _without(redis, scripts.keys.audit(), is_theirs)
    consumed = scripts.keys.consumed()
    await redis.hset(consumed, "erased", secrets.token_hex(4))
    await redis.pexpire(consumed, milliseconds(SNAPSHOTS))
    keys = [str(key) async for key in redis.scan_iter(f"{prefix}*", count=_SCAN)]
    for key in keys:
        name = key.removeprefix(prefix)
        line = line_of(name)
        match line and line.erased:
            case None if is_theirs(name):
                erased.entries += int(await redis.delete(key))
            case None | "parts":
                erased.entries += await _without(redis, key, is_theirs)
            case "turn" if line and line.name == "turn":  # it takes its results along
                fields: Any = await redis.hmget(key, "body", "pressed_by")
                body, presser = fields
                if presser == user:
                    erased.entries += int(await redis.hdel(key, "pressed_by"))
                if body and user in _people_of(body):
                    turn = name.partition(":")[2]
                    answer = await scripts.run("erase_turn", turn, milliseconds(session_lifetime), confirmed=True)
                    erased.turns += answer == "erased"
                    erased.running += answer == "running"
            case "key":
                if is_theirs(name) or is_theirs(str(await _content(redis, key))):
                    erased.entries += int(await redis.delete(key))
    return erased


def line_of(name: str) -> Key[Any] | None:
    """Return the line of the table that describes a key, without its namespace; None if it's another release's."""
    fitting = (line for line in TABLE if name.startswith(line.begin))
    return max(fitting, key=lambda line: len(line.begin), default=None)


def _people_of(body: str) -> set[str]:
    """Return who sent a turn's input, set it up, or changed what it reports."""
    try:
        fields = json.loads(body)
        return {str(fields.get(name)) for name in ("user", "by", "owner")}
    except (ValueError, AttributeError):
        return set()


async def _content(redis: Any, key: str) -> Any:
    match await redis.type(key):
        case "string":
            return await redis.get(key)
        case "hash":
            return await redis.hgetall(key)
    return ""


async def _without(redis: Any, key: str, is_theirs: Any) -> int:
    """Delete the fields or entries that name the person; returns their number."""
    kind = await redis.type(key)
    if kind == "string":
        return int(await redis.delete(key)) if is_theirs(await redis.get(key)) else 0
    if kind == "zset":
        members = [member for member in await redis.zrange(key, 0, -1) if is_theirs(member)]
        return int(await redis.zrem(key, *members)) if members else 0
    if kind == "hash":
        fields = [name for name, value in (await redis.hgetall(key)).items() if is_theirs(f"{name} {value}")]
        return int(await redis.hdel(key, *fields)) if fields else 0
    if kind == "list":  # of another release
        return 0
    start, count = "-", 0  # a stream
    while entries := await redis.xrange(key, start, count=_SCAN):
        theirs = [entry for entry, fields in entries if is_theirs(str(fields))]
        count += int(await redis.xdel(key, *theirs)) if theirs else 0
        start = f"({entries[-1][0]}"
    return count
