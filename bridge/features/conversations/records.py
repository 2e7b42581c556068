"""What's left to do once an answer or a notice is posted."""

from __future__ import annotations

from typing import Literal

from bridge.engine.results import After


class AnswerShown(After, frozen=True):
    """The outcome of a message is shown, by *turn* for *agent* (its name); those who asked to be notified are told."""

    kind: Literal["answer shown"] = "answer shown"
    turn: str
    agent: str = ""


class ShownLate(After, frozen=True):
    """The outcome of an earlier *turn* was shown on request, by a button in the message *notice* (``ts``)."""

    kind: Literal["shown late"] = "shown late"
    turn: str
    notice: str


class QueuedAgain(After, frozen=True):
    """The notice says that *turn* was queued again, and is removed once that ends."""

    kind: Literal["queued again"] = "queued again"
    turn: str


class Greeted(After, frozen=True):
    """The person was greeted, and won't be greeted again."""

    kind: Literal["greeted"] = "greeted"
    user: str
