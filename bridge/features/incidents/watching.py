"""Look for incidents twice a minute, in one process, and queue what has changed.

Each process reports what only it knows (its token, its HTTP server, its file) every few seconds; the rest is looked up.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from bridge.errors import ProjectError, RecordNotUnderstood, StoreUnavailable
from bridge.features.deps import Deps
from bridge.features.episodes.episode import EpisodeStep, Finding, step
from bridge.features.episodes.telling import changed
from bridge.features.incidents.incident import StoredIncident, from_text, merged, to_text
from bridge.features.incidents.records import IncidentChange
from bridge.features.reach import statistics_now
from bridge.features.standing.kind import ASKED
from bridge.features.standing.store import RecordStore
from bridge.project.connection import ProjectConnection
from bridge.queue.keys import INCIDENT, OVER, REPLICATED, TROUBLES, milliseconds
from bridge.queue.redis.condition import NEARLY_FULL, RedisCondition, condition_of
from bridge.queue.reloads import Reloads
from bridge.queue.scripting import epoch_ms, pipelined
from bridge.queue.status import dead_letters, oldest_message, processes_of, running
from bridge.queue.writes import Write
from bridge.slack.blockkit.kit import counted, first_of

log = logging.getLogger(__name__)

_DOWN_FOR: Final = timedelta(minutes=5)
_WAITS_FOR: Final = timedelta(minutes=10)
_RECONNECTS_FOR: Final = timedelta(minutes=1)
_MOST_NAMED: Final = 3

OF_REDIS: Final = ("persistence", "memory", "replicas")
"""The kinds of incidents that `of_redis` finds."""


async def report_troubles(deps: Deps) -> None:
    """Look whether gates of the operator's file hold, and report what this process knows to be wrong.

    Raises `StoreUnavailable`.
    """
    await deps.gates.look(deps.now())
    if not deps.ops_channel:
        return
    now, troubles = deps.now(), deps.troubles
    key = deps.scripts.keys.troubles(deps.inbox.consumer)
    try:
        await deps.scripts.redis.set(key, to_text(troubles.now(now)), px=milliseconds(TROUBLES))
    except StoreUnavailable as exc:
        troubles.unavailable(now, exc.reason)
        raise
    troubles.available(now)


class IncidentStore(RecordStore[StoredIncident]):
    """The incidents of one namespace."""

    listed, stored = "incidents", "incident"

    @classmethod
    def parse(cls, id_: str, fields: Mapping[str, str]) -> StoredIncident:
        """Parse the ``incident:`` hash. Raises `RecordNotUnderstood`, also if it's long over."""
        texts: Any = {text: fields.get(text, "") for text in ("said", "project_name", "channel")}
        try:
            incident = StoredIncident(id=id_, **StoredIncident.read(fields), **texts)
        except ValueError as exc:
            raise RecordNotUnderstood("incident") from exc
        if incident.since is None:
            raise RecordNotUnderstood("incident")
        return incident


async def watch(deps: Deps) -> None:
    """Compare what's found now with the stored incidents, and queue what has changed. Raises `StoreUnavailable`."""
    if not deps.ops_channel:
        return
    (findings, unknown), now = await _findings(deps), deps.now()
    there = merged(findings)
    stored = {incident.id: incident for incident in await IncidentStore(deps.scripts).all()}
    keys, lives = deps.scripts.keys, milliseconds(INCIDENT)
    live = [keys.incidents(), *(keys.incident(name) for name, incident in stored.items() if incident.ended is None)]
    await pipelined(deps.scripts.redis, lambda pipe: [pipe.pexpire(key, lives) for key in live])
    for name in dict.fromkeys([*there, *(name for name in stored if name not in unknown)]):
        incident = stored.get(name) or StoredIncident(id=name)
        if (changes := step(incident, there.get(name), now)) is not None:
            await _settle(deps, incident, changes, there.get(name), now)


async def _settle(
    deps: Deps, before: StoredIncident, changes: EpisodeStep, finding: Finding | None, now: datetime
) -> None:
    """Make a change, with its *finding*, and queue its message in the same step."""
    keys, name, does, fields = deps.scripts.keys, before.id, changes.does, {**changes.fields}
    if finding is not None and (finding.ended is None or does in {"begins", "again"}):  # an end shows what it was
        fields |= {"said": finding.said, "sign": finding.sign, "project_name": finding.project_name}
        fields["changed"] = str(epoch_ms(now))
    if does == "begins":
        fields["channel"] = deps.ops_channel
    after = IncidentStore.parse(name, {**before.fields, **fields})
    since, lives = after.since or now, milliseconds(OVER if after.ended and after.is_closed else INCIDENT)
    listed: Write = ("rank", keys.incidents(), milliseconds(INCIDENT), name, epoch_ms(since), 0)
    writes = changed(keys.incident(name), before, fields, listed, lives=lives)
    if does is None:
        await deps.inbox.write(*writes)
        return
    at = after.ended if does == "ends" and after.ended else now
    body = IncidentChange(
        team=deps.team, channel=after.channel, user="", incident=name, does=does, at=at, since=since,
        said=after.said, thread_ts="" if does == "begins" else after.post,
    )  # fmt: skip
    event = f"incident:{name}:{epoch_ms(now)}:{does}"
    end = await deps.queue(body, event=event, why="the bridge looked for incidents", writes=writes)
    log.warning("incident", extra={"incident": name, "does": does, "put": end})


# What there is


async def _findings(deps: Deps) -> tuple[list[Finding], set[str]]:
    """Return what's wrong now, and the names of what can't be looked up now. Raises `StoreUnavailable`."""
    now, unknown = deps.now(), set[str]()
    findings = [*await _reported(deps), *await _of_redis(deps, now), *await _of_work(deps, now)]
    for of_service, rows in await asyncio.gather(*(_of_service(deps, project, now) for project in deps.projects)):
        findings += of_service
        unknown.add(rows)
    return findings, unknown


async def _reported(deps: Deps) -> list[Finding]:
    """Return what the running processes know, and what they say about the operator's file."""
    now, names = deps.now(), await running(deps.scripts)
    names = list(dict.fromkeys([*names, deps.inbox.consumer]))
    texts: Any = await deps.scripts.redis.mget([deps.scripts.keys.troubles(name) for name in names])
    told = [finding for text in texts for finding in from_text(text)]
    findings = [
        fault for fault in told if fault.kind != "socket" or (fault.ended or now) - fault.since > _RECONNECTS_FOR
    ]
    for in_force in (await Reloads(deps.scripts).reports(names)).values():
        if in_force is not None and in_force.problems:
            said = first_of(in_force.problems, _MOST_NAMED, "; ")
            findings.append(Finding("reload", now, said, said))
    return findings


async def measure(deps: Deps) -> None:
    """Have this process's metrics show Redis and the processes. Raises `StoreUnavailable`."""
    metrics, processes = deps.metrics, await processes_of(deps.scripts)
    metrics.processes.labels("running").set(sum(process.is_running for process in processes))
    metrics.processes.labels("missing").set(sum(process.is_missing for process in processes))
    condition, troubles = await _redis_troubles(deps)
    if troubles is None:
        return
    metrics.redis_memory.labels("used").set(condition.memory)
    if condition.maxmemory:
        metrics.redis_memory.labels("limit").set(condition.maxmemory)
    for kind in OF_REDIS:
        metrics.redis_trouble.labels(kind).set(kind in troubles)


async def _of_redis(deps: Deps, now: datetime) -> list[Finding]:
    """Return what's wrong with Redis."""
    _condition, troubles = await _redis_troubles(deps)
    return [Finding(kind, now, words, words) for kind, words in (troubles or {}).items()]


async def _redis_troubles(deps: Deps) -> tuple[RedisCondition, dict[str, str] | None]:
    """Return Redis' state, and what's wrong with it, by the kind of incident; None if it may not be asked."""
    condition = await condition_of(deps.scripts.redis, deps.scripts.keys.namespace, time.monotonic)
    if "INFO" in condition.denied:
        return condition, None
    key, redis = deps.scripts.keys.replicated(), deps.scripts.redis
    if condition.replicas:
        await redis.set(key, "1", px=milliseconds(REPLICATED))
    had_replicas = bool(await redis.exists(key))
    return condition, of_redis(condition, had_replicas=had_replicas)


def of_redis(condition: RedisCondition, *, had_replicas: bool) -> dict[str, str]:
    """Say what's wrong with a server, by the kind of incident."""
    problems = {}
    if not condition.is_append_only:
        problems["persistence"] = "it has no append-only file, so a restart may lose messages"
    elif not condition.can_write:
        problems["persistence"] = "it can't write its append-only file, so it refuses all writes"
    if condition.is_nearly_full:
        problems["memory"] = f"over {NEARLY_FULL:.0%} of maxmemory is used"
    elif condition.maxmemory and condition.evicts:
        problems["memory"] = (
            f"when it's full, it evicts sessions and queued messages (maxmemory-policy {condition.policy})"
        )
    if condition.replicas and not condition.confirming:
        problems["replicas"] = "none of its replicas confirms writes"
    elif had_replicas and not condition.replicas:
        problems["replicas"] = "its last replica is gone"
    return problems


async def _of_work(deps: Deps, now: datetime) -> list[Finding]:
    """Return what's wrong with what's queued and with what's set up."""
    findings = []
    dead, since = await dead_letters(deps.scripts)
    if since is not None:
        words = counted(dead, "message or command") if dead == 1 else f"{dead:,} messages or commands"
        findings.append(Finding("dead", min(since, now), words, str(dead)))
    paused = {kind: len([why for why in await kind.paused(deps) if why != ASKED]) for kind in deps.standing}
    if any(paused.values()):
        words = ", ".join(kind.counted(number) for kind, number in paused.items() if number)
        findings.append(Finding("paused", now, words, words))
    oldest = await oldest_message(deps.scripts)
    if oldest is not None and now - oldest > _WAITS_FOR:
        findings.append(Finding("oldest", oldest, f"the oldest for over {_WAITS_FOR.seconds // 60} min"))
    return findings


async def _of_service(deps: Deps, project: ProjectConnection, now: datetime) -> tuple[list[Finding], str]:
    """Return what's wrong with a project's service, and the name of what can't be looked up, if there's any."""
    about: dict[str, Any] = {"project": project.key, "project_name": project.name if deps.projects.is_several else ""}
    rows = Finding("rows", now, **about)
    stats, down_since = await statistics_now(deps, project)
    if down_since is not None and now - down_since >= _DOWN_FOR:
        said = "it rejects the bridge's key (401 or 403)" if project.client.rejects_key else ""
        return [Finding("down", down_since, said, said, **about)], rows.name
    if stats is None:
        return [], rows.name
    try:
        await project.catalog.get_agents()
        await project.catalog.get_workflows()
    except ProjectError:  # if that's an outage, it's found the next time
        return [], rows.name
    unusable = [
        f"{operation}: {problem}" for operation, problems in project.client.unusable.items() for problem in problems
    ]
    said = first_of(unusable, _MOST_NAMED, "; ")
    return [rows._replace(said=said, sign=said)] if unusable else [], ""
