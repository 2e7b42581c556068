"""Decide about an incoming message: whether it's for an agent, and under which conditions it's queued.

This runs before the event is acknowledged to Slack. A message for an agent ends with an `Inbox.put_arrival`, which
marks it as seen and queues it in one step; only then does Slack get its acknowledgement.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, Protocol

from bridge.ends import notices
from bridge.ends.decisions import Received, told_of
from bridge.ends.failures import failure
from bridge.ends.messages import Reason
from bridge.engine.addressing import Addressing
from bridge.engine.command_line import STOP
from bridge.engine.dispatch import Features
from bridge.errors import NotAllowed, ProjectError
from bridge.features.channels.settings import NOTHING_SET, Channels
from bridge.features.conversations.answering import agent_named_first
from bridge.features.conversations.app_posts import AppPosts
from bridge.features.conversations.earlier import REMEMBERED, SETTLED, YOUNG, received, was_settled
from bridge.features.conversations.menu import CHOOSE
from bridge.features.conversations.sessions import Sessions
from bridge.ids import MessageKey, ThreadKey, TurnId, thread_lane
from bridge.inbound import LAST_RETRY, NO_COMMAND, Click, InboundMessage, Notice
from bridge.names.folding import fold, may_have, name_key
from bridge.names.matching import is_called
from bridge.policy.policy import Policy
from bridge.policy.rules import ANY_AGENT
from bridge.queue.inbox import Arrival, Condition, Inbox
from bridge.queue.put import NotQueued, Queued
from bridge.slack.blockkit.mrkdwn import addressed, plain_command_text
from bridge.slack.blockkit.reply import Reply
from bridge.slack.contents import summary

_HANDLE = "<!subteam^"  # begins a mention of a user group
_BEGINS_WITH_A_MENTION = re.compile(r"\s*<(?:@|!subteam\^)([uws][a-z0-9]+)")  # folded; of a person or a user group
_LONGEST_MENTION = 100
_LONGEST_NAME = 200  # characters of a message that may be an agent's name
_ANYWHERE = re.compile(r"/(?:help|why(?!\S).*)", re.DOTALL)  # commands that may be typed in any thread or channel
_LATE_AFTER = timedelta(minutes=1)
_REPLIES = {
    Condition.BOUND: "a reply in a thread with a conversation",
    Condition.SEARCH: "a reply in a thread that may have had a conversation before data was lost",
}
_IN_ORDER = re.compile(r"/(?:new(?!\S)|agent |session )")  # `!` commands that wait for earlier messages being answered


class ByHandle(Protocol):
    """An *agent* that was mentioned by its handle, and its *project*."""

    @property
    def agent(self) -> int:
        """The agent's ID."""

    @property
    def project(self) -> str:
        """The key of its project."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """Decides about incoming messages, and queues them in the *inbox*.

    *bot_user* is the bot's own user ID. *channels* has the channel settings; *apps* decides about apps' posts.
    *store_since* returns when the store's data begins: older threads may have been bound before. *mentioned* returns a
    text with a mention of the bot in place of an agent's handle, and whose it is. *on_queued* is called with the number
    of messages that a newly queued one waits for, and returns at once.
    """

    inbox: Inbox
    sessions: Sessions
    policy: Policy
    features: Features
    channels: Channels
    apps: AppPosts
    bot_user: str
    store_since: Callable[[], datetime | None]
    addressing: Addressing
    mentioned: Callable[[str], Awaitable[tuple[str, ByHandle] | None]]
    now: Callable[[], datetime]
    on_queued: Callable[[InboundMessage, TurnId, int], None] | None = None

    async def receive(self, message: InboundMessage, *, agent: int | None = None) -> Received:
        """Decide about *message*, and queue it if it's for the bot. *agent* was mentioned by its handle.

        Raises `StoreUnavailable`, and `SlackError` if the person can't be checked, or `ProjectError` if an app's rule
        can't; Slack then retries.
        """
        message = await self._by_its_author(message)
        if message.app:
            return await self.apps.receive(await self.addressing.assign(message))
        if message.is_empty:
            return Received("ignored", Reason.NO_TEXT)
        if _HANDLE in message.text:
            message, by_handle = await self._by_handle(message)
            agent = agent if by_handle is None else by_handle
        message = await self.addressing.assign(message)
        # In a direct message, everything is for the bot, even replies in threads without a conversation.
        is_addressed = message.is_mention or message.is_direct
        settings = NOTHING_SET
        if not is_addressed:
            settings = await self.channels.get(message.team, message.channel, with_ids=False)
        line = self.features.commands.line_of(message, self.bot_user)
        is_anywhere = line is not None and _ANYWHERE.fullmatch(line) is not None
        if message.is_root and not (is_addressed or settings.answers == "all" or is_anywhere):
            return Received("ignored", Reason.NOT_ADDRESSED)
        needs_no_mention = message.is_root or is_addressed or (line is not None and not message.meant)
        replies = settings.replies or self.channels.replies
        is_auto = not needs_no_mention and replies == "auto"
        is_for_others = self._is_for_others(message)
        if is_for_others and not is_auto:
            return _FOR_OTHERS
        if not needs_no_mention and replies == "mentions":
            return Received("ignored", Reason.NEEDS_MENTION)
        # Some apps post without a `bot_id`, so authors are looked up, unless Slack's client marks the message as typed.
        if not message.is_typed and await self.policy.directory.is_bot(message.user):
            return Received("ignored", Reason.OF_OTHER_BOT)
        if is_for_others:
            await self.inbox.overhear(message)
            return _FOR_OTHERS
        of = (message.user, message.channel, message.project)
        is_judged = line is None and self.policy.rules.has_file  # else everyone may ask whom the door lets in
        asked = self.addressing.projects.asked("ask", *of, ANY_AGENT) if is_judged else None
        if refusal := await self.policy.refusal(message, asked):
            if message.is_root and not is_addressed:  # it wasn't addressed to the bot
                return Received("ignored", Reason.NO_ACCESS.about(refusal))
            condition = Condition.NONE if is_addressed else Condition.BOUND
            reply = failure(NotAllowed(refusal))
            return await self._notify(message, refusal, reply, "refused", condition, is_auto=is_auto)
        if is_addressed or message.is_root or is_anywhere:  # a command doesn't start a conversation
            return await self._queue(message, line, Condition.START if line is None else Condition.NONE, agent=agent)
        decided = await self._queue(message, line, Condition.BOUND, is_auto=is_auto)
        if decided.decision == "unbound" and message.thread.is_older_than(self.store_since()):
            return await self._queue(message, line, Condition.SEARCH, is_auto=is_auto)
        return decided

    def _is_for_others(self, message: InboundMessage) -> bool:
        """Whether *message* begins by mentioning someone else, and doesn't mention the bot."""
        if message.is_mention or (message.is_direct and message.is_root) or not may_have(message.text, "<"):
            return False
        begins = _BEGINS_WITH_A_MENTION.match(fold(message.text, _LONGEST_MENTION).text)
        return begins is not None and begins[1] != self.bot_user.lower()

    async def _by_its_author(self, message: InboundMessage) -> InboundMessage:
        """Return *message* as a person's if an app posted it with that person's own token.

        Only ``users.info`` tells it from a post of the app's bot user: both have a ``user``, a ``bot_id`` and a
        ``bot_profile``. Raises `SlackUnreachable`, and Slack sends it again.
        """
        if not (message.may_be_a_persons and await self.policy.directory.is_human(message.user)):
            return message
        return message.model_copy(update={"app": "", "app_name": "", "bot": "", "via": message.app, "source": "typed"})

    async def _by_handle(self, message: InboundMessage) -> tuple[InboundMessage, int | None]:
        """Return *message* as a mention of the bot if it has an agent's handle, and that agent."""
        if not (addressed := await self.mentioned(message.text)):
            return message, None
        text, handle = addressed
        changed: dict[str, object] = {"text": text, "is_mention": True}
        if self.addressing.projects.is_several:
            changed |= {"project": handle.project, "names_project": True}
        return message.model_copy(update=changed), handle.agent

    async def found(self, message: InboundMessage) -> Received:
        """Decide about *message*, which was found in Slack's history, by the rules of `receive`.

        Late commands aren't run, and full or paused threads get no notice. The caller retries after ``full`` and
        ``paused``, and after ``outdated`` reads the message again, as it was edited in the meantime. Its earlier text
        may be queued already, and its edit lost or refused.
        """
        is_late = self.now().timestamp() - float(message.ts) > _LATE_AFTER.total_seconds()
        message = message.model_copy(update={"was_found": True, "is_late": is_late, "retry": LAST_RETRY})
        message = await self._by_its_author(message)
        if message.app and not message.user_team:
            # History doesn't say of a webhook's post whether the channel is shared.
            is_shared = await self.policy.directory.is_shared(message.channel)
            message = message.model_copy(update={"is_shared": is_shared})
        if message.edited_ts:
            return await self.edited(message, may_be_new=True)
        return await self.receive(message)

    async def mentioned_in_canvas(self, message: InboundMessage) -> Received:
        """Tell a person who mentioned the bot in a canvas that it can't answer there.

        Raises `StoreUnavailable`, and `SlackError` if the person can't be checked.
        """
        message = await self._by_its_author(message)
        if message.app:
            return Received("ignored", Reason.NO_RULE.about(message.app))
        refusal = await self.policy.refusal(message)
        reply = failure(NotAllowed(refusal)) if refusal else notices.IN_CANVAS
        return await self._notify(message, refusal or "canvas", reply, "refused")

    async def edited(self, message: InboundMessage, *, may_be_new: bool = False) -> Received:
        """Handle an edit: a waiting message gets the new text; if an agent has the earlier one, offer to send the new.

        An edit may overtake its message, and Slack may never deliver that; so the edit of an unknown message is decided
        about like the message itself, and becomes its turn. With *may_be_new*, as the edit may have added the mention,
        that holds as long as messages are remembered, else only while Slack retries.
        """
        agent, message = None, await self._by_its_author(message)
        if _HANDLE in message.text and not message.app:
            message, agent = await self._by_handle(message)
        message = await self.addressing.assign(message)
        rule = await self.apps.rule_for(message) if message.app else None
        if isinstance(rule, str):
            return Received("ignored", rule)
        is_for_others = not rule and self._is_for_others(message)
        decided = await (self.apps.edited(*rule) if rule else self._edit(message, is_for_nobody=is_for_others))
        if decided.decision != "unknown":
            return decided
        age = timedelta(seconds=max(0.0, float(message.edited_ts or message.ts) - float(message.ts)))
        if may_be_new and age >= REMEMBERED:
            return Received("ignored", Reason.EDITED_LATE)
        if not may_be_new and age >= YOUNG:
            return decided
        decided = await self.receive(message, agent=agent)
        if decided.decision == "duplicate":  # the message itself arrived meanwhile
            return await (self.apps.edited(*rule) if rule else self._edit(message))
        if decided.decision == "ignored" and not is_for_others:
            # An earlier text that Slack still delivers isn't for an agent either.
            await self._edit(message, is_for_nobody=True)
        return decided

    async def _edit(self, message: InboundMessage, *, is_for_nobody: bool = False) -> Received:
        """Give the turn of *message*, if it has one, the new text; if it was sent, ask its author in private.

        For *is_for_nobody*, see `Inbox.edit`.
        """
        match await self.inbox.edit(message, is_for_nobody=is_for_nobody):
            case "asked":
                if (
                    not is_for_nobody
                    and not message.is_empty
                    and self.features.commands.line_of(message, self.bot_user) is None
                ):
                    offer = notices.edited_too_late(str(message.key))
                    await self.inbox.put_arrival(
                        Arrival(
                            inbound=Notice.about(message, "edited", offer.stored(), of="edit", is_offer=True),
                            event=f"edit:{message.key}:{message.edited_ts}" if message.edited_ts else message.event_id,
                            thread=message.thread,
                            in_order=False,
                        )
                    )
                return Received("asked")
            case "edited" | "known" | "late" as result:
                menu_ts = await self.sessions.menu_of(message.thread) if result == "edited" else ""
                if menu_ts and (choice := await self._choice(message, menu_ts)):
                    event = f"choice:{message.key}:{message.edited_ts}"
                    await self.inbox.put(choice, event=event, why="its message names an agent now")
                    if not message.is_root:  # it was only the name
                        await self.inbox.withdraw(message.key)
                return Received(result)
            case _:
                return Received("unknown")

    async def deleted(self, message: MessageKey, at: str, thread: ThreadKey | None) -> Received:
        """Handle a deletion *at* a Slack ts: withdraw the message if it's waiting, or stop the work on it.

        What a person said to others in a *thread* counts no longer.
        An unknown one may have been refused; if it's young, it's marked, as Slack may be about to resend it.
        """
        is_young = float(at) - float(message.ts) < YOUNG.total_seconds()
        return Received(await self.inbox.withdraw(message, thread=thread, is_young=is_young))

    async def _queue(
        self,
        message: InboundMessage,
        line: str | None,
        condition: Condition,
        *,
        is_auto: bool = False,
        agent: int | None = None,
    ) -> Received:
        """Queue *message*; *line* is its command line if it's a command. For the others, see `Arrival`."""
        if await was_settled(self.inbox, message):
            return SETTLED
        if message.is_late and line is not None and not message.meant:
            return await self._notify(message, "command_missed", notices.COMMAND_MISSED, "missed", condition)
        why = _REPLIES.get(condition) or (
            "it mentions the bot"
            if message.is_mention
            else "it's a direct message to the bot"
            if message.is_direct
            else "every top-level message is answered in its channel"
        )
        why += ", as a command" if line and not message.meant else ""
        why += f", with {summary(message.parts)}" if message.parts else ""
        message = message.model_copy(update={"line": line or NO_COMMAND})
        in_order = line is None or _IN_ORDER.match(line) is not None
        arrival = Arrival(
            inbound=message,
            message=message,
            thread=message.thread,
            in_order=in_order,
            condition=condition,
            agent=agent if line is None else None,
            why=why,
            # !stop must work even in a thread that a loop has filled
            is_limited=line is None or bool(message.meant) or (message.via != "" and line != STOP),
            is_auto=is_auto,
            may_choose=not (message.is_root or message.parts) if line is None else in_order,
        )
        put = await self.inbox.put_arrival(arrival)
        if put.end == "menu":
            if line is None and (choice := await self._choice(message, put.fact)):
                arrival = Arrival(
                    inbound=choice, message=message, thread=message.thread, in_order=False,
                    condition=Condition.BOUND, why="it names an agent where one is chosen",
                )  # fmt: skip
                return received(await self.inbox.put_arrival(arrival))
            # A command doesn't wait for the choice.
            put = await self.inbox.put_arrival(replace(arrival, in_order=line is None, may_choose=False))
        match put:
            case NotQueued("others"):
                if put.is_first:
                    reply = notices.unmentioned(str(message.key))
                    await self._tell(message, "unmentioned", reply, is_offered=True)
                return Received("ignored", Reason.OTHERS_WRITE)
            case Queued(turn) if line is not None and line == STOP:
                # At once, bypassing every queue; the turn that reports the result repeats the stop.
                await self.inbox.stops.stop(thread_lane(message.thread), message.ts, by=turn)
                return Received("queued")
            case Queued(turn, _, ahead):
                if ahead and line is None and self.on_queued is not None and not message.was_found:
                    self.on_queued(message, turn, ahead)
                return Received("queued")
            case NotQueued("full" | "paused") if message.was_found:
                return received(put)
            case NotQueued("edited") if message.was_found:
                return Received("outdated")
            case NotQueued("muted") if not (message.is_mention or message.is_direct):
                return received(put)
            case NotQueued("full" | "paused" | "muted" as end):  # who addresses the bot is notified
                return await self._notify(message, *told_of(put, is_first=put.is_first), end)
            case _:
                return received(put)

    async def _choice(self, message: InboundMessage, menu_ts: str) -> Click | None:
        """Return the choice in the menu *menu_ts* of the agent that *message* names: first, or in a reply, alone."""
        text = addressed(message.text, self.bot_user)[1].strip()
        name = text.partition(":")[0] if message.is_root else text
        if not name or len(name) > _LONGEST_NAME or "\n" in name:
            return None
        try:
            bound = await self.sessions.thread(message.thread)
            project = self.addressing.projects.get((bound and bound.project) or "")
            agents = await project.catalog.candidates("agent", name) if project else ()
        except ProjectError:
            return None
        wanted = name_key(plain_command_text(name)).rstrip(":").rstrip()
        named = [agent for agent in agents if is_called(wanted, agent)]
        if message.is_root:
            first = agent_named_first(text, agents)
            named = [first[0]] if first else []
        if len(named) != 1:
            return None
        return Click(
            team=message.team, channel=message.channel, user=message.user, user_team=message.user_team,
            is_shared=message.is_shared, action_id=CHOOSE, value=str(named[0].id), message_ts=menu_ts,
            thread_ts=message.thread.root, project=(bound and bound.project) or "",
        )  # fmt: skip

    async def _notify(
        self,
        message: InboundMessage,
        what: str,
        reply: Reply,
        decision: Literal["refused", "full", "paused", "muted", "missed"],
        condition: Condition = Condition.NONE,
        *,
        is_auto: bool = False,
    ) -> Received:
        """Queue a *reply* as a private notice instead of *message*, which counts as seen from then on."""
        arrival = Arrival(
            inbound=Notice.about(message, what, reply.stored()),
            message=message,
            thread=message.thread,
            in_order=False,
            condition=condition,
            why=f"refused: {what}",
            is_auto=is_auto,
        )
        put = await self.inbox.put_arrival(arrival)
        if put.end == "others":  # it wasn't for the bot, so once is enough
            if put.is_first:
                await self._tell(message, what, reply)
            return Received("ignored", Reason.NO_ACCESS.about(what))
        return Received(decision, what) if isinstance(put, Queued) else received(put)

    async def _tell(self, message: InboundMessage, what: str, reply: Reply, *, is_offered: bool = False) -> None:
        """Tell a person who may have meant the bot why the agent didn't get the reply, at most once in 30 days.

        If it *is_offered* to send it, the reply is stored for the notice's button.
        """
        notice = Notice.about(message, what, reply.stored(), of="reply", is_offer=True)
        await self.inbox.put(
            notice,
            event=f"others:{message.key}",
            why="its reply needed a mention",
            writes=self.sessions.tells(message, *(self.inbox.drafts.keeps(message) if is_offered else ())),
        )


_FOR_OTHERS = Received("ignored", Reason.FOR_OTHERS)
