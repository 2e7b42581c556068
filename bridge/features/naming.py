"""What an agent is called, where only its id is kept."""

from __future__ import annotations

from bridge.errors import ProjectError
from bridge.features.deps import Deps


async def agent_name(deps: Deps, id_: int) -> str:
    """Look up an agent's name; its id will do while the service is away."""
    try:
        agents = await deps.catalog.get_agents()
    except ProjectError:
        agents = ()
    return next((agent.name for agent in agents if agent.id == id_), f"Agent {id_}")
