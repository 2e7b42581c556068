"""Lists of what has a name, which may lack some."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")


class Listing(list[T]):
    """Rows that the service sent; *is_part*: it says that there are more, or some counts can't be used."""

    def __init__(self, rows: Iterable[T] = (), *, is_part: bool = False) -> None:
        self.extend(rows)
        self.is_part = is_part

    def only(self, rows: Iterable[T]) -> Listing[T]:
        """Return some of its *rows*."""
        return Listing(rows, is_part=self.is_part)


def is_part(items: Iterable[Any]) -> bool:
    """Whether the service said that there are more than these *items*."""
    return isinstance(items, Listing) and items.is_part
