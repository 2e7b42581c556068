"""The trace of one Slack message: its turns, and the deliveries that didn't become one.

Most of it is in the turn's own log (`bridge.queue.turn_log`). No text is read; unreadable lines are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from bridge.ids import Lane, MessageKey, ThreadKey, TurnId
from bridge.queue.passed_over import passed_over
from bridge.queue.records import Step, end_of
from bridge.queue.scripting import Scripts, from_epoch_ms
from bridge.queue.turn_log import Delivery, OutcomeFacts, outcome_facts, read_log

_MOST_TURNS: Final = 20  # of one message, which may be resent with a button any number of times
_AS_STORED: Final = ("kind", "step", "what", "was", "card", "died", "posted", "again", "of", "traceparent")
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Owner:
    """A namespace's owner: the *team*, and the address of its *workspace* (``""`` if it isn't known yet)."""

    team: str
    workspace: str = ""


def _moment(ms: str) -> datetime | None:
    return from_epoch_ms(ms) if ms.isdecimal() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTrace:
    """The steps of a turn, from its record; the time of a step that didn't happen is None.

    *takes* name the processes that took it, *deaths* the reasons it couldn't be finished. *behind* counts the turns it
    was queued after, *overtakes* those it was queued before although it arrived later, *ahead* those before it now
    (None: it isn't waiting), *unsent* its requests that certainly didn't arrive. It *is_held* while it waits in a
    stopped lane. *again* is the turn that resent its message, *of* the turn whose message it resends. *was* is the
    outcome of a dead turn, and *died* the step it had reached. *cause* is why a call of the project service failed, if
    one did, after what it *concerns*. *menu* is the ``ts`` of the menu that its thread waits for. It *has_text* that a
    button may send again, or *has_new_text* that was written too late. It *waits_for_reading* until its thread's older
    messages have been read. *project* is the one that it was about (``""``: the default one). *approval* is the state
    of its request for approval, if it made one. *next_try* is when a turn that waits for the service is sent to it.
    """

    id: TurnId
    ahead: int | None
    is_parked: bool
    is_held: bool
    has_text: bool
    has_new_text: bool
    waits_for_reading: bool
    menu: str
    kind: str = ""
    step: str = ""
    accepted_at: datetime = _EPOCH
    deliveries: Sequence[Delivery] = ()
    takes: Sequence[tuple[datetime, str]] = ()
    deaths: Sequence[tuple[datetime, str]] = ()
    retries: Sequence[datetime] = ()
    sent_at: datetime | None = None
    repeated_at: datetime | None = None
    answered_at: datetime | None = None
    ended_at: datetime | None = None
    next_try: datetime | None = None
    dropped_at: datetime | None = None
    behind: int = 0
    overtakes: int = 0
    unsent: int = 0
    edits: int = 0
    what: str = ""
    was: str = ""
    card: str = ""
    died: str = ""
    cause: str = ""
    concerns: str = ""
    posted: str = ""
    again: str = ""
    of: str = ""
    project: str = ""
    approval: str = ""
    end: str = ""
    traceparent: str = ""

    @property
    def trace_id(self) -> str:
        """The ID of its trace in OpenTelemetry, if that's sampled, or ``""``."""
        return self.traceparent[3:35] if self.traceparent.endswith("-01") else ""

    @property
    def ends_as(self) -> str:
        """How a turn that isn't over will end, if it's certain already: as `TakenTurn` ends, or ``""``."""
        word = self.end.partition(" ")[0]
        return "" if word == "private" else word

    def process_at(self, moment: datetime) -> str:
        """Return the name of the process that had the turn at that time, ``""`` if none."""
        names = [process for at, process in self.takes if at <= moment]
        return names[-1] if names else ""


@dataclass(frozen=True, slots=True)
class MessageTrace:
    """The turns of one message, and its deliveries that didn't become one."""

    turns: Sequence[TurnTrace] = ()
    passed_over: Sequence[Delivery] = ()

    def __bool__(self) -> bool:
        """Whether anything is known about the message."""
        return bool(self.turns or self.passed_over)


async def owner_of(scripts: Scripts) -> Owner | None:
    """Return the namespace's owner; None if no bridge has used it. Raises `StoreUnavailable`."""
    stored: Any = await scripts.redis.hmget(scripts.keys.owner(), ["team", "url"])
    team, workspace = stored
    return Owner(team, workspace or "") if team else None


def _recorded(fields: Mapping[str, str]) -> dict[str, Any]:
    """Read what a turn's record says by itself."""
    log = read_log(fields)
    last = {entry.did: entry.at for entry in log}
    outcome = next((outcome_facts(entry) for entry in reversed(log) if entry.did == "outcome"), OutcomeFacts())
    placed = next((entry.facts.split() for entry in log if entry.did == "queued"), [])
    behind, overtakes, *_ = *[int(number) for number in placed if number.isdecimal()], 0, 0
    is_over = fields.get("step") in {Step.DONE, Step.DEAD}
    return {
        "accepted_at": _moment(fields.get("at", "")) or _EPOCH,
        "next_try": _moment(fields.get("next_try", "")),
        "deliveries": [came for entry in log if (came := Delivery.of(entry))],
        "takes": [(entry.at, entry.process) for entry in log if entry.did == "took"],
        "deaths": [(entry.at, entry.facts) for entry in log if entry.did == "dead"],
        "retries": [from_epoch_ms(ms) for ms in fields.get("retries", "").split()],
        "unsent": int(fields.get("unsent", 0)),
        "edits": max(sum(entry.did == "edited" for entry in log), int(fields.get("edits", 0))),
        "sent_at": _moment(fields.get("t_sent", "")),
        "repeated_at": _moment(fields.get("repeated", "")),
        "answered_at": last.get("outcome"),
        "ended_at": max(filter(None, (last.get("done"), last.get("dead"))), default=None) if is_over else None,
        "dropped_at": last.get("dropped"),
        "behind": behind,
        "overtakes": overtakes,
        **{name: outcome.get(name, "") for name in OutcomeFacts.__annotations__},
        **{name: fields.get(name, "") for name in _AS_STORED},
        "end": end_of(fields),
    }


async def trace_of(scripts: Scripts, message: MessageKey) -> MessageTrace:
    """Find everything about *message*, a person's or the bridge's own. Raises `StoreUnavailable`."""
    keys = scripts.keys
    redis: Any = scripts.redis
    turns: dict[str, TurnTrace] = {}
    waiting: list[str | None] = await redis.mget(keys.shown(message), keys.seen_message(message))
    while waiting and len(turns) < _MOST_TURNS:
        id_ = (waiting.pop(0) or "").partition(" ")[0]  # without the person whose direct message it is
        if not id_ or id_ in turns or not (fields := await redis.hgetall(keys.turn(id_))):
            continue
        lane, thread = Lane(fields.get("lane", "")), fields.get("thread", "")
        ahead, parked = await redis.lpos(keys.box(lane), id_), await redis.hget(keys.parked(), lane)
        is_parked = parked == id_
        is_held = bool(ahead or is_parked) and await redis.hexists(keys.held(), lane)  # else it's the stopped one
        draft = keys.draft(message._replace(ts=fields.get("ts") or message.ts))
        new_text, of = await redis.hmget(draft, ["body", "of"])
        turns[id_] = TurnTrace(
            id=TurnId(id_),
            ahead=ahead,
            is_parked=is_parked,
            is_held=is_held,
            has_text="body" in fields,
            has_new_text="edited" in fields or bool(new_text and of == id_),
            approval=await redis.hget(keys.approval(id_), "state") or "",
            menu=(parked and ahead is not None and await redis.hget(keys.turn(parked), "card")) or "",
            waits_for_reading="unread" in fields
            and bool(await redis.exists(keys.unread_thread(ThreadKey.parse(thread)))),
            **_recorded(fields),
        )
        waiting.append(turns[id_].again)
    return MessageTrace(list(turns.values()), await passed_over(scripts, message))
