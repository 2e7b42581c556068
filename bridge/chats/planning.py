"""What is to be done about a turn that a message began: ask which agent, with which words.

Everything here may be done again: it looks things up and decides. What it finds again in a thread it binds; the
agent that is chosen is bound when the message is sent, and the first one wins.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bridge.blocks import menu, notices
from bridge.blocks.mrkdwn import mentions_in, message_text
from bridge.chats.choosing import configured, named_first
from bridge.errors import SlackError, SlackUnreachable
from bridge.ids import ThreadKey
from bridge.inbound import InboundMessage
from bridge.project import Agent, Catalog
from bridge.store.journal import Taken
from bridge.store.records import Conversation
from bridge.store.sessions import Sessions
from bridge.turns.plan import AskAgent, Nothing, Plan, Show, TryLater, WaitForChoice
from bridge.turns.ports import Directory, Place, Say

log = logging.getLogger(__name__)

_SLACK_AWAY = timedelta(seconds=5)


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

    async def plan(self, taken: Taken, message: InboundMessage) -> Plan:
        """Say what is to be done about *message*. Raises `ProjectError` and `StoreUnavailable`."""
        conversation = taken.conversation
        if conversation.agent is None and not message.is_root:
            recalled = await self._recalled(message.thread)
            if isinstance(recalled, TryLater):
                return recalled
            if recalled is None and taken.turn.searches:
                return Nothing("its thread is not bound")
            conversation = recalled or conversation
        text = await self._worded(message)
        if not text:
            return Show(notices.file_without_text() if message.has_files else notices.mention_without_text())
        if conversation.agent is None or taken.turn.starts:
            return await self._begin(taken, message, text, conversation)
        return AskAgent(conversation.agent, "", text, conversation.session)

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
        wanted = named[0] if named else self._default(taken.channel_default, agents)
        agent = conversation.agent if conversation.agent is not None or wanted is None else wanted.id
        if agent is None:
            return WaitForChoice(menu.agent_menu(agents)) if agents else Show(notices.no_agents())
        if named and named[0].id == agent:
            text = named[1]
        if not text:
            await self.sessions.choose_agent(message.thread, agent)  # only named: what comes next is for that one
            return Show(notices.mention_without_text())
        name = next((known.name for known in agents if known.id == agent), "")
        return AskAgent(agent, name, text, conversation.session, is_first=conversation.agent is None)

    def _default(self, channel_default: int | None, agents: Sequence[Agent]) -> Agent | None:
        here = next((agent for agent in agents if agent.id == channel_default), None)
        return here or configured(self.default_agent, agents) or (agents[0] if len(agents) == 1 else None)

    async def _recalled(self, thread: ThreadKey) -> Conversation | TryLater | None:
        """Find a binding that Redis has lost in the thread's own messages: once for each thread."""
        if await self.sessions.was_searched(thread):
            return None
        try:
            recalled = await self.say.recall(Place(thread.channel, thread.root))
        except SlackUnreachable as exc:
            if may_have_been_lost(thread, self.store_since()):
                return TryLater(exc.retry_after or _SLACK_AWAY)
            return None
        except SlackError as exc:  # no permission to read: a new conversation begins
            log.info("a thread could not be searched for its session", extra={"detail": exc.detail})
            recalled = None
        if recalled is None:
            await self.sessions.mark_searched(thread)
            return None
        log.info("found a lost session in its thread", extra={"session": recalled.session})
        await self.sessions.rebind(thread, expected=None, session=recalled.session, agent=recalled.agent)
        return await self.sessions.thread(thread)


def may_have_been_lost(thread: ThreadKey, store_since: datetime | None) -> bool:
    """Whether *thread* is older than what the store knows, so that it may have been bound once."""
    return store_since is not None and datetime.fromtimestamp(float(thread.root), UTC) < store_since
