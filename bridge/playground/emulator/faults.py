"""Trouble on demand: what a Web API method, a response URL, an upload or a download does instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bridge.playground.emulator.entities import Json
from bridge.playground.wire import DropAfter, DropBefore


@dataclass(frozen=True)
class RateLimited:
    """429 with Retry-After; the call is not carried out."""

    retry_after: int = 1


@dataclass(frozen=True)
class Error:
    """``ok: false`` with this word; the call is not carried out."""

    error: str


@dataclass(frozen=True)
class Http:
    """This HTTP status with this body and these headers, of whatever stands there; the call is not carried out."""

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
    """There is no answer before *until* is set. The call is carried out then, or, where it *is_done*, at once.

    One whose caller has gone by then is not carried out any more.
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
    """What is going to go wrong, in the order in which it was planned."""

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
        """Let *fault* happen to the next *times* calls (None: to all) of *method*, in *channel* if one is named.

        With *when*, to those alone whose arguments are so.

        *method* is a Web API method, ``response_url``, ``upload``, ``download``, or ``*`` for anything.
        """
        self._planned.append(_Planned(method, fault, times, channel, when))

    def clear(self, method: str | None = None) -> None:
        """Let all go well again, or what was planned for *method* alone."""
        self._planned = [one for one in self._planned if method not in {None, one.method}]

    def take(self, method: str, channel: str, args: Json) -> Fault | None:
        """The fault that happens to this call; it is used up by one."""
        for planned in self._planned:
            if planned.fits(method, channel, args):
                if planned.times is not None:
                    planned.times -= 1
                return planned.fault
        return None
