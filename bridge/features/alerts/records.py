"""What alerts queue, and what's left to do once it's posted."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import AwareDatetime

from bridge.engine.results import After
from bridge.inbound import Job


class AlertEdge(Job):
    """The condition of an *alert* begins to hold, has *ended* or *is_unknown*: a message, queued by the bridge itself.

    *user* is its owner. *said* is what was found, *facts* the numbers at that time. Its end is posted in the thread
    *thread_ts* of the message about its beginning, at *since*; so is that it has been unknown since then.
    *is_check*: only its owner's access is checked.
    """

    is_of_owner: ClassVar[bool] = True
    tells_owner: ClassVar[bool] = True
    kind: Literal["alert"] = "alert"
    in_words: ClassVar[str] = "an alert"
    alert: str
    since: AwareDatetime
    ended: AwareDatetime | None = None
    said: str = ""
    facts: str = ""
    thread_ts: str = ""
    is_check: bool = False
    is_unknown: bool = False


class PostedAlert(After, frozen=True):
    """The *alert* that was posted since its condition holds, at *since*; *called* is the condition.

    *text* is quoted with the first question in its thread, and is the input of the workflow that it runs.
    """

    kind: Literal["posted alert"] = "posted alert"
    alert: str
    called: str
    since: AwareDatetime
    text: str
