"""The reports that are kept: each in a hash of its own, all by age in ``reports``, and those that are due in ``due``.

Exactly one turn for each report and slot: `claim` moves a report on to its next slot and queues the turn of this one
in ONE script, if the report is still due at it. From there on it is a turn like any other (`bridge.queue.inbox`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from bridge.errors import RecordNotUnderstood
from bridge.ids import ThreadKey, TurnId, new_turn_id, own_lane
from bridge.inbound import Notice, Report, to_json
from bridge.queue.deliveries import Delivery
from bridge.queue.keys import SEEN, milliseconds
from bridge.queue.records import pairs
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms

MOST_KEPT: Final = 1000
"""How many reports one bridge keeps, some 600 bytes each."""


class Terms(BaseModel):
    """What a person asked for.

    *words* say the schedule, *crons* mean it. *compare* is how far back (``7d``), or ``""`` for the last report; *only*
    what of the statistics is shown, all where it is empty.
    """

    model_config = ConfigDict(frozen=True)

    team: str
    channel: str
    owner: str
    words: str
    crons: tuple[str, ...]
    zone: str
    compare: str = ""
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A report that is kept, and how it stands.

    *due* is its next slot. *paused* is ``""`` for one that is not, else why: ``asked``, or Slack's word for what it
    does not allow. *skipped* is the first slot that nothing was posted for, *last* the last that something was,
    and *numbers* what the statistics were then (`bridge.features.stats.snapshots`).
    """

    id: str
    terms: Terms
    due: datetime
    paused: str = ""
    skipped: datetime | None = None
    last: datetime | None = None
    numbers: str = ""

    @classmethod
    def from_redis(cls, id_: str, fields: Mapping[str, str]) -> Kept:
        """Read the ``report:`` hash. Raises `RecordNotUnderstood`."""
        try:
            return cls(
                id=id_,
                terms=Terms.model_validate_json(fields["body"]),
                due=_moment(fields["due"]),
                paused=fields.get("paused", ""),
                skipped=_moment(fields["skipped"]) if "skipped" in fields else None,
                last=_moment(fields["last"]) if "last" in fields else None,
                numbers=fields.get("numbers", ""),
            )
        except (KeyError, ValueError, ValidationError) as exc:
            raise RecordNotUnderstood("report") from exc


class Schedules:
    """The reports of one namespace, for one *consumer*. Every method may raise `StoreUnavailable`.

    *session_lifetime* is how long an idle thread stays bound, and how long the words of a report are kept with its
    thread.
    """

    def __init__(
        self, scripts: Scripts, *, consumer: str, session_lifetime: timedelta, now: Callable[[], datetime]
    ) -> None:
        self._scripts = scripts
        self._keys = scripts.keys
        self._consumer = consumer
        self._session_ms = milliseconds(session_lifetime)
        self._now = now

    async def keep(self, id_: str, terms: Terms, due: datetime) -> bool:
        """Keep a report, once for each id. False: too many are kept."""
        args = (id_, terms.model_dump_json(), epoch_ms(due), epoch_ms(self._now()), MOST_KEPT)
        return str(await self._scripts.run("report_keep", *args, confirmed=True)) == "kept"

    async def get(self, id_: str) -> Kept | None:
        """Read one; None where it is not kept any more. Raises `RecordNotUnderstood`."""
        with translated():
            fields: Any = await self._scripts.redis.hgetall(self._keys.report(id_))
        return Kept.from_redis(id_, fields) if fields else None

    async def all(self) -> list[Kept]:
        """List them, oldest first; one that a newer release wrote and this one cannot read is left out."""
        redis = self._scripts.redis
        with translated():
            ids: Any = await redis.zrange(self._keys.reports(), 0, -1)
            async with redis.pipeline(transaction=False) as pipe:
                for id_ in ids:
                    pipe.hgetall(self._keys.report(id_))
                records = await pipe.execute()
        return _readable(zip(ids, records, strict=True))

    async def due(self, most: int) -> list[Kept]:
        """List those that are due now, the longest due first: one look-up, however many are kept."""
        found: Any = await self._scripts.run("report_due", epoch_ms(self._now()), most)
        readable = _readable((id_, pairs(fields)) for id_, _due, fields in found)
        moments = {id_: _moment(due) for id_, due, _fields in found}
        return [replace(kept, due=moments[kept.id]) for kept in readable]

    async def claim(self, kept: Kept, *, following: datetime, slot: datetime | None, skipped: datetime | None) -> str:
        """Queue the post of *slot* and have the report due at *following*, unless another process was faster.

        With no slot it is only moved on. *skipped* is the first slot that will have no post. Returns ``queued``,
        ``skipped`` or ``taken``.
        """
        turn, now, body, mark = new_turn_id(), self._now(), "", ""
        if slot is not None:
            body, mark = to_json(_inbound(kept, slot)), f"report:{kept.id}:{epoch_ms(slot)}"
        line = Delivery(now, self._consumer, mark, 0, "a report is due").to_line()
        answer = await self._scripts.run(
            "report_claim", kept.id, epoch_ms(kept.due), epoch_ms(following), epoch_ms(skipped) if skipped else "",
            turn if body else "", own_lane(turn), mark, milliseconds(SEEN), epoch_ms(now), body, line, confirmed=True,
        )  # fmt: skip
        return str(answer)

    async def skip(self, id_: str, slot: datetime) -> None:
        """Note that nothing is posted for a slot that was claimed."""
        with translated():
            if await self._scripts.redis.exists(self._keys.report(id_)):
                await self._scripts.redis.hsetnx(self._keys.report(id_), "skipped", str(epoch_ms(slot)))

    async def pause(self, id_: str, why: str, tell: Notice | None = None) -> bool:
        """Let a report rest; False where it does already, or is gone. With *tell* its owner hears of it, once."""
        turn, now = new_turn_id(), self._now()
        line = Delivery(now, self._consumer, "", 0, "a report was paused").to_line()
        body = to_json(tell) if tell else ""
        answer = await self._scripts.run(
            "report_pause", id_, why, turn if body else "", own_lane(turn), epoch_ms(now), body, line, confirmed=True
        )
        return str(answer) == "paused"

    async def resume(self, id_: str, due: datetime) -> None:
        """Let a paused report be due again."""
        await self._scripts.run("report_resume", id_, epoch_ms(due), confirmed=True)

    async def forget(self, id_: str) -> None:
        """Keep a report no longer."""
        with translated():
            async with self._scripts.redis.pipeline(transaction=True) as pipe:
                pipe.zrem(self._keys.due(), id_)
                pipe.zrem(self._keys.reports(), id_)
                pipe.delete(self._keys.report(id_))
                await pipe.execute()

    async def posted(
        self, id_: str, slot: datetime, thread: ThreadKey, *, words: str, numbers: str, binds: bool
    ) -> None:
        """Note that a slot was posted as the root of *thread*, and keep the *words* for the first question there.

        With *binds* the thread is a conversation from now on, else from the first mention.
        """
        await self._scripts.run(
            "report_posted",
            id_,
            epoch_ms(slot),
            str(thread),
            int(binds),
            self._session_ms,
            words,
            self._session_ms,
            numbers,
        )


def asked_for(kept: Kept, turn: TurnId, at: datetime) -> tuple[Report, str]:
    """Make the post that somebody wants now, and the identity that makes it one however often *turn* is repeated."""
    return _inbound(kept, at, is_asked_for=True), f"report:{kept.id}:asked:{turn}"


def _inbound(kept: Kept, slot: datetime, *, is_asked_for: bool = False) -> Report:
    terms = kept.terms
    return Report(
        team=terms.team,
        channel=terms.channel,
        user=terms.owner,
        report=kept.id,
        slot=slot,
        is_asked_for=is_asked_for,
    )


def _readable(records: Any) -> list[Kept]:
    found = []
    for id_, fields in records:
        try:
            found.append(Kept.from_redis(str(id_), fields))
        except RecordNotUnderstood:
            continue
    return found


def _moment(ms: str) -> datetime:
    return datetime.fromtimestamp(int(float(ms)) / 1000, UTC)
