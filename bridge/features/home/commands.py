"""Draws the Home tab and handles its buttons. https://docs.slack.dev/surfaces/app-home.

The service is asked twice at most, and only every few seconds (`Catalog`); Redis is read in two round trips (`Reads`).
Missing data is left out.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, TypeVar

from bridge.ends.failures import sentence
from bridge.engine.feature import Feature
from bridge.engine.home import Reads
from bridge.engine.projects import OF_DIRECT, remember
from bridge.engine.results import Done, HomeChanged, HomeView, Result, try_later
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed, ProjectError
from bridge.features.deps import Deps
from bridge.features.home import layout
from bridge.features.home.recent import note_finished, recent_activity
from bridge.features.home.seen import digest_of
from bridge.features.statistics.layout import home_line
from bridge.features.titles import title_of
from bridge.ids import PersonKey, base_of
from bridge.inbound import Click, HomeOpened
from bridge.policy.rules import ANY_WORKFLOW, Target
from bridge.slack.blockkit.lists import apart
from bridge.slack.payloads import mapping, text

T = TypeVar("T")

home = Feature("home")
home.on_finished_turns(note_finished)

PATIENCE = timedelta(seconds=6)
"""How long Home waits for the service; an incomplete tab is better than an empty one."""


_GROUP: Final = re.compile(r"<!subteam\^[^<>]*>")  # an agent's handle, where a text begins with one


@home.event("app_home_opened")
def home_tab(event: Mapping[str, Any], team: str) -> HomeOpened | None:
    """Return what to queue when a person opens Home. https://docs.slack.dev/reference/events/app_home_opened.

    Slack doesn't say which workspace the person is from, and Home shows the project's contents: until they're looked
    up, they count as a person from another workspace.
    """
    if event.get("tab") != "home":
        return None
    view_hash = text(mapping(event.get("view")), "hash")
    channel, user = text(event, "channel"), text(event, "user")
    return HomeOpened(team=team, channel=channel, user=user, is_shared=True, view_hash=view_hash)


@home.kind(HomeOpened, label="Home tab")
async def opened(deps: Deps, turn: Turn, tab: HomeOpened) -> Result:
    """Show Home, and store what the person sees; for one without access, only the reason.

    A redraw that changes nothing shows nothing.
    """
    if deps.projects.has_keys:  # it may be another one by now, or was chosen in a menu
        with try_later():
            turn.change_project(await deps.projects.key_for(deps.policy, base_of(turn.project_key), turn.user))
    if tab.refusal:
        return HomeView(layout.refused_view(sentence(NotAllowed(tab.refusal))), tab.view_hash)
    is_opened = isinstance(turn.body, Click) or bool(turn.channel)
    if not is_opened and (reason := await deps.refusal_now(turn.user, "")):  # they've lost access since
        return HomeView(layout.refused_view(sentence(NotAllowed(reason))))
    reads, person = Reads(deps.scripts), PersonKey(turn.team, turn.user)
    seen, shown = await asyncio.gather(
        deps.seen_homes.look(reads, person, turn.project, opened=deps.now() if is_opened else None),
        _gather(deps, turn, reads),
    )
    view = layout.home_view(shown, turn.channel or seen.channel)
    if not is_opened and digest_of(view) == seen.digest:
        return Done("home unchanged")
    turn.stage(*deps.seen_homes.store(person, turn.project, view))
    return HomeView(view, tab.view_hash)


@home.button(OF_DIRECT, label="menu: Choose a project")
async def choose_project(deps: Deps, turn: Turn, click: Click) -> Result:  # noqa: ARG001 - every button gets a click
    """Use another project in Home and in the person's direct messages."""
    await remember(deps.scripts, PersonKey(turn.team, turn.user), turn.project.key)
    return HomeChanged()


async def _gather(deps: Deps, turn: Turn, reads: Reads) -> layout.Home:
    """Ask the service, Redis and Slack for what Home shows, all at once."""
    catalog = turn.project.catalog
    (agents, stats), (recent, past), may_run, may_set, needs, sections = await asyncio.gather(
        asyncio.gather(_or_none(catalog.get_agents()), _or_none(catalog.get_stats())),
        asyncio.gather(
            recent_activity(reads, PersonKey(turn.team, turn.user, turn.project_key)),
            deps.statistics(turn.project).store.lately(reads, deps.now()),
        ),
        deps.policy.may(turn.asked("run", ANY_WORKFLOW)),
        deps.policy.may(turn.asked("settings")),
        asyncio.gather(*(needs(deps, turn, reads) for needs in deps.needs)),
        asyncio.gather(*(section(deps, turn, reads) for section in deps.home_sections)),
    )
    threads = [conversation.thread for conversation in recent.conversations[: layout.MOST_RECENT]]
    threads += [
        conversation.thread
        for conversation in recent.conversations[layout.MOST_RECENT :]
        if conversation.state == "choosing"
    ]
    names = {agent.id: agent.name for agent in agents or ()}
    agent_of = {
        conversation.thread: names.get(conversation.agent, "")
        for conversation in recent.conversations
        if conversation.agent is not None
    }
    words = {}
    for thread, first in (await deps.first_words.of(threads)).items():
        begins = _GROUP.match(first)
        text_ = await deps.parts.text(first[begins.end() :] if begins else first)
        name = agent_of.get(thread, "")
        is_named = bool(name) and text_.casefold().startswith(f"{name.casefold()}:")
        words[thread] = title_of(text_[len(name) + 1 :] if is_named else text_)
    runs = [replace(run, name=apart(turn.project, "workflow", run.workflow, run.name)) for run in recent.runs]
    unsettled = [replace(work, text=title_of(await deps.parts.text(work.text))) for work in recent.unsettled]
    offered = await deps.policy.offered(turn.asked("ask"), agents or ())
    listed = {workflow.id: workflow for workflow in catalog.get_workflows.last or ()}
    ran = {
        run.workflow: listed.get(run.workflow) or Target("workflow", str(run.workflow), run.name) for run in recent.runs
    }
    return layout.Home(
        agents=agents and agents.only(agent for agent in agents if agent.id in offered),
        stats=stats,
        now=deps.now(),
        recent=replace(recent, runs=tuple(runs), unsettled=tuple(unsettled)),
        words=words,
        needs=[need for of_feature in needs for need in of_feature],
        of_features=sections,
        numbers=home_line(stats, past, deps.now()) if stats else (),
        may_run=may_run,
        may_not_run=[id_ for id_, target in ran.items() if not await deps.policy.may(turn.asked("run", target))],
        may_set=may_set,
        workspace=deps.workspace,
        faces=deps.faces.of(turn.project, agents or ()),
        projects=[(project.id, project.name) for project in deps.projects] if deps.projects.is_several else (),
        chosen=turn.project.id,
        is_down=not turn.project.client.is_up,
    )


async def _or_none(request: Awaitable[T]) -> T | None:
    """Return the service's answer; None if it fails or takes longer than `PATIENCE`."""
    try:
        async with asyncio.timeout(PATIENCE.total_seconds()):
            return await request
    except (ProjectError, TimeoutError):
        return None
