"""Records read from Redis: a turn's `Record` and a thread's `Conversation`; and a lane held by a worker.

A worker gets a lane from the ready stream (`Inbox.wait_for_lanes`, `Journal.take`), or by an `Offer` to the inbox of
its own process: a message put into an empty lane is then taken in the same step that stores it. Without that, a turn
costs 22% more processor time with 16 threads at once, and 8% more with 64 (medians of six runs each).

A process *holds* a lane while its consumer has the lane's pending entry, and a worker *takes* the lane's head each time
it starts on that. (Messages that wait after a stop are held, too, but by the stop: `bridge.queue.stops`.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from bridge.errors import RecordNotUnderstood
from bridge.ids import Lane, TurnId, base_of
from bridge.inbound import Inbound, InboundMessage, from_json

VERSION = 1
"""The version of a conversation's record, and of others that aren't turns. From 1.0.0 on, a release reads its own and
older versions; increase it if older releases can't read the new records. Scripts have this as ``VERSION``."""

NEWEST = 2
"""The newest version of a turn that this release reads. A kind of input says which it needs (`bridge.inbound`); a turn
of a later one, and its lane, are left to processes that can read it.

Processes of the release before take the turns of this one, and the other way round. So for one release, what each of
them marks is written as both read it (`end_as` in the scripts' prelude), and read as both write it (`end_of` there and
here, `bridge.queue.turn_log`)."""


class Step(StrEnum):
    """How far a turn is. Each change is one script that checks the fence (`bridge.queue.journal`)."""

    QUEUED = "queued"  # nothing was sent; the text may be edited or withdrawn
    SENT = "sent"  # a request may have been sent
    POSTING = "posting"  # the outcome is recorded, and may have been posted
    DONE = "done"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread's binding: the *agent* once it's chosen, the *session* after the first answer.

    *is_several*: more than one person has written to the agent. *heard* is the ``ts`` of the newest answered message.
    *is_muted*: nothing is sent to the agent. *writers*: who has written, and whether the agent gets it (stored as
    ``said``, see `with_said` in the scripts' prelude). *names_agent*: answers name their agent; another one answered
    before, or the default does. *project* is the one that the agent and the session belong to (``""``: the default
    one); None if it isn't bound. *root* is what the app's post at its root says, with Slack's escapes, if that was
    edited since the agent got it.
    """

    agent: int | None = None
    session: int | None = None
    is_muted: bool = False
    is_several: bool = False
    heard: str = ""
    writers: str = field(default="", compare=False)
    names_agent: bool = field(default=False, compare=False)
    project: str | None = field(default=None, compare=False)
    root: str = field(default="", compare=False)

    def has_unsent(self, after: str, before: str) -> bool:
        """Whether people have written something between two ``ts`` that the agent doesn't get."""
        for line in reversed(self.writers.splitlines()):  # by time
            ts, _person, sent = line.split()
            if float(ts) <= float(after or 0):
                break
            if sent == "0" and float(ts) < float(before):
                return True
        return False

    def is_with(self, person: str, at: str) -> bool:
        """Whether the agent was talking with *person* at a ``ts``, as ``put.lua`` decides it."""
        partner, is_alone = person, True
        for ts, author, sent in (line.split() for line in self.writers.splitlines()):
            if float(ts) >= float(at):
                break
            if sent == "1":
                partner, is_alone = author, True
            elif author != partner:
                is_alone = False
        return partner == person and is_alone

    @classmethod
    def from_redis(cls, fields: Mapping[str, str]) -> Conversation:
        """Read the ``thread:`` hash."""
        agent, session = fields.get("agent"), fields.get("session")
        return cls(
            int(agent) if agent else None,
            int(session) if session else None,
            is_muted="muted" in fields,
            is_several="several" in fields,
            heard=fields.get("heard", ""),
            writers=fields.get("said", ""),
            names_agent="named" in fields,
            project=fields.get("project", "" if "v" in fields else None),
            root=fields.get("root", ""),
        )


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a turn: one message, command, click or form being handled.

    *body* is the input, *outcome* the reply as JSON, from POSTING on. *takes* counts how often a worker started on it;
    more than once means that an earlier worker didn't finish. *times_delivered* (Redis's word) counts workers that
    neither finished it nor released it. *end* is how it will end, if that's decided already (`end_of` in the scripts'
    prelude). *searches*: it's a reply in a thread that may have been bound before the store was wiped.
    *has_unread_thread*: when it arrived, its thread had yet to be read for older messages.
    """

    id: TurnId
    lane: Lane
    step: Step
    body: Inbound
    accepted_at: datetime
    takes: int = 1
    times_delivered: int = 1
    end: str = ""
    outcome: str = ""
    note: str = ""  # describes the request after SENT, in case its outcome is unknown
    card: str = ""  # ts of the message that shows its progress
    starts: bool = False
    searches: bool = False
    has_unread_thread: bool = False
    is_again: bool = False  # someone requested it again, whatever its age
    has_waited: bool = False  # for the service, so its person may want to be notified
    pressed_by: str = ""  # who did so, or had its new text sent
    has_queued_reaction: bool = False
    waits: bool = False  # its post waits for Slack, and a stop may end it
    is_doubtful: bool = False  # its outcome may be missing in Slack, and people were notified
    may_repeat: bool = False  # its request may be made once more, although it may have arrived
    is_repeated: bool = False  # it's made once more
    traceparent: str = ""


OFF: Final = ("withdrawn", "stopped", "deleted")
"""How the `Record.end` of a turn begins that ends without showing anything."""

END_FIELDS: Final = ("end", "deleted", "withdrawn", "stopped", "discarded")
"""The fields that `end_in` reads; all but the first are the earlier release's."""


def end_in(values: Sequence[str | None]) -> str:
    """Return how a turn with these *values* of `END_FIELDS` will end, or ``""``, as the scripts' ``end_of`` does."""
    end, deleted, withdrawn, stopped, discarded = values
    if deleted:
        return f"deleted {deleted}" if withdrawn else "private"
    earlier = (stopped and f"stopped {stopped}") or (discarded and f"discarded {discarded}")
    return end or earlier or ("withdrawn" if withdrawn else "")


def end_of(fields: Mapping[str, str]) -> str:
    """Return the same for a turn with these *fields*."""
    return end_in([fields.get(name) for name in END_FIELDS])


@dataclass(frozen=True, slots=True)
class Held:
    """A lane that this process works on, with its pending *entry*."""

    entry: str
    lane: Lane


@dataclass(frozen=True, slots=True)
class Taken:
    """The head of a lane: its *record*, and what its thread is bound to.

    The turn is about *project*: its thread's, unless its message names one, or else its input's. *token* is new for
    each take.
    """

    held: Held
    record: Record
    conversation: Conversation
    project: str
    token: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The head of a lane, if this version can't read its record; *is_newer*: a later version wrote it.

    *fields* are the record, unless it's newer.
    """

    held: Held
    turn: TurnId
    is_newer: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)


Head = Taken | Unreadable


class Offer:
    """A free worker, offered to the inbox.

    *answer* is the head of the lane it got, a `Held` lane that had waited longer, or None: also if Redis' answer was
    lost.
    """

    def __init__(self) -> None:
        self.answer: asyncio.Future[Head | Held | None] = asyncio.get_running_loop().create_future()

    def accept(self, handed: Head | Held | None) -> None:
        """Set the *answer*, unless the worker has ended; then the lane's lease will expire."""
        if not self.answer.done():
            self.answer.set_result(handed)


def read_head(held: Held, answer: Sequence[Any], token: str, body: Inbound | None = None) -> Head:
    """Read the result of ``take.lua``; a turn just put by this process has this *body*.

    A turn's record, as scripts write it:

    * ``v``, ``lane``, ``step`` (`Step`), and ``at``, when it was queued (ms)
    * its input: ``kind``, ``thread``, ``ts``, the time of its last edit (``version``), and all of it (``body``)
    * what the door decided: ``starts``, ``searches``, ``unread`` (`Record`), ``resent``
    * ``takes``, the ``token`` of the last one, and ``edits`` since
    * ``end``: how it will end, if that's decided; ``what``: the name of its outcome
    * ``t_sent``, when a request was last sent (ms); ``unsent``: how many certainly didn't arrive; ``retries``
    * ``repeats``: it may be made once more, although it may have arrived; ``repeated``, when that was decided (ms)
    * ``note`` on its request; ``counted``, the windows of the limits that this counted for; ``next_try``
    * ``outcome``; how far its post is (``waits``, ``out``, ``doubt``: see ``posting.lua``)
    * messages in Slack: ``card`` (progress), ``posted`` (outcome), ``notice``, ``queued_reaction``, ``shown:<ts>``
    * ``died`` and ``was``: a dead letter's step and outcome
    * ``of``, ``pressed_by``, ``again``, ``again_by``: the turn whose text it sends again, and the one that sent its own
    * ``met``: what a stop stopped
    * ``log``: what happened (`bridge.queue.turn_log`); ``traceparent``: the context of its trace (`bridge.app.traces`)
    """
    if answer[0] == "newer":
        return Unreadable(held, TurnId(answer[1]), is_newer=True)
    _, turn_id, turn, conversation, times_delivered = answer
    fields = dict(zip(turn[::2], turn[1::2], strict=True))
    try:
        record = Record(
            id=TurnId(turn_id),
            lane=Lane(fields["lane"]),
            step=Step(fields["step"]),
            body=body or from_json(fields["body"]),
            accepted_at=datetime.fromtimestamp(int(fields["at"]) / 1000, UTC),
            takes=int(fields.get("takes", "0")),
            times_delivered=int(times_delivered),
            end=end_of(fields),
            outcome=fields.get("outcome", ""),
            note=fields.get("note", ""),
            card=fields.get("card", ""),
            starts="starts" in fields,
            searches="searches" in fields,
            has_unread_thread="unread" in fields,
            is_again="of" in fields,
            has_waited="next_try" in fields,
            pressed_by=fields.get("pressed_by", ""),
            has_queued_reaction="queued_reaction" in fields,
            waits="waits" in fields,
            is_doubtful="doubt" in fields,
            may_repeat="repeats" in fields and "repeated" not in fields,
            is_repeated="repeated" in fields,
            traceparent=fields.get("traceparent", ""),
        )
    except (KeyError, ValueError, RecordNotUnderstood):
        return Unreadable(held, TurnId(turn_id), fields=fields)
    bound = Conversation.from_redis(dict(zip(conversation[::2], conversation[1::2], strict=True)))
    project = record.body.project
    if isinstance(record.body, InboundMessage) and bound.project is not None:
        is_other = record.body.names_project and base_of(project) != base_of(bound.project)
        project = project if is_other else bound.project  # with the key with which the thread began
    return Taken(held, record, bound, project, token)
