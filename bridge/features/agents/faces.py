"""Who speaks: the name and the face under which an agent's messages are shown.

A face is an emoji. The operator's file sets it; otherwise it follows from the agent's ID, so that it never changes, and
differs for thirty agents in a row. Without the scope ``chat:write.customize``, agents have no faces.

A name must not be taken for somebody else's: one that could be read as another agent's, as that of a person or an app
that the bridge has met, or as Slack's, is followed by the agent's ID.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from bridge.config_tables import AgentTable
from bridge.names.folding import looks_like
from bridge.names.matching import is_called
from bridge.policy.rules import Target
from bridge.project.connection import DEFAULT, ProjectConnection
from bridge.project.models import Agent
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.markdown import harmless_title
from bridge.slack.blockkit.reply import Speaker
from bridge.slack.directory import Directory
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
    """Return the face of an agent for which the file sets none."""
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
    """All agents' faces."""

    def __init__(self, directory: Directory, authorship: Authorship, bot_user: str) -> None:
        self._directory = directory
        self._authorship = authorship
        self._bot_user = bot_user
        self.file: Mapping[str, AgentTable] = {}  # what the operator's file sets, by ID or name
        self._names: dict[str, tuple[Sequence[Agent], Mapping[int, str]]] = {}  # of each project's last list

    @property
    def are_shown(self) -> bool:
        """Whether the app may show an agent's name and face with its messages."""
        return self._authorship.is_allowed

    def of(self, project: ProjectConnection, agents: Sequence[Agent]) -> Mapping[int, str]:
        """Return the face of each of *agents* by ID; none at all if they can't be shown with messages."""
        if not (self.are_shown and agents):
            return {}
        return {agent.id: self._face(project, agent.id, agent.name) for agent in agents}

    async def of_one(self, project: ProjectConnection, agent: int | None) -> str:
        """Return the face of one agent; ``""`` if it can't be shown with messages."""
        if agent is None or not self.are_shown:
            return ""
        return self._face(project, agent, await project.catalog.agent_name(agent) if self.file else "")

    def _face(self, project: ProjectConnection, agent: int, name: str) -> str:
        for key, table in self.file.items():
            is_its = is_called(table.project or DEFAULT, project) and is_called(key, Target("agent", str(agent), name))
            if table.face and is_its:
                return table.face
        return default_face(agent)

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
