"""Model of limits (`bridge.policy.limits`): what is counted with SENT, and taken back if it surely didn't arrive.

Two workers send requests that count for one limit. SENT and the count are one script: a request beyond the limit is
refused and waits for the next window, which begins with its first count. A request that surely didn't arrive is taken
back in the script that queues it again. In between, a worker is killed (what it sent may have arrived), loses its lane,
Redis runs a script a second time, the window ends, and the operator's file is edited: to another number of the same
counter.

The promises: no more requests arrive within a window than the limit that was in force when they were sent allows; what
arrived or may have arrived counts; and a request that never arrived doesn't use the limit up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from proof.model.search import Found, search as breadth_first

WORKERS: Final = 2


class World(NamedTuple):
    """What may happen in a scenario: the number *most* before and after the file's *edits*, and the faults."""

    requests: int = 3
    most: tuple[int, int] = (1, 1)
    edits: int = 0
    misses: int = 0  # requests that don't arrive
    kills: int = 0
    repeats: int = 0  # a script whose answer was lost
    windows: int = 0  # further windows


class Request(NamedTuple):
    """A request: its *step*, its worker, the number it was held to, the window it counts in, and where it arrived."""

    step: str = "queued"  # queued, sent (about to be), missed, arrived, unknown
    worker: int = -1
    held_to: int = 0
    window: int = 0
    arrived_in: tuple[tuple[int, int], ...] = ()  # that number and the window, for the promises


class Place(NamedTuple):
    """The state. *used* is counted in the *window*; *in_force* is 1 after an edit; *read* is what a worker read."""

    left: World
    requests: tuple[Request, ...]
    used: int = 0
    window: int = 0
    in_force: int = 0
    read: tuple[int, ...] = (0,) * WORKERS  # only a mutant's: how much was used when the worker looked
    has_read: tuple[bool, ...] = (False,) * WORKERS


SCENARIOS: Final[dict[str, World]] = {
    "two workers": World(),
    "a request doesn't arrive": World(misses=2, repeats=1),
    "a worker is killed": World(kills=2, misses=1),
    "the window ends": World(misses=1, windows=2, kills=1),
    "the file is edited": World(most=(2, 1), edits=1, misses=1, windows=1),
}

MUTANTS: Final[dict[str, str]] = {
    "looked at apart from the count": "two workers",
    "not taken back": "a request doesn't arrive",
    "taken back twice": "a request doesn't arrive",
    "a kill takes it back": "a worker is killed",
    "counted when it arrived": "a worker is killed",
    "counted twice": "a request doesn't arrive",
    "taken back from any window": "the window ends",
    "each number has a counter": "the file is edited",
}
"""The precautions that are left out, and a scenario that shows it."""


def steps(s: Place, without: str) -> Iterator[tuple[str, Place]]:
    """Yield the possible next steps."""
    busy = {one.worker for one in s.requests}
    for at, one in enumerate(s.requests):
        if one.step == "queued" and one.worker < 0:
            for worker in set(range(WORKERS)) - busy:
                yield f"{worker} takes {at}", _put(s, at, one._replace(worker=worker))
        elif one.worker >= 0:
            yield from _work(s, at, one, without)
    if s.left.windows and s.used:
        yield "the window ends", s._replace(used=0, window=s.window + 1, left=_less(s, "windows"))
    if s.left.edits:
        used = 0 if without == "each number has a counter" else s.used
        yield "the file is edited", s._replace(in_force=1, used=used, left=_less(s, "edits"))


def _work(s: Place, at: int, one: Request, without: str) -> Iterator[tuple[str, Place]]:
    worker = one.worker
    if one.step == "queued" and without == "looked at apart from the count" and not s.has_read[worker]:
        seen = s._replace(read=_with(s.read, worker, s.used), has_read=_with(s.has_read, worker, value=True))
        yield f"{worker} looks at the limit", seen
    elif one.step == "queued":
        yield f"{worker} writes SENT of {at}", _sent(s, at, one, without)
    elif one.step == "sent":
        arrived = _put(s, at, one._replace(step="arrived", worker=-1, arrived_in=(*one.arrived_in, _place_of(one))))
        if without == "counted when it arrived":
            arrived = _count(arrived, 1)
        yield f"{at} arrives", arrived
        if s.left.misses:
            yield f"{at} doesn't arrive", _put(s, at, one._replace(step="missed"))._replace(left=_less(s, "misses"))
        if s.left.repeats:
            again = _count(s, 1) if without == "counted twice" else s
            yield f"Redis writes SENT of {at} twice", again._replace(left=_less(s, "repeats"))
    elif one.step == "missed":
        back = _put(s, at, one._replace(step="queued", worker=-1))
        yield f"{worker} takes {at} back", _taken_back(back, one, without)
        if s.left.repeats:
            twice = _taken_back(back, one, without)
            twice = _taken_back(twice, one, without) if without == "taken back twice" else twice
            yield f"{worker} takes {at} back, and Redis does it twice", twice._replace(left=_less(s, "repeats"))
    if s.left.kills:
        killed = s._replace(left=_less(s, "kills"), has_read=_with(s.has_read, worker, value=False))
        if one.step == "queued":
            yield f"{worker} is killed", _put(killed, at, one._replace(worker=-1))
            return
        # Nobody knows whether it arrived; a successor doesn't send it again.
        known = (*one.arrived_in, _place_of(one)) if one.step == "sent" else one.arrived_in
        lost = _put(killed, at, one._replace(step="unknown", worker=-1, arrived_in=known))
        yield f"{worker} is killed", _taken_back(lost, one, without) if without == "a kill takes it back" else lost


def _sent(s: Place, at: int, one: Request, without: str) -> Place:
    """Check the limit and count, in one script; a refused one is over."""
    used = s.used
    if without == "looked at apart from the count":
        used = s.read[one.worker]
        s = s._replace(read=_with(s.read, one.worker, 0), has_read=_with(s.has_read, one.worker, value=False))
    if used >= s.left.most[s.in_force]:
        return _put(s, at, one._replace(step="refused", worker=-1))
    after = _put(s, at, one._replace(step="sent", held_to=s.in_force, window=s.window))
    return after if without == "counted when it arrived" else _count(after, 1)


def _taken_back(s: Place, one: Request, without: str) -> Place:
    if without == "not taken back":
        return s
    is_ours = without == "taken back from any window" or s.window == one.window
    return _count(s, -1) if is_ours else s


def _place_of(one: Request) -> tuple[int, int]:
    return one.held_to, one.window


def _count(s: Place, amount: int) -> Place:
    return s._replace(used=s.used + amount)


def _put(s: Place, at: int, one: Request) -> Place:
    return s._replace(requests=(*s.requests[:at], one, *s.requests[at + 1 :]))


def _with(values: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _less(s: Place, what: str) -> World:
    return s.left._replace(**{what: getattr(s.left, what) - 1})


def broken(s: Place) -> str:
    """Describe the promise that a state breaks, if any."""
    arrived = [place for one in s.requests for place in one.arrived_in]
    for window in {window for _number, window in arrived}:
        numbers = [number for number, one in arrived if one == window]
        if len(numbers) > s.left.most[max(numbers)]:  # the one that was in force for the last of them
            return "more arrived in a window than its limit allows"
    # Sent and not known to be missed, or killed before it was taken back: it may have arrived.
    counts = [one for one in s.requests if one.step not in {"queued", "refused"} and one.window == s.window]
    return "" if s.used == len(counts) else "what counts isn't what arrived, or may have"


def search(world: World, without: str = "") -> Found:
    """Search a scenario, perhaps without a precaution."""
    first = Place(world, (Request(),) * world.requests)
    return breadth_first(first, partial(steps, without=without), lambda s, _: broken(s))
