"""The clients of the projects, opened when a project is first served, or has a new address or key."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self

from bridge.app.connections import Connections
from bridge.config import OWN, ProjectSettings
from bridge.engine.projects import ServedProjects
from bridge.project import Catalog
from bridge.project.connection import DEFAULT, ProjectConnection
from bridge.settings import Settings


class ProjectClients:
    """Keeps the projects that are *served* as the operator's file has them; use it with ``async with``.

    Each has a client, a circuit breaker and a catalog of its own. A client stays open until the end: turns may still
    use one of a project that was removed or changed, and a project that's put back gets it again.
    """

    def __init__(self, settings: Settings, wires: Connections) -> None:
        self.served = ServedProjects(ProjectConnection(wires.project, Catalog(wires.project)))
        self._settings = settings
        self._metrics, self._kind = wires.metrics, wires.kinds.client
        known = (DEFAULT, settings.project_base_url, settings.project_api_key.get_secret_value())
        self._opened: dict[tuple[str, str, str], ProjectConnection] = {known: self.served.default}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def serve(self, listed: Iterable[ProjectSettings]) -> None:
        """Serve these projects from now on."""
        shown = ("name", "channels", "repeat", *OWN)
        projects, keyed = [], []
        for wanted in listed:
            about = {name: getattr(wanted, name) for name in shown}
            projects.append(replace(await self._open(wanted), **about))
            for key in wanted.keys:
                opened = await self._open(replace(wanted, api_key=key.api_key))
                keyed.append(replace(opened, key_name=key.name, who=key.who, **about))
        self.served.replace(*projects, keyed=keyed)

    async def _open(self, wanted: ProjectSettings) -> ProjectConnection:
        key = wanted.api_key.get_secret_value()
        identity = (wanted.id, wanted.base_url, key)
        if identity not in self._opened:
            client = self._kind(
                wanted.base_url,
                key,
                chat_timeout=self._settings.chat_timeout,
                run_timeout=self._settings.run_timeout,
                observe=partial(self._metrics.upstream, project="" if wanted.id == DEFAULT else wanted.id),
            )
            await self._stack.enter_async_context(client)
            self._opened[identity] = ProjectConnection(client, Catalog(client), wanted.id)
        return self._opened[identity]
