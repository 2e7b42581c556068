"""What there is in a workspace, and how Slack's JSON shows each thing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class Person:
    """A member of the workspace, a guest, somebody from another company (*team* differs), or a bot."""

    id: str
    name: str
    real_name: str
    team: str
    is_bot: bool = False
    is_restricted: bool = False  # a guest in several channels
    is_ultra_restricted: bool = False  # a guest in a single channel
    is_stranger: bool = False  # from another company, met in a shared channel
    deleted: bool = False
    bot_id: str = ""
    app_id: str = ""

    def profile(self) -> Json:
        """The part that events repeat."""
        return {
            "display_name": self.name,
            "real_name": self.real_name,
            "first_name": self.real_name.split()[0],
            "name": self.name,
            "team": self.team,
            "avatar_hash": "g0",
            "image_72": "",
            "is_restricted": self.is_restricted,
            "is_ultra_restricted": self.is_ultra_restricted,
        }

    def as_json(self) -> Json:
        """The user object: https://docs.slack.dev/reference/objects/user-object."""
        profile = self.profile()
        if self.is_bot:
            profile |= {"bot_id": self.bot_id, "api_app_id": self.app_id}
        return {
            "id": self.id,
            "team_id": self.team,
            "name": self.name,
            "real_name": self.real_name,
            "deleted": self.deleted,
            "tz": "Europe/Berlin",
            "tz_label": "Central European Time",
            "tz_offset": 3600,
            "profile": profile,
            "is_admin": False,
            "is_owner": False,
            "is_bot": self.is_bot,
            "is_app_user": False,
            "is_restricted": self.is_restricted,
            "is_ultra_restricted": self.is_ultra_restricted,
            "is_stranger": self.is_stranger,
            "updated": 1_700_000_000,
        }


@dataclass
class Channel:
    """A channel or a direct message; *members* are user ids."""

    id: str
    name: str
    members: list[str]
    is_private: bool = False
    is_im: bool = False
    is_ext_shared: bool = False
    is_archived: bool = False
    shared_team_ids: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The ``channel_type`` of events."""
        if self.is_im:
            return "im"
        return "group" if self.is_private else "channel"

    def as_json(self, viewer: str) -> Json:
        """The conversation object as *viewer* sees it: https://docs.slack.dev/reference/objects/conversation-object."""
        shown: Json = {
            "id": self.id,
            "created": 1_700_000_000,
            "is_channel": not (self.is_im or self.is_private),
            "is_group": self.is_private,
            "is_im": self.is_im,
            "is_mpim": False,
            "is_private": self.is_private or self.is_im,
            "is_archived": self.is_archived,
            "is_ext_shared": self.is_ext_shared,
            "is_org_shared": False,
            "is_shared": self.is_ext_shared,
            "context_team_id": self.shared_team_ids[0] if self.shared_team_ids else "",
        }
        if self.is_im:
            return shown | {"user": next((one for one in self.members if one != viewer), viewer), "is_open": True}
        return shown | {
            "name": self.name,
            "name_normalized": self.name,
            "is_member": viewer in self.members,
            "is_general": self.name == "general",
            "shared_team_ids": self.shared_team_ids,
            "creator": self.members[0] if self.members else "",
            "topic": {"value": "", "creator": "", "last_set": 0},
            "purpose": {"value": "", "creator": "", "last_set": 0},
            "num_members": len(self.members),
        }


@dataclass
class Group:
    """A user group."""

    id: str
    handle: str
    name: str
    team: str
    members: list[str]

    def as_json(self) -> Json:
        """The usergroup object: https://docs.slack.dev/reference/objects/usergroup-object."""
        return {
            "id": self.id,
            "team_id": self.team,
            "is_usergroup": True,
            "name": self.name,
            "handle": self.handle,
            "description": "",
            "is_external": False,
            "date_create": 1_700_000_000,
            "date_delete": 0,
            "user_count": len(self.members),
        }


@dataclass
class File:
    """An uploaded file; *content* is None until its bytes have arrived."""

    id: str
    name: str
    length: int
    user: str
    title: str = ""
    content: bytes | None = None
    shared_in: list[tuple[str, str]] = field(default_factory=list)  # (channel, ts of the message that shows it)

    def as_json(self) -> Json:
        """The file object: https://docs.slack.dev/reference/objects/file-object."""
        kind = self.name.rpartition(".")[2] or "text"
        return {
            "id": self.id,
            "created": 1_700_000_000,
            "name": self.name,
            "title": self.title or self.name,
            "mimetype": "text/plain",
            "filetype": kind,
            "user": self.user,
            "size": self.length,
            "mode": "hosted",
            "is_external": False,
            "is_public": True,
            "url_private": f"https://files.slack.com/files-pri/{self.id}/{self.name}",
            "permalink": f"https://playground.slack.com/files/{self.user}/{self.id}/{self.name}",
        }


@dataclass
class Message:
    """A message in a channel, or, with *to*, one that only that person sees."""

    channel: str
    ts: str
    user: str
    text: str
    team: str
    blocks: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    metadata: Json | None = None
    thread_ts: str = ""
    parent_user: str = ""
    subtype: str = ""
    edited: Json | None = None
    bot_id: str = ""
    app_id: str = ""
    client_msg_id: str = ""
    files: list[Json] = field(default_factory=list)
    reactions: dict[str, list[str]] = field(default_factory=dict)
    root: Json | None = None  # a broadcast reply carries the message that it answers
    to: str = ""
    unfurls: bool = True  # whether links in it may be unfolded

    @property
    def is_reply(self) -> bool:
        """Whether it is in a thread that another message began."""
        return self.thread_ts not in {"", self.ts}

    @property
    def is_broadcast(self) -> bool:
        """Whether this reply is shown in the channel too."""
        return self.subtype == "thread_broadcast"

    def as_json(self, *, with_metadata: bool = True) -> Json:
        """The message as events and the Web API show it; fields without a value are left out, as Slack does."""
        optional: Json = {
            "subtype": self.subtype,
            "client_msg_id": self.client_msg_id,
            "bot_id": self.bot_id,
            "app_id": self.app_id,
            "thread_ts": self.thread_ts,
            "parent_user_id": self.parent_user,
            "blocks": self.blocks,
            "attachments": self.attachments,
            "files": self.files,
            "edited": self.edited,
            "root": self.root,
            "metadata": self.metadata if with_metadata else None,
            "reactions": [
                {"name": name, "users": list(users), "count": len(users)} for name, users in self.reactions.items()
            ],
        }
        shown: Json = {"type": "message", "user": self.user, "text": self.text, "ts": self.ts, "team": self.team}
        return shown | {name: value for name, value in optional.items() if value}


@dataclass
class View:
    """A modal that is open for *user*, or that person's Home tab."""

    id: str
    user: str
    content: Json  # what the app sent: type, title, blocks, callback_id, …
    hash: str
    root_id: str
    team: str
    app_id: str
    bot_id: str
    previous_id: str | None = None
    values: dict[str, dict[str, Json]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def blocks(self) -> list[Json]:
        """What it shows."""
        found: list[Json] = self.content.get("blocks", [])
        return found

    def as_json(self) -> Json:
        """The view as payloads and answers carry it: https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload."""
        return {
            "private_metadata": "",
            "callback_id": "",
            "clear_on_close": False,
            "notify_on_close": False,
            "close": None,
            "submit": None,
            "external_id": "",
            **self.content,
            "id": self.id,
            "team_id": self.team,
            "state": {"values": self.values},
            "hash": self.hash,
            "previous_view_id": self.previous_id,
            "root_view_id": self.root_id,
            "app_id": self.app_id,
            "app_installed_team_id": self.team,
            "bot_id": self.bot_id,
        }
