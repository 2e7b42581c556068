"""People's actions in the workspace, except commands, buttons and forms."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from bridge.playground.emulator import contents, invitations, payloads, sample, widgets
from bridge.playground.emulator.deliver import AppDelivery, Deliverer
from bridge.playground.emulator.entities import File, Group, Json, Message
from bridge.playground.emulator.events import Events, Tried
from bridge.playground.emulator.richtext import rich_text
from bridge.playground.emulator.server import ApiServer
from bridge.playground.emulator.web_api.method import GroupChanged, MessageDeleted, MessageEdited, ReactionChanged
from bridge.playground.emulator.workspace import Workspace
from bridge.playground.local_server import LocalServer

_MS_FOR_A_WORD: Final = 400
_SOUND: Final = b"\x00\x00\x00\x18ftypM4A \x00\x00\x02\x00isomiso2"  # the start of an MPEG-4 file


class People:
    """People's actions. Each is stored with its events before the method returns."""

    def __init__(
        self, workspace: Workspace, deliverer: Deliverer, api: ApiServer, *, events: Events, server: LocalServer
    ) -> None:
        self._workspace = workspace
        self._deliverer = deliverer
        self._api = api
        self._events = events
        self._server = server

    async def say(
        self,
        user: str,
        channel: str,
        text: str,
        *,
        thread_ts: str | None = None,
        broadcast: bool = False,
        files: Sequence[Json] = (),
        blocks: Sequence[Json] = (),
        attachments: Sequence[Json] = (),
        via: str = "",
        at: float | None = None,
        wait: bool = True,
    ) -> str:
        """Post *text*, escaped as in events, as *user*. Returns its ts.

        *files* are from `attach`. *blocks* replace Slack's rich text of *text*, which may then be empty. With *via*,
        the bot user of an app, that app posts it with the person's own token. With *at*, Unix seconds, the ts is in the
        past. With *wait*, the first try of each delivery has ended.
        """
        self._require_member(user, channel)
        if thread_ts:
            self._existing(channel, thread_ts)
        shown = [self._as_seen(user, channel, file) for file in files]
        with self._workspace.together():
            message = self._workspace.messages.post(
                user,
                channel,
                text,
                thread_ts=thread_ts or "",
                subtype="thread_broadcast" if broadcast and thread_ts else "file_share" if files else "",
                files=shown,
                blocks=self._workspace.messages.identified(list(blocks)),
                attachments=list(attachments),
                via=via,
                at=at,
                client_msg_id="" if via else secrets.token_hex(16),
            )
            self._share(message)
            self._offer_to_invite(message)
            tried = self._events.posted(message)
        if wait:
            await _heard(tried)
        return message.ts

    def _as_seen(self, user: str, channel: str, file: Json) -> Json:
        """A message has only a stub of another company's file."""
        is_foreign = (
            self._workspace.people[user].team != sample.TEAM and self._workspace.channels[channel].is_ext_shared
        )
        return contents.stub(self._workspace.files[file["id"]]) if is_foreign else file

    async def forward(
        self,
        user: str,
        channel: str,
        ts: str,
        *,
        to: str,
        comment: str = "",
        thread_ts: str | None = None,
        at: float | None = None,
        wait: bool = True,
    ) -> str:
        """Forward a message as *user* to the channel *to*, with an optional *comment*. Returns the ts."""
        self._require_member(user, channel)
        message, where = self._existing(channel, ts), self._workspace.channels[channel]
        author, link = self._workspace.people[message.user], self._workspace.messages.permalink(message)
        attachment = contents.forwarded(message, author, where, link)
        return await self.say(user, to, comment, thread_ts=thread_ts, attachments=[attachment], at=at, wait=wait)

    def table(self, rows: Sequence[Sequence[str | float]]) -> Json:
        return contents.pasted(contents.table(rows, block_id=self._workspace.new_id("b")))

    def clip(self, user: str, words: str, *, is_transcribed: bool = True) -> Json:
        """Record a voice clip as *user*, for a message like the files of `attach`."""
        clip = self._file(user, "audio_message.m4a", _SOUND)
        clip.subtype, clip.transcript, clip.title = "slack_audio", words, "Audio clip"
        clip.duration_ms = max(1, len(words.split())) * _MS_FOR_A_WORD
        clip.transcription = "complete" if is_transcribed else "processing"
        return self._workspace.add_file(clip).as_json()

    async def transcribe(self, file_id: str, *, fails: bool = False) -> None:
        """Finish the transcript of a voice clip, or let it fail."""
        clip = self._workspace.files[file_id]
        with self._workspace.together():
            clip.transcription = "failed" if fails else "complete"
            self._workspace.change_file(clip)
            tried = self._events.done(payloads.file_changed(file_id, self._workspace.new_ts()))
        await _heard(tried)

    async def app_posts(
        self,
        channel: str,
        text: str = "",
        *,
        app: str = sample.OTHER_BOT,
        blocks: Sequence[Json] = (),
        attachments: Sequence[Json] = (),
        thread_ts: str = "",
        webhook: str = "",
        at: float | None = None,
        wait: bool = True,
    ) -> str:
        """Post as another *app*, by its bot user or by an incoming webhook named *webhook*. Returns the ts.

        A webhook's message has no user (subtype ``bot_message``), and its bot needn't be in the channel.
        """
        if not webhook:
            self._require_member(app, channel)
        with self._workspace.together():
            message = self._workspace.messages.post(
                app,
                channel,
                text,
                thread_ts=thread_ts,
                blocks=self._workspace.messages.identified(list(blocks)),
                attachments=[{"id": at, **attachment} for at, attachment in enumerate(attachments, 1)],
                subtype="bot_message" if webhook else "",
                username=webhook,
                at=at,
            )
            tried = self._events.posted(message)
        if wait:
            await _heard(tried)
        return message.ts

    def start_group(self, *users: str) -> str:
        """Start a group message. Returns the channel."""
        return self._workspace.group_message(users).id

    def _offer_to_invite(self, message: Message) -> None:
        channel = self._workspace.channels[message.channel]
        apps = invitations.absent_apps(message, channel, self._workspace.people.values())
        if apps:
            self._workspace.messages.show_privately(invitations.offer(message, channel, apps, self._workspace.new_ts()))

    async def answer_slackbot(self, user: str, channel: str, ts: str, action_id: str, *, wait: bool = True) -> None:
        """Press a button of Slackbot's offer to invite an app, as *user*; *wait* as in `say`."""
        offer = self._workspace.messages.visible(user, channel, ts)
        button, _ = widgets.find(offer.blocks, action_id)
        mention, *apps = button["value"].split()
        tried: Tried = []
        with self._workspace.together():
            self._workspace.messages.delete(offer)
            for app in apps if action_id == invitations.INVITE else []:
                tried += self._invite(app, channel, user, mention)
        if wait:
            await _heard(tried)

    async def invite(self, app: str, channel: str, inviter: str, *, wait: bool = True) -> bool:
        """Add an *app* to a channel. Returns whether it wasn't there; *wait* as in `say`."""
        with self._workspace.together():
            is_new = app not in self._workspace.channels[channel].members
            tried = self._invite(app, channel, inviter, "")
        if wait:
            await _heard(tried)
        return is_new

    def _invite(self, app: str, channel: str, inviter: str, mention: str) -> Tried:
        if not self._workspace.enter(app, self._workspace.channels[channel]):
            return []
        text, subtype = f"<@{app}> has joined the channel", "channel_join"
        tried = self._events.posted(self._workspace.messages.post(app, channel, text, subtype=subtype, inviter=inviter))
        message = self._workspace.messages.find(channel, mention)
        if message is not None and app == self._workspace.bot.id:
            tried += self._events.invited(message)
        return tried

    async def slack_says(self, channel: str, text: str, *, user: str = sample.SLACKBOT, thread_ts: str = "") -> str:
        """Post as Slackbot (a reminder) or as Slack itself (``archived the channel``). Returns the ts.

        Neither is a member of a channel. Their messages look like a person's: no subtype, no ``bot_id``.
        """
        with self._workspace.together():
            message = self._workspace.messages.post(user, channel, text, thread_ts=thread_ts)
            tried = self._events.posted(message)
        await _heard(tried)
        return message.ts

    def _share(self, message: Message) -> None:
        for shown in message.files:
            file = self._workspace.files.get(shown.get("id", ""))
            if file is not None:
                file.shared_in.append((message.channel, message.ts))
                self._workspace.add_file(file)

    def attach(self, user: str, files: Mapping[str, bytes], *, alt_txt: str = "") -> list[Json]:
        """Upload files, by name, for a message, described by *alt_txt*.

        Names decide their type: ``notes.txt`` is a snippet, ``order.eml`` an email.
        """
        made = [self._file(user, name, content) for name, content in files.items()]
        for file in made:
            file.alt_txt = alt_txt
        return [self._workspace.add_file(file).as_json() for file in made]

    def _file(self, user: str, name: str, content: bytes) -> File:
        made = self._workspace.new_id("F")
        created = int(self._workspace.clock())
        site, team = self._server.url, self._workspace.people[user].team
        return File(made, name, len(content), user, created=created, site=site, content=content, team=team)

    async def edit(
        self,
        channel: str,
        ts: str,
        text: str,
        *,
        blocks: Sequence[Json] = (),
        attachments: Sequence[Json] | None = None,
    ) -> None:
        """Edit a message as its author, be it a person or an app. Its *attachments* stay unless there are new ones."""
        message = self._existing(channel, ts)
        changes: Json = {"text": text, "blocks": self._workspace.messages.identified(list(blocks))}
        if not message.bot_id:
            changes["blocks"] = rich_text(text, block_id=self._workspace.new_id("b"))
        if attachments is not None:
            changes["attachments"] = [{"id": at, **attachment} for at, attachment in enumerate(attachments, 1)]
        with self._workspace.together():
            before = self._workspace.messages.edit(message, message.bot_id or message.user, changes)
            tried = self._events.changed(MessageEdited(message, before))
        await _heard(tried)

    async def delete(self, channel: str, ts: str) -> None:
        message = self._existing(channel, ts)
        before = message.as_json()
        with self._workspace.together():
            self._workspace.messages.delete(message)
            tried = self._events.changed(MessageDeleted(message, before))
        await _heard(tried)

    async def react(self, user: str, channel: str, ts: str, name: str) -> bool:
        """Toggle a reaction as *user*. Returns whether it is there now."""
        self._require_member(user, channel)
        message = self._existing(channel, ts)
        with self._workspace.together():
            is_added = self._workspace.messages.react(message, user, name)
            if not is_added:
                self._workspace.messages.unreact(message, user, name)
            tried = self._events.reacted(ReactionChanged(message, user, name, is_added))
        await _heard(tried)
        return is_added

    def read(self, user: str, channel: str) -> None:
        shown = self._workspace.messages.top_level(channel)
        self._workspace.mark_read(user, self._workspace.channels[channel], shown[-1].ts if shown else "")

    async def press_stop(self, user: str, channel: str, thread_ts: str) -> None:
        event = payloads.session_stopped(channel, user, thread_ts, self._workspace.new_ts())
        await _heard(self._events.done(event, channel))

    async def revoke_token(self, error: str = "token_revoked") -> None:
        """Revoke the bot's token: each call fails with *error*, and the app gets an event."""
        self._api.token_error = error
        event = payloads.tokens_revoked(self._workspace.bot.id, self._workspace.new_ts())
        if event["type"] not in self._events.installation.unsubscribed:
            await self.send_event(event)

    def give_token(self, token: str = "") -> None:
        """Reinstall the app: *token* is the bot's token from now on, else the old one works again."""
        self._api.bot_token, self._api.token_error = token or self._api.bot_token, ""

    async def open_home(self, user: str) -> None:
        await self._open_tab(user, "home")

    async def open_messages(self, user: str) -> None:
        await self._open_tab(user, "messages")

    async def _open_tab(self, user: str, tab: str) -> None:
        channel, home = self._workspace.direct_message(user).id, self._workspace.homes.get(user)
        view = home.as_json() if home is not None and tab == "home" else None
        event = payloads.home_opened(user, channel, tab, self._workspace.new_ts(), view)
        await _heard(self._events.done(event))

    async def join(self, user: str, channel: str) -> None:
        """Join a channel as *user*, who may be the bot."""
        with self._workspace.together():
            self._workspace.enter(user, self._workspace.channels[channel])
            text = f"<@{user}> has joined the channel"
            tried = self._events.posted(self._workspace.messages.post(user, channel, text, subtype="channel_join"))
        await _heard(tried)

    async def change_group(self, user: str, group: Group) -> None:
        """Save a user group as *user*, who creates it if it's new."""
        with self._workspace.together():
            is_new = group.id not in self._workspace.groups
            group.created_by, group.updated_by = group.created_by or user, user
            self._workspace.groups.put(group.id, group)
            tried = self._events.group_changed(GroupChanged(group, is_new))
        await _heard(tried)

    async def send_event(self, event: Json, channel: str = "", *, event_id: str = "") -> None:
        """Send any event; a known *event_id* makes it a duplicate."""
        await _heard([self._events.send(event, channel, event_id=event_id)])

    async def verify_url(self) -> AppDelivery:
        return await self._deliverer.verification(payloads.url_verification(secrets.token_hex(8)))

    def _existing(self, channel: str, ts: str) -> Message:
        message = self._workspace.messages.find(channel, ts)
        if message is None:
            raise LookupError(ts)
        return message

    def _require_member(self, user: str, channel: str) -> None:
        if self._workspace.people[user].deleted:
            raise ValueError(f"{user} is deactivated")
        if user not in self._workspace.channels[channel].members:
            raise ValueError(f"{user} is not in {channel}")


async def _heard(tried: Tried) -> None:
    for attempt in tried:
        await attempt.wait()
