"""The parts behind the page, as the page sees them.

The page never starts or stops a process itself: it asks a `Supervisor` for states, and turns its switches.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class StoredTrace:
    """What the bridge recorded about a message: the IDs of its *turns*, and their *steps*.

    A step has ``at`` (Unix seconds), ``what``, ``detail``, ``process`` and the ``event`` that was received, as `bridge
    trace PERMALINK --json` prints them.
    """

    turns: frozenset[str] = frozenset()
    steps: Sequence[dict[str, Any]] = ()

    @property
    def events(self) -> frozenset[str]:
        """The IDs of its deliveries."""
        return frozenset(str(step["event"]) for step in self.steps if step.get("event"))


Trace = Callable[[str], Awaitable[StoredTrace]]
"""Returns what the bridge recorded about the message at a permalink."""


@dataclass(frozen=True)
class PartStatus:
    """One part: ``Slack``, ``Project service``, ``Redis`` or ``Bridge``."""

    name: str
    is_stand_in: bool
    is_up: bool
    detail: str = ""  # one line: its process, or why it is down


@dataclass(frozen=True)
class Switch:
    """A fault that can be switched on by *turn*; an action, which has a *button*, happens once and is never on."""

    name: str
    group: str  # the part it affects
    title: str
    explains: str
    turn: Callable[[bool], Awaitable[None]] = field(compare=False)
    is_on: bool = False
    button: str = ""


class Supervisor(Protocol):
    """The parts behind the page."""

    @property
    def features(self) -> dict[str, Any]:
        """The app's ``features``, as in its manifest; empty until that has been read."""

    def faults(self) -> list[Switch]:
        """The switches of Redis and the bridge."""

    def parts(self) -> list[PartStatus]:
        """The state of each part. Called often, so it must not do I/O."""
