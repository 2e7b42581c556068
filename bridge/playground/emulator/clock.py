"""The emulator's own time: it passes by itself, and can be moved on, so that nobody has to wait for an outage's end."""

from __future__ import annotations

from collections.abc import Callable


class SlackClock:
    """Unix seconds of *source*, and as many more as it was moved on by."""

    def __init__(self, source: Callable[[], float]) -> None:
        self._source = source
        self._ahead = 0.0

    def __call__(self) -> float:
        """What time it is."""
        return self._source() + self._ahead

    def move(self, seconds: float) -> None:
        """Let *seconds* have passed. Raises ValueError for negative ones: what is to be older is said with ``at``."""
        if seconds < 0:
            raise ValueError(f"{seconds} s: time does not run backwards")
        self._ahead += seconds
