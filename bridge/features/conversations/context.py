"""The context that an agent gets with a message's text: its author, and earlier messages of the thread.

An agent only knows what was sent to it: not what people wrote before they mentioned it or, where replies may need a
mention (``BRIDGE_THREAD_REPLIES``), what wasn't for it since its last answer. In a new session, it doesn't know the
bot's own answers either. Those messages are read once, by the turn that needs them, and quoted
(`bridge.slack.blockkit.quotation`). If a thread can't be read, the question is answered anyway.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bridge.engine.turn import Turn
from bridge.errors import SlackError
from bridge.features.channels.settings import Channels
from bridge.ids import ThreadKey
from bridge.inbound import InboundMessage
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.mrkdwn import mentions_in, message_text
from bridge.slack.blockkit.quotation import FIRST, MESSAGE, NEWEST, SOME, Quoted, looking_at, spoken, with_quotation
from bridge.slack.directory import Directory
from bridge.slack.history import ThreadMessage, ThreadRead
from bridge.slack.parts import Place
from bridge.slack.post import Poster

log = logging.getLogger(__name__)

_MOST_READ: Final = 6 * MESSAGE  # Slack's escapes are longer than their characters, but rarely six times
_NOTHING: Final = ThreadRead()


@dataclass(frozen=True, slots=True)
class Context:
    """Adds context to messages. *is_on* is ``BRIDGE_CONTEXT``; *channels* says which replies need a mention."""

    slack: Poster
    directory: Directory
    channels: Channels
    bot_user: str
    is_on: bool = True

    async def add_to(
        self, turn: Turn, message: InboundMessage, text: str, session: int | None, read: ThreadRead | None
    ) -> str:
        """Return *text* with the context that the agent doesn't know; *read* is the thread if it was already read.

        *session* is the session that the message continues. Raises only `StoreUnavailable`.
        """
        after, history = turn.conversation.heard, None
        if not self.is_on or message.is_root:
            is_wanted = False
        elif (turn.record.starts or message.calls_in) and session is None:
            is_wanted = True  # mentioned in an existing thread
        elif message.is_direct or (not after and session is not None):
            is_wanted = False  # every message there goes to the agent, or the bridge can't say what the agent knows
        else:
            replies = (
                await self.channels.get(turn.team, turn.channel, with_ids=False)
            ).replies or self.channels.replies
            has_unsent = replies == "auto" and turn.conversation.has_unsent(after, message.ts)
            is_wanted = replies == "mentions" or has_unsent
        if is_wanted:
            history = (
                read
                if read is not None and not after
                else await self._read(message.thread, after, message.ts, with_own=session is None)
            )
        others = history is not None and any(other.user != message.user and not other.is_own for other in history.all)
        if turn.conversation.is_several or others:
            text = spoken(message.app_name or await self.directory.user_name(message.user), text)
        if self.is_on and message.looks_at:
            text = looking_at(await self.directory.channel_name(message.looks_at), text)
        return await self._quote(text, history, is_since=bool(after)) if history and history.all else text

    async def quote_thread(self, thread: ThreadKey, before: str, text: str) -> str:
        """Return *text* with the messages of *thread* before the ts *before*, or alone if they can't be read."""
        history = await self._read(thread, "", before, with_own=True) if self.is_on else _NOTHING
        return await self._quote(text, history, is_since=False) if history.all else text

    async def _quote(self, text: str, history: ThreadRead, *, is_since: bool) -> str:
        texts = (kit.cut(message.text, _MOST_READ) for message in history.all)
        mentioned = mentions_in("\n".join(texts), but=self.bot_user)
        authors = (message.user for message in history.all if message.user)
        names = await self.directory.names(mentioned._replace(users=tuple(dict.fromkeys((*authors, *mentioned.users)))))
        root = self._quoted(history.root, names) if history.root else None
        newest = [self._quoted(message, names) for message in history.newest]
        called = FIRST if history.cut_short else SOME if history.stops_early else NEWEST
        return with_quotation(text, root, newest, left_out=history.left_out, is_since=is_since, called=called)

    async def _read(self, thread: ThreadKey, after: str, before: str, *, with_own: bool) -> ThreadRead:
        try:
            place = Place(thread.channel, thread.root)
            return await self.slack.history().read_thread(place, after, before, with_own=with_own)
        except SlackError as exc:  # usually a missing permission, which `bridge check` reports
            log.info("thread history can't be read", extra={"detail": exc.detail})
            return _NOTHING

    def _quoted(self, message: ThreadMessage, names: Mapping[str, str]) -> Quoted:
        text = message_text(kit.cut(message.text, _MOST_READ), bot_user=self.bot_user, names=names)
        known = names.get(message.user, "")
        name = (known if known != message.user else "") or message.app or message.user or kit.SOMEONE
        return Quoted(f"{name} (this bot)" if message.is_own else name, text, message.files)
