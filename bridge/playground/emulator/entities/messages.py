"""Messages, and their JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

from bridge.playground.emulator.entities.json import Json


@dataclass
class Message:
    """A message in a channel; with *to*, only that person sees it."""

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
    bot_profile: Json | None = None
    generated: list[Json] = field(default_factory=list)  # Slack's blocks for a bot's text without any
    client_msg_id: str = ""
    inviter: str = ""  # who invited them: https://docs.slack.dev/reference/events/message/channel_join
    files: list[Json] = field(default_factory=list)
    reactions: dict[str, list[str]] = field(default_factory=dict)
    root: Json | None = None  # of a broadcast reply
    to: str = ""
    unfurls: bool = True  # whether links may unfurl
    username: str = ""  # of an incoming webhook, or chosen with `chat:write.customize`; then it has no user
    icon_emoji: str = ""  # chosen in the same way

    @property
    def is_customized(self) -> bool:
        return bool(self.username or self.icon_emoji)

    @property
    def is_reply(self) -> bool:
        return self.thread_ts not in {"", self.ts}

    @property
    def is_broadcast(self) -> bool:
        """Whether this reply is also in the channel."""
        return self.subtype == "thread_broadcast"

    @property
    def all_blocks(self) -> list[Json]:
        return [*self.blocks, *(block for attachment in self.attachments for block in attachment.get("blocks", []))]

    @property
    def all_files(self) -> list[Json]:
        """Its files, and those of forwarded messages in it."""
        forwarded = [attachment.get("files") for attachment in self.attachments if attachment.get("is_share")]
        return [*self.files, *(file for files in forwarded if files for file in files)]

    def as_json(self, *, with_metadata: bool = True) -> Json:
        """The message as in events and the Web API, without empty fields."""
        optional: Json = {
            "subtype": self.subtype,
            "client_msg_id": self.client_msg_id,
            "inviter": self.inviter,
            "bot_id": self.bot_id,
            "app_id": self.app_id,
            "bot_profile": self.bot_profile,
            "thread_ts": self.thread_ts,
            "parent_user_id": self.parent_user,
            "blocks": self.blocks or self.generated,
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
        if self.is_customized:  # https://docs.slack.dev/reference/events/message/bot_message
            icons = {"emoji": self.icon_emoji} if self.icon_emoji else {}
            shown = {"type": "message", "text": self.text, "ts": self.ts, "username": self.username, "icons": icons}
            optional["subtype"] = self.subtype or "bot_message"
        return shown | {name: value for name, value in optional.items() if value}
