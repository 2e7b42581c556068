"""User groups: ``usergroups.*`` of the Web API. https://docs.slack.dev/reference/methods?family=usergroups.

They need a paid plan, and a workspace that lets apps manage them. A group is never deleted, only disabled, and keeps
its name and its handle then: https://github.com/pablovarela/terraform-provider-slack/pull/71.
"""

from __future__ import annotations

from dataclasses import dataclass

from bridge.slack.api import SlackWeb
from bridge.slack.payloads import mapping, objects, text


@dataclass(frozen=True, slots=True)
class UserGroup:
    """A user group; *creator* is the user ID of who made it."""

    id: str
    name: str = ""
    handle: str = ""
    creator: str = ""
    is_disabled: bool = False


class UserGroups:
    """The workspace's user groups. Methods raise `SlackError`."""

    def __init__(self, web: SlackWeb) -> None:
        self._web = web

    async def all(self) -> dict[str, UserGroup]:
        """Return all groups by ID, disabled ones too. https://docs.slack.dev/reference/methods/usergroups.list."""
        answer = await self._web.read("usergroups.list", {"include_disabled": "true"})
        groups = {}
        for about in objects(answer.get("usergroups")):
            if id_ := text(about, "id"):
                names = text(about, "name"), text(about, "handle"), text(about, "created_by")
                groups[id_] = UserGroup(id_, *names, is_disabled=bool(about.get("date_delete")))
        return groups

    async def create(self, name: str, handle: str, description: str) -> str:
        """Create an empty group, and return its ID. https://docs.slack.dev/reference/methods/usergroups.create."""
        about = {"name": name, "handle": handle, "description": description}
        return text(mapping((await self._web.call("usergroups.create", about)).get("usergroup")), "id")

    async def rename(self, group: str, handle: str) -> None:
        """Change a group's handle. https://docs.slack.dev/reference/methods/usergroups.update."""
        await self._web.call("usergroups.update", {"usergroup": group, "handle": handle})

    async def enable(self, group: str) -> None:
        """Enable a disabled group. https://docs.slack.dev/reference/methods/usergroups.enable."""
        await self._web.call("usergroups.enable", {"usergroup": group})

    async def disable(self, group: str) -> None:
        """Disable a group: it can no longer be mentioned. https://docs.slack.dev/reference/methods/usergroups.disable."""
        await self._web.call("usergroups.disable", {"usergroup": group})
