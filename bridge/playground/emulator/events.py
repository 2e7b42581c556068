"""Which events a change causes, and how they are sent. https://docs.slack.dev/reference/events."""

from __future__ import annotations

import asyncio
from typing import Final

from bridge.playground.emulator import payloads
from bridge.playground.emulator.deliver import Deliverer
from bridge.playground.emulator.entities import Json, Message
from bridge.playground.emulator.manifests import Installation
from bridge.playground.emulator.richtext import names
from bridge.playground.emulator.web_api.method import (
    GroupChanged,
    Happening,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    ReactionChanged,
)
from bridge.playground.emulator.workspace import Workspace

Tried = list[asyncio.Event]  # each is set when the first try of its event has ended

_IN_DIRECT_MESSAGES: Final = {"message.ims": "message.im", "message.mpims": "message.mpim"}


class Events:
    """Sends the app the events of the channels that its bot is in.

    *twins* are the events of a mention in order, with *twin_gap* seconds between them; *mentions_in_mpims* is whether
    group messages have both, where reports differ. *echoes_own* is whether the app gets events for its own actions.
    It gets only what it is subscribed to and has the scope for.
    """

    def __init__(self, workspace: Workspace, deliverer: Deliverer, installation: Installation) -> None:
        self.twins: tuple[str, ...] = ("app_mention", "message")
        self.twin_gap = 0.0
        self.mentions_in_mpims = False
        self.echoes_own = True
        self.installation = installation
        self._workspace = workspace
        self._deliverer = deliverer

    def posted(self, message: Message) -> Tried:
        """A new message; a mention causes twin events."""
        author = self._workspace.people[message.user]
        channel = self._workspace.channels[message.channel]
        if not self._bot_is_in(channel.id):
            return []
        tried: Tried = []
        for place, kind in enumerate(self.twins if self._is_mention(message) else ("message",)):
            make = payloads.mention_event if kind == "app_mention" else payloads.message_event
            event = make(message, channel, author)
            tried += self._wanted(event, channel.id, after=place * self.twin_gap)
        return tried

    def invited(self, message: Message) -> Tried:
        """The mention that the app was invited for, without its twin."""
        author = self._workspace.people[message.user]
        channel = self._workspace.channels[message.channel]
        return self._wanted(payloads.mention_event(message, channel, author), channel.id)

    def changed(self, happening: MessageEdited | MessageDeleted) -> Tried:
        """A changed or deleted message. An edit with a mention sends the twins again.

        The mention has the old ts and ``edited``, however old the message is: slackapi/bolt-js#960,
        slack-go/slack#1256.
        """
        message = happening.message
        if not self._bot_is_in(message.channel):
            return []
        channel = self._workspace.channels[message.channel]
        if isinstance(happening, MessageDeleted):
            event = payloads.deleted_event(message, happening.before, channel, self._workspace.new_ts())
            return self._wanted(event, channel.id)
        is_mention = self._is_mention(message) and message.edited is not None
        tried: Tried = []
        for place, kind in enumerate(self.twins if is_mention else ("message",)):
            if kind == "app_mention":
                event = payloads.mention_event(message, channel, self._workspace.people[message.user])
            else:
                event = payloads.changed_event(message, happening.before, channel, self._workspace.new_ts())
            tried += self._wanted(event, channel.id, after=place * self.twin_gap)
        return tried

    def _is_mention(self, message: Message) -> bool:
        """Whether a message mentions the bot in a channel where that causes twins."""
        channel, author = self._workspace.channels[message.channel], self._workspace.people[message.user]
        if channel.is_im or author.is_bot or (channel.is_mpim and not self.mentions_in_mpims):
            return False
        bot = self._workspace.bot.id
        return f"<@{bot}>" in message.text or any(names(block, bot) for block in message.blocks)

    def reacted(self, happening: ReactionChanged) -> Tried:
        if not self._bot_is_in(happening.message.channel):
            return []
        message, user, name = happening.message, happening.user, happening.name
        now = self._workspace.new_ts()
        event = payloads.reaction_event(message, user, name, now, is_added=happening.is_added)
        return self._wanted(event, happening.message.channel)

    def group_changed(self, happening: GroupChanged) -> Tried:
        """A user group was created or changed; nobody needs to be in a channel for that."""
        return self._wanted(
            payloads.group_event(happening.group, self._workspace.new_ts(), is_new=happening.is_new), ""
        )

    def own(self, happening: Happening) -> None:
        """Events for the app's own actions, which Slack sends too."""
        if not self.echoes_own:
            return
        match happening:
            case MessagePosted():
                self.posted(happening.message)
            case ReactionChanged():
                self.reacted(happening)
            case GroupChanged():
                self.group_changed(happening)
            case _:
                self.changed(happening)

    def send(self, event: Json, channel: str = "", *, event_id: str = "", after: float = 0.0) -> asyncio.Event:
        """Send any event; a known *event_id* makes it a duplicate."""
        made = payloads.envelope(
            event,
            event_id=event_id or self._workspace.new_id("Ev"),
            now=self._workspace.clock(),
            channel=self._workspace.channels.get(channel),
        )
        return self._deliverer.event(made, after=after)

    def done(self, event: Json, channel: str = "") -> Tried:
        return self._wanted(event, channel)

    def _wanted(self, event: Json, channel: str, after: float = 0.0) -> Tried:
        kind = f"message.{event['channel_type']}s" if event["type"] == "message" else event["type"]
        kind = _IN_DIRECT_MESSAGES.get(kind, kind)
        return [self.send(event, channel, after=after)] if self.installation.is_subscribed(kind) else []

    def _bot_is_in(self, channel: str) -> bool:
        return self._workspace.bot.id in self._workspace.channels[channel].members
