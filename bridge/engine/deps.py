"""`EngineDeps`: the parts of the bridge that the engine itself uses; features add theirs in `bridge.features.deps`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from bridge.engine.access import Access
from bridge.engine.home import Homes
from bridge.engine.limits import Limiter
from bridge.engine.projects import ServedProjects
from bridge.engine.said_once import SaidOnce
from bridge.ids import ThreadKey
from bridge.queue.inbox import Inbox
from bridge.queue.scripting import Scripts
from bridge.slack.indicators import Indicators
from bridge.slack.people import Directory
from bridge.slack.post import Poster


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDeps:
    """What every handler may use.

    *ensure_caught_up* raises `TryLater` if older messages of a thread, from an outage, must be sent first.
    Data of a single feature is read and written through *scripts*. *command_prefix* is the slash commands' prefix.
    """

    scripts: Scripts
    inbox: Inbox
    homes: Homes
    projects: ServedProjects
    access: Access
    limits: Limiter
    said_once: SaidOnce
    slack: Poster
    indicators: Indicators
    directory: Directory
    ensure_caught_up: Callable[[ThreadKey], Awaitable[None]]
    now: Callable[[], datetime]
    bot_user: str
    command_prefix: str = ""
