"""Lookups that several features share."""

from __future__ import annotations

from bridge.engine.turn import Turn
from bridge.errors import NoSuch, ProjectError
from bridge.features.deps import Deps
from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit.modals import Origin


async def may_set(deps: Deps, user: str, channel: str) -> bool:
    """Whether to offer a person a button that changes a channel's settings; their direct message is their own."""
    return channel.startswith("D") or await deps.access.is_runner(user)


async def workflow_by_id(turn: Turn, id_: int) -> Workflow:
    """Return the workflow with the ID from a button or form. Raises `NoSuch`."""
    for workflow in await turn.project.catalog.get_workflows():
        if workflow.id == id_:
            return workflow
    raise NoSuch("workflow", str(id_))


async def agent_by_id(turn: Turn, id_: int) -> Agent | None:
    """Return the agent with the ID from a button or form; None if it no longer exists."""
    return next((agent for agent in await turn.project.catalog.get_agents() if agent.id == id_), None)


async def agent_name(turn: Turn, id_: int) -> str:
    """Return an agent's name, or ``Agent <ID>`` while the service is down."""
    try:
        agents = await turn.project.catalog.get_agents()
    except ProjectError:
        agents = ()
    return next((agent.name for agent in agents if agent.id == id_), f"Agent {id_}")


async def workflow_name(turn: Turn, id_: int) -> str:
    """Return a workflow's name, or ``Workflow <ID>`` while the service is down."""
    try:
        workflows = await turn.project.catalog.get_workflows()
    except ProjectError:
        workflows = ()
    return next((workflow.name for workflow in workflows if workflow.id == id_), f"Workflow {id_}")


async def origin_of(deps: Deps, turn: Turn) -> Origin:
    """Return where a form is opened. It has the direct message only for people who have opened Home."""
    home = await deps.home_pages.get(turn.team, turn.user)
    return Origin(channel=turn.channel, response_url=turn.response_url, direct=home.channel)
