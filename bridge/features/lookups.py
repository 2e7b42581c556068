"""Lookups that several features share."""

from __future__ import annotations

from typing import Any

from bridge.config_tables import Act
from bridge.engine.turn import Turn
from bridge.errors import NoSuch, ProjectError, SlackError
from bridge.features.deps import Deps
from bridge.ids import PersonKey
from bridge.inbound import Starter
from bridge.policy.rules import Asked, Target, target_of
from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.lists import apart
from bridge.slack.blockkit.modals import Origin


async def may_set(deps: Deps, turn: Turn, channel: str) -> bool:
    """Whether to offer a person a button that changes a channel's settings; their direct message is their own."""
    is_fixed = "agent" in deps.channels.fixed(channel)
    return channel.startswith("D") or (not is_fixed and await deps.policy.may(turn.asked("settings")))


async def workflow_by_id(turn: Turn, id_: int) -> Workflow:
    """Return the workflow with the ID from a button or form. Raises `NoSuch`."""
    if workflow := await turn.project.catalog.workflow(id_):
        return workflow
    raise NoSuch("workflow", str(id_))


async def agent_by_id(turn: Turn, id_: int) -> Agent:
    """Return the agent with the ID from a button or form. Raises `NoSuch`."""
    if agent := await find_agent(turn, id_):
        return agent
    raise NoSuch("agent", str(id_))


async def find_agent(turn: Turn, id_: int | None) -> Agent | None:
    """Return the agent with this ID; None if it no longer exists."""
    return None if id_ is None else await turn.project.catalog.agent(id_)


async def agent_name(turn: Turn, id_: int) -> str:
    """Return an agent's name, or ``Agent <ID>`` if it isn't known soon."""
    name = await turn.project.catalog.agent_name(id_, is_current=True)
    return apart(turn.project, "agent", id_, name) or f"Agent {id_}"


async def workflow_name(turn: Turn, id_: int) -> str:
    """Return a workflow's name, or ``Workflow <ID>`` if it isn't known soon."""
    name = await turn.project.catalog.workflow_name(id_, is_current=True)
    return apart(turn.project, "workflow", id_, name) or f"Workflow {id_}"


async def before_each_run(
    deps: Deps, turn: Turn, workflow: int | None, channel: str, *, by: Starter, app: str = ""
) -> str:
    """Say what has to happen each time before a *workflow* runs by itself; ``""`` if nothing has to, as far as known.

    It runs *by* what *turn*'s person sets up in *channel*.
    """
    try:
        known = None if workflow is None else await workflow_by_id(turn, workflow)
    except (NoSuch, ProjectError):
        return ""
    if known is None:
        return ""
    name = kit.named(apart(turn.project, "workflow", known.id, known.name), 80)
    if not known.is_active:
        return f"⚠️ {name} is inactive, so I'll ask each time before it runs."
    asked = deps.projects.asked("run", turn.user, channel, turn.project_key, by=by, app=app)
    needs = (await deps.policy.offered(asked, [known])).get(known.id)
    return f"⚠️ {name} {needs} each time before it runs." if needs else ""


async def rights(
    deps: Deps,
    act: Act,
    owner: str,
    channel: str,
    project: str,
    *,
    workflow: int | None = None,
    agent: int | None = None,
    by: Starter,
    app: str = "",
) -> list[Asked]:
    """Return what an *owner* must be allowed to for what they set up: to do so (*act*), and what it starts.

    That's a *workflow* or an *agent* of the *project* with this key. Raises `ProjectError` if only the service knows
    its name, which the rules may be about.
    """
    target = None
    known = deps.projects.get(project) if deps.policy.rules.has_file else None
    if known is not None and workflow is not None:
        target = target_of(await known.catalog.workflow(workflow)) or Target("workflow", str(workflow))
    elif known is not None and agent is not None:
        target = target_of(await known.catalog.agent(agent)) or Target("agent", str(agent))
    about = target if act in {"schedule", "alert"} else None
    wanted = [deps.projects.asked(act, owner, channel, project, about)]
    if target is not None:
        does: Act = "run" if target.kind == "workflow" else "ask"
        wanted.append(deps.projects.asked(does, owner, channel, project, target, by=by, app=app))
    return wanted


async def may_read(deps: Deps, user: str, owner: str, channel: str) -> bool:
    """Whether *user* may read what *owner* set up in *channel*: its members may, and all members if it's public."""
    if user == owner or not kit.is_channel(channel):
        return user == owner
    try:
        if await deps.directory.is_public(channel) and not await deps.directory.is_guest(user):
            return True
        return await deps.directory.in_channel(user, channel)
    except SlackError:
        return False


def opened_here(turn: Turn, **more: Any) -> Origin:
    """Return where a form is opened, with the thread, but without the person's direct message; *more* is as there."""
    thread_ts = turn.thread.root if turn.thread else ""
    return Origin(channel=turn.channel, thread_ts=thread_ts, response_url=turn.response_url, **more)


async def origin_of(deps: Deps, turn: Turn, **more: Any) -> Origin:
    """Return where a form is opened. It has the direct message only for people who have opened Home."""
    direct = await deps.seen_homes.channel(PersonKey(turn.team, turn.user))
    return Origin(channel=turn.channel, response_url=turn.response_url, direct=direct, **more)
