"""Scheduled reports on the store of a test."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from bridge.features.conversations.sessions import Sessions
from bridge.features.reports.keeping import Reports, ReportStore
from bridge.features.stats.statistics import Statistics
from bridge.queue.inbox import Inbox
from bridge.queue.scripting import Scripts
from bridge.slack.people import Directory
from support.store import SESSION_LIFETIME


def report_store(scripts: Scripts, now: Callable[[], datetime], name: str = "a") -> ReportStore:
    """Give the reports as the process *name* sees them."""
    return ReportStore(scripts, consumer=name, session_lifetime=SESSION_LIFETIME, now=now)


def reports_of(
    scripts: Scripts, statistics: Statistics, directory: Directory, *, name: str = "a", has_default_agent: bool = False
) -> Reports:
    """Put together what reports are made of, for the process *name*."""
    now = statistics.now
    return Reports(
        store=report_store(scripts, now, name),
        inbox=Inbox(scripts, consumer=name, session_lifetime=SESSION_LIFETIME, now=now),
        sessions=Sessions(scripts, session_lifetime=SESSION_LIFETIME),
        statistics=statistics,
        directory=directory,
        now=now,
        has_default_agent=has_default_agent,
    )
