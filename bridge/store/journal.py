"""The journal: the steps of a turn, each written before the effect outside that it stands for.

``queued → sent → posting → done``, and aside from it ``sent → queued`` where a request surely did not arrive.

* `sent` comes before the request to the service. Who takes a lane over and finds ``sent`` knows that a request may
  have gone out, and does not ask again.
* `outcome` comes before the post to Slack; what it records is what will be shown. Who finds ``posting`` on taking
  over looks into the thread first. (The outcome and the intention to post are one step: nothing happens between
  the two, and it saves a round trip.)
* `finish` pops the turn and hands the lane on.

Every step is one script behind the **fence**: the lane's entry is pending for this consumer, and the turn is its
head. Whoever fails it gets `LaneLost` and stops. A step whose answer was lost may be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bridge.errors import LaneLost, RecordNotUnderstood
from bridge.ids import ThreadKey, TurnId
from bridge.store.inbox import Held
from bridge.store.keys import DEAD, RESULTS, TRACE, milliseconds
from bridge.store.records import VERSION, Conversation, Turn, pairs
from bridge.store.scripting import Scripts, epoch_ms, or_empty


@dataclass(frozen=True, slots=True)
class Taken:
    """The head of a lane: the *turn*, what its thread is bound to, and the *token* of this take."""

    held: Held
    turn: Turn
    conversation: Conversation
    token: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The head of a lane is a record that this release cannot read; *is_newer*: a later one wrote it, and can."""

    held: Held
    turn: TurnId
    is_newer: bool = False


@dataclass(frozen=True, slots=True)
class Binding:
    """What an answer says of its thread: the *session* to keep, if the thread's is still *expected*."""

    thread: ThreadKey
    session: int
    expected: int | None


class Journal:
    """The steps, for one *consumer*. Every method may raise `LaneLost` and `StoreUnavailable`."""

    def __init__(
        self, scripts: Scripts, *, consumer: str, session_lifetime: timedelta, now: Callable[[], datetime]
    ) -> None:
        self._scripts = scripts
        self._consumer = consumer
        self._session_ms = milliseconds(session_lifetime)
        self._now = now

    async def take(
        self, held: Held, *, may_send: bool, oldest: datetime, token: str, begins: bool = True
    ) -> Taken | Unreadable | None:
        """Read the head of a lane; None where it is empty.

        Where nothing is left to decide and *may_send*, this writes SENT too (`Turn.was_sent_now`), unless the turn
        was accepted before *oldest*. *token* is new for each take, and the same when a take is repeated. With *begins*
        it counts as a take; a worker that has waited and looks again says False.
        """
        answer = await self._run(
            "take", held, held.lane, self._ms(), token, int(may_send), epoch_ms(oldest), int(begins), VERSION,
            confirmed=may_send,
        )  # fmt: skip
        if answer[0] == "empty":
            return None
        if answer[0] == "newer":
            return Unreadable(held, TurnId(answer[1]), is_newer=True)
        _, turn_id, turn, conversation, fresh, handed_out = answer
        try:
            read = Turn.from_redis(turn_id, pairs(turn), was_sent_now=fresh == "1", handed_out=int(handed_out))
        except RecordNotUnderstood:
            return Unreadable(held, TurnId(turn_id))
        return Taken(held, read, Conversation.from_redis(pairs(conversation)), token)

    async def sent(self, taken: Taken, *, run: str = "") -> bool:
        """Write SENT: now the request may go out. False: the message was edited or withdrawn; take it again.

        *run* describes the workflow run that is about to be started, for whoever finds its outcome unknown.
        """
        turn = taken.turn
        answer = await self._run(
            "sent", taken.held, turn.lane, turn.id, self._ms(), taken.token, turn.edits, run, confirmed=True
        )
        return bool(answer == "ok")

    async def unsent(self, taken: Taken) -> None:
        """Take SENT back: the request surely did not arrive."""
        await self._run("unsent", taken.held, taken.turn.lane, taken.turn.id)

    async def outcome(
        self, taken: Taken, outcome: str, *, what: str, binding: Binding | None = None, results: str = ""
    ) -> None:
        """Record what will be shown. *what* names it for the trace; *results* are kept for a button."""
        session = (str(binding.thread), binding.session, or_empty(binding.expected)) if binding else ("", "", "")
        await self._run(
            "outcome", taken.held, taken.turn.lane, taken.turn.id, self._ms(), outcome, what, *session,
            self._session_ms, results, milliseconds(RESULTS),
        )  # fmt: skip

    async def done(self, taken: Taken, *, what: str = "", posted: str = "", keep_text: bool = False) -> None:
        """The turn is over: the texts leave, unless a button may still send them again."""
        await self._finish(taken.held, taken.turn.id, "done", what, posted, keep_text=keep_text, lifetime=TRACE)

    async def bury(self, held: Held, turn: TurnId, *, reason: str) -> None:
        """The turn cannot be finished: a dead letter with its *reason*; the lane goes on."""
        await self._finish(held, turn, "dead", reason, "", keep_text=True, lifetime=DEAD)

    async def _finish(
        self, held: Held, turn: TurnId, step: str, what: str, posted: str, *, keep_text: bool, lifetime: timedelta
    ) -> None:
        await self._run(
            "finish", held, held.lane, turn, self._ms(), step, what, posted, int(keep_text), milliseconds(lifetime)
        )

    async def release(self, held: Held) -> None:
        """Give a lane back unfinished; another worker takes it at once."""
        await self._run("release", held, held.lane)

    async def park(self, taken: Taken, thread: ThreadKey) -> bool:
        """Let the lane wait for a choice. False: the agent was chosen meanwhile, or the message withdrawn."""
        return bool(await self._run("park", taken.held, taken.turn.lane, taken.turn.id, str(thread)) == "ok")

    async def card(self, taken: Taken, ts: str) -> None:
        """Remember the message that shows the turn's progress."""
        await self._run("card", taken.held, taken.turn.lane, taken.turn.id, ts)

    async def _run(self, name: str, held: Held, *args: str | int, confirmed: bool = False) -> Any:
        answer = await self._scripts.run(name, held.entry, self._consumer, *args, confirmed=confirmed)
        if answer == "lost" or answer[0] == "lost":
            raise LaneLost(held.lane)
        return answer

    def _ms(self) -> int:
        return epoch_ms(self._now())
