"""`Episode`: something that begins, may change and be back, and is over. Pure functions.

It's posted once, when it begins. While it lasts, changes are replies in the message's thread; when it's over, the
message is edited, and a reply says so. If it begins again while its end is stored, the same message is used again.

Its message may be posted long after it has begun, or even ended: while Slack is down, for example. So its end waits for
that post.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Literal, NamedTuple

from bridge.queue.scripting import epoch_ms, from_epoch_ms

CHANGES_EVERY: Final = timedelta(minutes=5)
"""How often at most a change is posted."""

TRIES_EVERY: Final = timedelta(minutes=10)
"""How long after Slack has refused a message it's tried again: someone may have invited the bot."""

UNKNOWN_FOR: Final = timedelta(days=1)
"""After how long it's said, once, that it's unknown whether something is there."""

UNTIL_IT_RECOVERS: Final = "recovers"

Does = Literal["begins", "changes", "again", "ends", "unknown"]


class Finding(NamedTuple):
    """Something that's there *since* then, or was until *ended*: a *kind*, in a *project* (its ID) if that matters.

    *detail* is shown. A new *sign* is a change worth a reply. *project_name* is set if there are several projects.
    """

    kind: str
    since: datetime
    detail: str = ""
    sign: str = ""
    project: str = ""
    project_name: str = ""
    ended: datetime | None = None

    @property
    def name(self) -> str:
        """What identifies it: there's one incident of a name at a time."""
        return f"{self.kind}:{self.project}" if self.project else self.kind


class EpisodeStep(NamedTuple):
    """What changes an episode: the *fields* to store, and what's posted about it (None: nothing)."""

    does: Does | None
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """What's stored of an episode; *fields* is its hash.

    *since* is when it began, if it was posted or will be, and *post* the ``ts`` of that message. It *ended* then, and
    *is_closed* once that is, or will be, posted. *sign* is that of its last `Finding`, *changed* when something was
    last posted about it, and *refused* when Slack refused its message. *quiet* is the end of its cooling off, *snoozed*
    that of its snooze (ms), or ``recovers``. *unknown* is since when it's unknown whether it's there; if that
    *is_told*, people know.
    """

    since: datetime | None = None
    post: str = ""
    ended: datetime | None = None
    is_closed: bool = False
    sign: str = ""
    changed: datetime | None = None
    refused: datetime | None = None
    quiet: datetime | None = None
    snoozed: str = ""
    unknown: datetime | None = None
    is_told: bool = False
    fields: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    unposted: ClassVar[timedelta] = timedelta(0)
    """How long its end waits to be stored until its beginning is posted."""

    @staticmethod
    def read(fields: Mapping[str, str]) -> dict[str, Any]:
        """Parse what all episodes store. Raises ValueError."""
        moments = {
            name: from_epoch_ms(ms)
            for name in ("since", "ended", "changed", "refused", "quiet", "unknown")
            if (ms := fields.get(name))
        }
        texts = {name: fields.get(name, "") for name in ("post", "sign", "snoozed")}
        flags = {"is_closed": bool(fields.get("closed")), "is_told": bool(fields.get("told"))}
        return {**moments, **texts, **flags, "fields": fields}

    def over(self, at: datetime) -> dict[str, str]:
        """Return the fields for its end."""
        raise NotImplementedError

    @property
    def snoozed_until(self) -> datetime | None:
        """The end of its snooze, if that's a moment."""
        return from_epoch_ms(self.snoozed) if self.snoozed.isdecimal() else None

    def is_snoozed(self, now: datetime) -> bool:
        """Whether it may not begin *now*: until a moment, or until it recovers."""
        until = self.snoozed_until
        return self.snoozed == UNTIL_IT_RECOVERS or (until is not None and now < until)


def step(episode: Episode, finding: Finding | Literal["unknown"] | None, now: datetime) -> EpisodeStep | None:
    """Return what changes an episode, by a *finding* *now*; None if nothing does."""
    if finding == "unknown":
        if episode.unknown is None:
            return EpisodeStep(None, {"unknown": str(epoch_ms(now))})
        is_news = now - episode.unknown >= UNKNOWN_FOR and not episode.is_told and not episode.is_snoozed(now)
        return EpisodeStep("unknown", {"told": "1"}) if is_news else None
    changes = _there(episode, finding, now) if finding and finding.ended is None else _not_there(episode, finding, now)
    if episode.unknown is None:
        return changes
    does, fields = changes or (None, {})
    return EpisodeStep(does, {**fields, "unknown": "", "told": ""})


def _there(episode: Episode, finding: Finding, now: datetime) -> EpisodeStep | None:
    if episode.since is None:
        is_cooling = episode.quiet is not None and now < episode.quiet
        return None if is_cooling or episode.is_snoozed(now) else _begins(finding)
    if episode.ended is not None:
        return _begins(finding, "again") if episode.is_closed else EpisodeStep(None, {"ended": ""})
    if not episode.post:
        is_due = episode.refused is not None and now - episode.refused >= TRIES_EVERY
        return EpisodeStep("begins", {"refused": ""}) if is_due else None
    is_news = finding.sign != episode.sign and now - (episode.changed or episode.since) >= CHANGES_EVERY
    return EpisodeStep("changes", {}) if is_news else None


def _not_there(episode: Episode, finding: Finding | None, now: datetime) -> EpisodeStep | None:
    """Return what changes if it isn't there now; a *finding* is over."""
    recovers = {"snoozed": ""} if episode.snoozed == UNTIL_IT_RECOVERS else {}
    if episode.since is None:
        return _begins(finding) if finding else EpisodeStep(None, recovers) if recovers else None
    if episode.ended is None:
        if not episode.post and now - episode.since < episode.unposted:
            return None
        ended = (finding and finding.ended) or now
        return EpisodeStep("ends" if episode.post else None, {**episode.over(ended), **recovers})
    if not episode.is_closed:
        return EpisodeStep("ends", {"closed": "1"}) if episode.post else None
    is_new = finding is not None and finding.since > episode.ended  # it was there again, and is over
    return _begins(finding, "again") if finding and is_new else None


def _begins(finding: Finding, does: Literal["begins", "again"] = "begins") -> EpisodeStep:
    anew = {"v": "1", "post": ""} if does == "begins" else {"ended": "", "closed": ""}
    ended = {"ended": str(epoch_ms(finding.ended))} if finding.ended else {}
    return EpisodeStep(does, {"since": str(epoch_ms(finding.since)), **anew, **ended})
