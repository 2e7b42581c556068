"""Who speaks: the name and the face under which an agent's messages are shown.

A face is an emoji. People who may change settings choose it; otherwise it follows from the agent's ID, so that it never
changes, and differs for thirty agents in a row. Without the scope ``chat:write.customize``, agents have no faces.

A name must not be taken for somebody else's: one that could be read as another agent's, as that of a person or an app
that the bridge has met, or as Slack's, is followed by the agent's ID.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from bridge.project.connection import ProjectConnection
from bridge.project.models import Agent
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.folding import looks_like
from bridge.slack.blockkit.markdown import harmless_title
from bridge.slack.blockkit.reply import Speaker
from bridge.slack.people import Directory
from bridge.slack.post import Authorship

FACES: Final = (
    *(":headphones:", ":fox_face:", ":octopus:", ":owl:", ":frog:", ":bee:", ":whale:", ":lion_face:"),
    *(":panda_face:", ":unicorn_face:", ":turtle:", ":butterfly:", ":penguin:", ":cactus:", ":mushroom:"),
    *(":sunflower:", ":lemon:", ":watermelon:", ":carrot:", ":doughnut:", ":anchor:", ":rocket:", ":balloon:"),
    *(":gem:", ":key:", ":compass:", ":art:", ":jigsaw:", ":crescent_moon:", ":umbrella:"),
)
"""Emoji that are easy to tell apart, and say nothing about a state."""

_SOON: Final = 1.0  # seconds
_LONGEST: Final = 60  # characters; Slack shows about that many
_SLACKS: Final = frozenset(map(looks_like, ("Slack", "Slackbot")))
_ENDS_LIKE_AN_ID: Final = re.compile(r"\(agent\b[^()]*\)\Z", re.IGNORECASE)


def default_face(agent: int) -> str:
    """Return the face of an agent for which nobody chose one."""
    return FACES[agent % len(FACES)]


def shown_name(agent: Agent, others: Sequence[Agent], directory: Directory) -> str:
    """Return the name to show for *agent*, one of *others*."""
    name = harmless_title(kit.one_line(agent.name, _LONGEST))
    key = looks_like(name)
    if not key.strip("-"):
        return f"Agent {agent.id}"
    is_anothers = any(one.id != agent.id and looks_like(kit.one_line(one.name, _LONGEST)) == key for one in others)
    if is_anothers or key in _SLACKS or _ENDS_LIKE_AN_ID.search(name) or directory.is_someones(name):
        return f"{name} (agent {agent.id})"
    return name


class Faces:
    """All agents' faces. Methods that read or change what people chose may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts, directory: Directory, authorship: Authorship, bot_user: str) -> None:
        self._scripts = scripts
        self._directory = directory
        self._authorship = authorship
        self._bot_user = bot_user

    @property
    def are_shown(self) -> bool:
        """Whether the app may show an agent's name and face with its messages."""
        return self._authorship.is_allowed

    async def of(self, project: ProjectConnection, agents: Sequence[Agent]) -> Mapping[int, str]:
        """Return the face of each of *agents* by ID; none at all if they can't be shown with messages."""
        if not (self.are_shown and agents):
            return {}
        with translated():
            chosen: Any = await self._scripts.redis.hgetall(self._scripts.keys.faces())
        return {agent.id: chosen.get(_field(project, agent.id)) or default_face(agent.id) for agent in agents}

    async def of_one(self, project: ProjectConnection, agent: int | None) -> str:
        """Return the face of one agent; ``""`` if it can't be shown with messages."""
        if agent is None or not self.are_shown:
            return ""
        with translated():
            chosen = await self._scripts.redis.hget(self._scripts.keys.faces(), _field(project, agent))
        return str(chosen or "") or default_face(agent)

    async def speaker(self, project: ProjectConnection, agent: int, user: str) -> Speaker | None:
        """Return who a message of *agent* to *user* is from; None if the app can't show it, or the name is unknown."""
        if not self.are_shown:
            return None
        with suppress(TimeoutError):  # so that it has met them
            async with asyncio.timeout(_SOON):
                await asyncio.gather(*map(self._directory.user_name, (user, self._bot_user)))
        name = await project.catalog.agent_name(agent)
        agents = project.catalog.get_agents.last or ()
        found = next((one for one in agents if one.id == agent), None)
        if found is None or not name:
            return None
        return Speaker(name=shown_name(found, agents, self._directory), face=await self.of_one(project, agent))

    async def choose(self, project: ProjectConnection, agent: int, face: str) -> None:
        """Give an agent a face; ``""`` is its default again."""
        with translated():
            key, field = self._scripts.keys.faces(), _field(project, agent)
            await (self._scripts.redis.hset(key, field, face) if face else self._scripts.redis.hdel(key, field))


def _field(project: ProjectConnection, agent: int) -> str:
    return f"{project.key}:{agent}" if project.key else str(agent)
