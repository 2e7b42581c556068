"""`Standing`: a kind of thing that people set up, and that stays in Redis until it's deleted or over.

Each feature registers its kinds (`Feature.sets_up`). Whatever is about all that people set up goes through them:
erasing a person (`bridge forget`), what an emptied Redis has lost (`bridge.queue.wipe`), what's paused (incidents), and
`bridge export` and `bridge import`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field

from bridge.queue.keys import Keys
from bridge.queue.scripting import Scripts

T = TypeVar("T")


async def _nothing_paused(_: object) -> Sequence[str]:
    return ()


class ExportedLine(BaseModel, frozen=True, extra="forbid"):
    """A thing of a *kind* (`Standing.noun`) in an export: its *spec* is what was set up, and *state* what came of it.

    Without an *id*, it gets one. *added* is when it was set up, in ms.
    """

    kind: str
    id: str = Field("", pattern=r"^[\w:-]{0,64}$")
    added: int = Field(0, ge=0, le=2**52)
    spec: dict[str, Any]
    state: dict[str, str] = {}


def check_fields(given: Mapping[str, Any], read: Mapping[str, Any], of: str = "") -> None:
    """Raise ValueError if a field that's *given* isn't in what was *read* of an imported spec, or *of* its field."""
    for name, value in given.items():
        if name not in read:
            raise ValueError(f"{of}{name} isn't a field: check its spelling")
        if isinstance(value, dict) and isinstance(read[name], dict):
            check_fields(value, read[name], f"{of}{name}.")


@dataclass(frozen=True, slots=True)
class Portable(Generic[T]):
    """How things of a kind are exported as *lines*, and imported: all are *read* before any is *written*.

    *read* raises ValueError with what's wrong. *written* leaves what's there already, and returns how many of them
    weren't; raises `ConfigurationError` if there are too many.
    """

    lines: Callable[[Scripts], Awaitable[list[ExportedLine]]]
    read: Callable[[ExportedLine], T]
    written: Callable[[Scripts, Sequence[T], datetime], Awaitable[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A kind: *noun* names a single thing, and *plural* several. *keys* are its lines in the table of keys.

    *count* returns how many there are. *erase* deletes those of a person, or takes the person's name off what others
    still need, and returns how many that were; None if they name no one. *paused* returns the reasons why some are
    paused, given the features' ``Deps``. All of them may raise `StoreUnavailable`. What is not *portable*
    is exported with another kind, or not at all. Those with a list of their own have the *name* of their buttons, an
    *example* of a command that sets one up, and the command that *lists* them. Of those *due* at times, that's what the
    metrics call them, and the line of their sorted set by due time.
    """

    noun: str
    plural: str
    keys: tuple[str, ...]
    count: Callable[[Scripts], Awaitable[int]]
    erase: Callable[[Scripts, str], Awaitable[int]] | None
    paused: Callable[[Any], Awaitable[Sequence[str]]] = _nothing_paused
    portable: Portable[Any] | None = None
    name: str = ""
    example: str = ""
    lists: str = ""
    due: tuple[str, str] | None = None

    def counted(self, number: int) -> str:
        """Write a count: ``1 alert``, ``2 alerts``."""
        return f"{number:,} {self.noun if number == 1 else self.plural}"


def size(line: str) -> Callable[[Scripts], Awaitable[int]]:
    """Return a `Standing.count` that's the size of a sorted set or a hash, by its *line* in the table of keys."""
    is_hash = vars(Keys)[line].kind == "hash"

    async def count(scripts: Scripts) -> int:
        key: str = getattr(scripts.keys, line)()
        number: Any = await (scripts.redis.hlen(key) if is_hash else scripts.redis.zcard(key))
        return int(number)

    return count


async def all_counted(kinds: Iterable[Standing], scripts: Scripts) -> str:
    """Count all that people have set up: ``2 schedules, 1 alert``; ``""`` if that's nothing."""
    listed = tuple(kinds)
    numbers = await asyncio.gather(*(kind.count(scripts) for kind in listed))
    return ", ".join(kind.counted(number) for kind, number in zip(listed, numbers, strict=True) if number)
