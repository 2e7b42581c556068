"""Whether a project's service can be reached, and since when it can't: for alerts and for incidents."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime
from typing import Final

from bridge.errors import CannotConnect, CircuitOpen, ConnectionLost, Outage, ProjectError, TimedOut
from bridge.features.deps import Deps
from bridge.features.statistics.aggregating import WorkStore
from bridge.project.connection import ProjectConnection
from bridge.project.models import Stats
from bridge.queue.keys import DOWN, milliseconds
from bridge.queue.scripting import epoch_ms, from_epoch_ms

log = logging.getLogger(__name__)

_UNREACHABLE: Final = (CannotConnect, CircuitOpen, ConnectionLost, Outage, TimedOut)
"""Failures that count as the service being down, and not only as a bad answer."""


async def statistics_now(deps: Deps, project: ProjectConnection) -> tuple[Stats | None, datetime | None]:
    """Read the statistics of a project, and record whether its service can be reached.

    Returns the statistics, if they could be read, and since when the service can't be reached. Raises
    `StoreUnavailable`.
    """
    try:
        stats = await deps.statistics(project).read()
    except ProjectError as exc:
        log.info("statistics can't be read", extra={"why": type(exc).__name__})
        return None, await _down(deps, project, is_down=isinstance(exc, _UNREACHABLE))
    return stats, await _down(deps, project, is_down=False)


async def look_for_outages(deps: Deps) -> None:
    """Look whether a service that can't be reached, as far as this process or another knows, is back.

    Raises `StoreUnavailable`.
    """
    down = set(await deps.scripts.redis.hkeys(deps.scripts.keys.service_down()))
    unreachable = [project for project in deps.projects if project.id in down or not project.client.is_up]
    await asyncio.gather(*(statistics_now(deps, project) for project in unreachable))


async def _down(deps: Deps, project: ProjectConnection, *, is_down: bool) -> datetime | None:
    """Record whether a service can be reached now, and redraw Homes if that's new; return since when it can't."""
    key, redis = deps.scripts.keys.service_down(), deps.scripts.redis
    if not is_down:
        since = await redis.hget(key, project.id)
        if since and await redis.hdel(key, project.id):
            began = from_epoch_ms(since)
            await WorkStore(deps.scripts).note_outage(deps.inbox, project.key, began, deps.now())
            await deps.inbox.write(*await deps.homes.redraws_of_all(project.key))
        return None
    is_new = await redis.hsetnx(key, project.id, str(epoch_ms(deps.now())))
    await redis.pexpire(key, milliseconds(DOWN))
    since = await redis.hget(key, project.id)
    if is_new:
        await deps.inbox.write(*await deps.homes.redraws_of_all(project.key))
    return from_epoch_ms(since or epoch_ms(deps.now()))
