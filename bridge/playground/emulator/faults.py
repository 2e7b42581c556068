"""Faults on demand, of Web API methods, response URLs, uploads and downloads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bridge.playground.emulator.entities import Json
from bridge.playground.local_server import DropAfter, DropBefore


@dataclass(frozen=True)
class RateLimited:
    """429 with Retry-After; the call is not carried out."""

    retry_after: int = 1


@dataclass(frozen=True)
class Error:
    """``ok: false`` with this word, and what it's about; the call is not carried out."""

    error: str
    messages: Sequence[str] = ()


@dataclass(frozen=True)
class Http:
    """This HTTP status with this body and these headers, instead; the call is not carried out."""

    status: int
    body: str | bytes = "<html>Server Error</html>"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Slow:
    """The call is carried out after this many seconds."""

    seconds: float


@dataclass(frozen=True)
class Redirect:
    """302 to this address; the call is not carried out."""

    location: str


@dataclass(frozen=True)
class Hang:
    """No response before *until* is set. The call is carried out then or, if *is_done*, at once.

    If the caller has gone by then, it isn't carried out.
    """

    is_done: bool = False
    until: asyncio.Event = field(default_factory=asyncio.Event)


Fault = RateLimited | Error | Http | Slow | Redirect | Hang | DropBefore | DropAfter


@dataclass
class _Planned:
    method: str
    fault: Fault
    times: int | None
    channel: str | None
    when: Callable[[Json], bool] | None

    def fits(self, method: str, channel: str, args: Json) -> bool:
        is_its = self.times != 0 and self.method in {method, "*"} and self.channel in {None, channel}
        return is_its and (self.when is None or self.when(args))


class Faults:
    """The planned faults, in order."""

    def __init__(self) -> None:
        self._planned: list[_Planned] = []

    def on(
        self,
        method: str,
        fault: Fault,
        *,
        times: int | None = 1,
        channel: str | None = None,
        when: Callable[[Json], bool] | None = None,
    ) -> None:
        """Plan *fault* for the next *times* calls (None: all) of *method*, in *channel* if given.

        With *when*, only for calls whose arguments match.

        *method* is a Web API method, ``response_url``, ``upload``, ``download``, or ``*`` for anything.
        """
        self._planned.append(_Planned(method, fault, times, channel, when))

    def clear(self, method: str | None = None) -> None:
        """Clear all plans, or only those for *method*."""
        self._planned = [fault for fault in self._planned if method not in {None, fault.method}]

    def take(self, method: str, channel: str, args: Json) -> Fault | None:
        """The fault for this call; each use counts."""
        for planned in self._planned:
            if planned.fits(method, channel, args):
                if planned.times is not None:
                    planned.times -= 1
                return planned.fault
        return None
