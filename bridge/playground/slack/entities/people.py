"""Who there is, and how Slack shows them."""

from __future__ import annotations

from dataclasses import dataclass

from bridge.playground.slack.entities.json import Json


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
    enterprise: str = ""  # the organisation (Grid) of somebody who is known in several workspaces
    bot_id: str = ""
    app_id: str = ""
    is_slacks: bool = False  # Slackbot, or Slack itself

    @property
    def email(self) -> str:
        """Where a person gets mail; a bot gets none."""
        return "" if self.is_bot or self.is_slacks else f"{self.name}@playground.example"

    def profile(self) -> Json:
        """The part that events repeat."""
        return {
            "display_name": self.real_name,
            "real_name": self.real_name,
            "first_name": self.real_name.split()[0],
            "name": self.name,
            "team": self.team,
            "email": self.email,
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
        if self.is_slacks:
            profile |= {"always_active": True}
        shown: Json = {
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
        return shown | {"enterprise_user": self._on_grid()} if self.enterprise else shown

    def _on_grid(self) -> Json:
        teams = {"teams": [self.team], "is_admin": False, "is_owner": False}
        return {"id": self.id, "enterprise_id": self.enterprise, "enterprise_name": "Playground", **teams}


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
