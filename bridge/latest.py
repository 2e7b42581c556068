"""What has a limit: `Latest`, a dictionary, in size, and `Bucket`, what's done, in time."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Latest(OrderedDict[K, V]):
    """Keeps at most *most* items: those that were set last."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


class Bucket:
    """Has room for *most* in each minute."""

    def __init__(self, most: int, monotonic: Callable[[], float]) -> None:
        self._at: deque[float] = deque(maxlen=most)
        self._monotonic = monotonic

    def wait(self) -> float:
        """Return in how many seconds there's room; 0 if there is."""
        return max(0.0, self._at[0] + 60 - self._monotonic()) if len(self._at) == self._at.maxlen else 0.0

    def add(self) -> None:
        """Count something."""
        self._at.append(self._monotonic())
