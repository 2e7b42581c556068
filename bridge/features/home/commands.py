"""What the Home tab shows, and what its buttons do. https://docs.slack.dev/surfaces/app-home.

The service is asked for everything at once, and not more often than every few seconds (`Catalog`), however often the
tab is drawn. What it does not tell is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import timedelta
from typing import Final, TypeVar

from bridge import __version__
from bridge.errors import NotAllowed, ProjectError
from bridge.features.agents import asking
from bridge.features.deps import Call, Deps
from bridge.features.home import layout as home
from bridge.features.home.layout import RunShown, Spot, TalkShown
from bridge.features.plan import Nothing, OpenForm, Plan, PublishHome
from bridge.features.workflows import layout as workflows
from bridge.features.workflows.forms import Origin
from bridge.features.workflows.layout import workflow_card, workflow_page
from bridge.features.workflows.running import is_runner, workflow_by_id
from bridge.inbound import Click, HomeOpened
from bridge.project.models import Agent
from bridge.queue.recent import RecentRun, RecentTalk
from bridge.slack.blockkit.failures import sentence

T = TypeVar("T")

BUTTONS: Final = frozenset({workflows.DETAILS, workflows.FIND, asking.OPEN_ASK, *home.TURN})
"""What can be pressed there, and does the same wherever else it is shown."""

PATIENCE = timedelta(seconds=6)
"""How long Home waits for what the service has; a tab that shows less is better than one that shows nothing."""


async def opened(deps: Deps, call: Call, tab: HomeOpened) -> Plan:
    """Draw Home for who has opened it, where they were; for who may not, only why."""
    if tab.refusal:
        return PublishHome(home.refused_view(sentence(NotAllowed(tab.refusal))), tab.view_hash)
    before = Spot.parse(await deps.recent.home(call.team, call.user))
    spot = before.model_copy(update={"channel": call.channel}) if call.channel else before
    return await _drawn(deps, call, spot, tab.view_hash)


async def pressed(deps: Deps, call: Call, click: Click) -> Plan:
    """Do what one of `BUTTONS` does."""
    match click.action_id:
        case workflows.DETAILS | workflows.FIND if click.value.isdecimal():
            return await _details(deps, call, int(click.value))
        case asking.OPEN_ASK:
            return await _ask(deps, call, click.value)
        case action if action in home.TURN:
            return await _turned(deps, call, click)
    return Nothing("a button of another release", {"action": click.action_id})


async def redrawn(deps: Deps, call: Call, click: Click) -> Plan:
    """Draw Home anew after a click there has changed what it shows."""
    spot = Spot.parse(click.private_metadata).model_copy(update={"channel": call.channel})
    return await _drawn(deps, call, spot, click.view_hash)


async def _turned(deps: Deps, call: Call, click: Click) -> Plan:
    spot = Spot.parse(click.value).model_copy(update={"channel": call.channel})
    return await _drawn(deps, call, spot, click.view_hash)


async def _drawn(deps: Deps, call: Call, spot: Spot, view_hash: str) -> Plan:
    """Draw Home at *spot*, and keep where that is."""
    await deps.recent.keep_home(call.team, call.user, spot.model_dump_json())
    return PublishHome(home.home_view(await _gathered(deps, call), spot, __version__), view_hash)


async def _details(deps: Deps, call: Call, workflow_id: int) -> Plan:
    """Show one workflow on a page of its own."""
    workflow = await workflow_by_id(deps, workflow_id)
    card = workflow_card(workflow, await deps.project.get_workflow(workflow_id))
    return OpenForm(workflow_page(card, await origin_of(deps, call)), otherwise=card)


async def _ask(deps: Deps, call: Call, value: str) -> Plan:
    """Open the form that begins a conversation, with the agent chosen that a button names."""
    agent = await agent_by_id(deps, int(value)) if value.isdecimal() else None
    return OpenForm(asking.ask_form(agent, await origin_of(deps, call)), otherwise=asking.offer_ask_form(agent))


async def agent_by_id(deps: Deps, id_: int) -> Agent | None:
    """Look up an agent that a button or a form names; None where there is none any more."""
    return next((agent for agent in await deps.catalog.get_agents() if agent.id == id_), None)


async def origin_of(deps: Deps, call: Call) -> Origin:
    """Say where a form is opened, for what will come of it. The direct message is known of who has opened Home."""
    direct = Spot.parse(await deps.recent.home(call.team, call.user)).channel
    return Origin(channel=call.channel, response_url=call.response_url, direct=direct)


async def _gathered(deps: Deps, call: Call) -> home.Home:
    catalog = deps.catalog
    known, (lately, reports, may_run) = await asyncio.gather(
        asyncio.gather(
            _told(catalog.get_project()),
            _told(catalog.get_stats()),
            _told(catalog.get_workflows()),
            _told(catalog.get_agents()),
        ),
        asyncio.gather(deps.recent.of(call.team, call.user), deps.reports.store.all(), is_runner(deps, call.user)),
    )
    if known[1] is not None:
        await deps.statistics.note(known[1])
    return home.Home(
        *known,
        runs=[_run(run) for run in lately.runs],
        talks=[_talk(talk, known[3] or ()) for talk in lately.talks],
        reports=[one for one in reports if (one.spec.team, one.spec.owner) == (call.team, call.user)],
        may_run=may_run,
        workspace=deps.workspace,
    )


async def _told(asked: Awaitable[T]) -> T | None:
    """Wait for the service, but not for long."""
    try:
        async with asyncio.timeout(PATIENCE.total_seconds()):
            return await asked
    except (ProjectError, TimeoutError):
        return None


def _run(run: RecentRun) -> RunShown:
    return RunShown(run.workflow, run.name, run.ended, run.at, run.channel, run.ts)


def _talk(talk: RecentTalk, agents: Sequence[Agent]) -> TalkShown:
    name = next((agent.name for agent in agents if agent.id == talk.agent), "")
    return TalkShown(name, talk.thread.channel, talk.thread.root, talk.at)
