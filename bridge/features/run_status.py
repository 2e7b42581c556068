"""The emoji for a run's status, in any of the words that services use."""

from __future__ import annotations

from typing import Final

_SIGNS: Final = {  # the service's documentation lists no statuses
    "✅": {
        "completed",
        "complete",
        "succeeded",
        "success",
        "successful",
        "done",
        "finished",
        "ok",
        "passed",
    },
    "❌": {
        "failed",
        "failure",
        "error",
        "errored",
        "cancelled",
        "canceled",
        "aborted",
        "timeout",
        "timedout",
    },
    "⏳": {"running", "inprogress", "queued", "pending", "started", "waiting", "paused"},
    "⚠️": {"outcomeunknown", "unknown"},
}


def status_icon(status: str) -> str:
    """Return the emoji for a run's status."""
    word = "".join(letter for letter in status.casefold() if letter.isalpha())
    return next((sign for sign, statuses in _SIGNS.items() if word in statuses), "ℹ️")  # noqa: RUF001 - no letter
