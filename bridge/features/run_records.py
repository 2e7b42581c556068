"""Runs that no command of a person starts, as they're queued, and what's left to do once a card is posted."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import AwareDatetime

from bridge.features.standing.records import PostedThing
from bridge.inbound import InboundMessage, Job, Starter


class TriggeredRun(Job):
    """A run of *workflow* on an app's *message*, on behalf of the person who set this up for its channel.

    If it *is_alert*, the message is the bot's own, about an alert.
    """

    is_of_owner: ClassVar[bool] = True
    is_public: ClassVar[bool] = True
    kind: Literal["triggered_run"] = "triggered_run"
    in_words: ClassVar[str] = "an app's message that runs a workflow"
    named: ClassVar[str] = "app message"
    workflow: int
    message: InboundMessage
    is_alert: bool = False

    @property
    def thread_ts(self) -> str:
        """The thread of the message, for the run's card and notices."""
        return self.message.thread.root

    @property
    def as_message(self) -> InboundMessage:
        """The post of an app or an alert that it's started by."""
        return self.message

    @property
    def starters(self) -> tuple[tuple[str, Starter, str], ...]:
        """The owner of the alert, or of the rule for the app."""
        return ((self.user, "alert", "") if self.is_alert else (self.user, "app", self.message.app),)


class ScheduledRun(Job):
    """A run of *workflow* for a scheduled *task*'s *slot*, on behalf of its owner, the *user*.

    If someone requested it outside of its schedule, that's the *user*, and the *owner* is named besides; else that's
    ``""``. *called* describes the schedule. *skipped* is the first slot since the last run that was skipped.
    """

    is_of_owner: ClassVar[bool] = True
    tells_owner: ClassVar[bool] = True
    is_public: ClassVar[bool] = True
    kind: Literal["scheduled_run"] = "scheduled_run"
    in_words: ClassVar[str] = "a scheduled run"
    named: ClassVar[str] = "scheduled run"
    task: str
    slot: AwareDatetime
    workflow: int
    input: Any = ""
    called: str = ""
    skipped: AwareDatetime | None = None
    numbers: str = ""
    owner: str = ""

    @property
    def starters(self) -> tuple[tuple[str, Starter, str], ...]:
        """Its owner, and who requested it outside of its schedule."""
        return ((self.owner or self.user, "schedule", ""), *(((self.user, "person", ""),) if self.owner else ()))


class ApprovedRun(Job):
    """A run that was approved, on behalf of the *user* who asked for it, queued in the step that approved it.

    The *approval* has its input, whose SHA-256 is *digest*; *rule* asked for it. *started_by* is what started it if its
    person didn't. *is_outside*: the bot isn't in its channel, so its person gets the card as a direct message.
    """

    is_of_owner: ClassVar[bool] = True
    is_public: ClassVar[bool] = True
    kind: Literal["approved_run"] = "approved_run"
    in_words: ClassVar[str] = "an approved run"
    named: ClassVar[str] = "approved run"
    approval: str
    digest: str
    rule: str = ""
    thread_ts: str = ""
    started_by: ScheduledRun | TriggeredRun | None = None
    is_outside: bool = False


class PostedTask(PostedThing, frozen=True):
    """The data stored about a scheduled question or run once its message for a *slot* is posted.

    *thread_ts* is the thread that a question continues, or ``""``, and *ended* how a run ended.
    *numbers* is the snapshot of the statistics that were filled in, for the next one.
    """

    thing_in = "task"
    kind: Literal["posted task"] = "posted task"
    task: str
    slot: AwareDatetime
    thread_ts: str = ""
    ended: str = ""
    numbers: str = ""
