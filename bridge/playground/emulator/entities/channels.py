"""Channels, and their JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

from bridge.playground.emulator.entities.json import Json


@dataclass
class Channel:
    """A channel or a direct message; *members* are user ids."""

    id: str
    name: str
    members: list[str]
    is_private: bool = False
    is_im: bool = False
    is_mpim: bool = False  # a group message, which is private too
    is_ext_shared: bool = False
    is_org_shared: bool = False  # with other workspaces of the organization (Grid)
    is_archived: bool = False
    shared_team_ids: list[str] = field(default_factory=list)
    topic: str = ""
    purpose: str = ""
    created: int = 1_700_000_000
    read_to: dict[str, str] = field(default_factory=dict)  # user -> ts of the last message read

    @property
    def kind(self) -> str:
        """The ``channel_type`` of events."""
        if self.is_im:
            return "im"
        if self.is_mpim:
            return "mpim"
        return "group" if self.is_private else "channel"

    def as_json(self, viewer: str) -> Json:
        """The conversation object as *viewer* sees it: https://docs.slack.dev/reference/objects/conversation-object."""
        shown: Json = {
            "id": self.id,
            "created": self.created,
            "is_channel": not (self.is_im or self.is_private),
            "is_group": self.is_private,
            "is_im": self.is_im,
            "is_mpim": self.is_mpim,
            "is_private": self.is_private or self.is_im,
            "is_archived": self.is_archived,
            "is_ext_shared": self.is_ext_shared,
            "is_org_shared": self.is_org_shared,
            "is_shared": self.is_ext_shared or self.is_org_shared,
            "context_team_id": self.shared_team_ids[0] if self.shared_team_ids else "",
        }
        if self.is_im:
            return shown | {
                "user": next((member for member in self.members if member != viewer), viewer),
                "is_open": True,
            }
        return shown | {
            "name": self.name,
            "name_normalized": self.name,
            "is_member": viewer in self.members,
            "is_general": self.name == "general",
            "shared_team_ids": self.shared_team_ids,
            "creator": self.members[0] if self.members else "",
            "topic": {"value": self.topic, "creator": "", "last_set": 0},
            "purpose": {"value": self.purpose, "creator": "", "last_set": 0},
            "num_members": len(self.members),
        }
