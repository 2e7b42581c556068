"""The claims of a schedule's slots (`bridge.features.clock`): each slot that is due is put once, whoever finds it.

Some processes look at what a schedule says is due, and then claim what they saw. A claim is one step: the turn of the
slot is put and the schedule goes on, if the schedule still says what was seen (``if``) and the slot has no mark. Where
it has one, only the schedule goes on. In between a process may be killed; a failover may take the schedule one slot
back; and a mark lives for some time only, while a process may sleep for longer.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

LAST: Final = 2  # the slots that are due: 0, 1 and 2
PROCESSES: Final = 2
MUTANTS: Final = ("no guard", "no mark", "put beside the schedule", "a duplicate ends it")
"""What is left out."""


class Place(NamedTuple):
    """Where everything stands. *seen* is what each process saw is due; *puts* counts the turns of each slot."""

    due: int = 0
    marks: frozenset[int] = frozenset()
    puts: tuple[int, ...] = (0,) * (LAST + 1)
    seen: tuple[int | None, ...] = (None,) * PROCESSES
    writes: tuple[int | None, ...] = (None,) * PROCESSES  # a slot whose schedule is still to go on
    failovers: int = 1
    sleeps: int = 1  # so often a mark is gone before a process wakes up


class Search(NamedTuple):
    """What was *found* wrong, the steps to it, and how many states there are."""

    fault: str
    path: list[str]
    states: int


def steps(s: Place, mutant: str) -> Iterator[tuple[str, Place]]:
    """Give every step that can come next."""
    for i in range(PROCESSES):
        mine = s._replace(seen=_with(s.seen, i, None), writes=_with(s.writes, i, None))
        seen, writes = s.seen[i], s.writes[i]
        if writes is not None:
            yield f"{i} has the schedule go on", _go_on(mine, writes, mutant)
        elif seen is None:
            if s.due <= LAST:
                yield f"{i} sees that {s.due} is due", s._replace(seen=_with(s.seen, i, s.due))
            continue
        else:
            yield f"{i} claims {seen}", _claim(mine, i, seen, mutant)
        yield f"{i} is killed", mine
    if s.failovers and s.due:
        yield "a failover takes the schedule back", s._replace(due=s.due - 1, failovers=s.failovers - 1)
    if s.sleeps and s.failovers:  # with both, nobody could know that the slot was put
        for gone in s.marks:
            yield f"the mark of {gone} runs out", s._replace(marks=s.marks - {gone}, sleeps=0, failovers=0)


def _claim(s: Place, i: int, slot: int, mutant: str) -> Place:
    if slot in s.marks and mutant != "no mark":
        return s if mutant == "a duplicate ends it" else s._replace(writes=_with(s.writes, i, slot))
    if s.due != slot and mutant not in {"no guard", "put beside the schedule"}:
        return s
    puts = tuple(count + (at == slot) for at, count in enumerate(s.puts))
    s = s._replace(marks=s.marks | {slot}, puts=puts)
    return (
        s._replace(writes=_with(s.writes, i, slot)) if mutant == "put beside the schedule" else _go_on(s, slot, mutant)
    )


def _go_on(s: Place, slot: int, mutant: str) -> Place:
    return s._replace(due=slot + 1) if s.due == slot or mutant == "no guard" else s


def _with(values: tuple[int | None, ...], at: int, value: int | None) -> tuple[int | None, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _fault(s: Place, mutant: str) -> str:
    if max(s.puts) > 1:
        return f"slot {s.puts.index(max(s.puts))} was put {max(s.puts)} times"
    for _ in range(6 * (LAST + 1)):  # one process, left alone, does what is left
        left = [after for said, after in steps(s, mutant) if said.startswith("0") and "killed" not in said]
        if not left:
            break
        s = left[0]
    return "" if min(s.puts) else f"slot {s.puts.index(0)} is never put"


def search(mutant: str = "") -> Search:
    """Look at every state that can be reached, the nearest first, until a promise is broken."""
    begin = Place()
    came_from: dict[Place, tuple[str, Place] | None] = {begin: None}
    left = deque([begin])
    while left:
        s = left.popleft()
        if fault := _fault(s, mutant):
            path, step = [], came_from[s]
            while step is not None:
                path.append(step[0])
                step = came_from[step[1]]
            return Search(fault, path[::-1], len(came_from))
        for said, after in steps(s, mutant):
            if after not in came_from:
                came_from[after] = (said, s)
                left.append(after)
    return Search("", [], len(came_from))


if __name__ == "__main__":
    for name in ("", *MUTANTS):
        sys.stdout.write(f"{name or 'all of it'}: {search(name)}\n")
