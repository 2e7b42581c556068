"""What the Redis user must be allowed to do: run each command that the bridge and its scripts use.

Redis checks every command in a script by itself, so without one of them, a script would stop half-way. Therefore each
script first checks all of its commands (`guard`), and does nothing if one is denied: Slack resends the message, and a
worker repeats its step. When it starts, and for `bridge check`, the bridge runs every command once (`denied_to`).

That alone, even with each heartbeat, isn't enough, although the 92 checks of a turn cost 34 µs of Redis' 327 (without
syncs): a right may be taken away between two. A `put` that stops after its mark leaves a message that's seen, but not
queued, and Slack's retry, or a mention's second event, is acknowledged as a duplicate: it's lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import ExecAbortError, NoPermissionError, ResponseError

from bridge.errors import StoreUnavailable
from bridge.queue.keys import Keys
from bridge.queue.redis.connection import translated
from bridge.queue.redis.refusals import NO_COMMAND, denied_by, lacks_command, refusal_of, unexpected

# Each with arguments that have no effect. @ is a string that expires, so commands for other types end with WRONGTYPE;
# % is a key that never exists, and ! the channel of stops, on which an empty message is ignored. SUBSCRIBE is last,
# since it changes the connection. _ is empty.
_USED: Final = """
    SET @ _ PX 60000 | GET @ | MGET @ | INCR @ | DEL % | EXISTS @ | PEXPIRE % 1 | PERSIST % | PTTL @
    HGET @ f | HMGET @ f | HGETALL @ | HKEYS @ | HLEN @ | HEXISTS @ f | HSCAN @ 0
    HSET @ f 0 | HSETNX @ f 0 | HINCRBY @ f 1 | HDEL @ f
    LINDEX @ 0 | LLEN @ | LRANGE @ 0 0 | LPUSH @ 0 | RPUSH @ 0 | LPOP @ | LREM @ 1 0 | LTRIM @ 0 0
    LINSERT @ BEFORE 0 0 | PFADD @ | PFCOUNT @
    ZADD @ 0 m | ZREM @ m | ZREMRANGEBYSCORE @ 0 0 | ZREMRANGEBYRANK @ 0 0 | ZCARD @ | ZCOUNT @ 0 0 | ZSCORE @ m
    ZRANGE @ 0 0 | ZREVRANGE @ 0 0 | ZRANGEBYSCORE @ 0 0
    XADD @ * f 0 | XLEN @ | XRANGE @ 0 0 | XTRIM @ MAXLEN 0 | XDEL % 1-1 | XACK % g 1-1 | XPENDING % g
    XREADGROUP GROUP g c STREAMS % > | XCLAIM % g c 0 1-1 | XAUTOCLAIM % g c 0 0
    XGROUP CREATE @ g $ | XGROUP DELCONSUMER @ g c | XINFO GROUPS @ | XINFO CONSUMERS @ g
    PING | TIME | EVAL return 0 | EVALSHA 0 0 | MULTI | EXEC
"""
# The command line (`bridge forget`, `trace` and `setup`), and the signals of stops.
_BETTER_WITH: Final = "SCAN 0 COUNT 1 | TYPE @ | LPOS @ 0 | XINFO STREAM @ | PUBLISH ! _ | SUBSCRIBE !"


def _by_name(commands: str) -> dict[str, list[str]]:
    split = [command.split() for command in re.split(r"[|\n]", commands) if command.strip()]
    return {" ".join(words[: 2 if words[0] in {"XGROUP", "XINFO"} else 1]): words for words in split}


COMMANDS: Final = _by_name(_USED) | _by_name(_BETTER_WITH)
"""All commands, with arguments."""

OPTIONAL: Final = frozenset(_by_name(_BETTER_WITH)) | {"channels"}
"""What it can do without."""

_MOST_NAMED: Final = 5

_CALL: Final = re.compile(r"redis\.p?call\('([A-Z]+)'(?:, '([A-Z]+)')?")


def commands_in(script: str) -> list[str]:
    """List the commands that *script* calls and can't do without."""
    called = (f"{name} {sub}" if f"{name} {sub}" in COMMANDS else name for name, sub in _CALL.findall(script))
    return [name for name in dict.fromkeys(called) if name not in OPTIONAL]


def guard(script: str) -> str:
    """Return what *script* must begin with, to do nothing if it calls a command that's denied.

    Redis 6.2 can't be asked, so there each command is run without an effect.
    """
    places = {"@": "key", "%": "key .. '%'", "_": "''"}
    lines = [
        "local key = probe_key()",
        "local may = redis.acl_check_cmd or function(...)",
        "  local answer = redis.pcall(...)",
        "  return type(answer) ~= 'table' or not string.find(tostring(answer.err), 'user executing')",
        "end",
        "local function denied(name)",
        '  return redis.error_reply("NOPERM this user has no permissions to run the \'" .. name .. "\' command")',
        "end",
        "if not (redis.acl_check_cmd or may('SET', key, '', 'PX', 60000)) then return denied('set') end",
    ]
    for name in commands_in(script):
        words = ", ".join(places.get(word, f"'{word}'") for word in COMMANDS[name])
        lines.append(f"if not may({words}) then return denied('{name.replace(' ', '|').lower()}') end")
    return "\n".join(lines)


async def denied_to(redis: Redis, keys: Keys) -> list[str]:
    """List what the user of *redis* lacks: names of commands, ``keys`` and ``channels``. Raises `StoreUnavailable`.

    That's also raised if the server lacks a command. Uses a connection of its own, which may end in any state.
    """
    places = {"@": keys.probe(), "%": f"{keys.probe()}%", "!": keys.stops(), "_": ""}
    commands = [[places.get(word, word) for word in words] for words in COMMANDS.values()]
    denied: list[str] = []
    missing: list[str] = []
    with translated():
        try:
            connection = await redis.connection_pool.get_connection()  # type: ignore[no-untyped-call]
        except ResponseError as exc:
            raise unexpected(exc) from exc
        try:
            await connection.send_packed_command(connection.pack_commands(commands))
            for name in COMMANDS:
                try:
                    await connection.read_response()
                except ResponseError as exc:  # mostly WRONGTYPE: it may be run
                    if isinstance(exc, NoPermissionError | ExecAbortError):
                        denied.append(denied_by(exc) or name)
                    elif name not in OPTIONAL and (refused := refusal_of(exc)) and lacks_command(refused):
                        missing.append(name)
        finally:
            await connection.disconnect(nowait=True)
            await redis.connection_pool.release(connection)
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} other commands" if len(missing) > _MOST_NAMED else ""
        raise StoreUnavailable("refused", "", NO_COMMAND, f"it doesn't have {', '.join(missing[:_MOST_NAMED])}{more}")
    return list(dict.fromkeys(denied))


def cure(redis: Redis, keys: Keys, denied: Iterable[str]) -> str:
    """Return the command that allows the user of *redis* what `denied_to` found."""
    user = redis.connection_pool.connection_kwargs.get("username") or "default"
    rules = {"keys": f"~{keys.everything()}*", "channels": f"&{keys.everything()}*"}
    return " ".join(["ACL SETUSER", user, *(rules.get(name, f"+{name.replace(' ', '|').lower()}") for name in denied)])
