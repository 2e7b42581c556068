"""The workspace's messages: threads, reactions, and messages for one person only."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from bridge.playground.emulator import sample
from bridge.playground.emulator.changes import EntityTable, Subscriber
from bridge.playground.emulator.entities import Json, Member, Message
from bridge.playground.emulator.richtext import from_mrkdwn, rich_text
from bridge.playground.emulator.storage import Storage


class MessageLog:
    """All messages, including those for one person. *people* are the authors."""

    def __init__(
        self,
        people: Mapping[str, Member],
        *,
        clock: Callable[[], float],
        new_id: Callable[[str], str],
        storage: Storage,
        tell: Subscriber,
    ) -> None:
        self._people = people
        self._clock = clock
        self._new_id = new_id
        self._storage = storage
        self._public = EntityTable("message", Message, storage, tell)
        self._private = EntityTable("private_message", Message, storage, tell)
        self._by_channel: dict[str, dict[str, Message]] = defaultdict(dict)
        self._in_order: dict[str, list[str]] = defaultdict(list)  # the ts of a channel's messages, oldest first
        self._replies: dict[tuple[str, str], list[str]] = {}
        self._last_ts = 0
        for message in self._public.values():
            self._index(message)

    def new_ts(self) -> str:
        """A new ts: microseconds, never repeated."""
        self._last_ts = max(self._last_ts + 1, int(self._clock() * 1_000_000))
        return _as_ts(self._last_ts)

    def ts_at(self, seconds: float) -> str:
        """The first unused ts at that time."""
        wanted = int(seconds * 1_000_000)
        if wanted > int(self._clock() * 1_000_000):
            raise ValueError(f"{seconds} is in the future")
        while any(_as_ts(wanted) in messages for messages in self._by_channel.values()):
            wanted += 1
        return _as_ts(wanted)

    # Reading

    def find(self, channel: str, ts: str) -> Message | None:
        return self._by_channel[channel].get(ts)

    def of(self, channel: str) -> list[Message]:
        """All messages of a channel, including threads, oldest first."""
        return [self._by_channel[channel][ts] for ts in self._in_order[channel]]

    def top_level(self, channel: str) -> list[Message]:
        """The channel's roots and broadcast replies, oldest first."""
        return [message for message in self.of(channel) if not message.is_reply or message.is_broadcast]

    def thread(self, channel: str, root: str) -> list[Message]:
        """A thread, its root first if it still exists."""
        messages = [self.find(channel, ts) for ts in [root, *self._replies.get((channel, root), [])]]
        return [message for message in messages if message is not None]

    def has_thread(self, channel: str, root: str) -> bool:
        message = self.find(channel, root)
        return message is not None and not message.is_reply

    def reply_summary(self, message: Message) -> Json:
        replies = self.thread(message.channel, message.ts)[1:]
        if not replies:
            return {}
        users = list(dict.fromkeys(reply.user for reply in replies))
        return {
            "reply_count": len(replies),
            "reply_users_count": len(users),
            "latest_reply": replies[-1].ts,
            "reply_users": users,
            "is_locked": False,
            "subscribed": False,
        }

    def permalink(self, message: Message) -> str:
        """The link of a message, as "Copy link" copies it."""
        address = f"https://{sample.TEAM_DOMAIN}.slack.com/archives/{message.channel}/p{message.ts.replace('.', '')}"
        return f"{address}?thread_ts={message.thread_ts}&cid={message.channel}" if message.is_reply else address

    # Writing

    def identified(self, blocks: list[Json]) -> list[Json]:
        """The *blocks*, with generated IDs where the app gave none, and for Markdown, whose IDs Slack doesn't keep.

        https://docs.slack.dev/reference/block-kit/blocks/markdown-block
        """
        return [
            block if block.get("block_id") and block["type"] != "markdown" else {**block, "block_id": self._new_id("b")}
            for block in blocks
        ]

    def post(
        self,
        user: str,
        channel: str,
        text: str,
        *,
        thread_ts: str = "",
        via: str = "",
        at: float | None = None,
        **more: Any,
    ) -> Message:
        """Add a message, with Slack's rich text unless blocks are given.

        With *at*, Unix seconds in the past, it was written then. With *via*, the bot user of an app, that app posted it
        with *user*'s own token.
        """
        person, carrier = self._people[user], self._people[via or user]
        root = self.find(channel, thread_ts) if thread_ts else None
        message = Message(
            channel,
            self.new_ts() if at is None else self.ts_at(at),
            user,
            text,
            person.team,
            thread_ts=thread_ts,
            parent_user=root.user if root else "",
            bot_id=carrier.bot_id,
            app_id=carrier.app_id,
            bot_profile=carrier.bot_profile(),
            **more,
        )
        if not message.blocks and text and not person.is_bot:
            message.blocks = rich_text(text, block_id=self._new_id("b"))
        if message.is_customized and person.is_bot:  # https://docs.slack.dev/reference/events/message/bot_message
            message.bot_profile = None
        self._generate(message)
        self.insert(message, root)
        return message

    def _generate(self, message: Message) -> None:
        is_bare = bool(message.bot_id and message.text and not message.blocks)
        message.generated = from_mrkdwn(message.text, block_id=self._new_id("b")) if is_bare else []

    def insert(self, message: Message, root: Message | None) -> None:
        """Add a message that has a ts; *root* is what it replies to."""
        with self._storage.together():
            self._index(message)
            is_first = message.is_reply and root is not None and not root.thread_ts
            if is_first and root is not None:
                root.thread_ts = root.ts  # the root now has a thread
            if message.is_broadcast and root is not None:
                message.root = root.as_json() | self.reply_summary(root)
            self._put(message)
            if is_first and root is not None:
                self._put(root)

    def _index(self, message: Message) -> None:
        self._by_channel[message.channel][message.ts] = message
        bisect.insort(self._in_order[message.channel], message.ts)
        self._last_ts = max(self._last_ts, int(message.ts.replace(".", "")))
        if message.is_reply:
            bisect.insort(self._replies.setdefault((message.channel, message.thread_ts), []), message.ts)

    def _put(self, message: Message) -> None:
        table = self._private if message.to else self._public
        table.put(_key(message), message)

    def edit(self, message: Message, user: str, changes: Json, *, is_edit: bool = True) -> Json:
        """Change a message, marked as edited if *is_edit*. Returns its previous JSON."""
        before = message.as_json()
        for name, value in changes.items():
            setattr(message, name, value)
        self._generate(message)
        if is_edit:
            message.edited = {"user": user, "ts": self.new_ts()}
        self._put(message)
        return before

    def delete(self, message: Message) -> None:
        """Remove a message; a root with replies stays as a tombstone."""
        if message.to:
            self._private.drop(_key(message))
        elif self._replies.get((message.channel, message.ts)):
            message.subtype, message.text, message.user = "tombstone", "This message was deleted.", sample.SLACKBOT
            message.blocks, message.attachments, message.files, message.metadata = [], [], [], None
            message.generated, message.bot_profile, message.bot_id, message.app_id = [], None, "", ""
            self._put(message)
        else:
            del self._by_channel[message.channel][message.ts]
            self._in_order[message.channel].remove(message.ts)
            if message.is_reply:
                self._replies[message.channel, message.thread_ts].remove(message.ts)
            self._public.drop(_key(message))

    def react(self, message: Message, user: str, name: str) -> bool:
        """Add *user*'s reaction; False if it is already there."""
        users = message.reactions.setdefault(name, [])
        if user in users:
            return False
        users.append(user)
        self._put(message)
        return True

    def unreact(self, message: Message, user: str, name: str) -> bool:
        """Remove *user*'s reaction; False if there is none."""
        users = message.reactions.get(name, [])
        if user not in users:
            return False
        users.remove(user)
        if not users:
            del message.reactions[name]
        self._put(message)
        return True

    # Messages for one person only

    @property
    def private(self) -> list[Message]:
        return list(self._private.values())

    def show_privately(self, message: Message) -> Message:
        self._put(message)
        return message

    def find_any(self, channel: str, ts: str) -> Message | None:
        """The message with this ts, be it for everyone or for one person."""
        return self.find(channel, ts) or self._private.get(f"{channel}/{ts}")

    def visible(self, user: str, channel: str, ts: str) -> Message:
        """The message with this ts, if *user* sees it. Raises LookupError."""
        message = self.find_any(channel, ts)
        if message is None or message.to not in {"", user}:
            raise LookupError(ts)
        return message


def _as_ts(microseconds: int) -> str:
    return f"{microseconds // 1_000_000}.{microseconds % 1_000_000:06d}"


def _key(message: Message) -> str:
    return f"{message.channel}/{message.ts}"
