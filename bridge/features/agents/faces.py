"""Who speaks: the name and the face under which an agent's messages are shown.

A face is an emoji. People who may change settings choose it; otherwise it follows from the agent's ID, so that it never
changes, and differs for thirty agents in a row. Without the scope ``chat:write.customize``, agents have no faces.

A name must not be taken for somebody else's: one that could be read as another agent's, as that of a person or an app
that the bridge has met, or as Slack's, is followed by the agent's ID.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from bridge.config_tables import AgentTable
from bridge.engine.rules import Target
from bridge.engine.standing import Standing, size
from bridge.names.folding import looks_like
from bridge.names.matching import is_called
from bridge.project.connection import DEFAULT, ProjectConnection
from bridge.project.models import Agent
from bridge.queue.cached_hash import CachedHash
from bridge.queue.scripting import Scripts
from bridge.queue.stops import signal_settings
from bridge.slack.blockkit import kit
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

_LONGEST: Final = 60  # characters; Slack shows about that many
_SLACKS: Final = frozenset(map(looks_like, ("Slack", "Slackbot")))
_ENDS_LIKE_AN_ID: Final = re.compile(r"\(agent\b[^()]*\)\Z", re.IGNORECASE)


def default_face(agent: int) -> str:
    """Return the face of an agent for which nobody chose one."""
    return FACES[agent % len(FACES)]


def _shown_names(agents: Sequence[Agent]) -> Mapping[int, str]:
    """Return the name to show for each of *agents* by ID, as far as it depends on the other agents."""
    names = {agent.id: harmless_title(kit.one_line(agent.name, _LONGEST)) for agent in agents}
    looks = Counter(map(looks_like, names.values()))
    for agent, name in names.items():
        look = looks_like(name)
        if not look.strip("-"):
            names[agent] = f"Agent {agent}"
        elif looks[look] > 1 or look in _SLACKS or _ENDS_LIKE_AN_ID.search(name):
            names[agent] = f"{name} (agent {agent})"
    return names


class Faces:
    """All agents' faces. Methods that read or change what people chose may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts, directory: Directory, authorship: Authorship, bot_user: str) -> None:
        self._scripts = scripts
        self._directory = directory
        self._authorship = authorship
        self._bot_user = bot_user
        self.file: Mapping[str, AgentTable] = {}  # what the operator's file sets, by ID or name
        self._chosen = CachedHash(scripts, scripts.keys.faces(), str)
        self.heard = self._chosen.heard
        self._names: dict[str, tuple[Sequence[Agent], Mapping[int, str]]] = {}  # of each project's last list

    @property
    def are_shown(self) -> bool:
        """Whether the app may show an agent's name and face with its messages."""
        return self._authorship.is_allowed

    async def of(self, project: ProjectConnection, agents: Sequence[Agent]) -> Mapping[int, str]:
        """Return the face of each of *agents* by ID; none at all if they can't be shown with messages."""
        if not (self.are_shown and agents):
            return {}
        chosen = await self._chosen.values()
        return {
            agent.id: self.fixed(project, agent.id, agent.name)
            or chosen.get(_field(project, agent.id))
            or default_face(agent.id)
            for agent in agents
        }

    async def of_one(self, project: ProjectConnection, agent: int | None) -> str:
        """Return the face of one agent; ``""`` if it can't be shown with messages."""
        if agent is None or not self.are_shown:
            return ""
        if self.file and (fixed := self.fixed(project, agent, await project.catalog.agent_name(agent))):
            return fixed
        return (await self._chosen.values()).get(_field(project, agent)) or default_face(agent)

    def fixed(self, project: ProjectConnection, agent: int, name: str) -> str:
        """Return the face that the operator's file gives an agent; ``""`` if it gives none."""
        for key, table in self.file.items():
            is_its = is_called(table.project or DEFAULT, project) and is_called(key, Target("agent", str(agent), name))
            if table.face and is_its:
                return table.face
        return ""

    async def speaker(self, project: ProjectConnection, agent: int, user: str) -> Speaker | None:
        """Return who a message of *agent* to *user* is from; None if the app can't show it, or the name is unknown."""
        if not self.are_shown:
            return None
        await self._directory.meet(user, self._bot_user)
        agents = await project.catalog.last_agents()
        listed, names = self._names.get(project.key, ((), {}))
        if listed is not agents:
            names = _shown_names(agents)
            self._names[project.key] = agents, names
        name = names.get(agent, "")
        if not name:
            return None
        if self._directory.is_someones(name):
            name = f"{name} (agent {agent})"
        return Speaker(name=name, face=await self.of_one(project, agent))

    async def choose(self, project: ProjectConnection, agent: int, face: str) -> None:
        """Give an agent a face; ``""`` is its default again."""
        key, field = self._scripts.keys.faces(), _field(project, agent)
        await (self._scripts.redis.hset(key, field, face) if face else self._scripts.redis.hdel(key, field))
        self._chosen.changed()
        await signal_settings(self._scripts)


def _field(project: ProjectConnection, agent: int) -> str:
    return f"{project.key}:{agent}" if project.key else str(agent)


FACES_SET: Final = Standing(noun="face", plural="faces", keys=("faces",), count=size("faces"), erase=None)
