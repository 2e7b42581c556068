"""What is to be done about a turn that a message began: ask which agent, with which words.

Everything here may be done again: it looks things up and decides. What it finds again in a thread it binds; the
agent that is chosen is bound when the message is sent, and the first one wins.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bridge.errors import SlackError, SlackUnreachable
from bridge.features.conversations import menu, notices
from bridge.features.conversations.choosing import configured, named_first
from bridge.features.conversations.context import Context
from bridge.features.conversations.layout import title_of
from bridge.features.conversations.sessions import Sessions
from bridge.features.plan import AskAgent, Nothing, Plan, Show, TryLater, WaitForChoice
from bridge.ids import ThreadKey
from bridge.inbound import InboundMessage
from bridge.project import Agent, Catalog
from bridge.queue.lanes import Taken
from bridge.queue.records import Conversation
from bridge.slack.blockkit.mrkdwn import mentions_in, message_text
from bridge.slack.blockkit.quotation import below_report
from bridge.slack.history import Place, Recalled, ThreadRead
from bridge.slack.people import Directory
from bridge.slack.post import Say

log = logging.getLogger(__name__)

SLACK_AWAY = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Chats:
    """Plans the turns of conversations. *default_agent* is ``BRIDGE_DEFAULT_AGENT``, an id or a name, or empty.

    *store_since* says since when the store knows anything.
    """

    catalog: Catalog
    sessions: Sessions
    directory: Directory
    say: Say
    bot_user: str
    default_agent: str
    store_since: Callable[[], datetime | None]
    context: Context

    async def plan(self, taken: Taken, message: InboundMessage) -> Plan:
        """Say what is to be done about *message*. Raises `ProjectError` and `StoreUnavailable`."""
        conversation, read = taken.conversation, None
        if conversation.agent is None and not message.is_root:
            found = await self._search(message)
            if isinstance(found, TryLater):
                return found
            read = found
            if read is not None and read.recalled is not None:
                conversation = await self._bind_again(message.thread, read.recalled)
            elif taken.turn.searches:
                return Nothing("its thread is not bound")
        plan = await self._decide(taken, message, conversation)
        if isinstance(plan, AskAgent):
            around = await self.context.around(taken, message, plan, read)
            return replace(plan, message=await self._below_report(message, plan, around))
        return plan

    async def _decide(self, taken: Taken, message: InboundMessage, conversation: Conversation) -> Plan:
        text = await self._worded(message)
        if not text:
            return Show(notices.file_without_text() if message.has_files else notices.mention_without_text())
        if conversation.agent is None or taken.turn.starts:
            return await self._begin(taken, message, text, conversation)
        return AskAgent(conversation.agent, "", text, conversation.session)

    async def _below_report(self, message: InboundMessage, plan: AskAgent, text: str) -> str:
        """Send the words of the report that a thread is about along with the first question in it."""
        if message.is_root or plan.session is not None:
            return text
        words = await self.sessions.report_words(message.thread)
        return below_report(words, text) if words else text

    async def _worded(self, message: InboundMessage) -> str:
        """The words that the agent gets: names in place of ids, links as Markdown, no mention of the bot."""
        mentions = mentions_in(message.text)
        users = {user: await self.directory.user_name(user) for user in mentions.users if user != self.bot_user}
        channels = {channel: await self.directory.channel_name(channel) for channel in mentions.channels}
        return message_text(message.text, bot_user=self.bot_user, user_names=users, channel_names=channels)

    async def _begin(self, taken: Taken, message: InboundMessage, text: str, conversation: Conversation) -> Plan:
        """Let a conversation begin: with the agent that is chosen, or a menu where nothing chooses."""
        agents = await self.catalog.get_agents()
        named = named_first(text, agents)
        wanted = named[0] if named else self.default_of(taken.channel_default, agents)
        agent = conversation.agent if conversation.agent is not None or wanted is None else wanted.id
        if agent is None:
            return WaitForChoice(menu.agent_menu(agents)) if agents else Show(notices.no_agents())
        if named and named[0].id == agent:
            text = named[1]
        if not text:
            await self.sessions.choose_agent(message.thread, agent)  # only named: what comes next is for that one
            return Show(notices.mention_without_text())
        name = next((known.name for known in agents if known.id == agent), "")
        title = title_of(text) if message.is_direct and message.is_root else ""
        return AskAgent(agent, name, text, conversation.session, is_first=conversation.agent is None, title=title)

    def default_of(self, channel_default: int | None, agents: Sequence[Agent]) -> Agent | None:
        """The agent that answers in a channel where nothing else chooses."""
        here = next((agent for agent in agents if agent.id == channel_default), None)
        return here or configured(self.default_agent, agents) or (agents[0] if len(agents) == 1 else None)

    async def _search(self, message: InboundMessage) -> ThreadRead | TryLater | None:
        """Read a thread for a binding that Redis has lost: once for each thread."""
        thread = message.thread
        if await self.sessions.was_searched(thread):
            return None
        try:
            read = await self.say.read_thread(Place(thread.channel, thread.root), before=message.ts)
            if read.recalled is None and read.cut_short is not None:
                raise read.cut_short
        except SlackUnreachable as exc:
            if thread.is_older_than(self.store_since()):
                return TryLater(exc.retry_after or SLACK_AWAY)
            return None
        except SlackError as exc:  # no permission to read: a new conversation begins
            log.info("a thread could not be searched for its session", extra={"detail": exc.detail})
            read = ThreadRead()
        if read.recalled is None:
            await self.sessions.mark_searched(thread)
        return read

    async def _bind_again(self, thread: ThreadKey, recalled: Recalled) -> Conversation:
        log.info("found a lost session in its thread", extra={"session": recalled.session})
        await self.sessions.rebind(thread, expected=None, session=recalled.session, agent=recalled.agent)
        return await self.sessions.thread(thread) or Conversation()
