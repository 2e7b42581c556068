"""One turn, from the head of its lane to its reply in Slack.

``take`` → the handler (`Turn.once` writes ``sent`` before its request) → ``outcome`` → the post → ``done``.

Each step is written before the effect that follows it, and the lease is checked before the request and each post of the
outcome. So a worker that takes over a lane knows what may have happened: nothing (``queued``: start), a request
(``sent``: say that the outcome is unknown), or a post (``posting``: look for it, or say that it may be missing).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from bridge.ends import failures, notices
from bridge.ends.unfinished import notice_left, notice_left_unread
from bridge.engine.deps import EngineDeps
from bridge.engine.destination import Destination
from bridge.engine.dispatch import Features
from bridge.engine.finished_turns import Entries
from bridge.engine.projects import ASK
from bridge.engine.questions import remove_notice
from bridge.engine.reply_poster import MAX_DELIVERIES, NotPosted, ReplyPoster
from bridge.engine.results import (
    MENU_MARK,
    NOTICE_MARK,
    RUN_MARK,
    Done,
    HomeChanged,
    HomeView,
    Modal,
    Outcome,
    Result,
    TryLater,
    Wait,
    try_later,
)
from bridge.engine.turn import Turn
from bridge.errors import (
    BridgeError,
    Busy,
    LaneLost,
    NotAllowed,
    NotUnderstood,
    Outage,
    ProjectError,
    RecordNotUnderstood,
    ServiceRefused,
    SlackError,
    SlackRefused,
    SlackUnreachable,
    StoreUnavailable,
    ThreadGone,
    TooOften,
)
from bridge.ids import MessageKey, PersonKey, ThreadKey, TurnId, side_id
from bridge.inbound import InboundMessage, Notice, SlashCommand
from bridge.logs import facts
from bridge.metrics import Metrics
from bridge.policy.policy import UNREACHABLE
from bridge.queue.journal import DeletedMeanwhile, Journal, TurnChanged, WorkPaused
from bridge.queue.lease import Lease
from bridge.queue.patience import Patience
from bridge.queue.records import OFF, Record, Step, Taken
from bridge.queue.scripting import epoch_ms
from bridge.queue.slots import Line, Shares, Slots
from bridge.queue.turn_log import OutcomeFacts
from bridge.queue.watches import TurnStopped, Watches
from bridge.queue.writes import Write, only_if
from bridge.slack.blockkit.reply import Reply
from bridge.slack.in_project import mark_reply, mark_view
from bridge.slack.indicators import Working
from bridge.slack.parts import MessageTag
from bridge.slack.post import CLOCK_SKEW, ExistingParts

log = logging.getLogger(__name__)

_TRANSIENT = timedelta(seconds=2)
_LONGEST_WAIT = timedelta(hours=1)  # a service that asks for more is tried in between
_SOON = timedelta(seconds=5)  # a shorter wait has no status and no time
_PATIENCE = timedelta(minutes=1)  # after so long, people are told in private that their message waits
_RECENT = timedelta(minutes=1)
_OTHER_VERSION = "written by another version of the bridge"

GIVEN_UP: Final = {
    "in doubt": "Slack: unknown whether it was posted",
    "never finished": "started several times, never finished",
}
"""The reason of a dead letter by that of `NotPosted`, if that isn't Slack's error."""


@dataclass(frozen=True, slots=True)
class TurnProcessor:
    """Processes turns: the *features* decide what to show, and the *poster* shows it."""

    deps: EngineDeps
    features: Features
    journal: Journal
    poster: ReplyPoster
    patience: Patience
    slots: Slots
    metrics: Metrics
    entries: Entries
    max_age: timedelta
    shares: Shares
    line: Line = field(default_factory=Line)
    lines: dict[str, Line] = field(default_factory=dict)  # of the other projects
    watches: Watches = field(default_factory=Watches)

    async def work(self, lease: Lease) -> None:
        """Finish the head of a lane, however long that takes. Raises `LaneLost`, `Draining` and `WorkPaused`.

        What other rooms raise steers a turn only here:

        | raised                | what the turn does next                                        |
        | --------------------- | -------------------------------------------------------------- |
        | `TurnChanged`         | it's taken again, as its message, its thread or a menu changed |
        | `TurnStopped`         | it ends, and shows nothing                                     |
        | `RecordNotUnderstood` | it becomes a dead letter, with a notice                        |
        """
        with self.patience.through_outages():
            begins, is_over = True, False
            while not is_over and (turn := await self._take(lease, begins=begins)) is not None:
                begins, is_over = False, True
                with facts(turn=turn.id):
                    try:
                        match await self._handle(turn):
                            case Outcome() as outcome:
                                await self._show(turn, outcome)
                            case Reply() as reply:
                                await self._show(turn, Outcome(what="shown", reply=reply))
                            case Modal() as form:
                                await self._open(turn, form)
                            case HomeView() as home:
                                what = await self._publish(turn, home)
                                await self._done(turn, what, writes=turn.staged if what == "home shown" else ())
                            case Wait() as wait:
                                is_over = await self._park(turn, wait)
                            case Done(reason, keeps):
                                await self._done(turn, reason, keep_text=keeps, writes=turn.staged if keeps else ())
                            case HomeChanged() as changed:  # `Features.handle` has redrawn it
                                raise TypeError(changed)
                            case NotPosted() as missed:
                                await self._give_up(turn, missed)
                            case None:
                                is_over = False
                    except TurnChanged:
                        is_over = False
                    except RecordNotUnderstood:  # its outcome, or the note on its request
                        await self._give_up(turn, None)
                    except TurnStopped:
                        ends = await self._stopped(turn)
                        await self._done(turn, ends.reason, keep_text=ends.keeps_text)
                    finally:
                        await turn.until_shown.aclose()

    async def _take(self, lease: Lease, *, begins: bool) -> Turn | None:
        """Take the head of a lane; None if the lane is empty, or was released, or its head buried."""
        head, lease.head = lease.head, None  # it came with the lane; after the first round, it's taken again
        if head is None and not self.deps.slack.token.accepted.is_set():
            await self.journal.release(lease.held)  # no turn may start now (`Worker`)
            return None
        if head is None and (head := await self.journal.take(lease.held, begins=begins)) is None:
            return None
        if isinstance(head, Taken):
            return Turn(
                head,
                lease,
                self.journal,
                self.watches,
                may_begin=self.deps.slack.token.accepted.is_set,
                slack=self.deps.slack,
                projects=self.deps.projects,
            )
        if head.is_newer:  # during a rolling upgrade, the process that wrote this record is still running
            log.warning("queued work needs a newer version of the bridge", extra={"lane": lease.lane})
            async with self.slots.lent():
                await self.patience.pause(_TRANSIENT)
            await self.journal.release(lease.held)
        else:
            await self._bury(lease, head.turn, _OTHER_VERSION, None, notice_left_unread(head))
        return None

    async def _stopped(self, turn: Turn) -> Done:
        """End a turn of which nothing is shown: the stop itself was answered, or its message was deleted."""
        await self._take_back_notice(turn)
        if turn.record.takes > 1 and not turn.record.card:  # an earlier worker may have left its indicator
            await self.deps.indicators.clear_working(turn.destination.place)
        if not await self.journal.was_deleted(turn.taken):
            return Done("stopped", keeps_text=True)
        if turn.step is Step.POSTING:  # parts of its answer may be there
            await self.poster.remove(turn)
        if turn.card:  # the menu that it waited for
            await self.deps.slack.delete(turn.channel, turn.card)
        return Done("deleted")

    async def _handle(self, turn: Turn) -> Result | NotPosted | None:
        """Return what to show: the recorded outcome, what the turn's step calls for, or the handler's result.

        None if the turn must be taken again.
        """
        if (known := await self._known(turn)) is not None:
            return known
        result: Result | None = None
        while result is None:
            try:
                if turn.record.has_unread_thread and turn.thread is not None:
                    await self.deps.ensure_caught_up(turn.thread)
                async with self._share(turn) if self.deps.projects.is_several else nullcontext():
                    result = await self._refused(turn) or await self.features.handle(self.deps, turn)
            except StoreUnavailable:
                # Of settings that were never read, as the door shares their cache and mustn't wait.
                await self.patience.wait_for_redis()
                await turn.restart()
            except TryLater as exc:
                await turn.until_shown.aclose()  # nobody is at work while it waits
                async with self.slots.lent(), self.watches.ends_when_stopped(turn.id):
                    await self.patience.pause(exc.after)
                return None
            except LaneLost:
                raise
            except BridgeError as exc:
                # Outages and rate limits pass, so the turn waits; other refusals and unreadable responses last.
                is_lasting = isinstance(exc, ServiceRefused | NotUnderstood) and not isinstance(exc, Busy | Outage)
                if isinstance(exc, ProjectError) and turn.body.as_message and not is_lasting:
                    await turn.until_shown.aclose()  # nobody is at work while it waits
                    await self._wait_for_service(turn, exc)
                    return None
                turn.staged.clear()
                result = _failed(exc)
        if not (turn.has_sent or self.deps.slack.token.accepted.is_set()):  # rejected after the turn was taken
            raise WorkPaused
        return result

    @asynccontextmanager
    async def _share(self, turn: Turn) -> AsyncIterator[None]:
        """Hold a share of the turns in flight for *turn*'s project during the block."""
        share = self.shares.ask(turn.project_key)
        try:
            if not share.done():
                async with self.slots.lent(), self.watches.ends_when_stopped(turn.id):
                    await self.patience.wait_for(share)
            yield
        finally:
            self.shares.give_back(turn.project_key, share)

    async def _refused(self, turn: Turn) -> Outcome | Done | None:
        """Return what to show if the rules no longer allow what was accepted earlier; None if they do.

        Inputs of people are checked again here, and whether they have the key with which their thread or button came to
        be. What apps, schedules, alerts and reports do depends on who set that up, and is checked by their features.
        Raises `TryLater`.
        """
        body, projects = turn.body, self.deps.projects
        if not body.is_request or (isinstance(body, InboundMessage) and body.app):
            return None
        if turn.record.is_again or self.deps.now() - turn.record.accepted_at > _RECENT:
            reason = await self.deps.refusal_now(body.user, body.place)
        else:  # it was checked when it arrived, perhaps by a process with other settings
            reason = self.deps.policy.rules.not_listed(body.user, body.place)
        if reason is None:
            holders = projects.holders(turn.project_key) if projects.has_keys else ()
            for user in {body.user, turn.causer} if holders else ():
                with try_later():
                    if not await self.deps.policy.holds(holders, user):
                        return Outcome(what=NotAllowed.__name__, reply=failures.failure(NotAllowed("key")))
            return None
        if reason in UNREACHABLE or (turn.record.is_again and reason != "channel"):
            if not isinstance(body, InboundMessage) or body.is_direct:
                return Done(f"refused: {reason}")
            # Its author can't read it; those in its thread can, one of whom may have chosen to send it.
            reply = notices.author_refused(reason, await self.deps.directory.user_name(body.user))
            return Outcome(what=NotAllowed.__name__, reply=reply)
        return Outcome(what=NotAllowed.__name__, reply=failures.failure(NotAllowed(reason)))

    async def _known(self, turn: Turn) -> Result | NotPosted | None:
        """Return what to show without running the handler; None if it must run."""
        record = turn.record
        end, _, fact = record.end.partition(" ")
        if end in OFF:
            if "withdrawn" not in {end, fact}:
                return await self._stopped(turn)
            await self._take_back_notice(turn)
            return Done("withdrawn")
        if record.times_delivered > MAX_DELIVERIES:
            return NotPosted("never finished")
        if record.step is Step.POSTING:
            return Outcome.from_json(record.outcome)
        if record.step is Step.SENT:  # an earlier worker may have sent the request without getting the answer
            return await self.features.unknown(self.deps, turn)
        if end == "discarded":
            why, _, count = fact.rpartition(" ")
            return Outcome(what="discarded", reply=notices.discarded(why, int(count)), is_outside=why == "deleted")
        body, since = turn.body, record.accepted_at
        if isinstance(body, InboundMessage) and body.was_found and not record.is_again:
            since = min(since, datetime.fromtimestamp(float(body.ts), UTC))  # when it was written
        age = self.deps.now() - since
        if age <= self.max_age or not body.as_message:
            return None
        if not isinstance(body, InboundMessage) or not body.was_found or record.is_again:
            return Outcome(what="too old", reply=notices.too_old(turn.id, age), keeps_text=True)
        drafts = self.deps.inbox.drafts  # messages found in one thread share one offer
        turn.stage(drafts.offers(body.thread, turn.id))
        if not await drafts.is_offered(body.thread):
            return Outcome(what="too old", reply=notices.found_too_old(self.max_age), keeps_text=True)
        return Done("too old", keeps_text=True)

    async def _show(self, turn: Turn, outcome: Outcome) -> None:
        """Record *outcome* and show it: in its place, or aside, to its person only. Else give the turn up.

        If it was already recorded, an earlier worker may have posted it.
        """
        record, is_recorded = turn.record, turn.step is Step.POSTING
        posted: str | NotPosted | None = None
        if not is_recorded:
            if turn.project_key:
                outcome = _in_project(turn, outcome)
            facts = OutcomeFacts()
            if outcome.cause:
                about = outcome.concerns
                facts = OutcomeFacts(concerns=about, cause=f"{about}: {outcome.cause}".removeprefix(": "))
            if outcome.project:
                facts["project"] = outcome.project
            text, what = outcome.model_dump_json(), outcome.what
            try:
                await self.journal.outcome(turn.taken, text, what=what, writes=turn.staged, facts=facts)
            except DeletedMeanwhile:
                posted = NotPosted("deleted")
            turn.staged.clear()
            turn.step = Step.POSTING
            if what == "unknown":
                self.metrics.unknown_outcomes.inc()
        elif record.end == "private":
            posted = NotPosted("deleted")
        elif record.is_doubtful:
            posted = NotPosted("in doubt")
        to = Destination.of(turn.body, outcome.reply, is_aside=outcome.is_outside)
        if posted is None:
            posted = await self.poster.post(turn, outcome, to, may_be_posted=is_recorded)
        if posted == NotPosted("in doubt"):
            log.warning("unknown whether an answer was posted", extra={"kind": turn.body.kind})
            is_by_url = await self.journal.post_in_doubt(turn.taken)
            posted = await self.poster.notify_of_doubt(turn, outcome, to, is_by_url=is_by_url)
            if isinstance(posted, str):
                await self._done(turn, "post in doubt", outcome=outcome)
                return
        match posted:
            case NotPosted("deleted" | "thread gone"):
                await self._show_aside(turn, outcome, to, posted)
            case NotPosted():
                await self._give_up(turn, posted, outcome)
            case ts:
                self.watches.check(turn.id)  # deleted while its answer was on the way
                await self._shown(turn, outcome, ts)

    async def _shown(self, turn: Turn, outcome: Outcome, ts: str) -> None:
        """Do what comes after showing *outcome* in the message *ts*, or ``""`` if only its person sees it."""
        if outcome.after:
            await self.features.after(self.deps, turn, outcome, ts)
        await self._done(turn, outcome.what, posted=ts, outcome=outcome, writes=turn.staged)

    async def _show_aside(self, turn: Turn, outcome: Outcome, to: Destination, why: NotPosted) -> None:
        """Show *outcome* only to its person, as the message that started it is gone, or the first of its thread.

        With that, its conversation ends, and an answer in it isn't shown.
        """
        if turn.card:
            await self.deps.slack.delete(turn.channel, turn.card)
        if why.why == "thread gone":
            root = to.place.thread_ts  # "" if what's gone is the beginning of the outcome itself
            if root:
                await self.deps.inbox.withdraw(MessageKey(turn.team, turn.channel, root))
            if not root or (isinstance(turn.body, InboundMessage) and outcome.mark != RUN_MARK):
                return await self._done(turn, "deleted")
        aside = Destination.of(turn.body, outcome.reply, is_aside=True)
        match await self.poster.post(turn, outcome, aside, may_be_posted=False):
            case NotPosted("refused", error):
                log.info("can't show an outcome whose message is gone", extra={"error": error})
            case NotPosted() as missed:
                return await self._give_up(turn, missed, outcome)
        return await self._shown(turn, outcome, "")

    async def _done(
        self,
        turn: Turn,
        what: str,
        *,
        posted: str = "",
        keep_text: bool = False,
        about: str = "",
        outcome: Outcome | None = None,
        writes: Sequence[Write] = (),
    ) -> None:
        """Record that the turn is over: *outcome* was shown in the message *posted* (``ts``), or nothing was shown."""
        record = turn.record
        if outcome is not None:
            keep_text = outcome.keeps_text
        if record.card or (outcome is not None and record.takes > 1):  # an earlier take may have left its indicator
            await self.deps.indicators.clear_working(turn.destination.place)
        if record.is_again:  # before the last step, so that a successor would do it
            await remove_notice(self.deps, turn.id, record.body.channel)
        shown = None
        if posted and outcome is not None:
            shown = MessageKey(turn.team, self.deps.slack.channel_of(turn.destination.place), posted)
        entry = self.entries.of(
            turn.id, record, what, about=about, outcome=outcome, posted=shown,
            agent=turn.conversation.agent, project=turn.project_key,
        )  # fmt: skip
        await self.journal.done(turn.taken, what=what, posted=shown, keep_text=keep_text, writes=[entry, *writes])
        if record.is_again:  # the notice may have been shown only now
            await remove_notice(self.deps, turn.id, record.body.channel)
        seconds = (self.deps.now() - record.accepted_at).total_seconds()
        self.metrics.turns.labels(turn.body.kind, what.partition(":")[0]).observe(seconds)  # without Slack's own words
        log.info("turn done", extra={"kind": turn.body.kind, "what": what, "seconds": seconds})

    async def _give_up(self, turn: Turn, why: NotPosted | None, outcome: Outcome | None = None) -> None:
        """End a turn whose *outcome* can't be shown, or that can't be finished: mostly as a dead letter, with a notice.

        None: another version wrote its outcome, or the note on its request.
        """
        body, error = turn.body, why.error if why else ""
        reason = f"Slack: {error}" if error else GIVEN_UP[why.why] if why else _OTHER_VERSION
        is_readable = why is not None or turn.step is not Step.POSTING
        notice = notice_left(turn.id, body.model_dump(), turn.step, is_readable=is_readable, error=error)
        if turn.record.end.startswith(OFF):
            notice = None
        if turn.step is Step.SENT:
            self.metrics.unknown_outcomes.inc()
        if error and isinstance(body, Notice):
            queues = [self.deps.inbox.queues(notice, why=f"{error} in its place")] if notice else []
            await self._done(
                turn, f"notified in a direct message: {error}" if notice else f"not shown: {error}", writes=queues
            )
            return
        if error and outcome:
            await self.features.refused(self.deps, turn, outcome, error)
            if body.is_about_failures:
                await self._done(turn, f"not shown: {error}", writes=turn.staged)
                return
            if body.tells_owner and turn.staged:
                notice = None
        await self._bury(turn.lease, turn.id, reason, turn.record, notice, writes=turn.staged if error else ())
        if turn.record.takes > 1:
            await self.deps.indicators.clear_working(turn.destination.place)

    async def _bury(
        self,
        lease: Lease,
        turn: TurnId,
        reason: str,
        record: Record | None,
        notice: Notice | None,
        *,
        writes: Sequence[Write] = (),
    ) -> None:
        """Make a turn a dead letter and queue the *notice* about it, in one step."""
        queues = [self.deps.inbox.queues(notice, why=f"turn {turn} couldn't be finished")] if notice else []
        is_open = notice is not None and record is not None and isinstance(record.body, InboundMessage | SlashCommand)
        entry = self.entries.of(turn, record, f"dead: {reason}", is_open=is_open)
        await self.journal.bury(lease.held, turn, reason=reason, writes=[entry, *queues, *writes])
        self.metrics.dead_letters.inc()
        log.error("turn failed permanently; see bridge dead list", extra={"turn": turn, "reason": reason})

    async def _open(self, turn: Turn, form: Modal) -> None:
        """Open a form, or offer a button for it if the trigger is older than 3 s."""
        if turn.trigger_id and turn.record.takes == 1:
            try:
                await self.deps.slack.open_form(turn.trigger_id, mark_view(form.view, turn.project_key))
            except SlackError as exc:
                log.info("can't open a form, offering a button", extra={"detail": exc.detail})
            else:
                return await self._done(turn, "form opened", about=form.about)
        if not turn.destination.recipient.is_reachable:
            return await self._done(turn, "form not opened", about=form.about)  # the person can see that nothing opened
        return await self._show(turn, Outcome(what="form offered", reply=form.otherwise, concerns=form.about))

    async def _publish(self, turn: Turn, home: HomeView) -> str:
        """Show a person's Home tab. If Slack doesn't accept it now, it's redrawn when they open it again."""
        try:
            await self.deps.slack.publish_home(turn.user, mark_view(home.view, turn.project_key), home.view_hash)
        except SlackRefused as exc:
            if exc.error == "hash_conflict":
                return "home is newer"
            log.warning("Slack rejected a Home tab", extra={"error": exc.error})
            return "home refused"
        except SlackError as exc:
            log.info("can't show the Home tab", extra={"detail": exc.detail})
            return "home not shown"
        return "home shown"

    async def _park(self, turn: Turn, wait: Wait) -> bool:
        """Show the menu, once, and hold the lane; False if someone has already chosen."""
        menu = Outcome(what="menu", reply=wait.menu, mark=MENU_MARK)
        if turn.project_key:
            menu = _in_project(turn, menu)
        if not turn.record.card:
            to = Destination.of(turn.body, menu.reply)
            posted = await self.poster.post(turn, menu, to, may_be_posted=turn.record.takes > 1)
            if posted == NotPosted("thread gone"):
                await self.deps.inbox.withdraw(MessageKey(*_thread(turn)))
                return False
            if isinstance(posted, NotPosted):
                await self._give_up(turn, posted, menu)
                return True
            await self.journal.card(turn.taken, MessageKey(turn.team, turn.channel, posted))
            await self.deps.indicators.show_suspended(to.place)
        if not await self.journal.park(turn.taken, _thread(turn)):
            return False
        if isinstance(turn.body, InboundMessage) and not turn.body.app:
            homes, person = self.deps.homes, PersonKey(turn.team, turn.user, turn.project_key)
            listed = homes.thread(person, turn.body.thread, self.deps.now())
            await self.deps.inbox.write(listed, *homes.redraws(turn.team, turn.user))
        return True

    async def _wait_for_service(self, turn: Turn, exc: ProjectError) -> None:
        """Wait before a retry; the caller then takes the head again, as it may have changed."""
        async with self.slots.lent(), self.watches.ends_when_stopped(turn.id):
            if isinstance(exc, Busy) or turn.project.client.is_up:
                wait = isinstance(exc, Busy) and exc.retry_after
                await self._pause(turn, exc, min(wait or _TRANSIENT, _LONGEST_WAIT))
            else:
                await self._notify_of_outage(turn)
                line = self.lines.setdefault(turn.project_key, Line()) if turn.project_key else self.line
                # Until the service is back, or its project has another address or key, or is no longer served
                is_used = partial(self.deps.projects.serves, turn.project)
                until_up = partial(turn.project.client.wait_until_up, is_used)
                await self.patience.wait_for(line.wait(turn.record.accepted_at, until_up))

    async def _pause(self, turn: Turn, exc: ProjectError, wait: timedelta) -> None:
        """Wait before the next try, whose time is recorded; its person sees that, and is told if it takes long."""
        body, next_try, key = turn.body, self.deps.now() + wait, self.deps.scripts.keys.turn(turn.id)
        place = turn.destination.place
        is_soon = wait <= _SOON
        writes = only_if(
            key, {"step": Step.QUEUED}, ("field", key, 0, "next_try", "" if is_soon else str(epoch_ms(next_try)))
        )
        await self.deps.inbox.write(*writes)
        async with AsyncExitStack() as stack:
            if isinstance(body, InboundMessage) and not is_soon:
                working = Working(self.deps.indicators, place, "", doing="is waiting for the project service")
                await stack.enter_async_context(working)
            is_long = next_try - turn.record.accepted_at > _PATIENCE
            if isinstance(body, InboundMessage) and not body.app and is_long:
                reply = notices.waits_for_service(exc, next_try, turn.id, f"{body.thread.root} {body.ts}")
                with suppress(SlackError):
                    if await self.deps.said_once.claim_word_of_work(turn.id):
                        await self.deps.slack.whisper(turn.destination.recipient, reply)
            await self.patience.pause(wait, self.deps.projects.until_replaced(turn.project))

    async def _notify_of_outage(self, turn: Turn) -> None:
        """Post the outage notice in the thread, at most once; if the thread can't be searched for it, don't retry."""
        thread, notice = _thread(turn), side_id(turn.id, "notice")
        if not await self.deps.said_once.claim_outage_notice(thread, turn.id):
            return
        place, since = turn.destination.place, turn.record.accepted_at - CLOCK_SKEW
        ts = ""
        try:
            existing = ExistingParts()
            if turn.record.takes > 1:
                existing = await self.deps.slack.history().find(place, notice, since)
            tag = MessageTag(NOTICE_MARK, notice)
            ts = await self.deps.slack.post(place, notices.SERVICE_DOWN, tag, existing, turn.lease.ensure)
        except SlackError as exc:
            log.warning("notice can't be posted", extra={"turn": turn.id, "detail": exc.detail})
            if isinstance(exc, SlackUnreachable):
                return
            if isinstance(exc, ThreadGone):
                await self.deps.inbox.withdraw(MessageKey(*thread))
        await self.deps.said_once.notified(thread, ts)

    async def _take_back_notice(self, turn: Turn) -> None:
        """Delete the outage notice in a turn's thread: its message won't be answered. The next one posts it again."""
        thread = _thread(turn)
        if thread.root and (ts := await self.deps.said_once.take_back_outage_notice(thread)):
            await self.deps.slack.delete(thread.channel, ts)


def _in_project(turn: Turn, outcome: Outcome) -> Outcome:
    """Return *outcome* with the project that it and its buttons belong to: *turn*'s, unless it says another."""
    if outcome.project is not None:
        return outcome
    reply, project = mark_reply(outcome.reply, turn.project_key), turn.project_key
    return outcome.model_copy(update={"project": None if project == ASK else project, "reply": reply})


def _failed(exc: BridgeError) -> Outcome:
    """Return what shows an error that lasts."""
    match exc:
        case ProjectError():
            cause = exc.cause
        case NotAllowed():
            cause = failures.sentence(exc)
        case TooOften():
            cause = exc.limit
        case _:
            cause = ""
    return Outcome(what=type(exc).__name__, reply=failures.failure(exc), concerns=exc.about, cause=cause)


def _thread(turn: Turn) -> ThreadKey:
    place = turn.destination.place
    return ThreadKey(turn.team, place.channel, place.thread_ts)
