"""The emulator's own clock, which can be moved forward, so that no test waits for an outage to end."""

from __future__ import annotations

from collections.abc import Callable


class SlackClock:
    """Unix seconds of *source*, plus an offset."""

    def __init__(self, source: Callable[[], float]) -> None:
        self._source = source
        self._ahead = 0.0

    def __call__(self) -> float:
        return self._source() + self._ahead

    def move(self, seconds: float) -> None:
        """Move forward by *seconds*. Raises ValueError for negative ones: use ``at`` for older messages."""
        if seconds < 0:
            raise ValueError(f"{seconds} s: a clock can't be moved backwards")
        self._ahead += seconds
