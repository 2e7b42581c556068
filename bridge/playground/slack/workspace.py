"""What exists in the emulated workspace, as plain state. Rules about who may ask for what are in `web_api`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bridge.playground.slack import sample
from bridge.playground.slack.entities import (
    Channel,
    File,
    Group,
    Json,
    Message,
    Person,
    View,
)
from bridge.playground.slack.richtext import rich_text
from bridge.playground.slack.sessions import AgentSession, StatusChange

_STATUS_LASTS = 120.0  # seconds; https://docs.slack.dev/reference/methods/assistant.threads.setStatus


class Workspace:
    """People, channels, messages, views and files. *clock* gives Unix seconds, *new_id* an id with a prefix."""

    def __init__(self, *, clock: Callable[[], float], new_id: Callable[[str], str]) -> None:
        self.clock = clock
        self.new_id = new_id
        self.people: dict[str, Person] = {one.id: one for one in sample.people()}
        self.channels: dict[str, Channel] = {one.id: one for one in sample.channels()}
        self.groups: dict[str, Group] = {one.id: one for one in sample.groups()}
        self.private_messages: list[Message] = []  # what only one person sees
        self.files: dict[str, File] = {}
        self.views: dict[str, View] = {}  # open modals, oldest first
        self.homes: dict[str, View] = {}  # by user
        self.sessions: dict[tuple[str, str], AgentSession] = {}
        self.status_history: list[StatusChange] = []
        self._messages: dict[str, dict[str, Message]] = {channel: {} for channel in self.channels}
        self._replies: dict[tuple[str, str], list[str]] = {}
        self._last_ts = 0

    @property
    def bot(self) -> Person:
        """The bridge's own bot user."""
        return self.people[sample.BRIDGE]

    def new_ts(self) -> str:
        """A message's time and identity: microseconds, never twice."""
        self._last_ts = max(self._last_ts + 1, int(self.clock() * 1_000_000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def direct_message(self, user: str) -> Channel:
        """The direct message between *user* and the bot, opened where there was none."""
        for channel in self.channels.values():
            if channel.is_im and user in channel.members:
                return channel
        channel = Channel(self.new_id("D"), "", [user, self.bot.id], is_im=True)
        self.add_channel(channel)
        return channel

    def add_channel(self, channel: Channel) -> None:
        """Let there be one more channel."""
        self.channels[channel.id] = channel
        self._messages[channel.id] = {}

    # Messages

    def find(self, channel: str, ts: str) -> Message | None:
        """The message with this identity, if it is there."""
        return self._messages.get(channel, {}).get(ts)

    def messages(self, channel: str) -> list[Message]:
        """All of a channel, threads included, oldest first."""
        return list(self._messages[channel].values())

    def top_level(self, channel: str) -> list[Message]:
        """What the channel itself shows: roots, and replies that were broadcast; oldest first."""
        return [one for one in self.messages(channel) if not one.is_reply or one.is_broadcast]

    def thread(self, channel: str, root: str) -> list[Message]:
        """A thread, its root first where it still exists."""
        found = [self.find(channel, ts) for ts in [root, *self._replies.get((channel, root), [])]]
        return [one for one in found if one is not None]

    def has_thread(self, channel: str, root: str) -> bool:
        """Whether there is a message that replies can hang on."""
        message = self.find(channel, root)
        return message is not None and not message.is_reply

    def identified(self, blocks: list[Json]) -> list[Json]:
        """The *blocks* with an id for each, as Slack gives one where the app does not."""
        return [block if block.get("block_id") else {**block, "block_id": self.new_id("b")} for block in blocks]

    def post(self, user: str, channel: str, text: str, *, thread_ts: str = "", **more: Any) -> Message:
        """Put a message there, with the rich text that Slack makes of it unless blocks are given."""
        person = self.people[user]
        root = self.find(channel, thread_ts) if thread_ts else None
        message = Message(
            channel,
            self.new_ts(),
            user,
            text,
            person.team,
            thread_ts=thread_ts,
            parent_user=root.user if root else "",
            bot_id=person.bot_id,
            app_id=person.app_id,
            **more,
        )
        if not message.blocks and text and not person.is_bot:
            message.blocks = rich_text(text, block_id=self.new_id("b"))
        self._insert(message, root)
        return message

    def _insert(self, message: Message, root: Message | None) -> None:
        if message.is_broadcast and root is not None:
            message.root = root.as_json()
        self._messages[message.channel][message.ts] = message
        if message.is_reply:
            self._replies.setdefault((message.channel, message.thread_ts), []).append(message.ts)
            if root is not None:
                root.thread_ts = root.ts  # from now on the root shows that it has a thread

    def show_privately(self, message: Message) -> Message:
        """Show *message* to the one person that it is for."""
        self.private_messages.append(message)
        return message

    def find_private(self, channel: str, ts: str) -> Message | None:
        """The private message with this identity."""
        return next((one for one in self.private_messages if (one.channel, one.ts) == (channel, ts)), None)

    def edit(self, message: Message, user: str, changes: Json) -> Json:
        """Change a message; returns what it was before, as Slack shows it."""
        before = message.as_json()
        for name, value in changes.items():
            setattr(message, name, value)
        message.edited = {"user": user, "ts": self.new_ts()}
        return before

    def delete(self, message: Message) -> None:
        """Take a message away; a root with replies stays as the stone that its thread hangs on."""
        if self._replies.get((message.channel, message.ts)):
            message.subtype, message.text, message.user = "tombstone", "This message was deleted.", "USLACKBOT"
            message.blocks, message.attachments, message.files, message.metadata = [], [], [], None
            return
        del self._messages[message.channel][message.ts]
        if message.is_reply:
            self._replies[message.channel, message.thread_ts].remove(message.ts)

    def reply_summary(self, message: Message) -> Json:
        """What a root says of its thread."""
        replies = self.thread(message.channel, message.ts)[1:]
        if not replies:
            return {}
        users = list(dict.fromkeys(one.user for one in replies))
        return {
            "reply_count": len(replies),
            "reply_users_count": len(users),
            "latest_reply": replies[-1].ts,
            "reply_users": users,
            "is_locked": False,
            "subscribed": False,
        }

    # Agent status

    def session(self, channel: str, thread_ts: str) -> AgentSession:
        """What is kept of one thread's agent, made where there was nothing."""
        return self.sessions.setdefault((channel, thread_ts), AgentSession(channel, thread_ts))

    def set_status(self, channel: str, thread_ts: str, status: str, by: str) -> AgentSession:
        """Show *status* in the thread (empty: nothing any more), and remember that it was."""
        session = self.session(channel, thread_ts)
        session.status, session.set_at = status, self.clock()
        self.status_history.append(StatusChange(session.set_at, channel, thread_ts, status, by))
        return session

    def set_lifecycle(self, channel: str, thread_ts: str, lifecycle: str) -> AgentSession:
        """Move the thread's agent session to ``active``, ``processing``, ``suspended`` or ``closed``."""
        session = self.session(channel, thread_ts)
        session.lifecycle = lifecycle
        shown = lifecycle if lifecycle == "processing" else ""
        self.status_history.append(StatusChange(self.clock(), channel, thread_ts, shown, "agents.sessions.setStatus"))
        return session

    def clear_status(self, channel: str, thread_ts: str) -> None:
        """What Slack does by itself when the app posts in the thread."""
        session = self.sessions.get((channel, thread_ts))
        if session is not None and session.status:
            self.set_status(channel, thread_ts, "", "slack")

    def status(self, channel: str, thread_ts: str) -> str:
        """What is shown in the thread now: ``processing``, or the words of a status, which last for two minutes."""
        session = self.sessions.get((channel, thread_ts))
        if session is None:
            return ""
        if session.lifecycle == "processing":  # the app alone ends this one
            return session.lifecycle
        return session.status if self.clock() - session.set_at <= _STATUS_LASTS else ""

    # Views

    def stack(self, user: str) -> list[View]:
        """The modals that are open for *user*, the one on top last."""
        return [view for view in self.views.values() if view.user == user]

    def close_views(self, views: Iterable[View]) -> None:
        """Close these modals."""
        for view in list(views):
            self.views.pop(view.id, None)

    def make_view(self, user: str, content: Json, *, under: View | None = None) -> View:
        """A view with an id of its own; *under* is the modal that it is pushed on."""
        made = self.new_id("V")
        return View(
            id=made,
            user=user,
            content=content,
            hash=self.new_id("h"),
            root_id=under.root_id if under else made,
            previous_id=under.id if under else None,
            team=sample.TEAM,
            app_id=sample.APP,
            bot_id=sample.BRIDGE_BOT,
        )
