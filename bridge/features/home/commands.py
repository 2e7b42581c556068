"""Draws the Home tab and handles its buttons. https://docs.slack.dev/surfaces/app-home.

All requests to the service are made concurrently, at most every few seconds (`Catalog`). Missing data is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from bridge import __version__
from bridge.engine.feature import Feature
from bridge.engine.projects import OF_DIRECT, remember
from bridge.engine.recent import Recent
from bridge.engine.results import HomeChanged, HomeView, Result
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed, ProjectError
from bridge.features.deps import Deps
from bridge.features.home import layout
from bridge.features.home.pages import HomePages
from bridge.ids import PersonKey
from bridge.inbound import Click, HomeOpened
from bridge.slack.blockkit.failures import sentence
from bridge.slack.payloads import mapping, text

T = TypeVar("T")

home = Feature("home")

PATIENCE = timedelta(seconds=6)
"""How long Home waits for the service; an incomplete tab is better than an empty one."""


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
    """Show Home with the pages that the person last saw; for a person without access, only the reason."""
    if tab.refusal:
        return HomeView(layout.refused_view(sentence(NotAllowed(tab.refusal))), tab.view_hash)
    before = await deps.home_pages.get(turn.team, turn.user)
    pages = before.model_copy(update={"channel": turn.channel}) if turn.channel else before
    return await _draw(deps, turn, pages, tab.view_hash)


@home.button(layout.PREVIOUS_WORKFLOWS, label="button: Previous")
@home.button(layout.NEXT_WORKFLOWS, label="button: Next")
@home.button(layout.PREVIOUS_AGENTS, label="button: Previous")
@home.button(layout.NEXT_AGENTS, label="button: Next")
async def turn_page(deps: Deps, turn: Turn, click: Click) -> Result:
    """Show another page of one of Home's lists."""
    pages = HomePages.parse(click.value).model_copy(update={"channel": turn.channel})
    return await _draw(deps, turn, pages, click.view_hash)


@home.button(OF_DIRECT, label="menu: Choose a project")
async def choose_project(deps: Deps, turn: Turn, click: Click) -> Result:  # noqa: ARG001 - every button gets a click
    """Use another project in Home and in the person's direct messages."""
    await remember(deps.scripts, PersonKey(turn.team, turn.user), turn.project.key)
    return HomeChanged()


async def _draw(deps: Deps, turn: Turn, pages: HomePages, view_hash: str) -> Result:
    """Return Home with the pages of *pages*, and store them."""
    await deps.home_pages.store(turn.team, turn.user, pages)
    return HomeView(layout.home_view(await _gather(deps, turn), pages, __version__), view_hash)


async def _gather(deps: Deps, turn: Turn) -> layout.Home:
    catalog = turn.project.catalog
    answers, recent, may_run, sections = await asyncio.gather(
        asyncio.gather(
            _or_none(catalog.get_project()),
            _or_none(catalog.get_stats()),
            _or_none(catalog.get_workflows()),
            _or_none(catalog.get_agents()),
        ),
        Recent(deps.scripts).of(PersonKey(turn.team, turn.user, turn.project_key)),
        deps.access.is_runner(turn.user),
        asyncio.gather(*(section(deps, turn) for section in deps.home_sections)),
    )
    _project, stats, _workflows, agents = answers
    if stats is not None:
        await deps.statistics(turn.project).note(stats)
    return layout.Home(
        *answers,
        runs=recent.runs,
        conversations=recent.conversations,
        of_features=[block for section in sections for block in section],
        may_run=may_run,
        workspace=deps.workspace,
        faces=await deps.faces.of(turn.project, agents or ()),
        projects=[(one.id, one.name) for one in deps.projects] if deps.projects.is_several else (),
        chosen=turn.project.id,
    )


async def _or_none(request: Awaitable[T]) -> T | None:
    """Return the service's answer; None if it fails or takes longer than `PATIENCE`."""
    try:
        async with asyncio.timeout(PATIENCE.total_seconds()):
            return await request
    except (ProjectError, TimeoutError):
        return None
