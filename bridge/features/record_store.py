"""Stores of what people set up or ask for: a hash for each record, and a sorted set of their IDs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from redis.asyncio import Redis

from bridge.engine.home import Reads
from bridge.errors import RecordNotUnderstood
from bridge.queue.scripting import Scripts, as_json
from bridge.queue.writes import Write, only_if


class Owned(Protocol):
    """What an *owner* set up."""

    @property
    def owner(self) -> str: ...  # noqa: D102 - a user ID


class SetUpRecord(Protocol):
    """A stored record of something that a person set up."""

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def spec(self) -> Owned: ...  # noqa: D102


T = TypeVar("T")
R = TypeVar("R", bound=SetUpRecord)


async def asked(redis: Redis, commands: Callable[[Any], object]) -> list[Any]:
    """Return Redis's answers to the *commands* that are called on a pipeline, in one round trip.

    Raises `StoreUnavailable`.
    """
    async with redis.pipeline(transaction=False) as pipe:
        commands(pipe)
        answers: list[Any] = await pipe.execute()
    return answers


class RecordStore(Generic[T]):
    """The records of one namespace, at most *most*. Coroutines may raise `StoreUnavailable`; others return writes.

    *listed* is the sorted set; *key_of* returns the key of a record's hash, and *parse* reads that or raises
    `RecordNotUnderstood`.
    """

    most = 1000

    def __init__(
        self, scripts: Scripts, listed: str, key_of: Callable[[str], str], parse: Callable[[str, Mapping[str, str]], T]
    ) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys
        self._listed = listed
        self._key_of = key_of
        self._parse = parse

    async def get(self, id_: str) -> T | None:
        """Return a record; None if it was deleted. Raises `RecordNotUnderstood`."""
        fields: Any = await self._redis.hgetall(self._key_of(id_))
        return self._parse(id_, fields) if fields else None

    async def all(self, reads: Reads | None = None) -> list[T]:
        """Return all records in the set's order, without those that only a newer version can read.

        For Home, they take two of its *reads*.
        """
        ask, found = reads.ask if reads else partial(asked, self._redis), list[T]()
        (ids,) = await ask(lambda pipe: pipe.zrange(self._listed, 0, -1))
        records = await ask(lambda pipe: [pipe.hgetall(self._key_of(str(id_))) for id_ in ids]) if ids else []
        for id_, fields in zip(ids, records, strict=True):
            with suppress(RecordNotUnderstood):
                found.append(self._parse(str(id_), fields))
        return found

    def pause(self, id_: str, why: str, *more: Write) -> tuple[Write, ...]:
        """Return the writes that pause a record, and *more*, unless it's already paused or deleted."""
        key = self._key_of(id_)
        return only_if(key, {"v": "1", "paused": ""}, ("field", key, 0, "paused", why), *more)

    def resume(self, id_: str, paused: str, *more: Write) -> tuple[Write, ...]:
        """Return the writes that resume a record that's *paused* for a reason, and *more*, unless that has changed."""
        key = self._key_of(id_)
        return only_if(key, {"v": "1", "paused": paused}, ("field", key, 0, "paused", ""), *more)

    def delete(self, id_: str, *more: Write) -> tuple[Write, ...]:
        """Return the writes that delete a record, and *more*, unless it's already deleted."""
        key = self._key_of(id_)
        return only_if(key, {"v": "1"}, ("delete", key, 0), ("unrank", self._listed, 0, id_), *more)

    async def is_full(self) -> bool:
        """Whether no more can be stored."""
        return int(await self._redis.zcard(self._listed)) >= self.most

    async def reasons(self, ids: Iterable[str]) -> list[str]:
        """Return why those of the records *ids* that are paused are."""
        found = await asked(self._redis, lambda pipe: [pipe.hget(self._key_of(str(id_)), "paused") for id_ in ids])
        return [str(reason) for reason in found if reason]

    async def paused(self) -> list[str]:
        """Return why those that are paused are."""
        ids: Any = await self._redis.zrange(self._listed, 0, -1)
        return await self.reasons(ids) if ids else []


async def erase_of(store: RecordStore[R], scripts: Scripts, user: str) -> int:
    """Delete what a person set up; returns how much that was. Raises `StoreUnavailable`."""
    theirs = [record.id for record in await store.all() if record.spec.owner == user]
    for id_ in theirs:
        await scripts.run("write", as_json(store.delete(id_)), confirmed=True)
    return len(theirs)
