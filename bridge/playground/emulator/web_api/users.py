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
    """A person, with their address where that may be read, and their locale where it is asked for."""
    return person.as_json(with_email=_EMAIL in call.scopes, with_locale=call.flag("include_locale"))


@family.method("users.list", "users:read")
def list_people(call: MethodCall) -> Json:
    """List the people of the workspace, and Slackbot; those from other companies are not among them."""
    home = call.workspace.bot.team
    people = [one for one in call.workspace.people.values() if one.team == home and one.id != sample.SLACK]
    shown = [_shown(call, one) for one in people]
    page, following = call.page(shown)
    return paged("members", page, following)


@family.method("users.lookupByEmail", _EMAIL)
def lookup_by_email(call: MethodCall) -> Json:
    """Find a person by their address."""
    asked = call.need("email")
    people = (one for one in call.workspace.people.values() if one.email == asked and not one.deleted)
    found = next(people, None)
    if found is None:
        raise Refusal("users_not_found")
    return {"ok": True, "user": _shown(call, found)}


@family.method("users.conversations", *READ)
def conversations(call: MethodCall) -> Json:
    """List the channels that a person is in, or the bot; of the private ones those that the bot is in too."""
    person = call.person() if call.text("user") else call.workspace.bot
    found = [one for one in visible(call) if person.id in one.members]
    page, following = call.page([_briefly(one.as_json(call.workspace.bot.id)) for one in found])
    return paged("channels", page, following)


def _briefly(channel: Json) -> Json:
    """Without what is left out for speed's sake: https://docs.slack.dev/reference/methods/users.conversations."""
    return {name: value for name, value in channel.items() if name not in {"num_members", "is_member"}}


@family.method("users.profile.get", "users.profile:read")
def profile(call: MethodCall) -> Json:
    """Describe one person's profile, or the bot's."""
    person = call.person() if call.text("user") else call.workspace.bot
    return {"ok": True, "profile": person.profile(with_email=_EMAIL in call.scopes)}


@family.method("users.getPresence", "users:read")
def presence(call: MethodCall) -> Json:
    """Say whether somebody is there: everybody always is who has not left for good."""
    return {"ok": True, "presence": "away" if call.person().deleted else "active"}
