"""When the project service counts as down, and when it may be asked again. State only: no I/O, no waiting.

Five attempts in a row that found no connection, or a 502, 503 or 504, open the breaker. Whatever else the
service answers, a 500 and nonsense included, shows that it is there: the row begins anew, and an open breaker
closes. A slow or broken-off answer shows neither and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from bridge.errors import CannotConnect, ConnectionLost, Outage, ProjectError, TimedOut


class Breaker:
    """Counts attempts; every attempt of every operation in this process is told to it."""

    def __init__(
        self,
        *,
        monotonic: Callable[[], float],
        opens_after: int = 5,
        probe_every: timedelta = timedelta(seconds=5),
    ) -> None:
        self._monotonic = monotonic
        self._opens_after = opens_after
        self._probe_every = probe_every
        self._row = 0
        self._asked_at = monotonic()  # when it opened, or the last probe began

    @property
    def is_open(self) -> bool:
        """Whether the service counts as down."""
        return self._row >= self._opens_after

    @property
    def retry_in(self) -> timedelta:
        """How long until the service may be probed; zero where that is now."""
        passed = timedelta(seconds=self._monotonic() - self._asked_at)
        return max(timedelta(0), self._probe_every - passed)

    @property
    def is_probe_due(self) -> bool:
        """Whether the service counts as down and may be asked about that."""
        return self.is_open and self.retry_in == timedelta(0)

    def begin_probe(self) -> None:
        """Note that a probe goes out; the next one is not due before its time."""
        self._asked_at = self._monotonic()

    def record(self, error: ProjectError | None) -> None:
        """Note how an attempt ended: with *error*, or well."""
        match error:
            case CannotConnect() | Outage():
                self._fail()
            case TimedOut() | ConnectionLost():
                pass
            case _:
                self._row = 0

    def _fail(self) -> None:
        self._row += 1
        # Not for every failure: calls that were under way when it opened, and end one by one, must not put
        # off the probe again and again.
        if self._row == self._opens_after:
            self._asked_at = self._monotonic()
