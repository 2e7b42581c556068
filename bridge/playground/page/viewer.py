"""What one person can see. The page shows nothing else, and no one can act on anything else."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from bridge.playground.emulator.entities import Channel, Member, Message, View
from bridge.playground.emulator.sample import SLACK, SLACKBOT
from bridge.playground.emulator.workspace import Workspace
from bridge.playground.page.names import Names


class NotVisible(LookupError):
    """It doesn't exist, or the person can't see it: the response is the same."""


@dataclass(frozen=True)
class Viewer:
    """The workspace as *me* sees it, without private messages from before *since*, when the window was loaded."""

    workspace: Workspace
    me: Member
    since: float = 0.0

    def channels(self) -> list[Channel]:
        """The person's channels in order of creation, then direct messages."""
        mine = [channel for channel in self.workspace.channels.values() if self.me.id in channel.members]
        return sorted(mine, key=lambda channel: channel.is_im or channel.is_mpim)

    def channel(self, channel_id: str) -> Channel:
        channel = self.workspace.channels.get(channel_id)
        if channel is None or self.me.id not in channel.members:
            raise NotVisible(channel_id)
        return channel

    def message(self, channel_id: str, ts: str) -> Message:
        """A message in a channel, which may be for *me* only. Raises NotVisible."""
        self.channel(channel_id)
        message = self.workspace.messages.find_any(channel_id, ts)
        if message is None or message.to not in {"", self.me.id}:
            raise NotVisible(ts)
        return message

    def view(self, view_id: str) -> View:
        view = self.workspace.find_view(view_id)
        if view is None or view.user != self.me.id:
            raise NotVisible(view_id)
        return view

    def top_level(self, channel_id: str) -> list[Message]:
        """The channel's top-level messages, oldest first."""
        private = [message for message in self._private(channel_id) if not message.is_reply]
        return sorted([*self.workspace.messages.top_level(channel_id), *private], key=lambda message: message.ts)

    def thread(self, channel_id: str, root: str) -> list[Message]:
        private = [message for message in self._private(channel_id) if message.is_reply and message.thread_ts == root]
        return sorted([*self.workspace.messages.thread(channel_id, root), *private], key=lambda message: message.ts)

    def _private(self, channel_id: str) -> list[Message]:
        lately = [message for message in self.workspace.messages.private if float(message.ts) >= self.since]
        return [message for message in lately if message.channel == channel_id and message.to == self.me.id]

    def direct_message(self) -> Channel:
        return self.workspace.direct_message(self.me.id)

    def names(self) -> Names:
        """Names for mentions, with dates in the person's time zone; private channels without *me* have none."""
        workspace = self.workspace
        people = {person.id: person.name for person in workspace.people.values()} | {
            SLACKBOT: "Slackbot",
            SLACK: "Slack",
        }
        channels = {
            channel.id: channel.name
            for channel in workspace.channels.values()
            if channel.name and not channel.is_mpim and (not channel.is_private or self.me.id in channel.members)
        }
        groups = {group.id: group.handle for group in workspace.groups.values()}
        return Names(self.me.id, people, channels, groups, ZoneInfo(self.me.tz))
