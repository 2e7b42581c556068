"""The journal: the steps of a turn, each written before the effect outside that it stands for.

``queued → sent → posting → done``, and aside from it ``sent → queued`` where a request surely did not arrive.

* `sent` comes before the request to the service. Who takes a lane over and finds ``sent`` knows that a request may
  have gone out, and does not ask again.
* `outcome` comes before the post to Slack; what it records is what will be shown. Who finds ``posting`` on taking
  over looks into the thread first. (The outcome and the intention to post are one step: nothing happens between
  the two, and it saves a round trip.) What a handler has staged is written with it.
  While its post waits, because Slack does not take it or nobody knows whether it has, a stop may end it; so that is
  written, too, and taken back before the next try (`waits`, `goes`). What goes by response_url is marked before
  (`goes_by_url`), because nobody could look for it.
* `finish` pops the turn and hands the lane on.

Every step is one script behind the **fence**: the lane's entry is pending for this consumer, and the turn is its
head. Whoever fails it gets `LaneLost` and stops. A step whose answer was lost is repeated, for as long as Redis is
away: so may every one of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bridge.errors import LaneLost, StoreUnavailable, TooOften
from bridge.ids import MessageKey, ThreadKey, TurnId
from bridge.queue.keys import DEAD, TRACE, milliseconds
from bridge.queue.patience import Patience
from bridge.queue.records import UNLIMITED, Head, Held, Limits, Taken, Write, person, read_head
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.queue.stops import TurnStopped


class TurnChanged(Exception):
    """A message was edited, withdrawn or given to another agent since it was taken: look at it again."""


@dataclass(frozen=True, slots=True)
class FirstAgent:
    """The *agent* that *thread* has from now on, if it has none yet."""

    thread: ThreadKey
    agent: int


class Journal:
    """The steps, for one *consumer*. Every method may raise `LaneLost`; while Redis is away they wait."""

    def __init__(
        self,
        scripts: Scripts,
        patience: Patience,
        *,
        consumer: str,
        session_lifetime: timedelta,
        now: Callable[[], datetime],
        limits: Limits = UNLIMITED,
    ) -> None:
        self._scripts = scripts
        self._patience = patience
        self._consumer = consumer
        self._session_ms = milliseconds(session_lifetime)
        self._now = now
        self._limits = limits

    async def take(self, held: Held, *, begins: bool = True) -> Head | None:
        """Read the head of a lane; None where it is empty.

        With *begins* it counts as a take; a worker that has waited and looks again says False.
        """
        answer = await self._run("take", held, epoch_ms(self._now()), int(begins))
        return None if answer[0] == "empty" else read_head(held, answer)

    async def sent(self, taken: Taken, *, note: str = "", first: FirstAgent | None = None) -> None:
        """Write SENT: now the request may go out. Raises `TurnChanged` where it is no longer as it was taken.

        *note* says what the request is, for whoever finds its outcome unknown; only what has one counts as a run.
        Raises `TooOften` where the person has started as many as they may; then nothing was written. *first* gives a
        thread that has none its agent.
        """
        record, bound = taken.record, (str(first.thread), first.agent) if first else ("", "")
        answer = await self._run(
            "sent", taken.held, record.id, epoch_ms(self._now()), taken.token, record.edits, note,
            person(record.body), self._limits.user_runs, *bound, self._session_ms, confirmed=True,
        )  # fmt: skip
        if answer.startswith("paused:"):
            raise TooOften("runs", timedelta(milliseconds=max(0.0, float(answer.removeprefix("paused:")))))
        if answer != "ok":
            raise TurnChanged

    async def unsent(self, taken: Taken) -> None:
        """Take SENT back: the request surely did not arrive."""
        await self._run("unsent", taken.held, taken.record.id)

    async def outcome(self, taken: Taken, outcome: str, *, what: str, writes: Iterable[Write] = ()) -> None:
        """Record what will be shown, and what belongs to it. *what* names it for the trace.

        Raises `TurnStopped` where somebody has stopped the turn meanwhile: it is recorded, and not to be shown; and
        `TurnChanged` where nothing was sent and the message is no longer as it was taken: nothing is recorded.
        """
        answer = await self._run(
            "outcome", taken.held, taken.record.id, epoch_ms(self._now()), outcome, what, _as_json(writes),
            taken.record.edits,
        )  # fmt: skip
        if answer == "changed":
            raise TurnChanged
        if answer == "stopped":
            raise TurnStopped(taken.record.id)

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
        answer = str(await self._run("posting", taken.held, taken.record.id, how, taken.token))
        if answer == "stopped":
            raise TurnStopped(taken.record.id)
        return answer

    async def done(
        self, taken: Taken, *, what: str = "", posted: str = "", keep_text: bool = False, writes: Iterable[Write] = ()
    ) -> list[str]:
        """The turn is over: the texts leave, unless a button may still send them again.

        *posted* is the ``ts`` of the message that shows it. Returns what Redis answered to each of the *writes*.
        """
        shown = _identity(taken, posted) if posted else ""
        how = ("done", what, shown, int(keep_text), milliseconds(TRACE), _as_json(writes))
        _ok, *answers = await self._run("finish", taken.held, taken.record.id, epoch_ms(self._now()), *how)
        return [str(answer) for answer in answers]

    async def bury(self, held: Held, turn: TurnId, *, reason: str, writes: Iterable[Write] = ()) -> None:
        """The turn cannot be finished: a dead letter with its *reason*; the lane goes on."""
        how = ("dead", reason, "", 1, milliseconds(DEAD), _as_json(writes))
        await self._run("finish", held, turn, epoch_ms(self._now()), *how)

    async def release(self, held: Held) -> None:
        """Give a lane back unfinished; another worker takes it at once."""
        await self._run("release", held)

    async def park(self, taken: Taken, thread: ThreadKey) -> bool:
        """Let the lane wait for a choice. False: the agent was chosen meanwhile, or the message withdrawn."""
        return bool(await self._run("park", taken.held, taken.record.id, str(thread)) == "ok")

    async def card(self, taken: Taken, ts: str) -> None:
        """Remember the message that shows the turn's progress."""
        await self._run("card", taken.held, taken.record.id, _identity(taken, ts), milliseconds(TRACE))

    async def _run(self, name: str, held: Held, *args: str | int, confirmed: bool = False) -> Any:
        while True:
            try:
                answer = await self._scripts.run(
                    name, held.entry, self._consumer, held.lane, *args, confirmed=confirmed, repeatable=confirmed
                )
                break
            except StoreUnavailable:
                await self._patience.wait_for_redis()
        if answer == "lost" or answer[0] == "lost":
            raise LaneLost(held.lane)
        return answer


def _as_json(writes: Iterable[Write]) -> str:
    """The form in which a script takes them; ``""`` for none. Half a character becomes a question mark."""
    listed = list(writes)
    return json.dumps(listed, ensure_ascii=False).encode(errors="replace").decode() if listed else ""


def _identity(taken: Taken, ts: str) -> str:
    """Name a message that this turn shows: it leads back to the turn."""
    body = taken.record.body
    return str(MessageKey(body.team, body.channel, ts))
