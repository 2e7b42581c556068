"""Model of a schedule's slots (`bridge.engine.clock`): each due slot is queued once, whichever process claims it.

Processes read the due slot from a schedule and then claim it. A claim is one step: if the schedule hasn't changed since
(``if``) and the slot has no mark, it queues the slot's turn and advances the schedule; if the slot has a mark, it only
advances the schedule. In between, a process may be killed, a failover may set the schedule back by one slot, and a mark
may expire while a process sleeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from proof.model.search import Found, search as breadth_first

LAST: Final = 2  # slots 0, 1 and 2 are due
PROCESSES: Final = 2
MUTANTS: Final = ("no guard", "no mark", "put apart from the schedule", "a duplicate ends it")
"""The precautions that are left out."""


class Place(NamedTuple):
    """The state. *seen* is the due slot that each process read; *puts* counts each slot's turns."""

    due: int = 0
    marks: frozenset[int] = frozenset()
    puts: tuple[int, ...] = (0,) * (LAST + 1)
    seen: tuple[int | None, ...] = (None,) * PROCESSES
    writes: tuple[int | None, ...] = (None,) * PROCESSES  # a queued slot past which the schedule hasn't advanced yet
    failovers: int = 1
    sleeps: int = 1  # how often a mark expires while a process sleeps


def steps(s: Place, mutant: str) -> Iterator[tuple[str, Place]]:
    """Yield the possible next steps."""
    for i in range(PROCESSES):
        mine = s._replace(seen=_with(s.seen, i, None), writes=_with(s.writes, i, None))
        seen, writes = s.seen[i], s.writes[i]
        if writes is not None:
            yield f"{i} advances the schedule", _advanced(mine, writes, mutant)
        elif seen is None:
            if s.due <= LAST:
                yield f"{i} sees that {s.due} is due", s._replace(seen=_with(s.seen, i, s.due))
            continue
        else:
            yield f"{i} claims {seen}", _claim(mine, i, seen, mutant)
        yield f"{i} is killed", mine
    if s.failovers and s.due:
        yield "a failover sets the schedule back", s._replace(due=s.due - 1, failovers=s.failovers - 1)
    if s.sleeps and s.failovers:  # after both, nothing could prevent a second put
        for gone in s.marks:
            yield f"the mark of {gone} expires", s._replace(marks=s.marks - {gone}, sleeps=0, failovers=0)


def _claim(s: Place, i: int, slot: int, mutant: str) -> Place:
    if slot in s.marks and mutant != "no mark":
        return s if mutant == "a duplicate ends it" else s._replace(writes=_with(s.writes, i, slot))
    if s.due != slot and mutant not in {"no guard", "put apart from the schedule"}:
        return s
    puts = tuple(count + (at == slot) for at, count in enumerate(s.puts))
    s = s._replace(marks=s.marks | {slot}, puts=puts)
    return (
        s._replace(writes=_with(s.writes, i, slot))
        if mutant == "put apart from the schedule"
        else _advanced(s, slot, mutant)
    )


def _advanced(s: Place, slot: int, mutant: str) -> Place:
    return s._replace(due=slot + 1) if s.due == slot or mutant == "no guard" else s


def _with(values: tuple[int | None, ...], at: int, value: int | None) -> tuple[int | None, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _fault(s: Place, mutant: str) -> str:
    if max(s.puts) > 1:
        return f"slot {s.puts.index(max(s.puts))} was queued {max(s.puts)} times"
    for _ in range(6 * (LAST + 1)):  # a single process finishes the rest
        left = [after for said, after in steps(s, mutant) if said.startswith("0") and "killed" not in said]
        if not left:
            break
        s = left[0]
    return "" if min(s.puts) else f"slot {s.puts.index(0)} is never queued"


def search(mutant: str = "") -> Found:
    """Search the model, perhaps without a precaution."""
    return breadth_first(Place(), partial(steps, mutant=mutant), lambda s, _: _fault(s, mutant))
