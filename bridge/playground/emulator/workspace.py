"""The emulated workspace as plain state. The rules for callers are in `web_api`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from bridge.playground.emulator import sample
from bridge.playground.emulator.changes import EntityTable, Subscriber
from bridge.playground.emulator.entities import Channel, File, Group, Json, Member, View
from bridge.playground.emulator.messages import MessageLog
from bridge.playground.emulator.sessions import AgentSession, StatusChange
from bridge.playground.emulator.storage import Storage

_STATUS_LASTS = 120.0  # seconds; https://docs.slack.dev/reference/methods/assistant.threads.setStatus


class Workspace:
    """People, channels, messages, views and files, from *storage* or else `sample`.

    *clock* returns Unix seconds, *new_id* an ID with a prefix. Every change goes through an `EntityTable`, which stores
    and announces it.
    """

    def __init__(
        self, *, clock: Callable[[], float], new_id: Callable[[str], str], storage: Storage | None = None
    ) -> None:
        storage = storage or Storage()
        self.clock = clock
        self.new_id = new_id
        self.organization = ""  # its Enterprise Grid organization
        self._storage = storage
        self._subscribers: list[Subscriber] = []
        self.people = EntityTable("person", Member, storage, self._tell)
        self.channels = EntityTable("channel", Channel, storage, self._tell)
        self.messages = MessageLog(self.people, clock=clock, new_id=new_id, storage=storage, tell=self._tell)
        self.groups = EntityTable("group", Group, storage, self._tell)
        self.files = EntityTable("file", File, storage, self._tell)
        self.views = EntityTable("view", View, storage, self._tell)  # open modals, oldest first
        self.homes = EntityTable("home", View, storage, self._tell)  # by user
        self.sessions = EntityTable("session", AgentSession, storage, self._tell)
        self.status_history: list[StatusChange] = []
        with self.together():
            self._settle()

    def _settle(self) -> None:
        """Add the samples that a new workspace, or one stored by an older version, lacks."""
        for person in [*sample.people(), *sample.slacks_own()]:
            if person.id not in self.people:
                self.add_person(person)
        for channel in sample.channels():
            if channel.id not in self.channels:
                self.add_channel(channel)
        for group in sample.groups():
            if group.id not in self.groups:
                self.groups.put(group.id, group)

    def new_ts(self) -> str:
        """A new ts for a message or event: microseconds, never repeated."""
        return self.messages.new_ts()

    # Changes

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Call *callback* on every change, until the returned function is called."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    def together(self) -> AbstractContextManager[None]:
        """Store all changes made meanwhile, or none if the process is killed."""
        return self._storage.together()

    def _tell(self) -> None:
        for subscriber in list(self._subscribers):
            subscriber()

    # People and channels

    @property
    def bot(self) -> Member:
        return self.people[sample.BRIDGE]

    def add_person(self, person: Member) -> None:
        self.people.put(person.id, person)

    def add_channel(self, channel: Channel) -> None:
        self.channels.put(channel.id, channel)

    def direct_message(self, user: str, other: str = sample.BRIDGE) -> Channel:
        """The direct message of *user* and *other*, by default the bot; opened if needed."""
        for channel in self.channels.values():
            if channel.is_im and {user, other} == set(channel.members):
                return channel
        channel = Channel(self.new_id("D"), "", [user, other], is_im=True)
        self.add_channel(channel)
        return channel

    def group_message(self, users: Iterable[str]) -> Channel:
        """The group message of these people, who may include the bot; opened if needed."""
        members = list(dict.fromkeys(users))
        for channel in self.channels.values():
            if channel.is_mpim and set(members) == set(channel.members):
                return channel
        name = f"mpdm-{'--'.join(sorted(self.people[member].name for member in members))}-1"
        channel = Channel(self.new_id("C"), name, members, is_private=True, is_mpim=True, created=int(self.clock()))
        self.add_channel(channel)
        return channel

    def enter(self, user: str, channel: Channel) -> bool:
        """Add *user* to a channel; False if already a member."""
        if user in channel.members:
            return False
        channel.members.append(user)
        self.channels.put(channel.id, channel)
        return True

    def leave(self, user: str, channel: Channel) -> bool:
        """Remove *user* from a channel; False if not a member."""
        if user not in channel.members:
            return False
        channel.members.remove(user)
        self.channels.put(channel.id, channel)
        return True

    def mark_read(self, user: str, channel: Channel, ts: str) -> None:
        channel.read_to[user] = ts
        self.channels.put(channel.id, channel)

    def is_unread(self, user: str, channel: Channel) -> bool:
        read_to = channel.read_to.get(user, "")
        newest_first = reversed(self.messages.top_level(channel.id))
        return any(message.ts > read_to and message.user != user for message in newest_first)

    # Agents

    def session(self, channel: str, thread_ts: str) -> AgentSession:
        """The agent session of a thread, or of a whole direct message if *thread_ts* is empty."""
        return self.sessions.get(f"{channel}/{thread_ts}") or AgentSession(channel, thread_ts)

    def change_session(self, channel: str, thread_ts: str, **changes: Any) -> AgentSession:
        session = self.session(channel, thread_ts)
        for name, value in changes.items():
            setattr(session, name, value)
        return self.sessions.put(f"{channel}/{thread_ts}", session)

    def set_status(self, channel: str, thread_ts: str, status: str, by: str, **shown_as: str) -> None:
        """Set the *status* of a thread (empty clears it), *shown_as* a name and an icon, and record it."""
        now = self.clock()
        changes = {"username": "", "icon_emoji": ""} | shown_as
        self.change_session(channel, thread_ts, status=status, set_at=now, **changes)
        self.status_history.append(StatusChange(now, channel, thread_ts, status, by))

    def set_lifecycle(self, channel: str, thread_ts: str, lifecycle: str, **shown_as: str) -> None:
        """Move the thread's agent session to ``active``, ``processing``, ``suspended`` or ``closed``.

        *shown_as* changes its name and icon, which otherwise stay.
        """
        self.change_session(channel, thread_ts, lifecycle=lifecycle, moved_at=self.clock(), **shown_as)
        shown = lifecycle if lifecycle == "processing" else ""
        self.status_history.append(StatusChange(self.clock(), channel, thread_ts, shown, "agents.sessions.setStatus"))

    def clear_status(self, channel: str, thread_ts: str) -> None:
        """Clear the status, as Slack does when the app posts in the thread."""
        if self.session(channel, thread_ts).status:
            self.set_status(channel, thread_ts, "", "slack")

    def status(self, channel: str, thread_ts: str) -> str:
        """The thread's current status: ``processing``, or a text. Both expire after two minutes."""
        session, now = self.session(channel, thread_ts), self.clock()
        if session.lifecycle == "processing" and now - session.moved_at <= _STATUS_LASTS:
            return session.lifecycle
        return session.status if now - session.set_at <= _STATUS_LASTS else ""

    # Files

    def add_file(self, file: File) -> File:
        return self.files.put(file.id, file)

    def change_file(self, file: File) -> None:
        """Change a file, also in the messages that show it, which aren't edited."""
        self.files.put(file.id, file)
        for channel, ts in file.shared_in:
            message = self.messages.find(channel, ts)
            if message is not None:
                files = [self._now(part, file) for part in message.files]
                self.messages.edit(message, message.user, {"files": files}, is_edit=False)

    @staticmethod
    def _now(shown: Json, file: File) -> Json:
        is_it = shown["id"] == file.id and shown.get("file_access") != "check_file_info"
        return file.as_json() if is_it else shown

    # Views

    def stack(self, user: str, window: str = "") -> list[View]:
        """The open modals of *user*, the top one last; with a *window*, only those in it."""
        return [
            view for view in self.views.values() if view.user == user and (not window or view.window in {"", window})
        ]

    def open_view(self, view: View) -> View:
        return self.views.put(view.id, view)

    def close_views(self, views: Iterable[View]) -> None:
        for view in list(views):
            self.views.drop(view.id)

    def show_home(self, view: View) -> View:
        return self.homes.put(view.user, view)

    def change_view(self, view: View, **changes: Any) -> None:
        """Change the values, errors or content (and then the hash) of a modal or Home."""
        for name, value in changes.items():
            setattr(view, name, value)
        if "content" in changes:
            view.hash = self.new_id("h")
        if view.id in self.views:
            self.open_view(view)
        elif view.user in self.homes:
            self.show_home(view)

    def find_view(self, view_id: str) -> View | None:
        homes = (view for view in self.homes.values() if view.id == view_id)
        return self.views.get(view_id) or next(homes, None)

    def make_view(self, user: str, content: Json, *, under: View | None = None, window: str = "") -> View:
        """A new view; *under* is the modal that it is pushed on."""
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
            window=under.window if under else window,
        )
