"""What is known of one Slack message: the turns that it became or shows, and the deliveries that became none.

Nearly all of it stands in the turn's own record anyway, written by the scripts of the journal. What is read here is
without words of people; a line that is not understood is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from bridge.ids import Lane, MessageKey, TurnId
from bridge.queue.deliveries import Delivery, deliveries, passed_over
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts

_MOST_TURNS: Final = 20  # of one message: it may be sent again, by a button, again and again


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose namespace it is: the *team*, and the address of its *workspace* (``""``: not known yet)."""

    team: str
    workspace: str = ""

    def permalink(self, channel: str, ts: str, thread_ts: str = "") -> str:
        """The address of a message, as Slack gives it; ``""`` where it cannot be known."""
        if not (self.workspace and channel and ts):
            return ""
        address = f"{self.workspace.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}"
        return f"{address}?thread_ts={thread_ts}&cid={channel}" if thread_ts not in {"", ts} else address


@dataclass(frozen=True, slots=True)
class Noted:
    """A moment, and a word about it: the process that took a turn, or the reason why it could not be finished."""

    at: datetime
    word: str


@dataclass(frozen=True, slots=True)
class TurnTrace:
    """What the record of a turn says of its way. Moments that did not come are None.

    *behind* others it was queued, and before those that it *overtakes*, because they were written later; *ahead* of it
    there are now so many (None: it does not wait). *unsent* counts requests that surely did not arrive. *again* is the
    turn that its message became when it was sent again; there *of* is the one that it was before.
    """

    id: TurnId
    kind: str
    step: str
    accepted_at: datetime
    deliveries: Sequence[Delivery]
    takes: Sequence[Noted]
    deaths: Sequence[Noted]
    retries: Sequence[datetime]
    sent_at: datetime | None
    answered_at: datetime | None
    ended_at: datetime | None
    dropped_at: datetime | None
    behind: int
    overtakes: int
    ahead: int | None
    unsent: int
    edits: int
    what: str
    card: str
    posted: str
    again: TurnId | None
    of: TurnId | None
    is_withdrawn: bool
    is_parked: bool

    @classmethod
    def from_redis(
        cls, id_: TurnId, fields: Mapping[str, str], *, ahead: int | None = None, is_parked: bool = False
    ) -> TurnTrace:
        """Read the ``turn:`` hash."""
        is_dead = fields.get("step") == "dead"
        return cls(
            id=id_,
            kind=fields.get("kind", ""),
            step=fields.get("step", ""),
            accepted_at=_moment(fields.get("at", "")) or datetime.fromtimestamp(0, UTC),
            deliveries=deliveries(fields.get("came", "")),
            takes=_noted(fields.get("process", "")),
            deaths=_noted(fields.get("deaths", "")),
            retries=[moment for line in fields.get("retries", "").split("\n") if (moment := _moment(line))],
            sent_at=_moment(fields.get("t_sent", "")),
            answered_at=_moment(fields.get("t_outcome", "")),
            ended_at=_moment(fields.get("t_done", "")),
            dropped_at=_moment(fields.get("dropped", "")),
            behind=_number(fields.get("behind", "")),
            overtakes=_number(fields.get("overtakes", "")),
            ahead=ahead,
            unsent=_number(fields.get("unsent", "")),
            edits=_number(fields.get("edits", "")),
            what=fields.get("was" if is_dead else "what", ""),
            card=fields.get("card", ""),
            posted=fields.get("posted", ""),
            again=TurnId(fields["again"]) if fields.get("again") else None,
            of=TurnId(fields["of"]) if fields.get("of") else None,
            is_withdrawn="withdrawn" in fields,
            is_parked=is_parked,
        )

    def process_at(self, moment: datetime) -> str:
        """Name the process that had the turn then."""
        names = [take.word for take in self.takes if take.at <= moment]
        return names[-1] if names else ""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one message."""

    turns: Sequence[TurnTrace] = ()
    passed_over: Sequence[Delivery] = ()

    def __bool__(self) -> bool:
        """Whether anything is."""
        return bool(self.turns or self.passed_over)


async def owner_of(scripts: Scripts) -> Owner | None:
    """Say whose namespace it is; None where no bridge has used it. Raises `StoreUnavailable`."""
    with translated():
        found: Any = await scripts.redis.hmget(scripts.keys.owner(), ["team", "url"])
    return Owner(str(found[0]), str(found[1] or "")) if found[0] else None


async def trace_of(scripts: Scripts, message: MessageKey) -> Known:
    """Find everything about *message*, be it a person's or the bridge's own. Raises `StoreUnavailable`."""
    with translated():
        found: Any = await scripts.redis.mget(scripts.keys.shown(message), scripts.keys.seen_message(message))
    waiting = [TurnId(turn) for turn in dict.fromkeys(found) if turn]
    turns: dict[TurnId, TurnTrace] = {}
    while waiting and len(turns) < _MOST_TURNS:
        turn = await _turn(scripts, waiting.pop(0))
        if turn is not None and turn.id not in turns:
            turns[turn.id] = turn
            waiting += [turn.again] if turn.again else []
    return Known(list(turns.values()), await passed_over(scripts, message))


async def _turn(scripts: Scripts, id_: TurnId) -> TurnTrace | None:
    with translated():
        fields: Any = await scripts.redis.hgetall(scripts.keys.turn(id_))
        if not fields:
            return None
        lane = Lane(fields.get("lane", ""))
        ahead: Any = await scripts.redis.lpos(scripts.keys.box(lane), id_)
        parked: Any = await scripts.redis.hget(scripts.keys.parked(), lane)
    return TurnTrace.from_redis(id_, fields, ahead=ahead, is_parked=parked == id_)


def _noted(lines: str) -> list[Noted]:
    """Read lines of a moment and a word."""
    split = (line.partition(" ") for line in lines.split("\n"))
    return [Noted(moment, word) for ms, _, word in split if (moment := _moment(ms))]


def _moment(ms: str) -> datetime | None:
    return datetime.fromtimestamp(int(ms) / 1000, UTC) if ms.isdecimal() else None


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
