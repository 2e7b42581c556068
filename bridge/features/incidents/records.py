"""What incidents queue, and what's left to do once it's posted."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import AwareDatetime

from bridge.engine.results import After
from bridge.features.episodes.episode import Does
from bridge.features.episodes.telling import EpisodeChange


class IncidentChange(EpisodeChange):
    """What changes an *incident*, *at* this moment, for operators; *user* is ``""``."""

    is_about_failures: ClassVar[bool] = True
    kind: Literal["incident"] = "incident"
    in_words: ClassVar[str] = "an incident"
    incident: str
    does: Does
    at: AwareDatetime


class PostedIncident(After, frozen=True):
    """The message about an *incident* that began at *since*."""

    kind: Literal["posted incident"] = "posted incident"
    incident: str
    since: AwareDatetime
