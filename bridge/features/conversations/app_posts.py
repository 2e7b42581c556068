"""What apps post: whether the channel has a rule for it, and what that starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bridge.ends import notices
from bridge.ends.decisions import Received
from bridge.ends.messages import Reason
from bridge.features.channels.settings import AppRule, Channels
from bridge.features.conversations.earlier import SETTLED, YOUNG, received, was_settled
from bridge.features.conversations.sessions import Sessions
from bridge.features.run_records import TriggeredRun
from bridge.inbound import InboundMessage, Notice
from bridge.policy.policy import Policy
from bridge.queue.inbox import Arrival, Condition, Inbox
from bridge.queue.put import NotQueued, Put
from bridge.slack.senders import Sender, sender_id


@dataclass(frozen=True, slots=True)
class AppPosts:
    """Decides about apps' messages by the rules of their *channels*, and queues them in the *inbox*."""

    inbox: Inbox
    sessions: Sessions
    policy: Policy
    channels: Channels

    async def receive(self, message: InboundMessage) -> Received:
        """Decide about an app's message: whether its channel has a rule for it, and what that starts.

        Whether the rule's owner and channel still have access is decided when the turn begins (`check_rule`).
        """
        ruled = await self.rule_for(message)
        if isinstance(ruled, str):
            return Received("ignored", ruled)
        if message.is_empty:
            return Received("ignored", Reason.NO_TEXT)
        message, rule = ruled
        is_run = rule.workflow is not None
        if is_run and message.is_late:
            return Received("ignored", Reason.TOO_LATE_TO_RUN)
        if await was_settled(self.inbox, message):
            return SETTLED
        return await self._put(message, rule, self._arrival(message, rule))

    async def rule_for(self, message: InboundMessage) -> tuple[InboundMessage, AppRule] | str:
        """Return *message* with its sender and the key of its rule, and the rule; or why it's ignored.

        Apps' posts in threads never count, so that answers, which are in threads, can't start a loop.
        Raises `ProjectError` if the service doesn't say which agents and workflows the operator's file names.
        """
        settings = (await self.channels.get(message.team, message.channel)).of(message.project)
        rules = settings.apps
        app = "" if message.app.startswith("B") else message.app
        sender = Sender(app, message.bot or ("" if app else message.app), message.app_name)
        sender = await self.policy.directory.sender(sender) if rules else sender
        known_rule = settings.rule_for(sender)
        app = sender.app or message.app
        if known_rule is None:
            is_known = bool({sender_id(key) for key in rules} & {sender.app, sender.bot})
            return (Reason.OTHER_NAME if is_known else Reason.NO_RULE).about(app)
        key, rule = known_rule
        if rule.ignores:
            return Reason.OTHER_NAME.about(app)
        if not message.is_root:
            return Reason.APP_IN_THREAD
        if message.is_shared and message.user_team not in self.policy.home:
            return Reason.APP_FROM_ELSEWHERE
        if rule.paused:
            return Reason.RULE_PAUSED.about(rule.paused)
        known = {"app": app, "app_name": sender.name, "rule": key, "owner": rule.owner}
        return message.model_copy(update=known), rule

    async def edited(self, message: InboundMessage, rule: AppRule) -> Received:
        """Handle an edit of an app's post that's known, or too old for Slack to send it again; else it's ``unknown``.

        An agent gets it as a follow-up in the post's thread, a workflow runs again if the *rule* says so. What waits
        gets the new text. What isn't sent is for the next question in that thread.
        """
        if message.is_empty:
            return Received("ignored", Reason.NO_TEXT)
        arrival = self._arrival(message, rule)
        run = arrival.inbound if isinstance(arrival.inbound, TriggeredRun) else None
        how = "unknown" if run and not rule.edits else await self.inbox.edit(message, run=run)
        age = float(message.edited_ts or message.ts) - float(message.ts)
        if how in {"edited", "known"} or (how == "unknown" and (age < YOUNG.total_seconds() or message.was_found)):
            decision = Received(how)
        elif how == "asked":
            decision = await self._received(message, rule, await self.inbox.follow_up(message, arrival))
        elif run and rule.edits and not message.is_late:
            again = replace(arrival, message=None, event=f"edit:{message.key}:{message.edited_ts}")
            decision = await self._put(message, rule, again)
        elif run or how == "late":
            decision = Received("late")
        else:  # it's no longer remembered; its thread may be
            decision = await self._put(message, rule, replace(arrival, condition=Condition.BOUND, agent=None))
        if decision.decision not in {"queued", "edited", "known"} or run:
            await self.inbox.write(*self.sessions.root_edited(message))
        return decision

    def _arrival(self, message: InboundMessage, rule: AppRule) -> Arrival:
        """Return what the *rule* makes of an app's *message*."""
        is_run, about = rule.workflow is not None, _about(message, rule)
        return Arrival(
            inbound=message
            if rule.workflow is None
            else TriggeredRun(**about, workflow=rule.workflow, message=message),
            message=message,
            thread=None if is_run else message.thread,
            condition=Condition.NONE if is_run else Condition.START,
            agent=rule.agent,
            is_limited=True,
            why=f"its app, {message.app}, {'runs a workflow' if is_run else 'is answered'} in its channel",
        )

    async def _put(self, message: InboundMessage, rule: AppRule, arrival: Arrival) -> Received:
        """Queue what an app's *message* starts."""
        return await self._received(message, rule, await self.inbox.put_arrival(arrival))

    async def _received(self, message: InboundMessage, rule: AppRule, put: Put) -> Received:
        """Return the decision about an app's *message*. If it posts too fast, say so, at most once an hour."""
        if not isinstance(put, NotQueued) or put.end != "paused" or message.was_found:
            return received(put)
        if put.is_first:
            reply = notices.app_paused(rule.name or message.app_name or message.app).stored()
            notice = Notice(**_about(message, rule), what="app_paused", reply=reply, of="notice", is_offer=True)
            hour = int(float(message.ts)) // 3600
            await self.inbox.put(notice, event=f"paused:{message.team}:{message.channel}:{message.rule}:{hour}")
        return Received("ignored", Reason.APP_TOO_FAST.about(message.app))


def _about(message: InboundMessage, rule: AppRule) -> dict[str, str]:
    """Return what is about an app's *message* and its rule's owner."""
    return {"team": message.team, "channel": message.channel, "user": rule.owner, "project": message.project}
