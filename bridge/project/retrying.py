"""Whether a failed attempt is repeated, and after how long. Pure: the client sleeps.

A read is repeated on whatever may pass. An operation that changes something is repeated only where it surely
did not arrive: no connection was made, or the service said that it was too busy to begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from bridge.errors import Busy, CannotConnect, ConnectionLost, Outage, ProjectError, TimedOut

MOST_TRIES = 3
LONGEST_PATIENCE = timedelta(seconds=5)
"""The longest Retry-After that is waited out; beyond it the caller decides."""
READ_BUDGET = timedelta(seconds=8)
"""No read is begun again later than this after the first try: somebody waits for a list."""
_FIRST_WAIT = timedelta(milliseconds=300)


@dataclass(frozen=True, slots=True)
class Tries:
    """What was tried of one operation: how many times (*made*), for how long, how often it was too slow."""

    is_read: bool
    made: int
    elapsed: timedelta
    slow: int


def wait_before_retry(error: ProjectError, tries: Tries, jitter: float) -> timedelta | None:
    """Tell how long to wait before the next try, or None where there is none; *jitter* is from 0 to 1."""
    if tries.made >= MOST_TRIES or not _is_transient(error, tries):
        return None
    wait = _FIRST_WAIT * 2.0 ** (tries.made - 1) * (0.5 + jitter / 2)
    if isinstance(error, Busy) and error.retry_after is not None:
        if error.retry_after > LONGEST_PATIENCE:
            return None
        wait = max(wait, error.retry_after)
    if tries.is_read and tries.elapsed + wait > READ_BUDGET:
        return None
    return wait


def _is_transient(error: ProjectError, tries: Tries) -> bool:
    match error:
        case CannotConnect() | Busy():
            return True
        case ConnectionLost() | Outage():
            return tries.is_read
        case TimedOut():
            return tries.is_read and tries.slow <= 1
        case _:
            return False
