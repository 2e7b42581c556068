"""Scheduled reports on the store of a test."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from bridge.features.conversations.sessions import Sessions
from bridge.features.reports.keeping import Reports
from bridge.features.reports.schedules import Schedules
from bridge.features.stats.statistics import Statistics
from bridge.queue.inbox import Inbox
from bridge.queue.scripting import Scripts
from bridge.slack.people import Directory
from support.store import SESSION_LIFETIME


def schedules_of(scripts: Scripts, now: Callable[[], datetime], name: str = "a") -> Schedules:
    """Give the schedules as the process *name* sees them."""
    return Schedules(scripts, consumer=name, session_lifetime=SESSION_LIFETIME, now=now)


def reports_of(
    scripts: Scripts, statistics: Statistics, directory: Directory, *, name: str = "a", has_default_agent: bool = False
) -> Reports:
    """Put together what reports are made of, for the process *name*."""
    now = statistics.now
    return Reports(
        schedules=schedules_of(scripts, now, name),
        inbox=Inbox(scripts, consumer=name, session_lifetime=SESSION_LIFETIME, now=now),
        sessions=Sessions(scripts, session_lifetime=SESSION_LIFETIME),
        statistics=statistics,
        directory=directory,
        now=now,
        has_default_agent=has_default_agent,
    )
