"""The circuit breaker: whether the project service counts as up.

Five attempts in a row without a connection, or with a 502, 503 or 504, open it, and so does a key that's refused
everything. Any other answer, even a 500, shows that the service is up, resets the count and closes it. Timeouts and
broken answers change nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from bridge.errors import CannotConnect, ConnectionLost, Forbidden, NotSignedIn, Outage, ProjectError, TimedOut

log = logging.getLogger(__name__)

_OPENS_AFTER = 5
_PROBE_EVERY = timedelta(seconds=5)


class Breaker:
    """The circuit breaker for all operations of this process. While it *is_open*, the service counts as down."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.is_open = False
        self.rejects_key = False  # that's why it's open
        self.was_reached = False
        self._monotonic = monotonic
        self._failures_in_a_row = 0
        self._opened_at = 0.0
        self._tried_at = 0.0  # when the breaker opened, or the last probe started

    @property
    def open_for(self) -> timedelta | None:
        """How long it has been open; None if it's closed."""
        return timedelta(seconds=self._monotonic() - self._opened_at) if self.is_open else None

    @property
    def retry_in(self) -> timedelta:
        """Return how long until the service may be probed."""
        return max(timedelta(0), _PROBE_EVERY - timedelta(seconds=self._monotonic() - self._tried_at))

    def claim_probe(self) -> bool:
        """Whether the caller should probe now; the next probe is due five seconds later."""
        if not self.is_open or self.retry_in:
            return False
        self._tried_at = self._monotonic()
        return True

    def record(self, error: ProjectError | None) -> None:
        """Count an attempt that succeeded (None), or failed with *error*."""
        match error:
            case NotSignedIn():
                self.was_reached = self.rejects_key = True
                if not self.is_open:
                    self._open(error)
            case Forbidden():  # by a probe, too, which isn't over yet
                self.was_reached, self._failures_in_a_row = True, 0
            case CannotConnect() | Outage():
                self._failures_in_a_row += 1
                # Only for the fifth failure: calls that were running when the breaker opened fail one by one, and
                # mustn't delay the probe each time.
                if self._failures_in_a_row == _OPENS_AFTER:
                    self._open(error)
            case TimedOut() | ConnectionLost():
                pass
            case _:
                self.was_reached, self._failures_in_a_row = True, 0
                if self.is_open:
                    self.is_open = self.rejects_key = False
                    log.warning("project service is back")

    def _open(self, error: ProjectError) -> None:
        self.is_open, self._opened_at = True, self._monotonic()
        self._tried_at = self._opened_at
        log.warning("project service is down", extra={"outcome": type(error).__name__})
