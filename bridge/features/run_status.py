"""A run in words: who began it, and the emoji for its status, in any of the words that services use."""

from __future__ import annotations

from typing import Final

from bridge.slack.blockkit import kit

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


def begun_by(person: str, did: str, *, schedule: str = "", app: str = "", owner: str = "") -> str:
    """Say who or what began a run: the *person* who *did*, or the *schedule* or *app* that they set up.

    With an *owner*, the person did it now with that one's schedule.
    """
    name = kit.named(person, 80) if kit.one_line(person) else kit.SOMEONE
    if owner:
        return f"{did} by {name} · {begun_by(owner, did, schedule=schedule)}"
    if schedule:
        return f"Scheduled by {name}: {kit.one_line(schedule, 120)}"
    return f"Started by {kit.named(app, 80)}, set up by {name}" if app else f"{did} by {name}"


def status_icon(status: str) -> str:
    """Return the emoji for a run's status."""
    word = "".join(letter for letter in status.casefold() if letter.isalpha())
    return next((sign for sign, statuses in _SIGNS.items() if word in statuses), "ℹ️")  # noqa: RUF001 - no letter
