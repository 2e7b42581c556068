"""`ProjectConnection`: one project on the service, as the bridge uses it."""

from __future__ import annotations

from dataclasses import dataclass

from bridge.project.catalog import Catalog
from bridge.project.client import ProjectClient


@dataclass(frozen=True, slots=True)
class ProjectConnection:
    """A project's *client*, and the *catalog* of what it has. IDs of one project mean nothing in another."""

    client: ProjectClient
    catalog: Catalog
