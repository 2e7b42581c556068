"""What's queued for things that people set up, and what's left to do once it's posted."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Self

from pydantic import AwareDatetime

from bridge.engine.results import After
from bridge.features.standing.store import SetUp, Spec
from bridge.inbound import Job


class DueJob(Job):
    """What's due at its *slot*, queued by the bridge itself.

    *user* is its owner, or the person who requested it outside of its schedule if it *is_asked_for*.
    """

    is_of_owner: ClassVar[bool] = True
    tells_owner: ClassVar[bool] = True
    thing_in: ClassVar[str]  # the field with the ID of what was set up
    slot: AwareDatetime
    is_asked_for: bool = False

    @property
    def thing(self) -> str:
        """The ID of what was set up."""
        return str(getattr(self, self.thing_in))

    @classmethod
    async def due(cls, _deps: Any, record: SetUp, slot: datetime) -> Self:
        """Return the job for a *slot* of a kind whose job has no other facts."""
        return cls.of(record.spec, slot, **{cls.thing_in: record.id})

    @classmethod
    def of(cls, spec: Spec, slot: datetime, *, asked_by: str = "", **facts: Any) -> Self:
        """Return the job for a *slot* of what was set up, or for the person who requested it, with a kind's *facts*."""
        return cls(
            team=spec.team, channel=spec.channel, user=asked_by or spec.owner, project=spec.project, slot=slot,
            is_asked_for=bool(asked_by), **facts,
        )  # fmt: skip


class PostedThing(After, frozen=True):
    """What's left to do once a thing was posted; it's paused if Slack rejects its post. *called* describes it."""

    thing_in: ClassVar[str]
    called: str

    @property
    def thing(self) -> str:
        """The ID of what was set up."""
        return str(getattr(self, self.thing_in))
