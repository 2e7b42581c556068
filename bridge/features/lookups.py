"""Lookups that several features share."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Final, assert_never

from bridge.engine.results import Done, TryLater
from bridge.errors import NoSuch, NotAllowed, ProjectError, SlackError
from bridge.features.deps import Deps
from bridge.inbound import InboundMessage, Notice
from bridge.project.models import Agent, Workflow
from bridge.queue.inbox import Duplicate, Queued, Stale
from bridge.queue.records import Write
from bridge.queue.turn import Turn
from bridge.slack.blockkit.modals import Origin

log = logging.getLogger(__name__)

RULE_PAUSED: Final = "rule_paused"
"""The name of the notice that an app's rule is paused."""

_SLACK_PAUSE: Final = timedelta(seconds=5)
UNREACHABLE: Final = frozenset({"deactivated", "stranger"})
"""Reasons against people who get no private messages."""


async def check_runner(deps: Deps, user: str, reason: str = "runner") -> None:
    """Raise `NotAllowed` with *reason* unless *user* may run workflows."""
    if not await deps.access.may_run(user):
        raise NotAllowed(reason)


async def is_runner(deps: Deps, user: str) -> bool:
    """Whether to offer a person buttons that run workflows; False if it's unknown whether they may."""
    try:
        return await deps.access.may_run(user)
    except NotAllowed:
        return False


async def refusal_now(deps: Deps, user: str, channel: str, *, is_set_up: bool = False) -> str | None:
    """Return why what was accepted or set up earlier may no longer happen (`Access.refusal_now`). Raises `TryLater`."""
    try:
        return await deps.access.refusal_now(user, channel, is_set_up=is_set_up)
    except SlackError as exc:
        raise TryLater(exc.retry_after or _SLACK_PAUSE) from exc


async def check_rule(deps: Deps, turn: Turn, message: InboundMessage) -> Done | None:
    """Return why an app's *message* starts nothing, or None if it does: its rule counts as it is now.

    A rule whose owner may no longer set it up is paused, with one notice. Raises `TryLater`.
    """
    while True:
        stored = await deps.channels.stored(turn.team, turn.channel)
        rule = stored.settings.apps.get(message.app)
        if rule is None:
            return Done("its app no longer has a rule here")
        if rule.paused:
            return Done(f"its app's rule is paused: {rule.paused}")
        reason = await refusal_now(deps, rule.owner, turn.channel, is_set_up=True)
        if reason is None:
            return None
        hour = int(deps.now().timestamp()) // 3600  # it's paused at once: this only spares turns at the same moment
        event = f"{RULE_PAUSED}:{turn.team}:{turn.channel}:{message.app}:{hour}"
        about = (RULE_PAUSED, rule.name or message.app_name or message.app)
        await notify_of_pause(deps, turn, rule.owner, reason, about, event=event)
        paused = stored.settings.with_app(message.app, rule.model_copy(update={"paused": reason}))
        if await deps.channels.replace(turn.team, turn.channel, stored, paused):
            return Done(f"its app's rule is paused: {reason}")


async def notify_of_pause(
    deps: Deps,
    turn: Turn,
    owner: str,
    reason: str,
    about: tuple[str, str],
    *,
    event: str,
    writes: Sequence[Write] = (),
) -> None:
    """Tell an *owner* and the channel, once per *event*, that what they set up is paused (`Access.refusal_now`).

    *about* is the notice's name and the title of what was set up. People who can't be reached aren't told, nor a
    channel where the bridge isn't enabled or that only the owner reads. *writes* are made with the notice.
    """
    name, title = about
    facts = [title, turn.channel, reason, await deps.directory.user_name(owner) if owner else ""]
    places = [owner] if owner and reason not in UNREACHABLE else []
    if reason != "channel" and not turn.channel.startswith("D"):
        places.append(turn.channel)
    log.warning("paused: its owner or channel no longer has access", extra={"what": name, "reason": reason})
    if not places:
        await deps.inbox.write(*writes)
    for place in places:
        what = f"{name}:" + json.dumps([*facts, place == owner])
        notice = Notice(team=turn.team, channel=place, user=owner, what=what, of="notice", is_offer=True)
        own_writes = writes if place == places[-1] else ()
        put = await deps.inbox.put(notice, event=f"{event}:{place}", why="it was paused", writes=own_writes)
        match put:
            case Queued() | Duplicate() | Stale():  # if it's stale, it was paused meanwhile, and they were told
                pass
            case _:
                assert_never(put)


async def may_set(deps: Deps, user: str, channel: str) -> bool:
    """Whether to offer a person a button that changes a channel's settings; their direct message is their own."""
    return channel.startswith("D") or await is_runner(deps, user)


async def workflow_by_id(deps: Deps, id_: int) -> Workflow:
    """Return the workflow with the ID from a button or form. Raises `NoSuch`."""
    for workflow in await deps.catalog.get_workflows():
        if workflow.id == id_:
            return workflow
    raise NoSuch("workflow", str(id_))


async def agent_by_id(deps: Deps, id_: int) -> Agent | None:
    """Return the agent with the ID from a button or form; None if it no longer exists."""
    return next((agent for agent in await deps.catalog.get_agents() if agent.id == id_), None)


async def agent_name(deps: Deps, id_: int) -> str:
    """Return an agent's name, or ``Agent <ID>`` while the service is down."""
    try:
        agents = await deps.catalog.get_agents()
    except ProjectError:
        agents = ()
    return next((agent.name for agent in agents if agent.id == id_), f"Agent {id_}")


async def workflow_name(deps: Deps, id_: int) -> str:
    """Return a workflow's name, or ``Workflow <ID>`` while the service is down."""
    try:
        workflows = await deps.catalog.get_workflows()
    except ProjectError:
        workflows = ()
    return next((workflow.name for workflow in workflows if workflow.id == id_), f"Workflow {id_}")


async def origin_of(deps: Deps, turn: Turn) -> Origin:
    """Return where a form is opened. It has the direct message only for people who have opened Home."""
    home = await deps.recent.home(turn.team, turn.user)
    return Origin(channel=turn.channel, response_url=turn.response_url, direct=home.channel)
