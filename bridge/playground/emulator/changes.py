"""The workspace's collections, which store and announce every change at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from bridge.playground.emulator.storage import Storage

T = TypeVar("T")

Subscriber = Callable[[], None]
"""Called when something was added, changed or removed."""


@cache
def _fields(of: type[Any]) -> Collection[str]:
    return inspect.signature(of).parameters


class EntityTable(Mapping[str, T]):
    """All objects of one *kind* in order of insertion.

    An object may be changed in place, but that is neither announced nor stored until it is `put` again.
    """

    def __init__(self, kind: str, of: type[T], storage: Storage, tell: Subscriber) -> None:
        self._kind = kind
        self._storage = storage
        self._tell = tell
        known = _fields(of)  # type: ignore[arg-type]  # a type is hashable; another version may have stored more
        self._things: dict[str, T] = {
            key: of(**{name: value for name, value in stored.items() if name in known})
            for key, stored in storage.read(kind)
        }

    def __getitem__(self, key: str) -> T:
        return self._things[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def put(self, key: str, thing: T) -> T:
        """Add an object, or announce that it changed."""
        self._things[key] = thing
        self._storage.write(self._kind, key, thing)
        self._tell()
        return thing

    def drop(self, key: str) -> None:
        if self._things.pop(key, None) is not None:
            self._storage.write(self._kind, key, None)
            self._tell()
