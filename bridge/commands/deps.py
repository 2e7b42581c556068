"""What commands, clicks and forms are given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bridge.ids import ThreadKey, TurnId
from bridge.project.catalog import Catalog
from bridge.project.client import ProjectClient
from bridge.store.sessions import Results, Sessions


@dataclass(frozen=True, slots=True)
class Deps:
    """What they look things up in.

    *may_run* says whether a person (by Slack id) may run workflows, *name_of* what a person is called.
    """

    catalog: Catalog
    project: ProjectClient
    sessions: Sessions
    results: Results
    may_run: Callable[[str], Awaitable[bool]]
    name_of: Callable[[str], Awaitable[str]]
    command_prefix: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks, where, and how they can be answered. *thread* is set for what was said or pressed in a thread."""

    team: str
    channel: str
    user: str
    turn: TurnId
    thread: ThreadKey | None = None
    trigger_id: str = ""
    response_url: str = ""
