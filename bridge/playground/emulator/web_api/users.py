"""``users.*`` and ``usergroups.*``: https://docs.slack.dev/reference/methods?family=users."""

from __future__ import annotations

from typing import Final

from bridge.playground.emulator.entities import Json, Member
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.conversations import READ, visible
from bridge.playground.emulator.web_api.method import Family, MethodCall, paged

family = Family()

_EMAIL: Final = "users:read.email"


@family.method("users.info", "users:read", tier=100, takes_json=False, differs="one time zone, one locale")
def info(call: MethodCall) -> Json:
    """Describe one person."""
    return {"ok": True, "user": _shown(call, call.person())}


def _shown(call: MethodCall, person: Member) -> Json:
    """A person, with the email address if readable, and the locale on request."""
    return person.as_json(with_email=_EMAIL in call.scopes, with_locale=call.flag("include_locale"))


@family.method("users.conversations", *READ, tier=50, takes_json=False)
def conversations(call: MethodCall) -> Json:
    """List the channels of a person or the bot; private ones only if the bot is in them."""
    person = call.person() if call.text("user") else call.workspace.bot
    found = [one for one in visible(call) if person.id in one.members]
    page, following = call.page([_briefly(one.as_json(call.workspace.bot.id)) for one in found])
    return paged("channels", page, following)


def _briefly(channel: Json) -> Json:
    """Without the fields that Slack omits for speed: https://docs.slack.dev/reference/methods/users.conversations."""
    return {name: value for name, value in channel.items() if name not in {"num_members", "is_member"}}


@family.method("usergroups.list", "usergroups:read", tier=20, takes_json=False)
def list_groups(call: MethodCall) -> Json:
    """List the user groups, with their members on request."""
    groups = call.workspace.groups.values()
    with_users = call.flag("include_users")
    shown = [one.as_json() | ({"users": one.members} if with_users else {}) for one in groups]
    return {"ok": True, "usergroups": shown}


@family.method("usergroups.users.list", "usergroups:read", tier=20, takes_json=False)
def list_members(call: MethodCall) -> Json:
    """List a user group's members."""
    group = call.workspace.groups.get(call.need("usergroup"))
    if group is None:
        raise Refusal("no_such_subteam")
    return {"ok": True, "users": group.members}
