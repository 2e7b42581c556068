"""People, and their JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bridge.playground.emulator.entities.json import Json

_UPDATED: Final = 1_700_000_000
_AVATAR: Final = "g00000000000"


def _image(size: int) -> str:
    return f"https://secure.gravatar.com/avatar/{_AVATAR}.jpg?s={size}&d=identicon"


@dataclass
class Member:
    """A member, a guest, someone from another company (*team* differs), or a bot."""

    id: str
    name: str
    real_name: str
    team: str
    is_bot: bool = False
    is_restricted: bool = False  # a multi-channel guest
    is_ultra_restricted: bool = False  # a single-channel guest
    is_stranger: bool = False  # from another company
    deleted: bool = False
    enterprise: str = ""  # the organization (Grid) of someone in several workspaces
    bot_id: str = ""
    app_id: str = ""
    is_slacks: bool = False  # Slackbot, or Slack itself
    tz: str = "Europe/Berlin"
    locale: str = "en-US"

    @property
    def email(self) -> str:
        """The email address; bots have none."""
        return "" if self.is_bot or self.is_slacks else f"{self.name}@playground.example"

    def event_profile(self) -> Json:
        return {
            "avatar_hash": _AVATAR,
            "image_72": _image(72),
            "first_name": self.real_name.split()[0],
            "real_name": self.real_name,
            "display_name": self.real_name,
            "team": self.team,
            "name": self.name,
            "is_restricted": self.is_restricted,
            "is_ultra_restricted": self.is_ultra_restricted,
        }

    def bot_profile(self) -> Json | None:
        if not self.bot_id:
            return None
        return {
            "id": self.bot_id,
            "app_id": self.app_id,
            "user_id": self.id,
            "name": self.real_name,
            "icons": {f"image_{size}": _image(size) for size in (36, 48, 72)},
            "deleted": self.deleted,
            "updated": _UPDATED,
            "team_id": self.team,
        }

    def profile(self, *, with_email: bool = False) -> Json:
        """The profile in the user object, with the email address if the caller may read it."""
        first, _, last = self.real_name.partition(" ")
        shown: Json = {
            "title": "",
            "phone": "",
            "skype": "",
            "real_name": self.real_name,
            "real_name_normalized": self.real_name,
            "display_name": self.real_name,
            "display_name_normalized": self.real_name,
            "fields": {},
            "status_text": "",
            "status_emoji": "",
            "status_emoji_display_info": [],
            "status_expiration": 0,
            "status_text_canonical": "",
            "avatar_hash": _AVATAR,
            "first_name": first,
            "last_name": last,
            **{f"image_{size}": _image(size) for size in (24, 32, 48, 72, 192, 512)},
            "team": self.team,
        }
        if with_email and self.email:
            shown["email"] = self.email
        if self.is_bot:
            shown |= {"bot_id": self.bot_id, "api_app_id": self.app_id}
        if self.is_bot or self.is_slacks:
            shown["always_active"] = self.is_slacks
        if self.is_restricted:
            shown["guest_invited_by"] = ""
        return shown

    def as_json(self, *, with_email: bool = False, with_locale: bool = False) -> Json:
        """The user object: https://docs.slack.dev/reference/objects/user-object."""
        shown: Json = {
            "id": self.id,
            "team_id": self.team,
            "name": self.name,
            "deleted": self.deleted,
            "profile": self.profile(with_email=with_email),
            "is_bot": self.is_bot,
            "is_app_user": False,
            "updated": _UPDATED,
        }
        if self.deleted:  # little is left of a deactivated user
            return shown
        shown |= {
            "color": "4bbe2e",
            "real_name": self.real_name,
            "tz": self.tz,
            "tz_label": "Central European Time",
            "tz_offset": 3600,
            "is_admin": False,
            "is_owner": False,
            "is_primary_owner": False,
            "is_restricted": self.is_restricted,
            "is_ultra_restricted": self.is_ultra_restricted,
            "is_email_confirmed": not self.is_bot,
            "who_can_share_contact_card": "EVERYONE",
        }
        if self.is_stranger or self.enterprise:
            shown["is_stranger"] = self.is_stranger
        if with_locale:
            shown["locale"] = self.locale
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
    description: str = ""
    created_by: str = ""
    updated_by: str = ""
    deleted_at: int = 0  # when it was disabled

    def as_json(self) -> Json:
        """The usergroup object: https://docs.slack.dev/reference/objects/usergroup-object."""
        return {
            "id": self.id,
            "team_id": self.team,
            "is_usergroup": True,
            "is_subteam": True,
            "name": self.name,
            "handle": self.handle,
            "description": self.description,
            "is_external": False,
            "date_create": 1_700_000_000,
            "date_update": 1_700_000_000,
            "date_delete": self.deleted_at,
            "auto_type": None,
            "created_by": self.created_by,
            "updated_by": self.updated_by or self.created_by,
            "deleted_by": self.updated_by if self.deleted_at else None,
            "prefs": {"channels": [], "groups": []},
            "user_count": len(self.members),
        }
