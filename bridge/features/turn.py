"""One turn, from the head of its lane to what people see: the way of a message through the journal.

``take`` → *plan* (look up, decide; may be repeated) → ``sent`` → the request → ``outcome`` → the post → ``finish``.

Each arrow into the journal is written before the effect that follows it, and each effect is preceded by a look at
the lease. So whoever takes a lane over knows what may have happened: nothing (``queued``: begin), a request
(``sent``: say that the outcome is unknown), or a post (``posting``: look whether it is there, and where nobody can
look, say that).
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bridge.errors import (
    BridgeError,
    Busy,
    NotUnderstood,
    Outage,
    ProjectError,
    ServiceRefused,
    SlackAmbiguous,
    SlackRefused,
    TooOften,
)
from bridge.features import plan as plans
from bridge.features.conversations import notices
from bridge.features.conversations.ask import NOT_ARRIVED, Answer, ask_agent, unknown
from bridge.features.conversations.sessions import Sessions
from bridge.features.effects import Effects
from bridge.features.home.lately import did
from bridge.features.outcome import Outcome
from bridge.features.show import MENU_MARK, MOST_HANDS, NeverFinished, PostInDoubt, Shower, place_of
from bridge.features.workflows.runs import Runs, to_json
from bridge.ids import ThreadKey, TurnId
from bridge.inbound import InboundMessage, Notice
from bridge.logs import facts
from bridge.metrics import Metrics
from bridge.project import ProjectClient
from bridge.queue.journal import FirstAgent, Journal
from bridge.queue.lanes import Head, Taken, Terms, Unreadable
from bridge.queue.lease import Lease
from bridge.queue.line import Line
from bridge.queue.patience import Draining, Patience
from bridge.queue.recent import NOTHING, Did
from bridge.queue.records import Step, Turn
from bridge.queue.slots import Slots
from bridge.queue.stops import TurnStopped
from bridge.queue.watching import Watches
from bridge.slack.blockkit import failures
from bridge.slack.indicators import Indicators, working
from bridge.slack.post import Say

log = logging.getLogger(__name__)

_TRANSIENT = timedelta(seconds=2)

Plan = Callable[[Taken], Awaitable[plans.Plan]]


@dataclass(frozen=True, slots=True)
class Turns:
    """Does one turn after the other; *plan* says what is to be done about each."""

    plan: Plan
    journal: Journal
    sessions: Sessions
    effects: Effects
    project: ProjectClient
    runs: Runs
    say: Say
    indicators: Indicators
    shower: Shower
    patience: Patience
    slots: Slots
    metrics: Metrics
    max_age: timedelta
    now: Callable[[], datetime]
    line: Line = field(default_factory=Line)
    watches: Watches = field(default_factory=Watches)

    async def work(self, lease: Lease) -> None:
        """Bring the head of a lane to its end, however long that takes. Raises `LaneLost`."""
        try:
            begins = True
            while not await self._step(lease, begins=begins):
                begins = False
        except Draining:
            await self.patience.through_outages(lambda: self.journal.release(lease.held))

    async def _step(self, lease: Lease, *, begins: bool) -> bool:
        """Take the head and go on with it; True when this worker is finished with the lane."""
        taken = lease.pop_head()
        if taken is None and not self.say.token.is_accepted:
            return await self._give_back(lease)
        taken = taken or await self._take(lease, begins=begins)
        if taken is None:
            return True
        if isinstance(taken, Unreadable) and taken.is_newer:
            return await self._leave_to_a_newer_release(lease)
        if isinstance(taken, Unreadable):
            return await self._bury(lease, taken.turn, "a record that this release cannot read")
        with facts(turn=taken.turn.id):
            try:
                return await self._go_on(taken, lease)
            except TurnStopped:
                return await self._stopped(taken)

    async def _take(self, lease: Lease, *, begins: bool) -> Head | None:
        terms = self.terms()
        return await self.patience.through_outages(lambda: self.journal.take(lease.held, terms, begins=begins))

    def terms(self) -> Terms:
        """How a head is taken now."""
        return Terms(secrets.token_hex(8), may_send=self.project.is_up, oldest=self.now() - self.max_age)

    async def _give_back(self, lease: Lease, taken: Taken | None = None) -> bool:
        """Let the lane wait in the queue: Slack does not accept our token, and no turn begins (`Worker`)."""
        if taken is not None and taken.turn.was_sent_now:
            await self.patience.through_outages(lambda: self.journal.unsent(taken))
        await self.patience.through_outages(lambda: self.journal.release(lease.held))
        return True

    async def _leave_to_a_newer_release(self, lease: Lease) -> bool:
        """During a rolling upgrade the process that wrote this record runs beside us."""
        log.warning("a lane needs a newer release of the bridge", extra={"lane": lease.lane})
        async with self.slots.lent():
            await self.patience.pause(_TRANSIENT)
        await self.patience.through_outages(lambda: self.journal.release(lease.held))
        return True

    async def _go_on(self, taken: Taken, lease: Lease) -> bool:
        turn = taken.turn
        if turn.handed_out > MOST_HANDS:
            return await self._never_finished(lease, turn)
        if turn.is_stopped:
            raise TurnStopped(turn.id)
        if turn.step is Step.POSTING:
            outcome = Outcome.from_json(turn.outcome)
            if turn.is_doubtful:
                return await self._tell_of_doubt(taken, outcome, lease, is_by_url=turn.went_by_url)
            return await self._show(taken, outcome, lease, may_be_there=True)
        if turn.step is Step.SENT and not turn.was_sent_now:
            return await self._record(taken, Answer(await self._unknown(taken)), lease)
        if turn.is_withdrawn:
            return await self._done(taken, "withdrawn")
        if isinstance(turn.body, InboundMessage) and turn.accepted_at < self.now() - self.max_age:
            too_old = Outcome(
                what="too old", reply=notices.too_old(turn.id, self.now() - turn.accepted_at), keeps_text=True
            )
            return await self._record(taken, Answer(too_old), lease)
        return await self._carry_out(taken, await self._planned(taken), lease)

    async def _stopped(self, taken: Taken) -> bool:
        """Nothing is shown: what the stop did was said where it was given."""
        if taken.turn.takes > 1:
            await self.indicators.clear_working(place_of(taken.turn.body))  # an earlier worker may have left its sign
        return await self._done(taken, "stopped", keep_text=True)

    async def _unknown(self, taken: Taken) -> Outcome:
        """An earlier worker may have sent the request, and never heard the answer."""
        return await self.runs.unknown(taken) if taken.turn.run else unknown(taken.turn.id)

    async def _planned(self, taken: Taken) -> plans.Plan | ProjectError:
        """What is to be done; a transient failure of the service where a message can wait for it to pass."""
        try:
            return await self.patience.through_outages(lambda: self.plan(taken))
        except ProjectError as exc:
            if isinstance(taken.turn.body, InboundMessage) and _passes(exc):
                return exc
            return plans.Show(failures.failure(exc), what=type(exc).__name__, about=exc.about)
        except BridgeError as exc:
            return plans.Show(failures.failure(exc), what=type(exc).__name__, about=exc.about)

    async def _carry_out(self, taken: Taken, plan: plans.Plan | ProjectError, lease: Lease) -> bool:
        if not self.say.token.is_accepted:  # since it was taken
            return await self._give_back(lease, taken)
        match plan:
            case ProjectError():
                return await self._wait_for_service(taken, plan)
            case plans.AskAgent():
                return await self._ask(taken, plan, lease)
            case plans.RunWorkflow():
                return await self._run(taken, plan, lease)
            case plans.WaitForChoice():
                return await self._park(taken, plan, lease)
            case plans.TryLater():
                async with self.slots.lent(), self.watches.ends_when_stopped(taken.turn.id):
                    await self.patience.pause(plan.after)
                return False
            case plans.Nothing():
                return await self._done(taken, plan.reason)
            case _:
                outcome = await self.effects.carry_out(taken, plan)
                if isinstance(outcome, str):
                    return await self._done(
                        taken, outcome, about=plan.about if isinstance(plan, plans.OpenForm) else ""
                    )
                if outcome is None:
                    return await self._done(taken, "prompts" if isinstance(plan, plans.Greet) else "form opened")
                return await self._record(taken, Answer(outcome), lease)

    async def _ask(self, taken: Taken, plan: plans.AskAgent, lease: Lease) -> bool:
        if not await self._sent(taken, first=FirstAgent(_thread(taken), plan.agent) if plan.is_first else None):
            return False
        not_arrived, is_finished = None, False
        async with working(self.indicators, place_of(taken.turn.body), plan.agent_name):
            try:
                async with self.watches.ends_when_stopped(taken.turn.id):
                    lease.check()
                    answer = await ask_agent(self.project, plan, taken.turn.id, _thread(taken), lease)
            except NOT_ARRIVED as exc:
                not_arrived = exc
            else:
                is_finished = await self._record(taken, answer, lease)
        if not_arrived is None:
            await self.indicators.set_title(place_of(taken.turn.body), plan.title)
            return is_finished
        await self.patience.through_outages(lambda: self.journal.unsent(taken))
        return await self._wait_for_service(taken, not_arrived)

    async def _run(self, taken: Taken, plan: plans.RunWorkflow, lease: Lease) -> bool:
        try:
            if not await self._sent(taken, run=to_json(plan)):
                return False
        except TooOften as exc:
            refused = Outcome(what=type(exc).__name__, reply=failures.failure(exc), workflow=plan.workflow)
            return await self._record(taken, Answer(refused), lease)
        lease.check()
        answer, taken = await self.runs.run(taken, plan)
        if plan.replaces is not None:
            await self.effects.whisper(taken, plan.replaces)
        return await self._record(taken, answer, lease)

    async def _sent(self, taken: Taken, *, run: str = "", first: FirstAgent | None = None) -> bool:
        if taken.turn.was_sent_now:
            return True
        return await self.patience.through_outages(lambda: self.journal.sent(taken, run=run, first=first))

    async def _record(self, taken: Taken, answer: Answer, lease: Lease) -> bool:
        outcome = answer.outcome
        await self.patience.through_outages(
            lambda: self.journal.outcome(
                taken, outcome.model_dump_json(), what=outcome.what, binding=answer.binding, results=answer.results
            )
        )
        may_have_card = taken.turn.is_card_in_doubt or (taken.turn.takes > 1 and bool(taken.turn.run))
        return await self._show(taken, outcome, lease, may_be_there=False, may_have_card=may_have_card)

    async def _show(
        self, taken: Taken, outcome: Outcome, lease: Lease, *, may_be_there: bool, may_have_card: bool = False
    ) -> bool:
        try:
            ts = await self.shower.show(taken, outcome, lease, may_be_there=may_be_there, may_have_card=may_have_card)
        except PostInDoubt:
            is_by_url = await self.patience.through_outages(lambda: self.journal.in_doubt(taken))
            return await self._tell_of_doubt(taken, outcome, lease, is_by_url=is_by_url)
        except SlackRefused as exc:
            return await self._refused(taken, outcome, lease, exc)
        except NeverFinished:
            return await self._never_finished(lease, taken.turn)
        if outcome.starts is not None and ts:
            await self.effects.start_thread(taken, outcome.starts, ts)
        if outcome.greets:
            await self.effects.greeted(taken)
        if outcome.report is not None and ts:
            await self.effects.reports.posted(taken, outcome.report, ts)
        if outcome.shows is not None:
            await self.effects.shown_after_all(taken, outcome.shows)
        return await self._shown(taken, outcome, outcome.what, ts)

    async def _tell_of_doubt(self, taken: Taken, outcome: Outcome, lease: Lease, *, is_by_url: bool) -> bool:
        """Nobody can tell whether it was posted: people are told so, and the lane goes on."""
        log.warning("nobody can tell whether an answer was posted", extra={"kind": taken.turn.body.kind})
        try:
            await self.shower.tell_of_doubt(taken, outcome, lease, is_by_url=is_by_url)
        except SlackRefused as exc:
            return await self._refused(taken, outcome, lease, exc)
        except SlackAmbiguous:
            return await self._bury(lease, taken.turn.id, "slack: nobody can tell whether it was posted", taken.turn)
        return await self._shown(taken, outcome, "post in doubt", "")

    async def _refused(self, taken: Taken, outcome: Outcome, lease: Lease, exc: SlackRefused) -> bool:
        """Slack will never take it."""
        if isinstance(taken.turn.body, Notice) and taken.turn.body.is_offer:  # nobody waits for it
            return await self._done(taken, f"not shown: {exc.error}")
        if outcome.report is not None:
            await self.effects.reports.refused(taken, outcome.report, exc.error)
        await self.effects.refused(taken, exc.error)
        return await self._bury(lease, taken.turn.id, f"slack: {exc.error}", taken.turn)

    async def _shown(self, taken: Taken, outcome: Outcome, what: str, ts: str) -> bool:
        if taken.turn.takes > 1:
            await self.indicators.clear_working(place_of(taken.turn.body))  # an earlier worker may have left its sign
        lately = did(taken, outcome, ts, self.now())
        return await self._done(
            taken, what, posted=ts, keep_text=outcome.keeps_text, about=outcome.about, lately=lately
        )

    async def _done(
        self,
        taken: Taken,
        what: str,
        *,
        posted: str = "",
        keep_text: bool = False,
        about: str = "",
        lately: Did = NOTHING,
    ) -> bool:
        is_home_stale = await self.patience.through_outages(
            lambda: self.journal.done(taken, what=what, posted=posted, keep_text=keep_text, about=about, did=lately)
        )
        if is_home_stale:
            await self.effects.refresh_home(taken)
        await self._remove_queued_reaction(taken.turn)
        took = self.now() - taken.turn.accepted_at
        self.metrics.turn(taken.turn.body.kind, what, took.total_seconds())
        log.info("turn done", extra={"kind": taken.turn.body.kind, "what": what, "seconds": took.total_seconds()})
        return True

    async def _never_finished(self, lease: Lease, turn: Turn) -> bool:
        return await self._bury(lease, turn.id, "begun again and again, never finished", turn)

    async def _bury(self, lease: Lease, turn: TurnId, reason: str, record: Turn | None = None) -> bool:
        await self.patience.through_outages(lambda: self.journal.bury(lease.held, turn, reason=reason, record=record))
        await self._remove_queued_reaction(record)
        if record is not None and record.takes > 1:
            await self.indicators.clear_working(place_of(record.body))  # an earlier worker may have left its sign
        self.metrics.dead_letter()
        log.error("a turn could not be finished and is a dead letter", extra={"turn": turn, "reason": reason})
        return True

    async def _remove_queued_reaction(self, turn: Turn | None) -> None:
        """Only now, when the turn has ended and the lane goes on: nothing waits for it (`QueuedReactions`)."""
        if turn is not None and turn.has_queued_reaction and isinstance(turn.body, InboundMessage):
            await self.indicators.remove_queued_reaction(turn.body.channel, turn.body.ts)

    async def _park(self, taken: Taken, plan: plans.WaitForChoice, lease: Lease) -> bool:
        menu = Outcome(what="menu", reply=plan.menu, mark=MENU_MARK)
        if not taken.turn.card:
            try:
                ts = await self.shower.show(taken, menu, lease, may_be_there=taken.turn.takes > 1)
            except SlackRefused as exc:
                await self.effects.refused(taken, exc.error)
                return await self._bury(lease, taken.turn.id, f"slack: {exc.error}", taken.turn)
            except NeverFinished:
                return await self._never_finished(lease, taken.turn)
            await self.patience.through_outages(lambda: self.journal.card(taken, ts))
        return await self.patience.through_outages(lambda: self.journal.park(taken, _thread(taken)))

    async def _wait_for_service(self, taken: Taken, exc: ProjectError) -> bool:
        """The message is kept, and tried again by itself; then the head is taken anew, for it may have changed."""
        async with self.slots.lent(), self.watches.ends_when_stopped(taken.turn.id):
            if isinstance(exc, Busy):
                await self.patience.pause(exc.retry_after or _TRANSIENT)
            elif self.project.is_up:
                await self.patience.pause(_TRANSIENT)
            else:
                await self._tell_that_it_is_down(taken)
                await self.patience.wait_for(self.line.wait(taken.turn.accepted_at, self.project.wait_until_up))
        return False

    async def _tell_that_it_is_down(self, taken: Taken) -> None:
        thread = _thread(taken)
        may_tell = await self.patience.through_outages(lambda: self.sessions.may_tell(thread, taken.turn.id))
        if may_tell and await self.effects.tell(place_of(taken.turn.body), notices.service_down(), taken):
            await self.patience.through_outages(lambda: self.sessions.told(thread))


def _thread(taken: Taken) -> ThreadKey:
    place = place_of(taken.turn.body)
    return ThreadKey(taken.turn.body.team, place.channel, place.thread_ts)


def _passes(error: ProjectError) -> bool:
    """Whether a look-up failed in a way that passes by itself."""
    return not isinstance(error, ServiceRefused | NotUnderstood) or isinstance(error, Busy | Outage)
