"""The smaller effects: forms, threads begun by command, choices, and messages that are sent again."""

from __future__ import annotations

import logging

from bridge.blocks import failures, notices
from bridge.blocks.reply import Reply
from bridge.errors import SlackError, TooOften
from bridge.ids import MessageKey, ThreadKey, TurnId, aside
from bridge.inbound import Click, InboundMessage, SlashCommand, Submission
from bridge.store.inbox import Condition, Inbox, Paused
from bridge.store.journal import Taken
from bridge.store.sessions import Sessions
from bridge.turns import plan as plans
from bridge.turns.outcome import NewThread, Outcome
from bridge.turns.patience import Patience
from bridge.turns.ports import Found, Mark, Place, Say
from bridge.turns.show import whom_of

log = logging.getLogger(__name__)

SmallPlan = plans.Show | plans.OpenForm | plans.StartThread | plans.ChooseAgent | plans.SendAgain


class Effects:
    """Carries out what needs neither an agent nor a run. Every effect here may be repeated."""

    def __init__(self, say: Say, inbox: Inbox, sessions: Sessions, patience: Patience) -> None:
        self._say = say
        self._inbox = inbox
        self._sessions = sessions
        self._patience = patience

    async def carry_out(self, taken: Taken, plan: SmallPlan) -> Outcome | None:
        """Carry out *plan*; returns what is to be shown, None where a form was opened."""
        match plan:
            case plans.Show():
                return Outcome(what=plan.what, reply=plan.reply)
            case plans.OpenForm():
                return await self._open(taken, plan)
            case plans.StartThread():
                starts = NewThread(agent=plan.agent, text=plan.text)
                return Outcome(what="thread begun", reply=plan.root, mark="bridge_root", starts=starts)
            case plans.ChooseAgent():
                return await self._choose(plan)
            case plans.SendAgain():
                return await self._again(plan)

    async def _open(self, taken: Taken, plan: plans.OpenForm) -> Outcome | None:
        body = taken.turn.body
        trigger = body.trigger_id if isinstance(body, SlashCommand | Click | Submission) else ""
        if trigger and taken.turn.takes == 1:
            try:
                await self._say.open_form(trigger, plan.view)
            except SlackError as exc:  # most of all a trigger older than 3 s: a button brings a new one
                log.info("a form could not be opened, offering a button", extra={"detail": exc.detail})
            else:
                return None
        return Outcome(what="form offered", reply=plan.otherwise)

    async def _choose(self, plan: plans.ChooseAgent) -> Outcome:
        agent = await self._patience.through_outages(lambda: self._sessions.choose_agent(plan.thread, plan.agent))
        if agent != plan.agent:
            return Outcome(what="agent was chosen before", reply=plan.too_late)
        return Outcome(what="agent chosen", reply=plan.reply)

    async def _again(self, plan: plans.SendAgain) -> Outcome:
        status = await self._patience.through_outages(lambda: self._inbox.again(TurnId(plan.turn)))
        match status:
            case "queued" | "already":
                return Outcome(what="sent again", reply=plan.reply)
            case "full":
                return Outcome(what="full", reply=notices.thread_full())
            case _:
                return Outcome(what="gone", reply=plan.gone)

    async def start_thread(self, taken: Taken, starts: NewThread, root: str) -> None:
        """Queue the message of a thread that was begun by command, once, in the thread of *root*."""
        body = taken.turn.body
        message = InboundMessage(
            team=body.team, channel=body.channel, user=body.user, text=starts.text, ts=root, is_mention=True
        )
        thread = ThreadKey(body.team, body.channel, root)
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

    async def whisper(self, taken: Taken, reply: Reply) -> None:
        """Show a private line beside what the turn is about; one that Slack does not take is left out."""
        try:
            await self._say.whisper(whom_of(taken.turn.body), reply)
        except SlackError as exc:
            log.info("a private line could not be shown", extra={"detail": exc.detail})

    async def tell(self, place: Place, reply: Reply, turn: TurnId) -> None:
        """Post a notice in a thread, at most once: a notice that Slack does not take is not worth a second try."""
        try:
            await self._say.post(place, reply, Mark("bridge_notice", aside(turn, "notice")), Found({}))
        except SlackError:
            log.warning("a notice could not be posted", extra={"turn": turn})
