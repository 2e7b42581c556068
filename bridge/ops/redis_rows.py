"""Is Redis what the bridge needs? Nothing is written."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from bridge.errors import StoreUnavailable
from bridge.ops.rows import Row, State
from bridge.queue.redis.condition import Condition, condition_of
from bridge.queue.redis.connection import connect
from bridge.slack.api import Identity

AREA: Final = "Redis"

_OLDEST: Final = (6, 2)
_FAR: Final = 0.02  # seconds; a turn takes up to five round trips

_TROUBLE: Final = {
    "away": (
        "nobody answers there",
        "see that it runs (its log says whether its disk is full), and that REDIS_URL names its host, port and TLS",
    ),
    "refused": (
        "it does not accept the user and password, or does not let this user do what is needed",
        "mend them in REDIS_URL (redis://user:password@host:6379/0), or the user's ACL: all keys and commands",
    ),
    "loading": ("it still loads its data", "wait, and check again"),
    "full": ("it is full", "give it more memory; the bridge never lets it evict"),
    "read-only": ("it takes no writes now", "look at its disk, and whether it has become a replica"),
}


async def redis_rows(
    url: str, namespace: str, identity: Identity | None, monotonic: Callable[[], float] = time.monotonic
) -> list[Row]:
    """Look at the Redis at *url*; *identity* tells whether the namespace is ours, where Slack said who we are."""
    redis = connect(url)
    try:
        condition = await condition_of(redis, namespace, monotonic)
    except StoreUnavailable as exc:
        return [Row(AREA, "reachable", State.FAILURE, *_TROUBLE[exc.reason])]
    finally:
        await redis.aclose()
    return rows_of(condition, namespace, identity)


def rows_of(condition: Condition, namespace: str, identity: Identity | None) -> list[Row]:
    """Judge what the server said of itself."""
    return [
        _reachable_row(condition),
        _version_row(condition),
        _persistence_row(condition),
        _eviction_row(condition),
        _replicas_row(condition),
        _namespace_row(namespace, condition.owner, identity),
    ]


def _reachable_row(condition: Condition) -> Row:
    took = f"a round trip takes {condition.round_trip * 1000:.1f} ms"
    if condition.is_replica:
        return Row(AREA, "reachable", State.FAILURE, f"{took}; it is a replica, which takes no writes", _NAME_MASTER)
    if condition.round_trip > _FAR:
        cure = "put the bridge and Redis into one network: a turn takes up to five round trips"
        return Row(AREA, "reachable", State.WARNING, took, cure)
    return Row(AREA, "reachable", State.OK, took)


_NAME_MASTER: Final = "name the master in REDIS_URL, or the Sentinels: redis+sentinel://host:26379,host:26379/master/0"


def _version_row(condition: Condition) -> Row:
    known = f"{condition.product} {'.'.join(map(str, condition.version)) or 'of unknown version'}"
    if condition.product == "Redis" and condition.version < _OLDEST:
        return Row(AREA, "version", State.FAILURE, known, "use Redis 6.2 or later, or Valkey")
    return Row(AREA, "version", State.OK, known)


def _persistence_row(condition: Condition) -> Row:
    what = "persistence"
    if not condition.is_append_only:
        detail = "no append-only file: whatever came after its last snapshot is lost when it is killed"
        return Row(AREA, what, State.WARNING, detail, f"set appendonly yes and {_ALWAYS}")
    if not condition.can_write:
        detail = "it couldn't write its append-only file the last time, and refuses all writes until it can"
        return Row(AREA, what, State.FAILURE, detail, "look at its disk: is it full?")
    match condition.appendfsync:
        case "no":
            detail = "append-only file, synced when the system likes: a power cut may lose half a minute"
            return Row(AREA, what, State.WARNING, detail, f"set {_ALWAYS}")
        case "everysec":
            return Row(AREA, what, State.WARNING, _EVERY_SECOND, f"set {_ALWAYS}")
        case "always" if not condition.syncs_in_rewrites:
            detail = (
                "append-only file, synced with every write, except while it is rewritten: a power cut may lose that"
            )
            return Row(AREA, what, State.WARNING, detail, "set no-appendfsync-on-rewrite no")
        case "always":
            return Row(AREA, what, State.OK, "append-only file, synced with every write")
    return Row(AREA, what, State.OK, "append-only file; how often it is synced is not told")


_ALWAYS: Final = "appendfsync always"
_EVERY_SECOND: Final = (
    "append-only file, synced every second: a power cut may lose the last second, and a kill of Redis on a busy disk "
    "the last two. A message may be forgotten, or sent to an agent twice"
)


def _eviction_row(condition: Condition) -> Row:
    what, cure = "maxmemory-policy", "set maxmemory-policy noeviction"
    if condition.policy in {"noeviction", ""}:
        return Row(AREA, what, State.OK, condition.policy or "not told")
    if not condition.maxmemory:
        detail = f"{condition.policy}: harmless as long as no maxmemory is set"
        return Row(AREA, what, State.WARNING, detail, cure)
    detail = f"{condition.policy}: once full, it throws sessions or waiting messages away"
    return Row(AREA, what, State.FAILURE, detail, cure)


def _replicas_row(condition: Condition) -> Row:
    if not condition.replicas:
        return Row(AREA, "replicas", State.OK, "none; this one server has everything")
    if not condition.confirming:
        detail = f"{condition.replicas}, and none confirms that it has what was written"
        return Row(
            AREA, "replicas", State.WARNING, detail, "look at the replicas: a failover would undo the last steps"
        )
    return Row(AREA, "replicas", State.OK, f"{condition.replicas}; important steps wait until one of them has them")


def _namespace_row(namespace: str, owner: tuple[str, str] | None, identity: Identity | None) -> Row:
    if owner is None:
        return Row(AREA, "namespace", State.OK, f"{namespace} is free")
    whose = f"{namespace} belongs to bot {owner[1]} of workspace {owner[0]}"
    if identity is None:
        cure = "check again when Slack can say whether that is this bot"
        return Row(AREA, "namespace", State.WARNING, whose, cure)
    if owner == (identity.team, identity.bot_user):
        return Row(AREA, "namespace", State.OK, f"{whose}: ours")
    return Row(AREA, "namespace", State.FAILURE, f"{whose}, not to this one", "set BRIDGE_NAMESPACE to another name")
