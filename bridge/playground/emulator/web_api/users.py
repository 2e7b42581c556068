"""``users.*``: https://docs.slack.dev/reference/methods?family=users."""

from __future__ import annotations

from typing import Final

from bridge.playground.emulator import sample
from bridge.playground.emulator.entities import Json, Member
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.conversations import READ, visible
from bridge.playground.emulator.web_api.method import Family, MethodCall, paged

family = Family()

_EMAIL: Final = "users:read.email"


@family.method("users.info", "users:read")
def info(call: MethodCall) -> Json:
    """Describe one person."""
    return {"ok": True, "user": _shown(call, call.person())}


def _shown(call: MethodCall, person: Member) -> Json:
    """A person, with the email address if readable, and the locale on request."""
    return person.as_json(with_email=_EMAIL in call.scopes, with_locale=call.flag("include_locale"))


@family.method("users.list", "users:read")
def list_people(call: MethodCall) -> Json:
    """List the workspace's people and Slackbot, without other companies' people."""
    home = call.workspace.bot.team
    people = [one for one in call.workspace.people.values() if one.team == home and one.id != sample.SLACK]
    shown = [_shown(call, one) for one in people]
    page, following = call.page(shown)
    return paged("members", page, following)


@family.method("users.lookupByEmail", _EMAIL)
def lookup_by_email(call: MethodCall) -> Json:
    """Find a person by email address."""
    asked = call.need("email")
    people = (one for one in call.workspace.people.values() if one.email == asked and not one.deleted)
    found = next(people, None)
    if found is None:
        raise Refusal("users_not_found")
    return {"ok": True, "user": _shown(call, found)}


@family.method("users.conversations", *READ)
def conversations(call: MethodCall) -> Json:
    """List the channels of a person or the bot; private ones only if the bot is in them."""
    person = call.person() if call.text("user") else call.workspace.bot
    found = [one for one in visible(call) if person.id in one.members]
    page, following = call.page([_briefly(one.as_json(call.workspace.bot.id)) for one in found])
    return paged("channels", page, following)


def _briefly(channel: Json) -> Json:
    """Without the fields that Slack omits for speed: https://docs.slack.dev/reference/methods/users.conversations."""
    return {name: value for name, value in channel.items() if name not in {"num_members", "is_member"}}


@family.method("users.profile.get", "users.profile:read")
def profile(call: MethodCall) -> Json:
    """Describe one person's profile, or the bot's."""
    person = call.person() if call.text("user") else call.workspace.bot
    return {"ok": True, "profile": person.profile(with_email=_EMAIL in call.scopes)}


@family.method("users.getPresence", "users:read")
def presence(call: MethodCall) -> Json:
    """Return a person's presence: everyone who isn't deactivated is active."""
    return {"ok": True, "presence": "away" if call.person().deleted else "active"}
