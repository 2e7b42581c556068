"""Stores of what people set up or ask for: a hash for each record, and a sorted set of their IDs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel

from bridge.engine.home import Reads
from bridge.errors import RecordNotUnderstood
from bridge.queue.scripting import Scripts, epoch_ms, pipelined
from bridge.queue.writes import Write, only_if


class Spec(BaseModel, frozen=True, defer_build=True):
    """What a person set up, as it's stored: its *owner* in a *channel* of a *team*, with a *project* (``""``: default).

    As it was typed, nobody owns it, and its channel may be ``#name`` or ``""``.
    """

    channel: str = ""
    team: str = ""
    owner: str = ""
    project: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two of them the same for people."""
        raise NotImplementedError


class StoredRecord(Protocol):
    """A stored record, by its *id*."""

    @property
    def id(self) -> str: ...  # noqa: D102


class SetUp(StoredRecord, Protocol):
    """A stored record of what a person set up; *paused* is the reason, or ``""``."""

    @property
    def spec(self) -> Spec: ...  # noqa: D102
    @property
    def paused(self) -> str: ...  # noqa: D102


T = TypeVar("T", bound=StoredRecord)
R = TypeVar("R", bound=SetUp)


class RecordStore(Generic[T]):
    """The records of one namespace. Coroutines may raise `StoreUnavailable`; others return writes.

    *listed* is the line of the sorted set in the table of keys, and *stored* that of a record's hash.
    """

    listed: ClassVar[str]
    stored: ClassVar[str]

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys
        self._listed: str = getattr(scripts.keys, self.listed)()

    def _key_of(self, id_: str) -> str:
        key: str = getattr(self._keys, self.stored)(id_)
        return key

    @classmethod
    def parse(cls, id_: str, fields: Mapping[str, str]) -> T:
        """Parse a record's hash. Raises `RecordNotUnderstood`."""
        raise NotImplementedError

    async def get(self, id_: str) -> T | None:
        """Return a record; None if it was deleted. Raises `RecordNotUnderstood`."""
        fields: Any = await self._redis.hgetall(self._key_of(id_))
        return self.parse(id_, fields) if fields else None

    async def all(self, reads: Reads | None = None) -> list[T]:
        """Return all records in the set's order, without those that only a newer version can read.

        For Home, they take two of its *reads*.
        """
        ask, records = reads.ask if reads else partial(pipelined, self._redis), list[T]()
        (ids,) = await ask(lambda pipe: pipe.zrange(self._listed, 0, -1))
        hashes = await ask(lambda pipe: [pipe.hgetall(self._key_of(str(id_))) for id_ in ids]) if ids else []
        for id_, fields in zip(ids, hashes, strict=True):
            with suppress(RecordNotUnderstood):
                records.append(self.parse(str(id_), fields))
        return records


class SetUpStore(RecordStore[R]):
    """What people set up of one kind, at most *most*; another spec makes the fields in *anew* start anew.

    *indexes* are the lines of its other keys.
    """

    most: ClassVar[int] = 1000
    anew: ClassVar[tuple[str, ...]] = ()
    indexes: ClassVar[tuple[str, ...]] = ()

    def body(self, record: R) -> tuple[Write, ...]:
        """Return the writes of a record's spec, and of what follows from it."""
        return (("field", self._key_of(record.id), 0, self.field_of(record.spec), record.spec.model_dump_json()),)

    @staticmethod
    def field_of(spec: Spec) -> str:
        """Return the field of a record's hash with its spec, as JSON."""
        return "body"

    def ranks(self, record: R) -> tuple[Write, ...]:
        """Return the writes that put a record into other indexes, or take it out if it's paused."""
        return ()

    def unranks(self, id_: str) -> tuple[Write, ...]:
        """Return the writes that take a record out of other indexes."""
        return ()

    def add(self, record: R, now: datetime) -> tuple[Write, ...]:
        """Return the writes that store a record and list it by when it was added, *now*."""
        return (
            ("field", self._key_of(record.id), 0, "v", "1"),
            *self.body(record),
            ("rank", self._listed, 0, record.id, epoch_ms(now), 0),
            *self.ranks(record),
        )

    def change(self, record: R, *more: Write) -> tuple[Write, ...]:
        """Return the writes that give a record another spec, and *more*, unless it's deleted; paused, it stays so."""
        key = self._key_of(record.id)
        anew: list[Write] = [("field", key, 0, name, "") for name in self.anew]
        return only_if(key, {"v": "1"}, *self.body(record), *anew, *self.ranks(record), *more)

    def pause(self, id_: str, why: str, *more: Write) -> tuple[Write, ...]:
        """Return the writes that pause a record, and *more*, unless it's already paused or deleted."""
        key = self._key_of(id_)
        paused: Write = ("field", key, 0, "paused", why)
        return only_if(key, {"v": "1", "paused": ""}, paused, *self.unranks(id_), *more)

    def resume(self, record: R, now: datetime, *more: Write) -> tuple[Write, ...]:
        """Return the writes that resume a paused record *now*, and *more*, unless that has changed."""
        key = self._key_of(record.id)
        return only_if(key, {"v": "1", "paused": record.paused}, ("field", key, 0, "paused", ""), *more)

    def delete(self, id_: str, *more: Write) -> tuple[Write, ...]:
        """Return the writes that delete a record, and *more*, unless it's already deleted."""
        key = self._key_of(id_)
        gone: tuple[Write, ...] = (("delete", key, 0), ("unrank", self._listed, 0, id_))
        return only_if(key, {"v": "1"}, *gone, *self.unranks(id_), *more)

    def misses_project(self, id_: str) -> tuple[Write, ...]:
        """Return the writes that record that its project isn't served, unless that's known."""
        key = self._key_of(id_)
        return only_if(key, {"v": "1", "gone": ""}, ("field", key, 0, "gone", "1"))

    def has_project(self, id_: str) -> tuple[Write, ...]:
        """Return the writes that record that its project is served again."""
        key = self._key_of(id_)
        return only_if(key, {"gone": "1"}, ("field", key, 0, "gone", ""))

    async def in_full(self) -> list[tuple[R, int, dict[str, str]]]:
        """Return all records, when each was added (ms), and their hashes, sorted, without their specs."""
        ids: Any = await self._redis.zrange(self._listed, 0, -1, withscores=True)
        added = {str(id_): int(score) for id_, score in ids}
        hashes = await pipelined(self._redis, lambda pipe: [pipe.hgetall(self._key_of(id_)) for id_ in added])
        records = []
        for id_, fields in zip(added, hashes, strict=True):
            with suppress(RecordNotUnderstood):
                record = self.parse(id_, fields)
                state = {name: fields[name] for name in sorted(fields.keys() - {"v", self.field_of(record.spec)})}
                records.append((record, added[id_], state))
        return records

    @classmethod
    def record(cls, id_: str, spec: Spec, state: Mapping[str, str]) -> R:
        """Return a record with this *state*, the rest of its hash. Raises `RecordNotUnderstood`."""
        return cls.parse(id_, {"v": "1", **state, cls.field_of(spec): spec.model_dump_json()})

    @classmethod
    def new(cls, id_: str, spec: Spec, now: datetime, paused: str = "") -> R:  # noqa: ARG003 - for what's due
        """Return a record of what's set up or changed *now*; a *paused* one stays so."""
        return cls.record(id_, spec, {"paused": paused})

    def restore(self, record: R, state: Mapping[str, str], added: datetime, now: datetime) -> tuple[Write, ...]:
        """Return the writes that store a record with its *state*, in place of one with its ID."""
        key = self._key_of(record.id)
        fields: list[Write] = [("field", key, 0, name, value) for name, value in state.items()]
        return ("delete", key, 0), *fields, *self.add(record, added)

    async def is_full(self) -> bool:
        """Whether no more can be stored."""
        return int(await self._redis.zcard(self._listed)) >= self.most

    async def paused(self) -> list[str]:
        """Return why those that are paused are."""
        ids: Any = await self._redis.zrange(self._listed, 0, -1)
        return await self.reasons(ids) if ids else []

    async def reasons(self, ids: Iterable[str]) -> list[str]:
        """Return why those of the records *ids* that are paused are."""
        why = await pipelined(self._redis, lambda pipe: [pipe.hget(self._key_of(str(id_)), "paused") for id_ in ids])
        return [str(reason) for reason in why if reason]


async def erase_of(store: SetUpStore[R], scripts: Scripts, user: str) -> int:
    """Delete what a person set up; returns how much that was. Raises `StoreUnavailable`."""
    theirs = [record.id for record in await store.all() if record.spec.owner == user]
    for id_ in theirs:
        await scripts.run("write", store.delete(id_), confirmed=True)
    return len(theirs)
