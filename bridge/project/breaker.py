"""What follows from a failed attempt: whether it is repeated, and when the service counts as down. State, no I/O.

A read is repeated on whatever may pass. An operation that changes something is repeated only where it surely
did not arrive: no connection was made, or the service said that it was too busy to begin.

Five attempts in a row that found no connection, or a 502, 503 or 504, open the breaker. Whatever else the
service answers, a 500 and nonsense included, shows that it is there: the row begins anew, and an open breaker
closes. A slow or broken-off answer shows neither and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from bridge.errors import Busy, CannotConnect, ConnectionLost, Outage, ProjectError, TimedOut

_log = logging.getLogger(__name__)

MOST_TRIES = 3
LONGEST_PATIENCE = timedelta(seconds=5)
"""The longest Retry-After that is waited out; beyond it the caller decides."""
READ_BUDGET = timedelta(seconds=8)
"""No read is begun again later than this after the first try: somebody waits for a list."""
OPENS_AFTER = 5
PROBE_EVERY = timedelta(seconds=5)
_FIRST_WAIT = timedelta(milliseconds=300)


def wait_before_retry(
    error: ProjectError, *, is_read: bool, tries: int, slow: int, elapsed: timedelta, jitter: float
) -> timedelta | None:
    """Tell how long to wait before the next try, or None where there is none.

    *tries* is how many were made, *slow* how many of them timed out; *jitter* is from 0 to 1.
    """
    match error:
        case CannotConnect() | Busy():
            may_pass = True
        case ConnectionLost() | Outage():
            may_pass = is_read
        case TimedOut():
            may_pass = is_read and slow <= 1
        case _:
            may_pass = False
    wait = _FIRST_WAIT * 2.0 ** (tries - 1) * (0.5 + jitter / 2)
    if isinstance(error, Busy) and error.retry_after is not None:
        may_pass = error.retry_after <= LONGEST_PATIENCE
        wait = max(wait, error.retry_after)
    is_too_late = is_read and elapsed + wait > READ_BUDGET
    return wait if may_pass and tries < MOST_TRIES and not is_too_late else None


class Breaker:
    """Counts attempts; every attempt of every operation in this process is reported to it.

    *is_open* says whether the service counts as down.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.is_open = False
        self._monotonic = monotonic
        self._row = 0
        self._asked_at = 0.0  # when it opened, or the last probe began

    @property
    def retry_in(self) -> timedelta:
        """How long until the service may be probed; zero where that is now."""
        return max(timedelta(0), PROBE_EVERY - timedelta(seconds=self._monotonic() - self._asked_at))

    def claim_probe(self) -> bool:
        """Whether the caller is to probe now; the next one is due five seconds later."""
        if not self.is_open or self.retry_in:
            return False
        self._asked_at = self._monotonic()
        return True

    def record(self, error: ProjectError | None) -> None:
        """Note how an attempt ended: with *error*, or well."""
        match error:
            case CannotConnect() | Outage():
                self._row += 1
                # Not for every failure: calls that were under way when it opened, and end one by one, must not
                # put off the probe again and again.
                if self._row == OPENS_AFTER:
                    self.is_open, self._asked_at = True, self._monotonic()
                    _log.warning("project service is down", extra={"outcome": type(error).__name__})
            case TimedOut() | ConnectionLost():
                pass
            case _:
                self._row = 0
                if self.is_open:
                    self.is_open = False
                    _log.warning("project service is back")
