"""Writes in Redis that belong to a step of a turn: a closed list, so that scripts depend on no feature."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Literal

from bridge.ids import Lane, TurnId

IfWrite = tuple[Literal["if"], str, int, int, *tuple[str, ...]]
Max = tuple[Literal["field max"], str, int, *tuple[str, ...]]
Distinct = tuple[Literal["distinct"], str, int, *tuple[str, ...]]
Append = tuple[Literal["append"], str, int, int, *tuple[str, ...]]
Queue = tuple[Literal["queue"], str, int, TurnId, Lane, int, str, str, str, int]
Write = (
    tuple[Literal["set"], str, int, str]
    | tuple[Literal["delete"], str, int, *tuple[str, ...]]
    | tuple[Literal["field"], str, int, str, str]
    | tuple[Literal["field if"], str, int, str, str, str]
    | Max
    | tuple[Literal["give back"], str, int, str]
    | tuple[Literal["push"], str, int, str, int]
    | tuple[Literal["rank"], str, int, str, int, int]
    | tuple[Literal["unrank"], str, int, str]
    | tuple[Literal["count"], str, int, str, int]
    | Distinct
    | tuple[Literal["trim"], str, int, str]
    | Append
    | Queue
    | IfWrite
)
"""A write that belongs to a step of a turn: made by the script that writes the step, or not at all. (`Inbox.write`
makes writes that belong to no step.)

A closed list, made by the scripts' prelude (`apply`), so that scripts depend on no feature. Each names its key, and the
key's lifetime in ms from then on (0: unchanged). The other elements are, for

* ``set``: the value;
* ``delete``: more keys to delete;
* ``field``: a hash's field and value;
* ``field if``: the same, and the field's expected value (``""``: none); a mismatch changes nothing;
* ``field max``: the same as for ``field``, and more fields and values; made if the new number is greater than the old;
* ``push``: a value for the head of a list, and how many stay;
* ``rank``: member, score, and how many of the highest stay (0: all); Redis answers ``1`` if the member is new;
* ``unrank``: the member to remove;
* ``count``: a hash's field, and by how much its number grows;
* ``distinct``: values that a HyperLogLog counts;
* ``trim``: a stream's first entry that stays;
* ``queue``: a turn to queue once, in a lane of its own: its ID, lane, time, kind and body, and how it came
  (`bridge.queue.inbox.Inbox.queues`);
* ``append``: roughly how many entries of the stream stay, and the fields and values of the new one;
* ``if``: how many of the following writes are made only if the hash has these fields and values (``""``: absent).
"""


def only_if(key: str, state: Mapping[str, str], *writes: Write) -> tuple[Write, ...]:
    """Return the *writes* with an ``if`` before them: of the hash *key*, all fields are as in *state*."""
    guard: IfWrite = ("if", key, 0, len(writes), *chain.from_iterable(state.items()))
    return (guard, *writes)
