"""The journal: the steps of a turn, each written before the effect outside that it stands for.

``queued → sent → posting → done``, and aside from it ``sent → queued`` where a request surely did not arrive.

* `sent` comes before the request to the service. Who takes a lane over and finds ``sent`` knows that a request may
  have gone out, and does not ask again.
* `outcome` comes before the post to Slack; what it records is what will be shown. Who finds ``posting`` on taking
  over looks into the thread first. (The outcome and the intention to post are one step: nothing happens between
  the two, and it saves a round trip.)
  While its post waits, because Slack does not take it or nobody knows whether it has, a stop may end it; so that is
  written, too, and taken back before the next try (`waits`, `goes`). What goes by response_url is marked before
  (`goes_by_url`), because nobody could look for it.
* `finish` pops the turn and hands the lane on.

Every step is one script behind the **fence**: the lane's entry is pending for this consumer, and the turn is its
head. Whoever fails it gets `LaneLost` and stops. A step whose answer was lost may be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bridge.errors import LaneLost, TooOften
from bridge.ids import MessageKey, ThreadKey, TurnId
from bridge.inbound import InboundMessage
from bridge.queue.audit import facts as audit_facts
from bridge.queue.keys import AUDIT_LENGTH, DEAD, RESULTS, TRACE, milliseconds
from bridge.queue.lanes import Head, Held, Taken, Terms, read_head
from bridge.queue.limits import UNLIMITED, Limits, person
from bridge.queue.recent import NOTHING, Did
from bridge.queue.records import Turn
from bridge.queue.scripting import Scripts, epoch_ms, or_empty
from bridge.queue.stops import TurnStopped


@dataclass(frozen=True, slots=True)
class Binding:
    """What an answer says of its thread: the *session* to keep, if the thread's is still *expected*.

    The session is with *agent*.
    """

    thread: ThreadKey
    session: int
    expected: int | None
    agent: int | None = None


@dataclass(frozen=True, slots=True)
class FirstAgent:
    """The *agent* that *thread* has from now on, if it has none yet."""

    thread: ThreadKey
    agent: int


class Journal:
    """The steps, for one *consumer*. Every method may raise `LaneLost` and `StoreUnavailable`."""

    def __init__(
        self,
        scripts: Scripts,
        *,
        consumer: str,
        session_lifetime: timedelta,
        now: Callable[[], datetime],
        limits: Limits = UNLIMITED,
        audit_lifetime: timedelta = timedelta(0),
    ) -> None:
        self._scripts = scripts
        self._consumer = consumer
        self._session_ms = milliseconds(session_lifetime)
        self._now = now
        self._limits = limits
        self._audit_ms = milliseconds(audit_lifetime)

    async def take(self, held: Held, terms: Terms, *, begins: bool = True) -> Head | None:
        """Read the head of a lane; None where it is empty.

        With *begins* it counts as a take; a worker that has waited and looks again says False.
        """
        how = terms.arguments(self._ms(), begins=begins)
        answer = await self._run("take", held, held.lane, *how, confirmed=terms.may_send)
        return None if answer[0] == "empty" else read_head(held, answer, terms.token)

    async def sent(self, taken: Taken, *, run: str = "", first: FirstAgent | None = None) -> bool:
        """Write SENT: now the request may go out. False: something is no longer as it was taken; take it again.

        *run* describes the workflow run that is about to be started, for whoever finds its outcome unknown. Raises
        `TooOften` where the person has started as many as they may; then nothing was written. *first* gives a thread
        that has none its agent.
        """
        turn, bound = taken.turn, (str(first.thread), first.agent) if first else ("", "")
        answer = str(
            await self._run(
                "sent", taken.held, turn.lane, turn.id, self._ms(), taken.token, turn.edits, run,
                person(turn.body), self._limits.user_runs, *bound, self._session_ms, confirmed=True,
            )
        )  # fmt: skip
        if answer.startswith("paused:"):
            raise TooOften("runs", timedelta(milliseconds=max(0.0, float(answer.removeprefix("paused:")))))
        return answer == "ok"

    async def unsent(self, taken: Taken) -> None:
        """Take SENT back: the request surely did not arrive."""
        await self._run("unsent", taken.held, taken.turn.lane, taken.turn.id)

    async def outcome(
        self, taken: Taken, outcome: str, *, what: str, binding: Binding | None = None, results: str = ""
    ) -> None:
        """Record what will be shown. *what* names it for the trace; *results* are kept for a button.

        Raises `TurnStopped` where somebody has stopped the turn meanwhile: it is recorded, and not to be shown.
        """
        session = (str(binding.thread), binding.session, or_empty(binding.expected)) if binding else ("", "", "")
        session_of = (or_empty(binding.agent), _owner(taken)) if binding else ("", "")
        answer = await self._run(
            "outcome", taken.held, taken.turn.lane, taken.turn.id, self._ms(), outcome, what, *session,
            self._session_ms, results, milliseconds(RESULTS), getattr(taken.turn.body, "ts", "") if binding else "",
            *session_of,
        )  # fmt: skip
        if answer == "stopped":
            raise TurnStopped(taken.turn.id)

    async def goes(self, taken: Taken) -> None:
        """The outcome goes out to Slack once more, after it has waited. Raises `TurnStopped` where it is not to."""
        await self._posting(taken, "goes")

    async def goes_by_url(self, taken: Taken) -> bool:
        """It goes out by response_url. False: it may have done so before, and must not again. Raises `TurnStopped`."""
        return await self._posting(taken, "goes by url") != "again"

    async def waits(self, taken: Taken, *, has_begun: bool) -> None:
        """It waits for Slack, and until it `goes` a stop may end it. Raises `TurnStopped` where one has.

        What *has_begun* to go out by response_url stays marked.
        """
        await self._posting(taken, "waits" if has_begun else "waits unsent")

    async def in_doubt(self, taken: Taken) -> bool:
        """Nobody can tell whether it is in Slack: it is kept for a button. Returns whether it went by response_url."""
        return await self._posting(taken, "in doubt") == "by url"

    async def _posting(self, taken: Taken, how: str) -> str:
        answer = str(await self._run("posting", taken.held, taken.turn.lane, taken.turn.id, how, taken.token))
        if answer == "stopped":
            raise TurnStopped(taken.turn.id)
        return answer

    async def done(
        self, taken: Taken, *, what: str = "", posted: str = "", keep_text: bool = False, about: str = "",
        did: Did = NOTHING,
    ) -> bool:  # fmt: skip
        """The turn is over: the texts leave, unless a button may still send them again.

        *what* came of it and what it was *about* go into the audit, and what its person *did* into their Home tab.
        Returns whether they have looked at that lately, and would see there what is no longer so.
        """
        audit = audit_facts(taken.turn, about, what)
        shown = _identity(taken, posted) if posted else ""
        answer = await self._finish(
            taken.held, taken.turn.id, "done", what, shown, int(keep_text), milliseconds(TRACE),
            audit=audit, lately=did.arguments(person(taken.turn.body)),
        )  # fmt: skip
        return answer == "stale"

    async def bury(self, held: Held, turn: TurnId, *, reason: str, record: Turn | None = None) -> None:
        """The turn cannot be finished: a dead letter with its *reason*; the lane goes on.

        *record* is what could be read of it, for the audit.
        """
        audit = audit_facts(record, "", reason)
        await self._finish(held, turn, "dead", reason, "", 1, milliseconds(DEAD), audit=audit)

    async def _finish(
        self, held: Held, turn: TurnId, *how: str | int, audit: tuple[str, ...], lately: tuple[str | int, ...] = ()
    ) -> str:
        facts = (self._audit_ms, AUDIT_LENGTH, *audit, *lately)
        return str(await self._run("finish", held, held.lane, turn, self._ms(), *how, *facts))

    async def release(self, held: Held) -> None:
        """Give a lane back unfinished; another worker takes it at once."""
        await self._run("release", held, held.lane)

    async def park(self, taken: Taken, thread: ThreadKey) -> bool:
        """Let the lane wait for a choice. False: the agent was chosen meanwhile, or the message withdrawn."""
        return bool(await self._run("park", taken.held, taken.turn.lane, taken.turn.id, str(thread)) == "ok")

    async def card(self, taken: Taken, ts: str) -> None:
        """Remember the message that shows the turn's progress."""
        shown = _identity(taken, ts)
        await self._run("card", taken.held, taken.turn.lane, taken.turn.id, shown, milliseconds(TRACE))

    async def _run(self, name: str, held: Held, *args: str | int, confirmed: bool = False) -> Any:
        answer = await self._scripts.run(
            name, held.entry, self._consumer, *args, confirmed=confirmed, repeatable=confirmed
        )
        if answer == "lost" or answer[0] == "lost":
            raise LaneLost(held.lane)
        return answer

    def _ms(self) -> int:
        return epoch_ms(self._now())


def _identity(taken: Taken, ts: str) -> str:
    """Name a message that this turn shows: it leads back to the turn."""
    body = taken.turn.body
    return str(MessageKey(body.team, body.channel, ts))


def _owner(taken: Taken) -> str:
    """Whose direct message with the bot the turn is in; ``""`` where others read along."""
    body = taken.turn.body
    return body.user if isinstance(body, InboundMessage) and body.is_direct else ""
