"""What commands, clicks and forms are given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bridge.features.conversations.sessions import Results, Sessions
from bridge.features.reports.keeping import Reports
from bridge.features.stats.statistics import Statistics
from bridge.ids import ThreadKey, TurnId
from bridge.project.catalog import Catalog
from bridge.project.client import ProjectClient
from bridge.queue.recent import Recent


async def _unknown(_user: str) -> str:
    return ""


async def _by_itself(_thread: ThreadKey, _before: str, text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Deps:
    """What they look things up in.

    *may_run* says whether a person (by Slack id) may run workflows, *name_of* what a person is called, *locale_of*
    how they write, ``""`` where that is not known. *in_thread* puts what was said in a thread before a message around
    words that are for an agent. *workspace* is its address in Slack.
    """

    catalog: Catalog
    project: ProjectClient
    sessions: Sessions
    results: Results
    may_run: Callable[[str], Awaitable[bool]]
    name_of: Callable[[str], Awaitable[str]]
    command_prefix: str = ""
    locale_of: Callable[[str], Awaitable[str]] = _unknown
    statistics: Statistics = field(kw_only=True)
    recent: Recent = field(kw_only=True)
    in_thread: Callable[[ThreadKey, str, str], Awaitable[str]] = _by_itself
    channel_name_of: Callable[[str], Awaitable[str]] = _unknown
    workspace: str = ""
    reports: Reports = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks, where, and how they can be answered. *thread* is set for what was said or pressed in a thread.

    *given* is the ts of what was said, by Slack's clock. *channels* are the ids of the channels that
    are named there.
    """

    team: str
    channel: str
    user: str
    turn: TurnId
    thread: ThreadKey | None = None
    trigger_id: str = ""
    response_url: str = ""
    given: str = ""
    channels: tuple[str, ...] = ()
