"""A person's recent runs and conversations, for their Home tab: bounded, and with a lifetime.

They're derived from finished turns (`bridge.engine.finished_turns`). What's open about a turn or a thread is read from
their own records, so that it's true whatever else has happened.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, Literal

from bridge.engine.home import MOST_RECENT, Reads
from bridge.features.deps import Deps
from bridge.ids import PersonKey, ThreadKey, TurnId, thread_lane
from bridge.queue.finished_turns import FinishedTurn
from bridge.queue.keys import RECENT, milliseconds
from bridge.queue.records import END_FIELDS, Conversation, end_in
from bridge.queue.scripting import epoch_ms, from_epoch_ms
from bridge.queue.writes import Write


@dataclass(frozen=True, slots=True)
class RecentRun:
    """A run that a person started: the *workflow*'s ID, its *name* at the time, how the run *ended*, and when (*at*).

    Its card is the message *ts* in *channel*, if the bot itself could post it.
    """

    workflow: int
    name: str
    ended: str
    at: datetime
    channel: str = ""
    ts: str = ""

    def to_line(self) -> str:
        """Return the stored form."""
        return json.dumps({**asdict(self), "at": epoch_ms(self.at)})


_QUIET: Final = frozenset({"home", "messages_opened", "notice"})
"""Kinds of inputs that change nothing in Home, or are its own redraws."""

ConversationState = Literal["working", "choosing", "stopped", "muted", "answered", ""]
"""What a conversation does: its agent works, or it waits for the choice of one, or after a stop."""


@dataclass(frozen=True, slots=True)
class RecentConversation:
    """A conversation that a person took part in; *agent* is None if its thread is no longer bound."""

    thread: ThreadKey
    agent: int | None
    at: datetime
    state: ConversationState = ""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A *turn* of a person that isn't over for them.

    Its *state*: a run is *running*, or its message's outcome is *unknown*, or the turn was *given up*. *name* is the
    workflow's or the command, ``""`` for a message, whose text is *text*. It's shown by the message *ts* in *channel*,
    in a *thread*.
    """

    turn: TurnId
    state: Literal["running", "unknown", "given up"]
    at: datetime
    name: str = ""
    text: str = ""
    channel: str = ""
    ts: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True)
class RecentActivity:
    """One person's recent activity, newest first."""

    runs: tuple[RecentRun, ...] = ()
    conversations: tuple[RecentConversation, ...] = ()
    unsettled: tuple[Unsettled, ...] = ()


async def note_finished(deps: Deps, turns: Sequence[FinishedTurn]) -> list[Write]:
    """Return the writes that list finished turns, and redraw the tabs of those of their people who have one open."""
    homes, keys, writes = deps.homes, deps.scripts.keys, list[Write]()
    of_people = [turn for turn in turns if turn.user and not turn.app]
    for turn in of_people:
        kind, _, id_ = turn.of.partition(" ")
        is_unknown = turn.outcome == "unknown"
        if kind == "workflow":
            card = turn.card.partition(" ")
            run = RecentRun(int(id_), turn.name, turn.how, turn.at, card[0], card[2])
            writes.append(("push", keys.recent_runs(turn.person), milliseconds(RECENT), run.to_line(), MOST_RECENT))
            writes.append(homes.settled(turn.person, TurnId(turn.turn)))
        elif turn.kind == "message" and (is_unknown or (kind and turn.how != "stopped")):
            writes.append(homes.thread(turn.person, turn.in_thread, turn.at))
        if turn.is_open or (is_unknown and turn.kind == "message" and kind != "workflow"):
            writes.append(homes.unsettled(turn.person, TurnId(turn.turn), turn.at))
    people = sorted({(turn.team, turn.user) for turn in of_people if turn.kind not in _QUIET})
    async with deps.scripts.redis.pipeline(transaction=False) as pipe:
        for person in people:
            pipe.exists(keys.looking(PersonKey(*person)))
        are_looking = await pipe.execute() if people else ()
    for person, is_looking in zip(people, are_looking, strict=True):
        writes += homes.redraws(*person) if is_looking else ()
    return writes


async def recent_activity(reads: Reads, person: PersonKey) -> RecentActivity:
    """Return a person's recent activity in a project; unreadable entries are left out. Raises `StoreUnavailable`."""
    keys = reads.keys

    def lists(pipe: Any) -> None:
        pipe.lrange(keys.recent_runs(person), 0, MOST_RECENT - 1)
        pipe.zrevrange(keys.recent_threads(person), 0, MOST_RECENT - 1, withscores=True)
        pipe.zrevrange(keys.unsettled(person), 0, -1, withscores=True)

    runs, scores, listed = await reads.ask(lists)
    threads = [(ThreadKey.parse(str(thread)), from_epoch_ms(score)) for thread, score in scores]

    def records(pipe: Any) -> None:
        for thread, _ in threads:
            pipe.hgetall(keys.thread(thread))
            pipe.lindex(keys.box(thread_lane(thread)), 0)
            pipe.hget(keys.parked(), thread_lane(thread))
            pipe.hget(keys.held(), thread_lane(thread))
        for turn, _ in listed:
            pipe.hmget(keys.turn(str(turn)), _FACTS)

    stored = await reads.ask(records) if threads or listed else []
    of_turns = stored[4 * len(threads) :]
    conversations = [
        _conversation(thread, at, stored[4 * place : 4 * place + 4]) for place, (thread, at) in enumerate(threads)
    ]
    unsettled = [
        _unsettled(TurnId(str(turn)), from_epoch_ms(at), facts, person.user)
        for (turn, at), facts in zip(listed, of_turns, strict=True)
    ]
    return RecentActivity(_runs(runs), tuple(conversations), tuple(filter(None, unsettled)))


def _conversation(thread: ThreadKey, at: datetime, facts: Sequence[Any]) -> RecentConversation:
    fields, head, parked, held = facts
    bound = Conversation.from_redis(fields)
    state: ConversationState = ""
    if parked:
        state = "choosing"
    elif held:
        state = "stopped"
    elif head:
        state = "working"
    elif bound.is_muted:
        state = "muted"
    elif bound.heard:
        state = "answered"
    return RecentConversation(thread, bound.agent, at, state)


_FACTS: Final = ("step", "body", "note", "again", "card", "posted", *END_FIELDS)


def _unsettled(turn: TurnId, at: datetime, facts: Sequence[str | None], user: str) -> Unsettled | None:
    """Return what is open about a turn; None if nothing is: it's over, or its button was pressed."""
    step, stored, stored_note, again, card, posted, *end = facts
    body, note = _loaded(stored), _loaded(stored_note)
    if (
        again
        or end_in(end).startswith(("deleted", "private", "discarded"))
        or not isinstance(body, dict)
        or body.get("user") != user
    ):
        return None
    strings = {name: value for name, value in body.items() if isinstance(value, str)}
    message = strings.get("ts", "") if strings.get("kind") == "message" else ""
    where = {
        "channel": strings.get("channel", ""),
        "ts": card or posted or message,
        "thread": strings.get("thread_ts", "") or message,
    }
    match step:
        case "sent" | "posting" if isinstance(note, dict):
            return Unsettled(turn, "running", at, str(note.get("name", "")), **where)
        case "done":
            return Unsettled(turn, "unknown", at, strings.get("command", ""), strings.get("text", ""), **where)
        case "dead":
            return Unsettled(turn, "given up", at, strings.get("command", ""), strings.get("text", ""), **where)
    return None


def _runs(lines: Sequence[str]) -> tuple[RecentRun, ...]:
    runs: list[RecentRun] = []
    for line in lines:
        match _loaded(line):
            case {
                "workflow": int() as workflow,
                "name": str() as name,
                "ended": str() as ended,
                "at": int() as at,
                "channel": str() as channel,
                "ts": str() as ts,
            }:
                runs.append(RecentRun(workflow, name, ended, from_epoch_ms(at), channel, ts))
    return tuple(runs)


def _loaded(text: str | bytes | None) -> Any:
    try:
        return json.loads(text or "null")
    except ValueError:
        return None
