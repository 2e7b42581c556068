"""`Standing`: a kind of thing that people set up, and that stays in Redis until it's deleted or over.

Each feature registers its kinds (`Feature.sets_up`). Whatever is about all that people set up goes through them:
erasing a person (`bridge forget`), what an emptied Redis has lost (`bridge.queue.wipe`), and what's paused (incidents).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bridge.queue.keys import Keys
from bridge.queue.scripting import Scripts


async def _nothing_paused(_: object) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A kind: *noun* names a single thing, and *plural* several. *keys* are its lines in the table of keys.

    *count* returns how many there are. *erase* deletes those of a person, or takes the person's name off what others
    still need, and returns how many that were; None if they name no one. *paused* returns the reasons why some are
    paused, given the features' ``Deps``. All of them may raise `StoreUnavailable`.
    """

    noun: str
    plural: str
    keys: tuple[str, ...]
    count: Callable[[Scripts], Awaitable[int]]
    erase: Callable[[Scripts, str], Awaitable[int]] | None
    paused: Callable[[Any], Awaitable[Sequence[str]]] = _nothing_paused

    def counted(self, number: int) -> str:
        """Write a count: ``1 alert``, ``2 alerts``."""
        return f"{number:,} {self.noun if number == 1 else self.plural}"


def size(line: str) -> Callable[[Scripts], Awaitable[int]]:
    """Return a `Standing.count` that's the size of a sorted set or a hash, by its *line* in the table of keys."""
    is_hash = vars(Keys)[line].kind == "hash"

    async def count(scripts: Scripts) -> int:
        key: str = getattr(scripts.keys, line)()
        found: Any = await (scripts.redis.hlen(key) if is_hash else scripts.redis.zcard(key))
        return int(found)

    return count


async def all_counted(kinds: Iterable[Standing], scripts: Scripts) -> str:
    """Count all that people have set up: ``2 schedules, 1 alert``; ``""`` if that's nothing."""
    listed = tuple(kinds)
    numbers = await asyncio.gather(*(kind.count(scripts) for kind in listed))
    return ", ".join(kind.counted(number) for kind, number in zip(listed, numbers, strict=True) if number)
