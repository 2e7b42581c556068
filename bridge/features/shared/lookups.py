"""What several features ask of a person or an id."""

from __future__ import annotations

from bridge.errors import NoSuch, NotAllowed, ProjectError
from bridge.features.deps import Deps
from bridge.project.models import Agent, Workflow
from bridge.queue.turn import Turn
from bridge.slack.blockkit.modals import Origin


async def check_runner(deps: Deps, user: str, reason: str = "runner") -> None:
    """Let only those go on who may run workflows. Raises `NotAllowed` with the *reason*."""
    if not await deps.access.may_run(user):
        raise NotAllowed(reason)


async def is_runner(deps: Deps, user: str) -> bool:
    """Whether somebody is to be offered what runs workflows; no where that is not known."""
    try:
        return await deps.access.may_run(user)
    except NotAllowed:
        return False


async def workflow_by_id(deps: Deps, id_: int) -> Workflow:
    """Look up a workflow that a button or a form names. Raises `NoSuch`."""
    for workflow in await deps.catalog.get_workflows():
        if workflow.id == id_:
            return workflow
    raise NoSuch("workflow", str(id_))


async def agent_by_id(deps: Deps, id_: int) -> Agent | None:
    """Look up an agent that a button or a form names; None where there is none any more."""
    return next((agent for agent in await deps.catalog.get_agents() if agent.id == id_), None)


async def agent_name(deps: Deps, id_: int) -> str:
    """Look up an agent's name; its id will do while the service is away."""
    try:
        agents = await deps.catalog.get_agents()
    except ProjectError:
        agents = ()
    return next((agent.name for agent in agents if agent.id == id_), f"Agent {id_}")


async def workflow_name(deps: Deps, id_: int) -> str:
    """Look up a workflow's name; its id will do while the service is away."""
    try:
        workflows = await deps.catalog.get_workflows()
    except ProjectError:
        workflows = ()
    return next((workflow.name for workflow in workflows if workflow.id == id_), f"Workflow {id_}")


async def origin_of(deps: Deps, turn: Turn) -> Origin:
    """Say where a form is opened, for what will come of it. The direct message is known of who has opened Home."""
    home = await deps.recent.home(turn.team, turn.user)
    return Origin(channel=turn.channel, response_url=turn.response_url, direct=home.channel)
