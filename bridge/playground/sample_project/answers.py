"""What a request to the sample project may be answered with instead of the proper answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bridge.playground.wire import DropAfter, DropBefore


@dataclass(frozen=True)
class PlannedAnswer:
    """This answer, after *delay* seconds: *json*, or the bytes of *body* where they are given."""

    status: int = 200
    json: Any = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass(frozen=True)
class Proper:
    """The proper answer, after *delay* seconds."""

    delay: float = 0.0


@dataclass(frozen=True)
class Hang:
    """No answer, and the connection stays open; nothing is carried out."""


Planned = PlannedAnswer | Proper | Hang | DropBefore | DropAfter


@dataclass
class _Plan:
    method: str
    path: str
    answer: Planned
    times: int | None


class Plans:
    """The answers that were planned, in order."""

    def __init__(self) -> None:
        self._plans: list[_Plan] = []

    def add(self, method: str, path: str, answer: Planned, times: int | None) -> None:
        """Plan *answer* for the next *times* requests (None: for all)."""
        self._plans.append(_Plan(method, path, answer, times))

    def clear(self) -> None:
        """Answer properly again."""
        self._plans.clear()

    def take(self, method: str, path: str) -> Planned:
        """The answer for this request; it is used up by one."""
        for plan in self._plans:
            if plan.times != 0 and plan.method == method and plan.path in {path, "*"}:
                if plan.times is not None:
                    plan.times -= 1
                return plan.answer
        return Proper()
