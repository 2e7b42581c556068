"""Names beside IDs, for tables that people read: from Slack and the project service, if they're configured and answer.

Names change and aren't unique, so the IDs stay. JSON has only IDs.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bridge.cli.running import say, slack_of
from bridge.cli.troubles import project_trouble, slack_trouble
from bridge.errors import ProjectError, SlackError
from bridge.project import ProjectClient
from bridge.settings import environment, well_formed
from bridge.slack.people import Directory

_SECONDS: Final = 5.0
_AT_ONCE: Final = 10  # requests


@dataclass(slots=True)
class DisplayNames:
    """Looks up names in the *directory* and the *project*; without one, its people and channels, or agents, are IDs."""

    directory: Directory | None = None
    project: ProjectClient | None = None
    slack: dict[str, str] = field(default_factory=dict)
    agents: dict[int, str] = field(default_factory=dict)
    seconds: float = _SECONDS
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def look_up(self, ids: Iterable[str]) -> None:
        """Look up people and channels by their *ids*; those that Slack doesn't name stay IDs."""
        directory = self.directory
        if directory is None:
            return

        async def look(id_: str) -> None:
            is_person = id_.startswith(("U", "W"))
            async with self.free:
                self.slack[id_] = await (directory.user_name(id_) if is_person else directory.channel_name(id_))

        new = sorted({id_ for id_ in ids if id_.startswith(("U", "W", "C", "G"))} - self.slack.keys())
        try:
            async with asyncio.timeout(self.seconds):
                await asyncio.gather(*map(look, new))
        except TimeoutError:
            self.directory = None
            say(_missing("Slack", "no answer in time"))

    async def look_up_agents(self) -> None:
        """Look up all agents."""
        if self.project is None:
            return
        try:
            async with asyncio.timeout(self.seconds):
                self.agents = {agent.id: agent.name for agent in await self.project.get_agents()}
        except TimeoutError:
            say(_missing("Project service", "no answer in time"))
        except ProjectError as exc:
            say(_missing("Project service", project_trouble("get_agents", exc).detail))
        self.project = None

    def person(self, user: str) -> str:
        """Return ``Ada Adler (U0ADA)``, or the ID."""
        name = self.slack.get(user, user)
        return user if name == user else f"{name} ({user})"

    def channel(self, channel: str) -> str:
        """Return ``#ops (C0OPS)``, ``direct message (D0ADA)``, or the ID. Slack takes a person's ID for a channel's."""
        if channel.startswith(("D", "U", "W")):
            return f"direct message ({channel})"
        name = self.slack.get(channel, channel)
        return channel if name == channel else f"#{name} ({channel})"

    def agent(self, agent: int) -> str:
        """Return ``Support (7)``, or the ID."""
        return f"{self.agents[agent]} ({agent})" if self.agents.get(agent) else str(agent)


@asynccontextmanager
async def opened_names() -> AsyncIterator[DisplayNames]:
    """Open Slack and the project service, as far as they're configured."""
    values, names = well_formed(environment(os.environ, Path(".env"))), DisplayNames()
    async with AsyncExitStack() as stack:
        try:
            if {"SLACK_BOT_TOKEN", "SLACK_API_URL"} <= values.keys():
                web = await stack.enter_async_context(slack_of(values))
                async with asyncio.timeout(names.seconds):
                    names.directory = Directory(web, (await web.hello()).identity)
        except TimeoutError:
            say(_missing("Slack", "no answer in time"))
        except SlackError as exc:
            say(_missing("Slack", slack_trouble("auth.test", exc, "").detail))
        if {"PROJECT_BASE_URL", "PROJECT_API_KEY"} <= values.keys():
            key = values["PROJECT_API_KEY"].get_secret_value()
            names.project = await stack.enter_async_context(ProjectClient(values["PROJECT_BASE_URL"], key))
        yield names


def _missing(source: str, detail: str) -> str:
    return f"Showing IDs instead of names ({source}: {detail}). To find out more, run bridge check."
