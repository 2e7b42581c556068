"""What incidents queue, and what's left to do once it's posted."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import AwareDatetime

from bridge.engine.results import After
from bridge.inbound import Job


class IncidentChange(Job):
    """An *incident* begins, changes, begins again or ends, *at* this moment: a message, queued by the bridge itself.

    It's posted in the thread *thread_ts* of the message about its beginning, for operators; *user* is ``""``.
    """

    is_of_owner: ClassVar[bool] = True
    is_about_failures: ClassVar[bool] = True
    kind: Literal["incident"] = "incident"
    in_words: ClassVar[str] = "an incident"
    incident: str
    does: Literal["begins", "changes", "again", "ends"]
    at: AwareDatetime
    since: AwareDatetime
    said: str = ""
    thread_ts: str = ""


class PostedIncident(After, frozen=True):
    """The message about an *incident* that began at *since*."""

    kind: Literal["posted incident"] = "posted incident"
    incident: str
    since: AwareDatetime
