"""`Catalog`: what the service has, kept for a few seconds: for commands that look up names, and for Home."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Generic, TypeVar

from bridge.errors import ProjectError
from bridge.project.client import ProjectClient
from bridge.project.models import Agent, Project, Stats, Workflow

T = TypeVar("T")

KEPT_FOR = timedelta(seconds=5)


class Catalog:
    """The service's lists, at most 5 s old. Those who ask at the same time share one request, and its failure.

    A failure is not kept: who asks after it asks the service again.
    """

    def __init__(self, client: ProjectClient, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._workflows = _Kept(client.get_workflows, monotonic)
        self._agents = _Kept(client.get_agents, monotonic)
        self._project = _Kept(lambda: _alone(client.get_project()), monotonic)
        self._stats = _Kept(lambda: _alone(client.get_stats()), monotonic)

    async def get_workflows(self) -> tuple[Workflow, ...]:
        """List the workflows."""
        return await self._workflows.get()

    async def get_agents(self) -> tuple[Agent, ...]:
        """List the agents."""
        return await self._agents.get()

    async def get_project(self) -> Project:
        """Show the project, as the Home tab has it."""
        return (await self._project.get())[0]

    async def get_stats(self) -> Stats:
        """Show its statistics, as the Home tab has them."""
        return (await self._stats.get())[0]


async def _alone(asked: Awaitable[T]) -> list[T]:
    return [await asked]


class _Kept(Generic[T]):
    """The last result of *fetch*; one fetch at a time, made by whoever asked first."""

    def __init__(self, fetch: Callable[[], Awaitable[list[T]]], monotonic: Callable[[], float]) -> None:
        self._fetch = fetch
        self._monotonic = monotonic
        self._turn = asyncio.Lock()
        self._fetches = 0  # that came to an end; one that was cancelled did not, and the next in line makes another
        self._outcome: tuple[T, ...] | ProjectError = ()
        self._fresh_until = float("-inf")

    async def get(self) -> tuple[T, ...]:
        if not self._is_fresh():
            fetches = self._fetches
            async with self._turn:
                if self._fetches == fetches:
                    await self._fetch_once()
        if isinstance(self._outcome, ProjectError):
            raise self._outcome
        return self._outcome

    def _is_fresh(self) -> bool:
        return self._monotonic() < self._fresh_until

    async def _fetch_once(self) -> None:
        try:
            self._outcome = tuple(await self._fetch())
            self._fresh_until = self._monotonic() + KEPT_FOR.total_seconds()
        except ProjectError as exc:
            self._outcome = exc
            self._fresh_until = float("-inf")
        self._fetches += 1
