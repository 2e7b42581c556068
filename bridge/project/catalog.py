"""`Catalog`: the service's lists, cached for a few seconds, for commands and Home."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from bridge.errors import Busy, NotUnderstood, Outage, ProjectError, ServiceRefused
from bridge.latest import Cache, Latest
from bridge.names.listing import Listing
from bridge.names.matching import by_look, looks
from bridge.project.client import ProjectClient
from bridge.project.models import Agent, Item, Project, Stats, Workflow

T = TypeVar("T")

CACHED_FOR = timedelta(seconds=5)
_ID = re.compile(r"[*_~`]*#?(-?[0-9]{1,18})[*_~`]*(?=[\s:,]|$)")
_SOON = 2.0  # seconds
_MOST_NAMES = 1000


class Catalog:
    """The service's workflows, agents, project and statistics, at most 5 s old.

    Concurrent callers share one request, and its failure. Failures aren't cached.
    """

    def __init__(self, client: ProjectClient, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.get_workflows = Cached[Listing[Workflow]](client.get_workflows, monotonic)
        self.get_agents = Cached[Listing[Agent]](client.get_agents, monotonic)
        self.get_project = Cached[Project](client.get_project, monotonic)
        self.get_stats = Cached[Stats](client.get_stats, monotonic)
        self._client = client
        self._alike: dict[tuple[str, int], tuple[Sequence[Any], dict[str, set[int]]]] = {}
        self._unlisted: Latest[tuple[str, int], str] = Latest(_MOST_NAMES)  # names of what isn't in the lists

    async def workflow(self, id_: int, *, is_new: bool = False) -> Workflow | None:
        """Return a workflow from the list, or else from the service itself; None if there's none of this ID.

        With *is_new*, the list is read now. Raises `ProjectError`.
        """
        workflow = next((workflow for workflow in await self.get_workflows(is_new=is_new) if workflow.id == id_), None)
        return workflow or self._noted("workflow", await _asked(Workflow, id_, self._client.get_workflow))

    async def agent(self, id_: int) -> Agent | None:
        """Return an agent, like `workflow`. Raises `ProjectError`."""
        agent = next((agent for agent in await self.get_agents() if agent.id == id_), None)
        return agent or self._noted("agent", await _asked(Agent, id_, self._client.get_agent))

    def _noted(self, kind: str, item: Item | None) -> Item | None:
        if item is not None:
            self._unlisted[kind, item.id] = item.name
        return item

    async def item(self, kind: str, id_: int) -> Agent | Workflow | None:
        """Return an agent or a workflow, like `workflow`. Raises `ProjectError`."""
        return await (self.agent(id_) if kind == "agent" else self.workflow(id_))

    async def candidates(self, kind: str, typed: str) -> Listing[Any]:
        """Return the list, and what has the ID with which someone began to type, if that isn't in it.

        Raises `ProjectError`.
        """
        listed: Listing[Any] = await (self.get_agents() if kind == "agent" else self.get_workflows())
        number = _ID.match(typed.strip())
        if number and (item := await self.item(kind, int(number[1]))) is not None and item not in listed:
            return listed.only([*listed, item])
        return listed

    async def agent_name(self, agent: int, *, is_current: bool = False) -> str:
        """Return the name of an agent from the last list, or ``""`` if it isn't known soon.

        With *is_current*, the last list is used only if there's no current one soon.
        """
        return await self._name("agent", self.get_agents, agent, is_current=is_current)

    async def last_agents(self) -> Sequence[Agent]:
        """Return the last list of agents, whatever its age; an empty one if none is known soon."""
        return await _soon(self.get_agents, is_current=False)

    async def workflow_name(self, workflow: int, *, is_current: bool = False) -> str:
        """Return the name of a workflow, like `agent_name`."""
        return await self._name("workflow", self.get_workflows, workflow, is_current=is_current)

    async def _name(self, kind: str, listed: Cached[Listing[Item]], id_: int, *, is_current: bool) -> str:
        rows = await _soon(listed, is_current=is_current)
        name = _name_of(id_, rows) or self._unlisted.get((kind, id_), "")
        if not name and is_current and listed.last is not None and listed.last.is_part:
            with suppress(ProjectError, TimeoutError):
                async with asyncio.timeout(_SOON):
                    item = await self.item(kind, id_)
                    name = item.name if item is not None else ""
        return name

    def last_name(self, kind: Literal["agent", "workflow"], id_: int) -> str:
        """Return the name of an agent or a workflow from the last list, without asking the service, or ``""``."""
        return _name_of(id_, self.last(kind)) or self._unlisted.get((kind, id_), "")

    def last(self, kind: Literal["agent", "workflow"]) -> Sequence[Agent] | Sequence[Workflow]:
        """Return the last list, without asking the service; an empty one if none is known."""
        return (self.get_agents.last if kind == "agent" else self.get_workflows.last) or ()

    def has_namesake(self, kind: Literal["agent", "workflow"], id_: int, name: str, most: int) -> bool:
        """Whether another one in the last list looks the same as *name*, cut to *most* characters."""
        listed = self.last(kind)
        known = self._alike.get((kind, most))
        if known is None or known[0] is not listed:  # once for a list: folding thousands of names takes a while
            known = self._alike[kind, most] = (listed, by_look(listed, most))
        return any(known[1].get(look, set()) - {id_} for look in looks(name, most))


async def _asked(model: type[Item], id_: int, read: Callable[[int], Awaitable[BaseModel]]) -> Item | None:
    """Ask the service for what isn't in its list, as that may be a part. Raises `ProjectError` if it can't answer."""
    try:
        detail = (await read(id_)).model_dump(include=set(model.model_fields), exclude_none=True)
    except (Busy, Outage):
        raise
    except (ServiceRefused, NotUnderstood):
        return None
    return model.model_validate(detail | {"id": id_}) if detail.get("id", id_) == id_ else None


def _name_of(id_: int, known: Sequence[Agent] | Sequence[Workflow]) -> str:
    return next((item.name for item in known if item.id == id_), "")


async def _soon(listed: Cached[Listing[Item]], *, is_current: bool) -> Sequence[Item]:
    """Return the last list, whatever its age; if there's none, or it must be current, a new one that comes soon."""
    if is_current or listed.last is None:
        with suppress(ProjectError, TimeoutError):
            async with asyncio.timeout(_SOON):
                return await listed()
    return listed.last or ()


class Cached(Generic[T]):
    """The *last* result of *fetch*, which the first caller runs while the others wait."""

    def __init__(self, fetch: Callable[[], Awaitable[T]], monotonic: Callable[[], float]) -> None:
        self.last: T | None = None  # whatever its age

        async def read(_: str) -> T:
            self.last = fetched = await fetch()
            return fetched

        self._cache = Cache(read, seconds=CACHED_FOR.total_seconds(), monotonic=monotonic)

    async def __call__(self, *, is_new: bool = False) -> T:
        """Return the list, at most 5 s old, or one that *is_new*. Raises `ProjectError`."""
        return await self._cache.get("", at_most=0 if is_new else None)
