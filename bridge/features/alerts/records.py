"""What alerts queue, and what's left to do once it's posted."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import AwareDatetime

from bridge.features.episodes.telling import EpisodeChange
from bridge.features.standing.records import PostedThing


class AlertEdge(EpisodeChange):
    """The condition of an *alert* begins to hold, has *ended*, or it *is_unknown* since then whether it holds.

    *user* is its owner, and *facts* the numbers at that time. *is_check*: only its owner's access is checked.
    """

    tells_owner: ClassVar[bool] = True
    kind: Literal["alert"] = "alert"
    in_words: ClassVar[str] = "an alert"
    alert: str
    ended: AwareDatetime | None = None
    facts: str = ""
    is_check: bool = False
    is_unknown: bool = False


class PostedAlert(PostedThing, frozen=True):
    """The *alert* that was posted since its condition holds, at *since*.

    *text* is quoted with the first question in its thread, and is the input of the workflow that it runs.
    """

    thing_in = "alert"
    kind: Literal["posted alert"] = "posted alert"
    alert: str
    since: AwareDatetime
    text: str
