"""`Turn`: what a handler gets."""

from __future__ import annotations

from collections.abc import Callable

from bridge.project.connection import ProjectConnection
from bridge.queue.records import Taken
from bridge.queue.turn import Journal, Lease, QueuedTurn, Watches


class Turn(QueuedTurn):
    """A turn of a thread, command, click or form, with the *project* that it's about."""

    def __init__(
        self,
        taken: Taken,
        lease: Lease,
        journal: Journal,
        watches: Watches,
        *,
        may_begin: Callable[[], bool],
        project: ProjectConnection,
    ) -> None:
        super().__init__(taken, lease, journal, watches, may_begin=may_begin)
        self.project = project
