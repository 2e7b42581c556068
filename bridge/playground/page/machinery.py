"""What the page shows and sets of the parts behind it; whoever starts those parts implements it.

The page never starts or ends a process itself: it asks a `Machinery` how the parts are, and turns its switches.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

Trace = Callable[[str], Awaitable[list[dict[str, Any]]]]
"""Gives what the bridge itself recorded of the message at a permalink: its steps, none where it knows nothing.

A step has ``at`` (Unix seconds), ``what``, ``detail`` and ``process``, as `bridge trace PERMALINK --json` prints them.
"""


@dataclass(frozen=True)
class PartStatus:
    """One part of the whole: ``Slack``, ``Project service``, ``Redis`` or ``Bridge``."""

    name: str
    is_stand_in: bool
    is_up: bool
    detail: str = ""  # one line: its address, its process, why it is down


@dataclass(frozen=True)
class Switch:
    """One thing that can be made to go wrong. An action happens once and is never on."""

    name: str
    group: str  # the name of the part that it befalls
    title: str
    explains: str
    is_on: bool = False
    is_action: bool = False
    button: str = "Do it now"  # of an action


@dataclass(frozen=True)
class OfferedCommand:
    """A slash command, as Slack offers it while somebody types; *usage* is the app's own hint."""

    command: str
    usage: str = ""
    description: str = ""


@dataclass(frozen=True)
class OfferedShortcut:
    """A shortcut of the app: *type* is ``global`` or ``message``."""

    callback_id: str
    name: str
    description: str
    type: str


class Switchboard(Protocol):
    """Some switches."""

    def faults(self) -> list[Switch]:
        """Every switch, as it is now."""

    async def set_fault(self, name: str, is_on: bool) -> None:  # noqa: FBT001 - a switch is told what it shall be
        """Turn a switch; for an action *is_on* means nothing. Raises LookupError where there is none of this name."""


class Machinery(Switchboard, Protocol):
    """The parts behind the page. The switches are those that the page cannot turn itself: Redis and the bridge."""

    def parts(self) -> list[PartStatus]:
        """How each part is now. Asked often: it must not do I/O."""

    def commands(self) -> list[OfferedCommand]:
        """The app's slash commands, in the order in which they are offered."""

    def shortcuts(self) -> list[OfferedShortcut]:
        """The app's shortcuts."""

    def prompts(self) -> list[tuple[str, str]]:
        """What the app's manifest suggests to say in a direct message: title and message of each."""
