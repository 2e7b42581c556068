"""`Catalog`: the service's lists, cached for a few seconds, for commands and Home."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Generic, Literal, TypeVar

from bridge.errors import ProjectError
from bridge.project.client import ProjectClient
from bridge.project.models import Agent, Project, Stats, Workflow

T = TypeVar("T")

CACHED_FOR = timedelta(seconds=5)
_SOON = 2.0  # seconds


class Catalog:
    """The service's workflows, agents, project and statistics, at most 5 s old.

    Concurrent callers share one request, and its failure. Failures aren't cached.
    """

    def __init__(self, client: ProjectClient, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.get_workflows = Cached[Sequence[Workflow]](client.get_workflows, monotonic)
        self.get_agents = Cached[Sequence[Agent]](client.get_agents, monotonic)
        self.get_project = Cached[Project](client.get_project, monotonic)
        self.get_stats = Cached[Stats](client.get_stats, monotonic)

    async def agent_name(self, agent: int, *, is_current: bool = False) -> str:
        """Return the name of an agent from the last list, or ``""`` if it isn't known soon.

        With *is_current*, the last list is used only if there's no current one soon.
        """
        return _name_of(agent, await _soon(self.get_agents, is_current=is_current))

    async def last_agents(self) -> Sequence[Agent]:
        """Return the last list of agents, whatever its age; an empty one if none is known soon."""
        return await _soon(self.get_agents, is_current=False)

    async def workflow_name(self, workflow: int, *, is_current: bool = False) -> str:
        """Return the name of a workflow, like `agent_name`."""
        return _name_of(workflow, await _soon(self.get_workflows, is_current=is_current))

    def last_name(self, kind: Literal["agent", "workflow"], id_: int) -> str:
        """Return the name of an agent or a workflow from the last list, without asking the service, or ``""``."""
        return _name_of(id_, (self.get_agents.last if kind == "agent" else self.get_workflows.last) or ())


def _name_of(id_: int, known: Sequence[Agent] | Sequence[Workflow]) -> str:
    return next((one.name for one in known if one.id == id_), "")


async def _soon(listed: Cached[Sequence[T]], *, is_current: bool) -> Sequence[T]:
    """Return the last list, whatever its age; if there's none, or it must be current, a new one that comes soon."""
    if is_current or listed.last is None:
        with suppress(ProjectError, TimeoutError):
            async with asyncio.timeout(_SOON):
                return await listed()
    return listed.last or ()


class Cached(Generic[T]):
    """The last result of *fetch*, which the first caller runs while the others wait."""

    def __init__(self, fetch: Callable[[], Awaitable[T]], monotonic: Callable[[], float]) -> None:
        self._fetch = fetch
        self._monotonic = monotonic
        self._fetching = asyncio.Lock()
        self._completed = 0  # fetches; after a cancelled one, the next waiting caller fetches again
        self._outcome: T | ProjectError
        self.last: T | None = None  # whatever its age
        self._fresh_until = float("-inf")

    async def __call__(self) -> T:
        """Return the list, at most 5 s old. Raises `ProjectError`."""
        if self._monotonic() >= self._fresh_until:
            completed = self._completed
            async with self._fetching:
                if self._completed == completed:
                    try:
                        self._outcome = self.last = await self._fetch()
                        self._fresh_until = self._monotonic() + CACHED_FOR.total_seconds()
                    except ProjectError as exc:
                        self._outcome, self._fresh_until = exc, float("-inf")
                    self._completed += 1
        if isinstance(self._outcome, ProjectError):
            raise self._outcome
        return self._outcome
