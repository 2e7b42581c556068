"""`Deps`: the parts of the bridge that handlers use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bridge.engine.access import Access
from bridge.engine.feature import HomeSection
from bridge.features.channels.settings import Channels
from bridge.features.conversations.contents import PartReader
from bridge.features.conversations.context import Context
from bridge.features.conversations.sessions import Sessions
from bridge.features.recent import Recent
from bridge.features.statistics.reader import Statistics
from bridge.ids import ThreadKey
from bridge.metrics import Metrics
from bridge.project import Catalog, ProjectClient
from bridge.queue.inbox import Inbox
from bridge.queue.scripting import Scripts
from bridge.slack.indicators import Indicators
from bridge.slack.people import Directory
from bridge.slack.post import Say


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    """The parts of a bridge that handlers use.

    *default_agent* is ``BRIDGE_DEFAULT_AGENT``. *store_since* returns since when the store has data. *follow* queues
    replies that arrived before their root, by ``ts``, and raises `SlackError`. *ensure_caught_up* raises `TryLater` if
    older messages of a thread, from an outage, must be sent first. *workspace* is the workspace's address in Slack.
    *long_run* is how long a run takes before its card offers to notify people.
    *run_url*, *workflow_url* and *agent_url* are templates of addresses in the project's own pages, or ``""``.
    Data of a single feature is read and written through *scripts*.
    """

    scripts: Scripts
    catalog: Catalog
    project: ProjectClient
    inbox: Inbox
    sessions: Sessions
    channels: Channels
    recent: Recent
    statistics: Statistics
    access: Access
    say: Say
    indicators: Indicators
    directory: Directory
    context: Context
    parts: PartReader
    ensure_caught_up: Callable[[ThreadKey], Awaitable[None]]
    follow: Callable[[ThreadKey, Sequence[str]], Awaitable[None]]
    store_since: Callable[[], datetime | None]
    now: Callable[[], datetime]
    session_lifetime: timedelta
    metrics: Metrics
    home_sections: Sequence[HomeSection]
    bot_user: str
    default_agent: str = ""
    command_prefix: str = ""
    workspace: str = ""
    long_run: timedelta = timedelta(minutes=1)
    run_url: str = ""
    workflow_url: str = ""
    agent_url: str = ""
