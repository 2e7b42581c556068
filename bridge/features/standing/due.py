"""Stores of what's due at times: a sorted set by the next slot."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from bridge.errors import RecordNotUnderstood
from bridge.features.standing.store import SetUp, SetUpStore, Spec
from bridge.features.standing.times import Schedule, next_due
from bridge.features.standing.zones import clock_called
from bridge.queue.scripting import epoch_ms, from_epoch_ms, pipelined
from bridge.queue.writes import Write, only_if


class TimedSpec(Spec, frozen=True):
    """What a person set up for the times of a *schedule* in a *zone*, which may be ``""`` as it was typed."""

    schedule: Schedule
    zone: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """When it's due, and where."""
        return self.schedule.crons, self.zone, self.team, self.channel, self.project


class Timed(SetUp, Protocol):
    """A stored record of it; *due* is its next slot."""

    @property
    def spec(self) -> TimedSpec: ...  # noqa: D102
    @property
    def due(self) -> datetime: ...  # noqa: D102


T = TypeVar("T", bound=TimedSpec)


@dataclass(frozen=True)  # with slots, Python 3.11 can't call TimedRecord[…]
class TimedRecord(Generic[T]):
    """A record of a kind that stores nothing else."""

    id: str
    spec: T
    due: datetime
    paused: str = ""


D = TypeVar("D", bound=Timed)


class DueStore(SetUpStore[D]):
    """What's due at times, with the first of its *indexes* by the next slot.

    A record's hash has ``due``, and in ``skipped`` the first slot for which nothing was done since one was.
    """

    indexes: ClassVar[tuple[str, ...]] = ("due",)
    anew: ClassVar[tuple[str, ...]] = ("skipped",)

    @property
    def _due(self) -> str:
        key: str = getattr(self._keys, self.indexes[0])()
        return key

    def body(self, record: D) -> tuple[Write, ...]:
        """Return the writes of a record's spec, and of its next slot."""
        return *super().body(record), ("field", self._key_of(record.id), 0, "due", str(epoch_ms(record.due)))

    @classmethod
    def record(cls, id_: str, spec: Spec, state: Mapping[str, str]) -> D:
        """Return a record with this *state*; without its next slot, that's long ago."""
        return super().record(id_, spec, {"due": "0", **state})

    @classmethod
    def new(cls, id_: str, spec: Spec, now: datetime, paused: str = "") -> D:
        """Return a record that's due at the first slot after *now*."""
        assert isinstance(spec, TimedSpec)  # noqa: S101 - of this store
        due = next_due(spec.schedule, clock_called(spec.zone), now)
        return cls.record(id_, spec, {"paused": paused, "due": str(epoch_ms(due))})

    def restore(self, record: D, state: Mapping[str, str], added: datetime, now: datetime) -> tuple[Write, ...]:
        """Return the writes that store a record; slots that are over are skipped."""
        current = record if record.due > now else self._next(record, now, record.paused)
        return super().restore(current, state, added, now)

    def ranks(self, record: D) -> tuple[Write, ...]:
        """Return the write that has a record's next slot found, unless it's paused."""
        if record.paused:
            return self.unranks(record.id)
        return (("rank", self._due, 0, record.id, epoch_ms(record.due), 0),)

    def unranks(self, id_: str) -> tuple[Write, ...]:
        """Return the write that has no slot of a record found."""
        return (("unrank", self._due, 0, id_),)

    def resume(self, record: D, now: datetime, *more: Write) -> tuple[Write, ...]:
        """Return the writes that make a paused record due again, without mentioning the slots skipped until then."""
        again, key = self._next(record, now), self._key_of(record.id)
        due: Write = ("field", key, 0, "due", str(epoch_ms(again.due)))
        return super().resume(record, now, ("field", key, 0, "skipped", ""), due, *self.ranks(again), *more)

    def _next(self, record: Any, now: datetime, paused: str = "") -> D:
        due = next_due(record.spec.schedule, clock_called(record.spec.zone), now)
        following: D = replace(record, due=due, paused=paused)
        return following

    async def due(self, at: datetime, most: int) -> list[tuple[D, str]]:
        """Return the records due *at* a moment, the longest due first, each with its stored due time.

        That's one lookup in the index, however many are stored.
        """
        ids: Any = await self._redis.zrangebyscore(self._due, "-inf", epoch_ms(at), start=0, num=most, withscores=True)
        records = await pipelined(self._redis, lambda pipe: [pipe.hgetall(self._key_of(str(id_))) for id_, _ in ids])
        found = []
        for (id_, due_at), fields in zip(ids, records, strict=True):
            with suppress(RecordNotUnderstood):
                found.append((self.parse(str(id_), {**fields, "due": str(int(due_at))}), fields.get("due", "")))
        return found

    def advance(self, id_: str, seen: str, following: datetime, skipped: datetime | None) -> tuple[Write, ...]:
        """Return the writes that make a record due at *following*, if it's still due at *seen* and not paused.

        *skipped* is the first slot for which nothing is done.
        """
        key, at = self._key_of(id_), epoch_ms(following)
        skips: tuple[Write, ...] = (("field if", key, 0, "skipped", str(epoch_ms(skipped)), ""),) if skipped else ()
        rank: Write = ("rank", self._due, 0, id_, at, 0)
        state = {"v": "1", "due": seen, "paused": ""}
        return only_if(key, state, ("field", key, 0, "due", str(at)), rank, *skips)

    def skip(self, id_: str, slot: datetime) -> tuple[Write, ...]:
        """Return the writes that record that nothing is done for a claimed slot."""
        key = self._key_of(id_)
        return only_if(key, {"v": "1", "skipped": ""}, ("field", key, 0, "skipped", str(epoch_ms(slot))))

    async def paused(self) -> list[str]:
        """Return why those that are paused are; the index of the others says which these are."""
        ids: Any = await self._redis.zrange(self._listed, 0, -1)
        due: Any = await self._redis.zrange(self._due, 0, -1)
        return await self.reasons(paused) if (paused := set(ids) - set(due)) else []


class TimedStore(DueStore[TimedRecord[T]]):
    """Records of which only the *spec* and the next slot are stored."""

    spec: ClassVar[type[TimedSpec]]

    @classmethod
    def parse(cls, id_: str, fields: Mapping[str, str]) -> TimedRecord[T]:
        """Parse a record's hash. Raises `RecordNotUnderstood`."""
        try:
            read: Any = cls.spec.model_validate_json(fields["body"])
            return TimedRecord(id_, read, from_epoch_ms(float(fields["due"])), fields.get("paused", ""))
        except (KeyError, ValueError) as exc:
            raise RecordNotUnderstood(cls.stored) from exc
