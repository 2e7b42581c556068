"""``users.*`` and ``usergroups.*``: https://docs.slack.dev/reference/methods?family=users."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from bridge.playground.emulator.entities import Group, Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.conversations import READ, visible
from bridge.playground.emulator.web_api.method import Family, GroupChanged, MethodCall, paged

family = Family()

_EMAIL: Final = "users:read.email"
_HANDLE: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,20}")
_DESCRIPTION: Final = 140


@family.method("users.info", "users:read", tier=100, takes_json=False, differs="one time zone, one locale")
def info(call: MethodCall) -> Json:
    """Describe one person, with the email address if readable, and the locale on request."""
    person = call.person().as_json(with_email=_EMAIL in call.scopes, with_locale=call.flag("include_locale"))
    return {"ok": True, "user": person}


@family.method("users.conversations", *READ, tier=50, takes_json=False)
def conversations(call: MethodCall) -> Json:
    """List the channels of a person or the bot; private ones only if the bot is in them."""
    person = call.person() if call.text("user") else call.workspace.bot
    channels = [channel for channel in visible(call) if person.id in channel.members]
    page, following = call.page([_briefly(channel.as_json(call.workspace.bot.id)) for channel in channels])
    return paged("channels", page, following)


def _briefly(channel: Json) -> Json:
    """Without the fields that Slack omits for speed: https://docs.slack.dev/reference/methods/users.conversations."""
    return {name: value for name, value in channel.items() if name not in {"num_members", "is_member"}}


@family.method("usergroups.list", "usergroups:read", tier=20, takes_json=False)
def list_groups(call: MethodCall) -> Json:
    """List the user groups, with their members on request."""
    with_disabled = call.flag("include_disabled")
    groups = [group for group in call.workspace.groups.values() if with_disabled or not group.deleted_at]
    with_users = call.flag("include_users")
    shown = [group.as_json() | ({"users": group.members} if with_users else {}) for group in groups]
    return {"ok": True, "usergroups": shown}


_BAD_HANDLES: Final = "a handle has up to 21 lower-case letters, digits, hyphens, underscores and periods: a guess"


@family.method("usergroups.create", "usergroups:write", tier=20, differs=_BAD_HANDLES)
def create_group(call: MethodCall) -> Json:
    """Create a user group without members. https://docs.slack.dev/reference/methods/usergroups.create."""
    group = Group(
        call.workspace.new_id("S"), "", call.need("name"), call.workspace.bot.team, [], created_by=call.workspace.bot.id
    )
    return _changed(call, group, is_new=True)


@family.method("usergroups.update", "usergroups:write", tier=20, differs=_BAD_HANDLES)
def update_group(call: MethodCall) -> Json:
    """Change a user group. https://docs.slack.dev/reference/methods/usergroups.update."""
    return _changed(call, _group(call), is_new=False)


@family.method("usergroups.disable", "usergroups:write", tier=20)
def disable_group(call: MethodCall) -> Json:
    """Disable a user group; it's never deleted. https://docs.slack.dev/reference/methods/usergroups.disable."""
    return _put(call, replace(_group(call), deleted_at=int(call.workspace.clock())))


@family.method("usergroups.enable", "usergroups:write", tier=20)
def enable_group(call: MethodCall) -> Json:
    """Enable a user group. https://docs.slack.dev/reference/methods/usergroups.enable."""
    return _put(call, replace(_group(call), deleted_at=0))


def _group(call: MethodCall) -> Group:
    group = call.workspace.groups.get(call.need("usergroup"))
    if group is None:
        raise Refusal("no_such_subteam")
    return group


def _changed(call: MethodCall, group: Group, *, is_new: bool) -> Json:
    """Give a group its new name, handle and description.

    Names are unique among groups, handles among groups, channels and people; disabled groups keep theirs:
    pablovarela/terraform-provider-slack#71.
    """
    changes = {name: call.text(name) for name in ("name", "handle", "description") if call.args.get(name) is not None}
    others = [other for other in call.workspace.groups.values() if other.id != group.id]
    name, handle = changes.get("name", group.name), changes.get("handle", group.handle)
    if any(other.name.casefold() == name.casefold() for other in others):
        raise Refusal("name_already_exists")
    if (is_new or "handle" in changes) and handle and not _HANDLE.fullmatch(handle):
        raise Refusal("bad_handle")
    taken = {other.handle for other in others} | {person.name for person in call.workspace.people.values()}
    taken |= {channel.name for channel in call.workspace.channels.values()}
    if handle and handle in taken:
        raise Refusal("handle_already_exists")
    if len(changes.get("description", "")) > _DESCRIPTION:
        raise Refusal("description_too_long")
    description = changes.get("description", group.description)
    return _put(call, replace(group, name=name, handle=handle, description=description), is_new=is_new)


def _put(call: MethodCall, group: Group, *, is_new: bool = False) -> Json:
    group.updated_by = call.workspace.bot.id
    call.workspace.groups.put(group.id, group)
    call.happened.append(GroupChanged(group, is_new))
    return {"ok": True, "usergroup": group.as_json()}


@family.method("usergroups.users.list", "usergroups:read", tier=20, takes_json=False)
def list_members(call: MethodCall) -> Json:
    """List a user group's members."""
    group = call.workspace.groups.get(call.need("usergroup"))
    if group is None:
        raise Refusal("no_such_subteam")
    return {"ok": True, "users": group.members}
