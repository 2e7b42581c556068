"""What takes messages and commands in: the few parts that are needed to open the door, so that it opens soon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from bridge.app.wires import Wires
from bridge.chats.access import Access
from bridge.chats.receive import Receiver
from bridge.settings import Settings
from bridge.slack.commands import Commands
from bridge.slack.directory import SlackDirectory
from bridge.slack.door import Door
from bridge.slack.messages import Messages
from bridge.slack.web import Identity
from bridge.store.inbox import Inbox
from bridge.store.limits import Limits
from bridge.store.namespace import Namespace
from bridge.store.scripting import Scripts
from bridge.turns.waiting import WaitingLine


@dataclass(frozen=True)
class Intake:
    """Whatever is asked for is built with what it needs; *consumer* is this process, for the queue."""

    settings: Settings
    wires: Wires
    scripts: Scripts
    identity: Identity
    namespace: Namespace
    consumer: str
    now: Callable[[], datetime]

    @cached_property
    def messages(self) -> Messages:
        """The surface of messages."""
        return Messages(self._receiver, self.identity, self.wires.metrics)

    @cached_property
    def commands(self) -> Commands:
        """The surface of slash commands."""
        return Commands(self.door, self.identity, self.settings.command_prefix)

    @cached_property
    def door(self) -> Door:
        """Who takes in what is no message."""
        return Door(self.inbox, self.access, self.wires.metrics)

    @cached_property
    def line(self) -> WaitingLine:
        """Who waits behind whom."""
        return WaitingLine()

    @cached_property
    def inbox(self) -> Inbox:
        """The queue."""
        return Inbox(
            self.scripts,
            consumer=self.consumer,
            session_lifetime=self.settings.session_lifetime,
            now=self.now,
            limits=self.limits,
        )

    @cached_property
    def limits(self) -> Limits:
        """How much is let in."""
        return Limits(self.settings.thread_turns, self.settings.user_turns, self.settings.user_runs)

    @cached_property
    def directory(self) -> SlackDirectory:
        """Who and what the ids are."""
        return SlackDirectory(self.wires.web, self.identity)

    @cached_property
    def access(self) -> Access:
        """Who may."""
        return Access(
            home=self.identity.home,
            directory=self.directory,
            allowed_channels=self.settings.allowed_channels,
            allowed_users=self.settings.allowed_users,
            runners=self.settings.runners,
        )

    @property
    def mentions_only(self) -> bool:
        """Whether every message has to mention the bot."""
        return self.settings.thread_replies == "mentions"

    @cached_property
    def _receiver(self) -> Receiver:
        return Receiver(
            inbox=self.inbox,
            access=self.access,
            bot_user=self.identity.bot_user,
            mentions_only=self.mentions_only,
            store_since=lambda: self.namespace.since,
            waits_behind=self.line.behind,
        )
