"""Everything that a workspace holds lies on shelves, and whatever changes there is told: at once, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from bridge.playground.emulator.keeping import Storage

T = TypeVar("T")


@dataclass(frozen=True)
class Change:
    """Something is new, different, or (*is_gone*) no more.

    *kind* is ``message`` (also for its reactions), ``private_message``, ``view``, ``home`` (*id* is the user's),
    ``session`` (status, title and suggested prompts of a thread, or of a whole direct message where *ts* is empty),
    ``channel`` (its members, topic, pins, what is read), ``person``, ``group``, ``file``, ``scheduled`` (a message
    that is due later) or ``execution`` (a step of a workflow).
    """

    kind: str
    id: str
    channel: str = ""
    ts: str = ""
    is_gone: bool = False


Subscriber = Callable[[Change], None]


class Shelf(Mapping[str, T]):
    """All things of one *kind*, in the order in which they came; *where* gives the channel and ts of one.

    Things may be altered in place, but nobody hears of it, and nothing is kept, until they are `put` back.
    """

    def __init__(
        self,
        kind: str,
        of: type[T],
        storage: Storage,
        tell: Subscriber,
        where: Callable[[T], tuple[str, str]] = lambda _: ("", ""),
    ) -> None:
        self._kind = kind
        self._storage = storage
        self._tell = tell
        self._where = where
        self._things: dict[str, T] = {key: of(**fields) for key, fields in storage.read(kind)}

    def __getitem__(self, key: str) -> T:
        return self._things[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def put(self, key: str, thing: T) -> T:
        """Lay something there, or back after it was altered."""
        self._things[key] = thing
        self._storage.write(self._kind, key, thing)
        self._tell(Change(self._kind, key, *self._where(thing)))
        return thing

    def drop(self, key: str) -> None:
        """Take something away, if it is there."""
        thing = self._things.pop(key, None)
        if thing is not None:
            self._storage.write(self._kind, key, None)
            self._tell(Change(self._kind, key, *self._where(thing), is_gone=True))
