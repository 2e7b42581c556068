"""What schedules queue, and what's left to do once a report is posted."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import AwareDatetime

from bridge.engine.results import After
from bridge.inbound import Job, Starter


class Report(Job):
    """A report to post for its *slot*, the time when it was due, queued by the bridge itself.

    *user* is its owner, or the person who requested it outside of its schedule if it *is_asked_for*.
    """

    is_of_owner: ClassVar[bool] = True
    tells_owner: ClassVar[bool] = True
    kind: Literal["report"] = "report"
    in_words: ClassVar[str] = "a scheduled report"
    report: str
    slot: AwareDatetime
    is_asked_for: bool = False

    @property
    def did(self) -> str:
        """Its name for the audit."""
        return "report, by hand" if self.is_asked_for else "report"


class ScheduledTask(Job):
    """A scheduled question or run whose *slot* is due, queued by the bridge itself.

    *user* is its owner, or the person who requested it outside of its schedule if it *is_asked_for*. *does* is
    ``question`` or ``run``. *thread_ts* is the thread that it continues, or ``""``.
    """

    is_of_owner: ClassVar[bool] = True
    tells_owner: ClassVar[bool] = True
    is_public: ClassVar[bool] = True
    starts_by: ClassVar[Starter] = "schedule"
    kind: Literal["scheduled"] = "scheduled"
    in_words: ClassVar[str] = "a scheduled question or run"
    task: str
    does: str
    slot: AwareDatetime
    is_asked_for: bool = False
    thread_ts: str = ""

    @property
    def did(self) -> str:
        """Its name for the audit."""
        return f"scheduled {self.does}{', by hand' if self.is_asked_for else ''}"


class PostedReport(After, frozen=True):
    """The data stored about a scheduled report once it's posted for its *slot*.

    Its *words* are quoted with the first question in its thread, and the next report is compared with its *numbers*.
    With *binds*, its thread is a conversation at once. *called* describes its schedule.
    """

    kind: Literal["posted report"] = "posted report"
    report: str
    called: str
    slot: AwareDatetime
    words: str
    numbers: str = ""
    binds: bool = False
