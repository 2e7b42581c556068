"""Look for incidents twice a minute, in one process, and queue what has changed.

Each process reports what only it knows (its token, its HTTP server, its file) every few seconds; the rest is looked up.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from bridge.errors import ProjectError, RecordNotUnderstood, StoreUnavailable
from bridge.features.deps import Deps
from bridge.features.episodes.episode import step
from bridge.features.episodes.telling import changed
from bridge.features.incidents.conditions import Facts, Service, findings, of_redis
from bridge.features.incidents.incident import StoredIncident, from_text, merged, to_text
from bridge.features.incidents.records import IncidentChange
from bridge.features.reach import statistics_now
from bridge.features.standing.kind import ASKED
from bridge.features.standing.store import RecordStore
from bridge.project.connection import ProjectConnection
from bridge.queue.keys import INCIDENT, OVER, REPLICATED, TROUBLES, milliseconds
from bridge.queue.redis.condition import RedisCondition, condition_of
from bridge.queue.reloads import Reloads
from bridge.queue.scripting import epoch_ms, pipelined
from bridge.queue.status import dead_letters, oldest_message, processes_of, running
from bridge.queue.writes import Write

log = logging.getLogger(__name__)

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
        """Parse the ``incident:`` hash; ``said`` is its detail. Raises `RecordNotUnderstood` if it's long over, too."""
        texts: Any = {text: fields.get(text, "") for text in ("project_name", "channel")}
        try:
            incident = StoredIncident(id=id_, detail=fields.get("said", ""), **StoredIncident.read(fields), **texts)
        except ValueError as exc:
            raise RecordNotUnderstood("incident") from exc
        if incident.since is None:
            raise RecordNotUnderstood("incident")
        return incident


async def watch(deps: Deps) -> None:
    """Compare what's found now with the stored incidents. Each change is stored with its message queued, in one step.

    Raises `StoreUnavailable`.
    """
    if not deps.ops_channel:
        return
    facts = await read(deps)
    there, now, unknown = merged(findings(facts)), facts.now, facts.unknown
    stored = {incident.id: incident for incident in await IncidentStore(deps.scripts).all()}
    keys, lives = deps.scripts.keys, milliseconds(INCIDENT)
    live = [keys.incidents(), *(keys.incident(name) for name, incident in stored.items() if incident.ended is None)]
    await pipelined(deps.scripts.redis, lambda pipe: [pipe.pexpire(key, lives) for key in live])
    for name in dict.fromkeys([*there, *(name for name in stored if name not in unknown)]):
        before, finding = stored.get(name) or StoredIncident(id=name), there.get(name)
        changes = step(before, finding, now)
        if changes is None:
            continue
        does, fields = changes.does, {**changes.fields}
        if finding is not None and (finding.ended is None or does in {"begins", "again"}):  # an end shows what it was
            fields |= {"said": finding.detail, "sign": finding.sign, "project_name": finding.project_name}
            fields["changed"] = str(epoch_ms(now))
        if does == "begins":
            fields["channel"] = deps.ops_channel
        after = IncidentStore.parse(name, {**before.fields, **fields})
        since, lasts = after.since or now, milliseconds(OVER) if after.ended and after.is_closed else lives
        listed: Write = ("rank", keys.incidents(), lives, name, epoch_ms(since), 0)
        writes = changed(keys.incident(name), before, fields, listed, lives=lasts)
        if does is None:
            await deps.inbox.write(*writes)
            continue
        at = after.ended if does == "ends" and after.ended else now
        body = IncidentChange(
            team=deps.team, channel=after.channel, user="", incident=name, does=does, at=at, since=since,
            detail=after.detail, thread_ts="" if does == "begins" else after.post,
        )  # fmt: skip
        event = f"incident:{name}:{epoch_ms(now)}:{does}"
        end = await deps.queue(body, event=event, why="the bridge looked for incidents", writes=writes)
        log.warning("incident", extra={"incident": name, "does": does, "put": end})


async def read(deps: Deps) -> Facts:
    """Read what incidents depend on. Raises `StoreUnavailable`."""
    names = list(dict.fromkeys([*await running(deps.scripts), deps.inbox.consumer]))
    texts: Any = await deps.scripts.redis.mget([deps.scripts.keys.troubles(name) for name in names])
    in_force = (await Reloads(deps.scripts).reports(names)).values()
    redis, had_replicas = await _redis(deps)
    dead, dead_since = await dead_letters(deps.scripts)
    paused = {kind: len([why for why in await kind.paused(deps) if why != ASKED]) for kind in deps.standing}
    return Facts(
        now=deps.now(),
        reported=[finding for text in texts for finding in from_text(text)],
        problems=[file.problems for file in in_force if file is not None and file.problems],
        redis=redis,
        had_replicas=had_replicas,
        dead=dead,
        dead_since=dead_since,
        paused=", ".join(kind.counted(number) for kind, number in paused.items() if number),
        oldest=await oldest_message(deps.scripts),
        services=await asyncio.gather(*(_service(deps, project) for project in deps.projects)),
    )


async def measure_redis(deps: Deps) -> None:
    """Have this process's metrics show Redis and the processes. Raises `StoreUnavailable`."""
    metrics, processes = deps.metrics, await processes_of(deps.scripts)
    metrics.processes.labels("running").set(sum(process.is_running for process in processes))
    metrics.processes.labels("missing").set(sum(process.is_missing for process in processes))
    redis, had_replicas = await _redis(deps)
    if redis is None:
        return
    metrics.redis_memory.labels("used").set(redis.memory)
    if redis.maxmemory:
        metrics.redis_memory.labels("limit").set(redis.maxmemory)
    wrong = {finding.kind for finding in of_redis(Facts(now=deps.now(), redis=redis, had_replicas=had_replicas))}
    for kind in OF_REDIS:
        metrics.redis_trouble.labels(kind).set(kind in wrong)


async def _redis(deps: Deps) -> tuple[RedisCondition | None, bool]:
    """Return Redis' state, None if it may not be asked, and whether it had replicas."""
    condition = await condition_of(deps.scripts.redis, deps.scripts.keys.namespace, time.monotonic)
    if "INFO" in condition.denied:
        return None, False
    key, redis = deps.scripts.keys.replicated(), deps.scripts.redis
    if condition.replicas:
        await redis.set(key, "1", px=milliseconds(REPLICATED))
    return condition, bool(await redis.exists(key))


async def _service(deps: Deps, project: ProjectConnection) -> Service:
    """Return what's known of a project's service."""
    stats, down_since = await statistics_now(deps, project)
    client = project.client
    service = Service(
        project=project.key,
        name=project.name if deps.projects.is_several else "",
        down_since=down_since,
        rejects_key=client.rejects_key,
    )
    if stats is None:
        return service
    try:
        await project.catalog.get_agents()
        await project.catalog.get_workflows()
    except ProjectError:  # if that's an outage, it's found the next time
        return service
    unusable = [f"{operation}: {problem}" for operation, problems in client.unusable.items() for problem in problems]
    return replace(service, unusable=unusable)
