"""Draws the Home tab and handles its buttons. https://docs.slack.dev/surfaces/app-home.

The service is asked for everything at once, at most every few seconds (`Catalog`). Missing answers are left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from bridge import __version__
from bridge.errors import NotAllowed, ProjectError
from bridge.features.deps import Deps
from bridge.features.feature import Feature
from bridge.features.home import layout
from bridge.features.results import HomeView, Result
from bridge.features.shared.lookups import is_runner
from bridge.features.shared.recent import Spot
from bridge.inbound import Click, HomeOpened
from bridge.queue.turn import Turn
from bridge.slack.blockkit.failures import sentence
from bridge.slack.payloads import mapping, text

T = TypeVar("T")

home = Feature("home")

PATIENCE = timedelta(seconds=6)
"""How long Home waits for the service; a tab that shows less is better than one that shows nothing."""


@home.event("app_home_opened")
def home_tab(event: Mapping[str, Any], team: str) -> HomeOpened | None:
    """Read that a person opened Home. https://docs.slack.dev/reference/events/app_home_opened.

    Slack doesn't say which workspace the person is from, and Home shows the project's contents: until they are looked
    up, they count as a person from another workspace.
    """
    if event.get("tab") != "home":
        return None
    view_hash = text(mapping(event.get("view")), "hash")
    channel, user = text(event, "channel"), text(event, "user")
    return HomeOpened(team=team, channel=channel, user=user, is_shared=True, view_hash=view_hash)


@home.kind(HomeOpened)
async def opened(deps: Deps, turn: Turn, tab: HomeOpened) -> Result:
    """Draw Home where its person left it; for a person without access, only the reason."""
    if tab.refusal:
        return HomeView(layout.refused_view(sentence(NotAllowed(tab.refusal))), tab.view_hash)
    before = await deps.recent.home(turn.team, turn.user)
    spot = before.model_copy(update={"channel": turn.channel}) if turn.channel else before
    return await _drawn(deps, turn, spot, tab.view_hash)


@home.button(*layout.TURN)
async def turn_page(deps: Deps, turn: Turn, click: Click) -> Result:
    """Turn a page of one of the lists in Home."""
    spot = Spot.parse(click.value).model_copy(update={"channel": turn.channel})
    return await _drawn(deps, turn, spot, click.view_hash)


async def _drawn(deps: Deps, turn: Turn, spot: Spot, view_hash: str) -> Result:
    """Draw Home at *spot*, and store where that is."""
    await deps.recent.keep_home(turn.team, turn.user, spot)
    return HomeView(layout.home_view(await _gathered(deps, turn), spot, __version__), view_hash)


async def _gathered(deps: Deps, turn: Turn) -> layout.Home:
    catalog = deps.catalog
    known, lately, may_run, added = await asyncio.gather(
        asyncio.gather(
            _or_none(catalog.get_project()),
            _or_none(catalog.get_stats()),
            _or_none(catalog.get_workflows()),
            _or_none(catalog.get_agents()),
        ),
        deps.recent.of(turn.team, turn.user),
        is_runner(deps, turn.user),
        asyncio.gather(*(section(deps, turn) for section in deps.home_sections)),
    )
    if known[1] is not None:
        await deps.statistics.note(known[1])
    return layout.Home(
        *known,
        runs=lately.runs,
        talks=lately.talks,
        of_features=[block for section in added for block in section],
        may_run=may_run,
        workspace=deps.workspace,
    )


async def _or_none(asked: Awaitable[T]) -> T | None:
    """Wait for the service, for `PATIENCE` at most."""
    try:
        async with asyncio.timeout(PATIENCE.total_seconds()):
            return await asked
    except (ProjectError, TimeoutError):
        return None
