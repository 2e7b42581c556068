"""What schedules queue, and what's left to do once a report is posted."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import AwareDatetime

from bridge.features.standing.records import DueJob, PostedThing
from bridge.inbound import Starter


class Report(DueJob):
    """A report to post for its *slot*."""

    thing_in = "report"
    kind: Literal["report"] = "report"
    in_words: ClassVar[str] = "a scheduled report"
    report: str

    @property
    def did(self) -> str:
        """Its name for the audit."""
        return "report, by hand" if self.is_asked_for else "report"


class ScheduledTask(DueJob):
    """A scheduled question or run whose *slot* is due.

    *does* is ``question`` or ``run``. *thread_ts* is the thread that it continues, or ``""``.
    """

    is_public: ClassVar[bool] = True
    starts_by: ClassVar[Starter] = "schedule"
    thing_in = "task"
    kind: Literal["scheduled"] = "scheduled"
    in_words: ClassVar[str] = "a scheduled question or run"
    task: str
    does: str
    thread_ts: str = ""

    @property
    def did(self) -> str:
        """Its name for the audit."""
        return f"scheduled {self.does}{', by hand' if self.is_asked_for else ''}"


class PostedReport(PostedThing, frozen=True):
    """The data stored about a scheduled report once it's posted for its *slot*.

    Its *words* are quoted with the first question in its thread, and the next report is compared with its *numbers*.
    With *binds*, its thread is a conversation at once.
    """

    thing_in = "report"
    kind: Literal["posted report"] = "posted report"
    report: str
    slot: AwareDatetime
    words: str
    numbers: str = ""
    binds: bool = False
