"""The search that all models share."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

S = TypeVar("S")


class Found(NamedTuple):
    """A search's result: the fault, the path to it, and the number of states."""

    fault: str
    path: list[str]
    states: int


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Collect no garbage for a while: there are millions of tuples and no cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@_without_garbage_collection()
def search(
    first: S, moves: Callable[[S], Iterable[tuple[str, S]]], fault_of: Callable[[S, list[tuple[str, S]]], str]
) -> Found:
    """Visit every state that *moves* reach from *first*, breadth first, up to the first with a fault.

    *fault_of* describes the promise that a state breaks, if any; it also gets the state's moves, none if it's a final
    one.
    """
    came_from: dict[S, tuple[str, S] | None] = {first: None}
    queue = deque([first])
    while queue:
        s = queue.popleft()
        following = list(moves(s))
        if fault := fault_of(s, following):
            path, step = [], came_from[s]
            while step is not None:
                path.append(step[0])
                step = came_from[step[1]]
            return Found(fault, path[::-1], len(came_from))
        for said, after in following:
            if after not in came_from:
                came_from[after] = (said, s)
                queue.append(after)
    return Found("", [], len(came_from))
