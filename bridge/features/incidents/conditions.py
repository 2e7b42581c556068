"""When there's an incident: built-in conditions, evaluated on `Facts` that are read once for all. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bridge.features.episodes.episode import Finding
from bridge.queue.redis.condition import NEARLY_FULL, RedisCondition
from bridge.slack.blockkit.kit import counted, first_of

_DOWN_FOR: Final = timedelta(minutes=5)
_WAITS_FOR: Final = timedelta(minutes=10)
_RECONNECTS_FOR: Final = timedelta(minutes=1)
_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What's known of a *project*'s service (its ID; *name* if there are several).

    It can't be reached since *down_since*. *unusable* is what of its data can't be used, None if that's unknown.
    """

    project: str
    name: str = ""
    down_since: datetime | None = None
    rejects_key: bool = False
    unusable: Sequence[str] | None = None

    def finding(self, kind: str, since: datetime, detail: str = "") -> Finding:
        """Return what's found about it."""
        return Finding(kind, since, detail, detail, self.project, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What's known *now*.

    Running processes *reported* this of themselves, and the *problems* of their files. *redis* is None if it may not
    be asked; it *had_replicas* once. Of the *dead* letters, the first is from *dead_since*. *paused* counts what's set
    up and paused, in words. The *oldest* message that waits is from then.
    """

    now: datetime
    reported: Sequence[Finding] = ()
    problems: Sequence[Sequence[str]] = ()
    redis: RedisCondition | None = None
    had_replicas: bool = False
    dead: int = 0
    dead_since: datetime | None = None
    paused: str = ""
    oldest: datetime | None = None
    services: Sequence[Service] = ()

    def finding(self, kind: str, detail: str) -> Finding:
        """Return what's found now."""
        return Finding(kind, self.now, detail, detail)

    @property
    def unknown(self) -> set[str]:
        """The names of the incidents that may be there or not."""
        return {service.finding("rows", self.now).name for service in self.services if service.unusable is None}


def findings(facts: Facts) -> list[Finding]:
    """Return what's wrong."""
    now = facts.now
    found = [
        finding
        for finding in facts.reported
        if finding.kind != "socket" or (finding.ended or now) - finding.since > _RECONNECTS_FOR
    ]
    found += [facts.finding("reload", first_of(problems, _MOST_NAMED, "; ")) for problems in facts.problems]
    found += of_redis(facts)
    if facts.dead_since is not None:
        words = counted(facts.dead, "message or command") if facts.dead == 1 else f"{facts.dead:,} messages or commands"
        found.append(Finding("dead", min(facts.dead_since, now), words, str(facts.dead)))
    if facts.paused:
        found.append(facts.finding("paused", facts.paused))
    if facts.oldest is not None and now - facts.oldest > _WAITS_FOR:
        found.append(Finding("oldest", facts.oldest, f"the oldest for over {_WAITS_FOR.seconds // 60} min"))
    for service in facts.services:
        if service.down_since is not None and now - service.down_since >= _DOWN_FOR:
            detail = "it rejects the bridge's key (401 or 403)" if service.rejects_key else ""
            found.append(service.finding("down", service.down_since, detail))
    for service in facts.services:
        if service.unusable:
            found.append(service.finding("rows", now, first_of(service.unusable, _MOST_NAMED, "; ")))
    return found


def of_redis(facts: Facts) -> Iterator[Finding]:
    """Find what's wrong with Redis."""
    redis = facts.redis
    if redis is None:
        return
    if not redis.is_append_only:
        yield facts.finding("persistence", "it has no append-only file, so a restart may lose messages")
    elif not redis.can_write:
        yield facts.finding("persistence", "it can't write its append-only file, so it refuses all writes")
    if redis.is_nearly_full:
        yield facts.finding("memory", f"over {NEARLY_FULL:.0%} of maxmemory is used")
    elif redis.maxmemory and redis.evicts:
        evicts = f"when it's full, it evicts sessions and queued messages (maxmemory-policy {redis.policy})"
        yield facts.finding("memory", evicts)
    if redis.replicas and not redis.confirming:
        yield facts.finding("replicas", "none of its replicas confirms writes")
    elif facts.had_replicas and not redis.replicas:
        yield facts.finding("replicas", "its last replica is gone")
