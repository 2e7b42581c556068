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

    People type its *id* or its *name*; *channels* belong to it, whatever is set in Slack.
    """

    client: ProjectClient
    catalog: Catalog
    id: str = DEFAULT
    name: str = DEFAULT
    channels: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """What records say about the project: its ID, or ``""`` for the default one, as before there were others."""
        return "" if self.id == DEFAULT else self.id
