"""``usergroups.*``: https://docs.slack.dev/reference/methods?family=usergroups."""

from __future__ import annotations

from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.method import Family, MethodCall

family = Family()


@family.method("usergroups.list", "usergroups:read")
def list_groups(call: MethodCall) -> Json:
    """List the user groups, with their members on request."""
    groups = call.workspace.groups.values()
    with_users = call.flag("include_users")
    shown = [one.as_json() | ({"users": one.members} if with_users else {}) for one in groups]
    return {"ok": True, "usergroups": shown}


@family.method("usergroups.users.list", "usergroups:read")
def list_members(call: MethodCall) -> Json:
    """List a user group's members."""
    group = call.workspace.groups.get(call.need("usergroup"))
    if group is None:
        raise Refusal("no_such_subteam")
    return {"ok": True, "users": group.members}
