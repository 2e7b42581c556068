"""The decision about an incoming message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NO_RULE = "posted by an app without a rule here"


@dataclass(frozen=True, slots=True)
class Received:
    """The decision about a message, in a word for metrics and logs, and its *reason* in a phrase."""

    decision: Literal[
        "queued", "duplicate", "ignored", "refused", "full", "paused", "unbound", "muted", "early", "deferred",
        "edited", "asked", "known", "late", "unknown", "withdrawn", "stopped", "missed", "outdated",
    ]  # fmt: skip
    reason: str = ""
