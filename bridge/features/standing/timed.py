"""`TimedKind`: what all kinds of things that are due at times have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, cast

from bridge.engine.standing import Portable, Standing
from bridge.errors import BadSchedule, RecordNotUnderstood
from bridge.features.deps import Deps
from bridge.features.standing.due import D, DueStore, TimedSpec
from bridge.features.standing.kind import Kind
from bridge.features.standing.times import read_cron
from bridge.features.standing.when import read_when
from bridge.features.standing.zones import clock_called
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Block


class TimedKind(Kind[D]):
    """A kind of thing that's due at times; its name is what its slots' IDs begin with."""

    store: ClassVar[type[DueStore[Any]]]

    def stored(self, deps: Deps) -> DueStore[D]:
        """Return the store, which knows what's due."""
        return self.store(deps.scripts)

    def standing(self, portable: Portable[Any]) -> Standing:
        """Return the kind with what's due."""
        return replace(super().standing(portable), due=(self.plural, self.store.indexes[0]))

    def order(self, record: D) -> tuple[object, ...]:
        """Sort by what's due first."""
        return record.due, record.id

    async def called(self, deps: Deps, record: D) -> str:  # noqa: ARG002 - as every kind
        """Return when it's due."""
        return f"{record.spec.schedule.words} ({record.spec.zone})"

    def state(self, record: D) -> tuple[Block, Block]:
        """Say when it's due next."""
        return next_time(record.due), kit.paragraph("Next: ", kit.date(record.due))

    def read_spec(self, spec: dict[str, Any]) -> TimedSpec:
        """Read what `bridge export` wrote of a spec. Raises ValueError."""
        return cast("TimedSpec", self.spec.model_validate(spec))

    def from_export(self, spec: dict[str, Any]) -> TimedSpec:
        """Read a spec whose schedule may be in words. Raises ValueError with what's wrong."""
        typed = spec.get("schedule")
        if isinstance(typed, str):
            with as_problem("schedule", "every Monday at 9"):
                when = read_when(typed, self.nouns[0].word)
            if when.zone or when.channel:
                raise ValueError("schedule has only times: the zone and the channel are fields of their own")
            spec = {**spec, "schedule": when.schedule}
        read = self.read_spec(spec)
        with as_problem("schedule.crons", "0 9 * * 1"):
            first, *more = read.schedule.crons
            for cron in (first, *more):
                read_cron(cron)
        with as_problem("zone", "Europe/Berlin"):
            clock_called(read.zone)
        return read


@contextmanager
def as_problem(name: str, example: str) -> Iterator[None]:
    """Raise ValueError that the field *name* of an imported spec can't be understood."""
    try:
        yield
    except (BadSchedule, RecordNotUnderstood, ValueError):
        raise ValueError(f"{name} can't be understood: use one such as {example}") from None


def next_time(due: datetime) -> Block:
    """Return the line that says when something is *due* next."""
    return kit.trusted_context("Next: {moment} (your time)", moment=due)
