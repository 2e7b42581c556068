"""Planned responses of the sample project, in place of the proper ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bridge.playground.local_server import DropAfter, DropBefore


@dataclass(frozen=True)
class PlannedAnswer:
    """This response, after *delay* seconds: *json*, or the bytes of *body* if given."""

    status: int = 200
    json: Any = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass(frozen=True)
class Proper:
    """The proper response, after *delay* seconds."""

    delay: float = 0.0


@dataclass(frozen=True)
class Hang:
    """No response; the connection stays open and nothing is carried out."""


Planned = PlannedAnswer | Proper | Hang | DropBefore | DropAfter


@dataclass
class _Plan:
    method: str
    path: str
    answer: Planned
    times: int | None


class Plans:
    """The planned responses, in order."""

    def __init__(self) -> None:
        self._plans: list[_Plan] = []

    def add(self, method: str, path: str, answer: Planned, times: int | None) -> None:
        self._plans.append(_Plan(method, path, answer, times))

    def clear(self) -> None:
        self._plans.clear()

    def take(self, method: str, path: str) -> Planned:
        for plan in self._plans:
            if plan.times != 0 and plan.method == method and plan.path in {path, "*"}:
                if plan.times is not None:
                    plan.times -= 1
                return plan.answer
        return Proper()
