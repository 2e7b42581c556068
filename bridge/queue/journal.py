"""A running turn, and the journal of its steps.

A handler is a coroutine that may run again from the start while its turn is ``queued``: after a crash, an outage of
Redis, or an edit of its message. Everything it awaits must be safe to repeat, except what goes through
`TakenTurn.once`. Staged writes are made with its outcome, once (`tests/proof/model`).

The journal writes each step before the effect outside Redis that it stands for:

``queued → sent → posting → done``, and ``sent → queued`` if a request certainly didn't arrive.

* `sent` precedes the request to the service. A worker that takes over and finds ``sent`` doesn't send it again.
* `outcome` precedes the post to Slack and records what will be shown, with the handler's staged writes. A worker that
  takes over and finds ``posting`` first looks for the post in the thread. While a post waits, or it's unknown whether
  Slack has it, a stop may end it (`post_waits`, `post_starts`). A post by response_url can't be looked for, so it's
  marked beforehand (`post_starts_by_url`).
* A turn whose message is deleted is stopped, also between the messages of its answer. A run can't be undone, so its
  outcome goes to its person only (`DeletedMeanwhile`).
* `done` removes the turn, and puts the lane back into the ready stream if more turns wait.

Each step is one script behind a **fence**: the lane's entry is pending for this consumer, and the turn is its head;
otherwise it raises `LaneLost`. Every step is repeatable, and is repeated if Redis's answer was lost.

The fence protects Redis, but can't recall a request; for that, there's the worker's lease (`bridge.queue.lease`).
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from typing import Any, NoReturn, TypeVar

from bridge.errors import DID_NOT_ARRIVE, LaneLost, ProjectError, TooOften
from bridge.ids import MessageKey, ThreadKey, TurnId
from bridge.inbound import Click, InboundMessage, Interaction, Notice, Respondable
from bridge.queue.keys import DEAD, TRACE, milliseconds
from bridge.queue.lease import Lease
from bridge.queue.patience import Patience
from bridge.queue.quotas import Quota, as_arguments
from bridge.queue.records import END_FIELDS, Head, Held, Step, Taken, end_in, read_head
from bridge.queue.scripting import Argument, Scripts, as_json, epoch_ms
from bridge.queue.turn_log import OutcomeFacts
from bridge.queue.watches import TurnStopped, Watches
from bridge.queue.writes import Write

T = TypeVar("T")

SLACK_TIMEOUT = timedelta(seconds=10)
"""The longest a post may take. It starts only if the lease lasts longer, so it's over when a successor looks for it.

Of a lease with another length, a post needs two thirds at most."""

_TRACE_MS = milliseconds(TRACE)


class WorkPaused(Exception):
    """No request may be sent right now: the turn stays queued."""


class TurnChanged(Exception):
    """The message was edited or withdrawn, or its thread got another agent, since the turn was taken: look again."""


class AlreadyUsed(Exception):
    """Something else had the effect that the writes with SENT allow only once; nothing was sent."""


class DeletedMeanwhile(Exception):
    """The message that started a run was deleted: the run can't be undone, and its outcome is for its person only."""


class TakenTurn:
    """A message, command, click or form being handled: its *record*, its *body*, and its thread's binding.

    *response_url* and *trigger_id* are ``""`` if Slack gave none. *thread* is set for anything in a thread.
    *until_shown* closes when the outcome is shown, or the handler runs again.
    """

    def __init__(
        self, taken: Taken, lease: Lease, journal: Journal, watches: Watches, *, may_begin: Callable[[], bool]
    ) -> None:
        self.taken = taken
        self.record = record = taken.record
        self.step = record.step  # POSTING once the outcome is recorded
        self.body = body = record.body
        self.id = record.id
        self.team, self.channel, self.user = body.team, body.channel, body.user
        self.thread: ThreadKey | None = None
        if isinstance(body, InboundMessage):
            self.thread = body.thread
        elif isinstance(body, Click | Notice) and body.thread_ts:
            self.thread = ThreadKey(body.team, body.channel, body.thread_ts)
        self.response_url = body.response_url if isinstance(body, Respondable) else ""
        self.trigger_id = body.trigger_id if isinstance(body, Interaction) else ""
        self.conversation = taken.conversation
        self.lease = lease
        self.journal = journal
        self.card = record.card
        self.is_card_in_doubt = record.takes > 1 and bool(record.note)  # an earlier worker may have posted one
        self.staged: list[Write] = []
        self.until_shown = AsyncExitStack()
        self._watches = watches
        self.has_sent = False
        self.may_repeat = record.may_repeat
        self._may_begin = may_begin
        self._is_used = False
        self._result: list[Any] = []
        self.near: tuple[Quota, int, timedelta] | None = None

    async def restart(self) -> None:
        """Forget what a run of the handler staged, but not what `once` returned."""
        self.staged.clear()
        self._is_used = False
        await self.until_shown.aclose()

    def stage(self, *writes: Write) -> None:
        """Make *writes* in the step that records the outcome; or that ends the turn, if it's recorded already."""
        self.staged += writes

    def give_back(self, limits: Sequence[Quota]) -> None:
        """Stage that the request doesn't count for *limits*, since it surely had no effect."""
        self.near = None
        if limits:
            self.stage(("give back", self.journal.key_of(self.id), 0, as_json(as_arguments(limits))))

    async def run(self, script: str, *args: Argument) -> Any:
        """Run a feature's *script*, which begins with the fence of this turn, and is repeatable. Raises `LaneLost`."""
        return await self.journal.behind_fence(self.taken, script, *args)

    async def once(
        self,
        effect: Callable[[], Awaitable[T]],
        *,
        note: str = "",
        first_agent: int | None = None,
        uses: Sequence[Write] = (),
        undo: Sequence[Write] = (),
        limits: Sequence[Quota] = (),
        repeats: bool = False,
    ) -> T:
        """Run *effect* at most once, even if processes are killed: SENT is written before it.

        A worker that takes over and finds SENT doesn't repeat the effect; *note* describes it to that worker. A handler
        that runs again in this process gets the same answer or error. *first_agent* becomes the thread's agent if it
        has none. The writes that it *uses* are made with SENT; if they start with an ``if`` that doesn't hold, nothing
        is sent (`AlreadyUsed`). It counts for *limits*: if one is used up, nothing is sent (`TooOften`); one that it
        nearly uses up is then *near*, with what's left and for how long. If it *repeats*, it `may_repeat` once. Raises
        `TurnChanged`, `TooOften`, `WorkPaused`, `TurnStopped` and `LaneLost`; if *effect* raises one of
        `DID_NOT_ARRIVE`, the turn is queued as before, and the writes in *undo* are made.
        """
        if self._is_used:
            raise RuntimeError("a turn has one effect only")
        self._is_used = True
        if not self._result:
            if not self._may_begin():
                raise WorkPaused
            first = (self.thread, first_agent) if self.thread and first_agent is not None else None
            self.may_repeat = repeats and not self.record.is_repeated
            self.near = await self.journal.sent(
                self.taken, note=note, first=first, writes=uses, limits=limits, repeats=self.may_repeat
            )
            self.has_sent = True
            try:
                async with self._watches.ends_when_stopped(self.id):
                    self.lease.check()
                    self._result.append(await effect())
            except DID_NOT_ARRIVE:
                await self.journal.unsent(self.taken, writes=undo, limits=limits)
                self.has_sent = False
                raise
            except ProjectError as exc:
                self._result.append(exc)
        result = self._result[0]
        if isinstance(result, ProjectError):
            raise result
        return result  # type: ignore[no-any-return]

    async def repeat(self) -> NoReturn:
        """Have the request made once more, although it may have arrived. Raises `TurnChanged`, so it's taken again."""
        await self.journal.repeat(self.taken)
        raise TurnChanged


@dataclass(eq=False)
class Journal:
    """Writes the steps of turns for one *consumer*. Methods may raise `LaneLost`, and wait while Redis is down."""

    scripts: Scripts
    patience: Patience
    _: KW_ONLY
    consumer: str
    session_lifetime: timedelta
    now: Callable[[], datetime]

    def key_of(self, turn: TurnId) -> str:
        """Return the key of a turn's record."""
        return self.scripts.keys.turn(turn)

    async def take(self, held: Held, *, begins: bool = True) -> Head | None:
        """Read the head of a lane; None if it's empty.

        With *begins*, this counts as a take; a worker that looks again after waiting passes False.
        """
        token = secrets.token_hex(8)
        facts = {"now": str(epoch_ms(self.now())), "begins": begins, "token": token}
        answer = await self._run("take", held, facts)
        return None if answer[0] == "empty" else read_head(held, answer, token)

    async def sent(
        self,
        taken: Taken,
        *,
        note: str = "",
        first: tuple[ThreadKey, int] | None = None,
        writes: Sequence[Write] = (),
        limits: Sequence[Quota] = (),
        repeats: bool = False,
    ) -> tuple[Quota, int, timedelta] | None:
        """Write SENT: the request may now be sent, and if it *repeats*, once more (`repeat`).

        Raises `TurnChanged` if the turn changed since it was taken.

        *note* describes the request, in case its outcome is unknown. Raises `TooOften` if one of *limits* is used up,
        and then writes nothing; returns the one that's now used up by 80%, with what's left of it, and for how long.
        *first* is a thread, and the agent that it gets if it has none yet. Raises `AlreadyUsed` if the *writes* start
        with an ``if`` that doesn't hold.
        """
        thread, agent = first or ("", "")
        facts = {
            "now": str(epoch_ms(self.now())),
            "token": taken.token,
            "note": note,
            "limits": as_arguments(limits),
            "thread": str(thread),
            "agent": str(agent),
            "session_ms": milliseconds(self.session_lifetime),
            "project": taken.project,  # of the thread, if it isn't bound
            "repeats": repeats,
            "writes": writes,
        }
        answer = await self._step("sent", taken, facts, confirmed=True)
        result, *numbers = str(answer).split(":")
        if result in {"paused", "near"}:
            quota, wait = limits[int(numbers[0]) - 1], timedelta(milliseconds=max(0.0, float(numbers[-1])))
            if result == "paused":
                raise TooOften(quota.called, wait, "" if quota.called else quota.words)
            return quota, int(float(numbers[1])), wait
        if answer == "stale":
            raise AlreadyUsed
        return None

    async def unsent(self, taken: Taken, *, writes: Sequence[Write] = (), limits: Sequence[Quota] = ()) -> None:
        """Undo SENT, and its writes with *writes*: the request certainly didn't arrive."""
        await self._step("unsent", taken, {"writes": writes, "limits": as_arguments(limits)})

    async def repeat(self, taken: Taken) -> None:
        """Undo SENT, although the request may have arrived: it's made once more (`Record.is_repeated`)."""
        await self._step("unsent", taken, {"repeated": str(epoch_ms(self.now()))})

    async def outcome(
        self, taken: Taken, outcome: str, *, what: str, writes: Sequence[Write] = (), facts: OutcomeFacts | None = None
    ) -> None:
        """Record the *outcome* to show, together with its *writes*. *what* names it; the *facts* are for the trace.

        Raises `TurnStopped` if the turn was stopped meanwhile: the outcome is recorded, but mustn't be shown; and
        `TurnChanged` if nothing was sent and the message has changed: nothing is recorded. `DeletedMeanwhile` is raised
        after recording it.
        """
        how = {
            "now": str(epoch_ms(self.now())),
            "token": taken.token,
            "what": what,
            "facts": as_json(facts),
            "writes": writes,
        }
        await self._step("outcome", taken, how, outcome)

    async def post_starts(self, taken: Taken) -> None:
        """Record that the outcome is about to be posted after waiting.

        Raises `TurnStopped`, `DeletedMeanwhile` or `TurnChanged` if it mustn't be.
        """
        await self._step("posting", taken, "starts", taken.token)

    async def post_starts_by_url(self, taken: Taken) -> bool:
        """Record that the outcome is about to be posted by response_url. Raises `TurnStopped`.

        Returns False if an earlier worker may have posted it already: it mustn't be posted again.
        """
        return bool(await self._step("posting", taken, "starts by url", taken.token) != "again")

    async def post_waits(self, taken: Taken, *, is_partly_posted: bool) -> None:
        """Record that the post waits for Slack; until `post_starts`, a stop may end it.

        If it *is_partly_posted* by response_url, it stays marked as such. Raises `TurnStopped`.
        """
        await self._step("posting", taken, "waits" if is_partly_posted else "waits unsent", taken.token)

    async def post_in_doubt(self, taken: Taken) -> bool:
        """Record that the post may be missing in Slack, and store the outcome for a button.

        Returns whether it was posted by response_url.
        """
        return bool(await self._step("posting", taken, "in doubt", taken.token) == "by url")

    async def was_deleted(self, taken: Taken) -> bool:
        """Whether a turn was stopped because its message, or the first one of its thread, was deleted."""
        with self.patience.through_outages():
            marks: Any = await self.scripts.redis.hmget(self.scripts.keys.turn(taken.record.id), END_FIELDS)
        return end_in(marks).startswith("deleted")

    async def done(
        self,
        taken: Taken,
        *,
        what: str = "",
        posted: MessageKey | None = None,
        keep_text: bool = False,
        writes: Sequence[Write] = (),
    ) -> None:
        """Finish the turn and delete its text; *keep_text* if a button may send it again.

        *posted* is the message that shows the outcome.
        """
        facts = {"what": what, "posted": str(posted or ""), "keeps_text": keep_text, "writes": writes}
        person = taken.record.body.user
        await self._finish(taken.held, taken.record.id, Step.DONE, person=person, trace_ms=_TRACE_MS, **facts)

    async def bury(self, held: Held, turn: TurnId, *, reason: str, writes: Sequence[Write] = ()) -> None:
        """Make a turn that can't be finished a dead letter with its *reason*, and continue with the lane."""
        facts = {"what": reason, "posted": "", "keeps_text": True, "writes": writes}
        await self._finish(held, turn, Step.DEAD, person="", trace_ms=milliseconds(DEAD), **facts)

    async def _finish(self, held: Held, turn: TurnId, step: Step, **facts: Any) -> None:
        times = {"now": str(epoch_ms(self.now())), "session_ms": milliseconds(self.session_lifetime)}
        await self._run("finish", held, turn, {"step": step, **facts, **times})

    async def release(self, held: Held) -> None:
        """Give a lane back unfinished; another worker takes it at once."""
        await self._run("release", held)

    async def park(self, taken: Taken, thread: ThreadKey) -> bool:
        """Let the lane wait until someone chooses an agent; False if one was chosen, or the message was withdrawn."""
        return bool(await self._step("park", taken, str(thread), milliseconds(self.session_lifetime)) == "ok")

    async def card(self, taken: Taken, card: MessageKey) -> None:
        """Store which message shows the turn's progress."""
        facts = {"card": str(card), "person": taken.record.body.user, "trace_ms": _TRACE_MS}
        await self._step("card", taken, facts)

    async def behind_fence(self, taken: Taken, script: str, *args: Argument) -> Any:
        """Run a feature's *script* with the fence of a turn: entry, consumer, lane and turn. Raises `LaneLost`."""
        return await self._step(script, taken, *args, confirmed=True)

    async def _step(self, name: str, taken: Taken, *args: Argument, confirmed: bool = False) -> Any:
        """Run a script with the fence of a turn, and raise what it says of the turn."""
        answer = await self._run(name, taken.held, taken.record.id, *args, confirmed=confirmed)
        match answer:
            case "changed":
                raise TurnChanged
            case "stopped":
                raise TurnStopped(taken.record.id)
            case "deleted":
                raise DeletedMeanwhile(taken.record.id)
        return answer

    async def _run(self, name: str, held: Held, *args: Argument, confirmed: bool = False) -> Any:
        with self.patience.through_outages():
            answer = await self.scripts.run(
                name, held.entry, self.consumer, held.lane, *args, confirmed=confirmed, repeatable=confirmed
            )
        if answer == "lost" or answer[0] == "lost":
            raise LaneLost(held.lane)
        return answer
