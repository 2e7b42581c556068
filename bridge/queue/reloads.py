"""Reloads of the projects' settings: the request that all processes see, and what each has in force.

A process looks for a request every second. The key stays for an hour, so neither an outage of Redis nor a slow start
loses it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bridge.queue.keys import ASKED, HEARD, milliseconds
from bridge.queue.scripting import Scripts, server_time


@dataclass(frozen=True, slots=True)
class InForce:
    """What a process uses: the *revision* of its configuration, and the *projects*, *since* when.

    *started* is when the process was first reported, by Redis' clock (0: by an earlier release, which doesn't say).
    *unknown* says which of its rules and limits name what doesn't exist. *problems* say why it refused what it last
    read, for *request* if that's why it did; else *changed* says in words what was new, and *needs_restart* names the
    variables whose new values it doesn't use yet. *clock* says how wrong its machine's clock is, if it is.
    """

    revision: str
    projects: tuple[str, ...]
    since: float
    problems: tuple[str, ...] = ()
    request: str = ""
    changed: tuple[str, ...] = ()
    needs_restart: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    clock: str = ""
    started: float = field(default=0.0, compare=False)


class Reloads:
    """Requests and reports in Redis. Methods may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys
        self._started = 0.0  # of the process that reports

    async def request(self) -> str:
        """Ask every process to read its configuration again; returns the request, which their reports name."""
        request = secrets.token_hex(8)
        await self._redis.set(self._keys.reload(), request, px=milliseconds(ASKED))
        return request

    async def requested(self, process: str) -> tuple[str, InForce | None]:
        """Return the latest request (``""``: none), and what *process* last reported."""
        stored: Any = await self._redis.mget([self._keys.reload(), self._keys.in_force(process)])
        request, report = stored
        return str(request or ""), _read(report)

    async def report(self, process: str, in_force: InForce) -> None:
        """Record what *process* has in force; its heartbeat renews the record."""
        self._started = self._started or await server_time(self._redis)
        text = json.dumps(asdict(replace(in_force, started=self._started)))
        await self._redis.set(self._keys.in_force(process), text, px=milliseconds(HEARD))

    async def reports(self, processes: Iterable[str]) -> dict[str, InForce | None]:
        """Return what each of *processes* last reported."""
        names = list(processes)
        reports: Any = await self._redis.mget([self._keys.in_force(name) for name in names]) if names else []
        return dict(zip(names, map(_read, reports), strict=True))


def _read(text: str | None) -> InForce | None:
    """Read a report; None if there's none that this version understands."""
    try:
        stored = json.loads(text or "")
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value := stored[name], list) else value
            for name in InForce.__annotations__
            if name in stored
        }
        return InForce(**known)
    except (ValueError, TypeError):
        return None
