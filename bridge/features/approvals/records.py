"""What requests for approval queue, and what's left to do once their card is posted."""

from __future__ import annotations

from typing import ClassVar, Literal

from bridge.engine.results import After
from bridge.inbound import Job


class ApprovalDue(Job):
    """A request for *approval* by the *user* is half over (``reminder``), or has ended (``end``).

    Or its *user* is one of those who may decide, and gets a direct message (``wanted``, ``still wanted``).
    """

    is_unrequested: ClassVar[bool] = True
    is_public: ClassVar[bool] = True
    kind: Literal["approval"] = "approval"
    in_words: ClassVar[str] = "a request for approval is due"
    approval: str
    what: Literal["reminder", "end", "wanted", "still wanted"]
    thread_ts: str = ""

    @property
    def did(self) -> str:
        """Its name for the audit."""
        return f"approval {self.what}"


class RequestPosted(After, frozen=True):
    """The card of a request for *approval* was posted; those who may approve it are notified."""

    kind: Literal["request posted"] = "request posted"
    approval: str


class ApproverAsked(After, frozen=True):
    """The *user* was asked to decide about a request for *approval*, as an earlier release recorded it."""

    kind: Literal["approver asked"] = "approver asked"
    approval: str
    user: str
