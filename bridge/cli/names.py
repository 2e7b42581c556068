"""Names beside IDs, for tables that people read: from Slack and the project service, if they're configured and answer.

Names change and aren't unique, so the IDs stay. JSON has only IDs.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from bridge.cli.running import say, slack_of
from bridge.ends.failures import checked
from bridge.errors import ProjectError, SlackError
from bridge.project import ProjectClient
from bridge.settings import environment, well_formed
from bridge.slack.directory import Directory

T = TypeVar("T")
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

    async def look_up(self, ids: Iterable[str]) -> None:
        """Look up people and channels by their *ids*; those that Slack doesn't name stay IDs."""
        directory, free = self.directory, asyncio.Semaphore(_AT_ONCE)
        if directory is None:
            return

        async def look(id_: str) -> None:
            is_person = id_.startswith(("U", "W"))
            async with free:
                self.slack[id_] = await (directory.user_name(id_) if is_person else directory.channel_name(id_))

        new = sorted({id_ for id_ in ids if id_.startswith(("U", "W", "C", "G"))} - self.slack.keys())
        if await self.soon("Slack", asyncio.gather(*map(look, new))) is None:
            self.directory = None

    async def look_up_agents(self) -> None:
        """Look up all agents."""
        if self.project is not None:
            agents = await self.soon("Project service", self.project.get_agents())
            self.agents, self.project = {agent.id: agent.name for agent in agents or ()}, None

    async def soon(self, source: str, look: Awaitable[T]) -> T | None:
        """Return what *look* finds; None if that fails or takes too long, which is said."""
        try:
            async with asyncio.timeout(self.seconds):
                return await look
        except TimeoutError:
            why = "no answer in time"
        except (ProjectError, SlackError) as exc:
            why, _cure = checked(exc)
        say(f"Showing IDs instead of names ({source}: {why}). To find out more, run bridge check.")
        return None

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
        if {"SLACK_BOT_TOKEN", "SLACK_API_URL"} <= values.keys():
            web = await stack.enter_async_context(slack_of(values))
            if hello := await names.soon("Slack", web.hello()):
                names.directory = Directory(web, hello.identity)
        if {"PROJECT_BASE_URL", "PROJECT_API_KEY"} <= values.keys():
            key = values["PROJECT_API_KEY"].get_secret_value()
            names.project = await stack.enter_async_context(ProjectClient(values["PROJECT_BASE_URL"], key))
        yield names
