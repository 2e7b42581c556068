"""`bridge check`: Redis, and what the bridges on it have stored there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from bridge.cli.check.slack import UserGroupsSeen, handle_rows
from bridge.cli.rows import FAILURE, OK, REDIS, WARNING, Row, State, redis_trouble
from bridge.errors import ConfigurationError, StoreUnavailable
from bridge.features.agents.handles import stored_handles
from bridge.queue.redis.condition import RedisCondition, condition_of
from bridge.queue.redis.connection import connect
from bridge.queue.redis.embedded import embedded_redis, write_problem
from bridge.queue.redis.refusals import Unexpected, denial, unexpected
from bridge.queue.wipe import CURE
from bridge.setting_types import EMBEDDED
from bridge.slack.api import Identity
from bridge.slack.blockkit.content_words import size

BRIDGE: Final = "Bridge"
_OLDEST: Final = (6, 2)
_FAR: Final = 0.02  # seconds; a turn takes up to five round trips
_ALWAYS: Final = "appendfsync always"
_NAME_MASTER: Final = "name the master in REDIS_URL, or the Sentinels: redis+sentinel://host:26379,host:26379/master/0"
_NEARER: Final = "run the bridge and Redis in the same network: a message takes up to five round trips"
_NO_FILE: Final = "if Redis dies, everything since its last snapshot is lost"
_CANNOT_WRITE: Final = "its append-only file can't be written, so it refuses all writes"
_NOT_SYNCED: Final = "synced by the operating system: a power cut may lose 30 s"
_EVERY_SECOND: Final = (
    "synced every second: a power cut may lose the last second, and a crash on a busy disk the last two. "
    "A message may be lost or sent to an agent twice"
)
_NOT_IN_REWRITES: Final = "synced on every write, except during rewrites: a power cut may lose those writes"
_NONE_CONFIRMS: Final = "none of them confirms writes"
_UNDONE: Final = "check the replicas: a failover would lose the latest writes"


async def configured_redis_rows(
    values: Mapping[str, Any], identity: Identity | None, groups: UserGroupsSeen
) -> list[Row]:
    """Check the Redis that the settings name, like `redis_rows`; an embedded one is started if it isn't running."""
    namespace, url, folder = (values.get(name) for name in ("BRIDGE_NAMESPACE", "REDIS_URL", "BRIDGE_DATA_DIR"))
    if namespace is None or not url:
        return []
    if url.get_secret_value() != EMBEDDED:
        return await redis_rows(url.get_secret_value(), namespace, identity, groups)
    if folder is None:
        return []
    problem = await asyncio.to_thread(write_problem, folder)
    if problem and folder.exists():
        cure = "free some space or fix the disk; a running bridge recovers by itself"
        return [Row(REDIS, "embedded", FAILURE, problem, cure)]
    try:
        async with embedded_redis(folder) as here:
            rows = await redis_rows(here, namespace, identity, groups)
    except ConfigurationError as exc:
        parts = [problem.rpartition(": ") for problem in exc.problems]
        return [
            Row(REDIS, "embedded", FAILURE, what, f"{cure}, or set REDIS_URL to another Redis")
            for what, _, cure in parts
        ]
    return [Row(REDIS, "embedded", OK, f"data in {folder}; for a single machine only"), *rows]


async def redis_rows(url: str, namespace: str, identity: Identity | None, groups: UserGroupsSeen = None) -> list[Row]:
    """Check the Redis at *url*; *identity*, if known, is the bot that should own the namespace.

    The agents' handles stored there are compared with the workspace's *groups*.
    """
    try:
        async with connect(url) as redis:
            condition = await condition_of(redis, namespace, time.monotonic)
            handles = await stored_handles(redis, namespace)
    except (StoreUnavailable, Unexpected) as exc:
        return [redis_trouble(exc if isinstance(exc, StoreUnavailable) else unexpected(exc))]
    if condition.running:
        running = Row(BRIDGE, "process", OK, f"{condition.running} running")
    else:
        running = Row(BRIDGE, "process", WARNING, "no bridge is running", "start it with bridge serve")
    return [*handle_rows(handles, groups), *condition_rows(condition, namespace, identity), running]


def condition_rows(condition: RedisCondition, namespace: str, identity: Identity | None) -> list[Row]:
    """Make rows on the server's condition: for each subject, the first case that holds."""
    is_, took = condition, f"round trip {condition.round_trip * 1000:.1f} ms"
    version = f"{is_.product} {'.'.join(map(str, is_.version)) or '(unknown version)'}"
    file, synced, policy = "append-only file", is_.appendfsync, is_.policy
    of = f" of {size(is_.maxmemory)}" if is_.maxmemory else ""
    used = f"{size(is_.memory)}{of} used"
    team, bot = is_.owner or ("", "")
    unknown = ", so its settings and replicas are unknown" if "INFO" in is_.denied else ""
    whose = f"“{namespace}” belongs to bot {bot} in workspace {team}"
    ours = identity and (identity.team, identity.bot_user) == is_.owner
    confirm = "critical writes wait for one of them"
    noeviction = "set maxmemory-policy noeviction"
    server = [
        _first(
            "version",
            (is_.product == "Redis" and is_.version < _OLDEST, FAILURE, version, "use Redis 6.2 or later, or Valkey"),
            (True, OK, version, ""),
        ),
        _first(
            "persistence",
            (not is_.is_append_only, WARNING, f"no {file}: {_NO_FILE}", f"set appendonly yes and {_ALWAYS}"),
            (not is_.can_write, FAILURE, _CANNOT_WRITE, "check whether its disk is full"),
            (synced == "no", WARNING, f"{file}, {_NOT_SYNCED}", f"set {_ALWAYS}"),
            (synced == "everysec", WARNING, f"{file}, {_EVERY_SECOND}", f"set {_ALWAYS}"),
            (synced != "always", OK, f"{file}; sync interval unknown", ""),
            (not is_.syncs_in_rewrites, WARNING, f"{file}, {_NOT_IN_REWRITES}", "set no-appendfsync-on-rewrite no"),
            (True, OK, f"{file}, synced on every write", ""),
        ),
        _first(
            "memory",
            (not is_.maxmemory, OK, f"{used}; maxmemory isn't set", ""),
            (not is_.is_nearly_full or is_.evicts, OK, used, ""),
            (is_.memory < is_.maxmemory, WARNING, f"{used}: when it's full, it accepts no messages", "raise maxmemory"),
            (True, FAILURE, f"{used}: it refuses writes, so it accepts no messages", "raise maxmemory"),
        ),
        _first(
            "maxmemory-policy",
            (not is_.evicts, OK, policy or "unknown", ""),
            (not is_.maxmemory, WARNING, f"{policy}: harmless while maxmemory isn't set", noeviction),
            (True, FAILURE, f"{policy}: when memory runs out, Redis evicts sessions and queued messages", noeviction),
        ),
        _first(
            "replicas",
            (not is_.replicas, OK, "none; this server holds everything", ""),
            (not is_.confirming, WARNING, f"{is_.replicas}, and {_NONE_CONFIRMS}", _UNDONE),
            (True, OK, f"{is_.replicas}; {confirm}", ""),
        ),
    ]
    if "INFO" in is_.denied:
        server = []
    return [
        _first(
            "reachable",
            (is_.is_replica, FAILURE, f"{took}; it's a read-only replica", _NAME_MASTER),
            (is_.round_trip > _FAR, WARNING, took, _NEARER),
            (True, OK, took, ""),
        ),
        *(
            [Row(REDIS, "permissions", WARNING, denial(is_.denied) + unknown, f"allow it: {is_.cure}")]
            if is_.denied
            else []
        ),
        *server,
        _first(
            "namespace",
            (is_.owner is None, OK, f"“{namespace}” is free", ""),
            (
                identity is None,
                WARNING,
                whose,
                "fix the problem with Slack first, then run the check again to see whether that's this bot",
            ),
            (ours, OK, f"“{namespace}” belongs to this bot ({bot} in {team})", ""),
            (True, FAILURE, f"{whose}, not to this one", "set BRIDGE_NAMESPACE to another name"),
        ),
        *([Row(REDIS, "data", WARNING, is_.wipe.in_words(), CURE)] if is_.wipe else []),
    ]


def _first(what: str, *cases: tuple[object, State, str, str]) -> Row:
    return next(Row(REDIS, what, state, detail, cure) for holds, state, detail, cure in cases if holds)
