"""The smaller effects: forms, threads begun by command, choices, and messages that are sent again."""

from __future__ import annotations

import logging

from bridge.errors import SlackError, SlackRefused, SlackUnreachable, TooOften
from bridge.features import plan as plans
from bridge.features.conversations import notices, stops as words
from bridge.features.conversations.layout import is_muted
from bridge.features.conversations.sessions import Sessions
from bridge.features.feedback.votes import Votes
from bridge.features.outcome import NewThread, Outcome, ShownLate
from bridge.features.reports.after import AfterReports, report_outcome
from bridge.features.show import begun, whom_of
from bridge.ids import MessageKey, TurnId, aside, thread_lane
from bridge.inbound import Click, HomeOpened, InboundMessage, Notice, Report, Shortcut, SlashCommand, Submission
from bridge.queue.inbox import Condition, Duplicate, Full, Inbox, Muted, Paused, Queued
from bridge.queue.lanes import Taken
from bridge.queue.patience import Patience
from bridge.queue.stops import Met, Stopped
from bridge.slack.blockkit import failures
from bridge.slack.blockkit.reply import Reply
from bridge.slack.history import MessageTag, Place
from bridge.slack.indicators import Indicators
from bridge.slack.post import ExistingParts, Say

log = logging.getLogger(__name__)

SmallPlan = (
    plans.Show
    | plans.OpenForm
    | plans.PublishHome
    | plans.StartThread
    | plans.ChooseAgent
    | plans.SetDefault
    | plans.SendAgain
    | plans.ShowAfterAll
    | plans.AskEdited
    | plans.QueueMessage
    | plans.CastVote
    | plans.StopTurn
    | plans.Resume
    | plans.Greet
    | plans.PostReport
)


class Effects:
    """Carries out what needs neither an agent nor a run. Every effect here may be repeated."""

    def __init__(
        self,
        say: Say,
        inbox: Inbox,
        sessions: Sessions,
        patience: Patience,
        votes: Votes,
        *,
        indicators: Indicators,
        reports: AfterReports,
    ) -> None:
        self._say = say
        self._indicators = indicators
        self._inbox = inbox
        self._sessions = sessions
        self._patience = patience
        self._votes = votes
        self.reports = reports

    async def carry_out(self, taken: Taken, plan: SmallPlan) -> Outcome | str | None:
        """Carry out *plan*; returns what is to be shown, or where nothing is, in a word what was done."""
        match plan:
            case plans.Show():
                return Outcome(what=plan.what, reply=plan.reply, concerns=plan.about)
            case plans.OpenForm():
                return await self._open(taken, plan)
            case plans.PublishHome():
                return await self._publish(taken, plan)
            case plans.StartThread():
                starts = NewThread(agent=plan.agent, text=plan.text, thread_ts=plan.thread_ts)
                return Outcome(
                    what="thread begun", reply=plan.root, mark="bridge_root", starts=starts, concerns=plan.about
                )
            case plans.ChooseAgent() | plans.SetDefault():
                return await self._choose(taken, plan)
            case plans.SendAgain() | plans.AskEdited() | plans.QueueMessage():
                return await self._again(plan)
            case plans.CastVote():
                return await self._vote(taken, plan)
            case plans.StopTurn() | plans.Resume() | plans.Greet() | plans.ShowAfterAll():
                return await self._about_a_conversation(taken, plan)
            case plans.PostReport():
                return report_outcome(plan)

    async def _open(self, taken: Taken, plan: plans.OpenForm) -> Outcome | str:
        body = taken.turn.body
        trigger = body.trigger_id if isinstance(body, SlashCommand | Click | Submission | Shortcut) else ""
        if trigger and taken.turn.takes == 1:
            try:
                await self._say.open_form(trigger, plan.view)
            except SlackError as exc:  # most of all a trigger older than 3 s: a button brings a new one
                log.info("a form could not be opened, offering a button", extra={"detail": exc.detail})
            else:
                return "form opened"
        if not whom_of(body).can_be_told:
            return "form not opened"  # the person knows: nothing came
        return Outcome(what="form offered", reply=plan.otherwise, concerns=plan.about)

    async def _publish(self, taken: Taken, plan: plans.PublishHome) -> str:
        """Show a person's Home tab. One that Slack does not take now is shown anew when it is opened again."""
        try:
            await self._say.publish_home(taken.turn.body.user, plan.view, plan.view_hash)
        except SlackRefused as exc:
            if exc.error == "hash_conflict":
                return "home is newer"
            log.warning("slack does not take a home tab", extra={"error": exc.error})
            return "home refused"
        except SlackError as exc:
            log.info("a home tab could not be shown", extra={"detail": exc.detail})
            return "home not shown"
        return "home shown"

    async def refresh_home(self, taken: Taken) -> None:
        """Have the Home tab of the turn's person drawn anew; once for each turn."""
        body = taken.turn.body
        opened = HomeOpened(team=body.team, channel="", user=body.user, user_team=body.user_team)
        await self._patience.through_outages(lambda: self._inbox.put(opened, event=f"home:{taken.turn.id}"))

    async def _choose(self, taken: Taken, plan: plans.ChooseAgent | plans.SetDefault) -> Outcome:
        if isinstance(plan, plans.SetDefault):
            return await self._set_default(taken, plan)
        agent = await self._patience.through_outages(lambda: self._sessions.choose_agent(plan.thread, plan.agent))
        if agent != plan.agent:
            return Outcome(what="agent was chosen before", reply=plan.too_late)
        return Outcome(what="agent chosen", reply=plan.reply)

    async def _set_default(self, taken: Taken, plan: plans.SetDefault) -> Outcome:
        """The notice is queued first: whoever repeats this finds nothing to change, or queues the same one again."""
        team, channel = taken.turn.body.team, taken.turn.body.channel

        async def change() -> None:
            if await self._sessions.channel_default(team, channel) == plan.agent:
                return
            if plan.notice is not None:
                await self._inbox.put(plan.notice, event=f"default:{taken.turn.id}")
            await self._sessions.set_channel_default(team, channel, plan.agent)

        await self._patience.through_outages(change)
        return Outcome(what="changed", reply=plan.reply, concerns=plan.about)

    async def _vote(self, taken: Taken, plan: plans.CastVote) -> Outcome:
        user = taken.turn.body.user
        how = await self._patience.through_outages(
            lambda: self._votes.cast(plan.turn, user, is_up=plan.is_up, agent=plan.agent, session=plan.session)
        )
        return Outcome(what=f"vote {how}", reply=plan.reply)

    async def _again(self, plan: plans.SendAgain | plans.AskEdited | plans.QueueMessage) -> Outcome:
        if isinstance(plan, plans.QueueMessage):
            return await self._queue(plan)

        async def queue() -> str:
            if isinstance(plan, plans.AskEdited):
                return await self._inbox.ask_edited(plan.message)
            return await self._inbox.again(TurnId(plan.turn))

        match await self._patience.through_outages(queue):
            case "queued" | "already":
                return Outcome(what="sent again", reply=plan.reply)
            case "full":
                return Outcome(what="full", reply=notices.thread_full())
            case _:
                return Outcome(what="gone", reply=plan.gone)

    async def _show_after_all(self, taken: Taken, plan: plans.ShowAfterAll) -> Outcome:
        body, turn = taken.turn.body, TurnId(plan.turn)
        button = body.message_ts if isinstance(body, Click) else ""
        kept = await self._patience.through_outages(lambda: self._inbox.kept(turn, by=taken.turn.id, button=button))
        if not kept:
            return Outcome(what="gone" if kept is None else "already", reply=plan.gone if kept is None else plan.again)
        outcome = Outcome.from_json(kept)
        return outcome.model_copy(
            update={
                "what": "shown after all",
                "reply": outcome.reply.model_copy(update={"replaces_original": False}),
                "shows": ShownLate(turn=turn, notice=plan.asked_at),
                "ended": "",  # it was the other turn's person who did that
            }
        )

    async def shown_after_all(self, taken: Taken, shown: ShownLate) -> None:
        """Keep it no longer, and take the question away."""
        await self._patience.through_outages(lambda: self._inbox.drop_kept(TurnId(shown.turn)))
        if not shown.notice:
            return
        try:
            mark = MessageTag("bridge_notice", aside(taken.turn.id, "shown"))
            await self._say.update(taken.turn.body.channel, shown.notice, notices.shown_after_all(), mark)
        except SlackError as exc:
            log.info("a question that was answered could not be taken away", extra={"detail": exc.detail})

    async def _queue(self, plan: plans.QueueMessage) -> Outcome:
        message = plan.message
        is_addressed = message.is_mention or message.is_direct
        starts = Condition.START if message.is_text else Condition.NONE  # a command starts no conversation
        put = await self._patience.through_outages(
            lambda: self._inbox.put(
                message,
                event=f"slip:{message.key}",  # of two buttons, the first counts
                thread=message.thread,
                in_order=plan.in_order,
                condition=starts if is_addressed else Condition.BOUND,
                is_limited=message.is_text,
            )
        )
        match put:
            case Queued() | Duplicate():
                return Outcome(what="queued", reply=plan.reply)
            case Paused():
                return Outcome(what="paused", reply=failures.failure(TooOften(put.limited, put.wait)))
            case Full():
                return Outcome(what="full", reply=notices.thread_full())
            case Muted():
                return Outcome(what="muted", reply=is_muted())
            case _:
                return Outcome(what="gone", reply=notices.no_conversation())

    async def _about_a_conversation(
        self, taken: Taken, plan: plans.StopTurn | plans.Resume | plans.Greet | plans.ShowAfterAll
    ) -> Outcome | str:
        match plan:
            case plans.ShowAfterAll():
                return await self._show_after_all(taken, plan)
            case plans.StopTurn():
                return await self._stop(taken, plan)
            case plans.Resume():
                return await self._resume(taken, plan)
            case plans.Greet():
                return await self._greet(plan)

    async def _greet(self, plan: plans.Greet) -> Outcome | str:
        await self._indicators.suggest_prompts(plan.channel, plan.prompts)
        return Outcome(what="greeted", reply=plan.reply, greets=True) if plan.reply else "prompts"

    async def _stop(self, taken: Taken, plan: plans.StopTurn) -> Outcome:
        """Repeat the stop, which was given at the door, to learn what it met; the sign of work ends in any case."""
        thread = plan.thread
        only = MessageKey(thread.team, thread.channel, plan.only) if plan.only else None
        stopped = await self._patience.through_outages(
            lambda: self._inbox.stops.stop(thread_lane(thread), plan.given, by=taken.turn.id, only=only)
        )
        await self._indicators.clear_working(Place(thread.channel, thread.root))
        return Outcome(what=f"stop: {stopped.met}", reply=_told(stopped))

    async def _resume(self, taken: Taken, plan: plans.Resume) -> Outcome:
        stops, lane = self._inbox.stops, thread_lane(plan.thread)
        count = await self._patience.through_outages(lambda: stops.resume(lane, by=taken.turn.id, drop=plan.drop))
        if count is None:
            return Outcome(what="nothing is held", reply=words.nothing_is_held())
        if plan.drop:
            return Outcome(what="dropped", reply=words.dropped(count))
        return Outcome(what="gone on", reply=words.gone_on(count))

    async def start_thread(self, taken: Taken, starts: NewThread, root: str) -> None:
        """Queue the message of a thread that was begun by command, once, in the thread of *root*."""
        body = taken.turn.body
        message = InboundMessage(
            team=body.team, channel=body.channel, user=body.user, text=starts.text, ts=root, is_mention=True,
            thread_ts=starts.thread_ts,
            calls_in=bool(starts.thread_ts),
        )  # fmt: skip
        thread = message.thread
        put = await self._patience.through_outages(
            lambda: self._inbox.put(
                message,
                event=f"root:{taken.turn.id}",
                message=MessageKey(body.team, body.channel, root),
                thread=thread,
                condition=Condition.START,
                agent=starts.agent,
                is_limited=True,
            )
        )
        if isinstance(put, Paused):
            await self.whisper(taken, failures.failure(TooOften(put.limited, put.wait)))

    async def refused(self, taken: Taken, error: str) -> None:
        """Queue a direct message to who asked: Slack refuses the answer for good. Once for each turn."""
        body = taken.turn.body
        if not body.user or isinstance(body, Notice | Report | HomeOpened):
            return
        what = notices.not_posted(body.channel, error)
        notice = Notice(team=body.team, channel=body.user, user=body.user, what=what, of="answer", is_offer=True)
        await self._patience.through_outages(lambda: self._inbox.put(notice, event=f"refused:{taken.turn.id}"))

    async def whisper(self, taken: Taken, reply: Reply) -> None:
        """Show a private line beside what the turn is about; one that Slack does not take is left out."""
        try:
            await self._say.whisper(whom_of(taken.turn.body), reply)
        except SlackError as exc:
            log.info("a private line could not be shown", extra={"detail": exc.detail})

    async def greeted(self, taken: Taken) -> None:
        """Keep that the person of this turn was greeted."""
        body = taken.turn.body
        await self._patience.through_outages(lambda: self._sessions.greeted(body.team, body.user))

    async def tell(self, place: Place, reply: Reply, taken: Taken) -> bool:
        """Post a notice in a thread, at most once; False where Slack surely did not take it.

        An earlier worker may have posted it. Where nobody can look, it is not posted again.
        """
        turn = aside(taken.turn.id, "notice")
        try:
            existing = await self._say.find(place, turn, begun(taken)) if taken.turn.takes > 1 else ExistingParts()
            await self._say.post(place, reply, MessageTag("bridge_notice", turn), existing)
        except SlackError as exc:
            log.warning("a notice could not be posted", extra={"turn": taken.turn.id, "detail": exc.detail})
            return not isinstance(exc, SlackUnreachable)
        return True


def _told(stopped: Stopped) -> Reply:
    match stopped.met:
        case Met.QUEUED:
            return words.stopped_unsent(stopped.turn, stopped.waiting)
        case Met.SENT:
            return words.stopped_at_work(stopped.turn, stopped.waiting)
        case Met.ANSWERED:
            return words.stopped_answered(stopped.turn, stopped.waiting)
        case Met.LATE:
            return words.answered_already()
        case Met.WITHDRAWN:
            return words.taken_back()
        case Met.NOTHING:
            return words.nothing_to_stop(stopped.waiting)
