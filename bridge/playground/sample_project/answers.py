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
class PlannedUse:
    """A planned response to the next *times* requests (None: to all) to *path* (``*``: to any)."""

    method: str
    path: str
    answer: Planned
    times: int | None

    def fits(self, method: str, path: str) -> bool:
        return self.times != 0 and self.method == method and self.path in {path, "*"}
