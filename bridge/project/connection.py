"""`ProjectConnection`: one project on the service, as the bridge uses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bridge.project.catalog import Catalog
from bridge.project.client import ProjectClient

DEFAULT: Final = "default"
"""The ID of the project of PROJECT_BASE_URL and PROJECT_API_KEY."""


@dataclass(frozen=True, slots=True)
class ProjectConnection:
    """A project's *client*, and the *catalog* of what it has. IDs of one project mean nothing in another.

    With a *key_name*, it's the project as the people and user groups in *who* use it, with a key of theirs.

    People type its *id* or its *name*; *channels* belong to it, whatever is set in Slack. The agents named in *repeat*
    only read. *default_agent* answers if nothing else picks one. *run_url*, *workflow_url* and *agent_url* are
    templates of addresses in its own pages.
    """

    client: ProjectClient
    catalog: Catalog
    id: str = DEFAULT
    name: str = DEFAULT
    channels: frozenset[str] = frozenset()
    key_name: str = ""
    who: tuple[str, ...] = ()
    repeat: tuple[str, ...] = ()
    default_agent: str = ""
    run_url: str = ""
    workflow_url: str = ""
    agent_url: str = ""

    @property
    def key(self) -> str:
        """What records say about the project: its ID, or ``""`` for the default one, as before there were others.

        The name of another key than its own follows (`bridge.ids.base_of`).
        """
        id_ = "" if self.id == DEFAULT else self.id
        return f"{id_}+{self.key_name}" if self.key_name else id_
