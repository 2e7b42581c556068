"""`bridge check --access USER CHANNEL`: what a person may do in a channel, and why, by the rules of the bridge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bridge.errors import ConfigurationError, NotAllowed, SlackError, SlackRefused
from bridge.features.access import Access
from bridge.inbound import SlashCommand
from bridge.metrics import Metrics
from bridge.ops import slack_rows as slack
from bridge.ops.rows import Row, State
from bridge.slack.api import Identity, SlackWeb, opened, proxy_for
from bridge.slack.people import Directory, Person

AREA: Final = "Access"

_CURE_OF_LOOKING: Final = "grant the scopes that `bridge check` names, and install the app again"
_KINDS: Final = {
    "member": "a member of the workspace",
    "guest": "a guest of the workspace",
    "bot": "a bot",
    "deactivated": "deactivated",
    "stranger": "of another company",
}
_WHY_NOT: Final = {
    "stranger": ("not a person of the workspace that the app is installed in", ""),
    "user": ("BRIDGE_ALLOWED_USERS does not name them", "add them there, or leave it empty"),
    "channel": ("BRIDGE_ALLOWED_CHANNELS does not name this channel", "add it there, or leave it empty"),
    "unknown": ("Slack does not tell what has to be known of them, and nothing is guessed", _CURE_OF_LOOKING),
}


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings about people."""

    allowed_channels: frozenset[str]
    allowed_users: frozenset[str]
    runners: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Channel:
    """What is known of the channel; *hears*: the bot is in it, so that Slack sends what is said there."""

    row: Row
    hears: bool = True
    is_shared: bool = True  # as far as is known


def rules_of(values: Mapping[str, Any]) -> Rules | None:
    """Take the rules of the well-formed settings; None where one cannot be read: half a rule is another rule."""
    names = ("BRIDGE_ALLOWED_CHANNELS", "BRIDGE_ALLOWED_USERS", "BRIDGE_RUNNERS")
    if any(name not in values for name in names):
        return None
    channels, users, runners = (frozenset(values[name]) for name in names)
    return Rules(channels, users, runners)


def check_ids(user: str, channel: str) -> None:
    """See that these are ids, not names. Raises `ConfigurationError`."""
    problems = []
    if not re.fullmatch(r"[UW][A-Z0-9]{2,}", user):
        problems.append(f"USER “{user}” is no member ID (U… or W…): copy it from the person's profile in Slack")
    if not re.fullmatch(r"[CGD][A-Z0-9]{2,}", channel):
        problems.append(
            f"CHANNEL “{channel}” is no channel ID (C…, G… or D…): copy it from the channel's details in Slack"
        )
    if problems:
        raise ConfigurationError(problems)


async def access_of(url: str, token: str, rules: Rules, *, user: str, channel: str) -> list[Row]:
    """Open the way to Slack, and say what *user* may do in *channel*."""
    async with opened(url, token, Metrics(), proxy=proxy_for(url)) as web:
        return await access_rows(web, rules, user=user, channel=channel)


async def access_rows(web: SlackWeb, rules: Rules, *, user: str, channel: str) -> list[Row]:
    """Ask Slack who that is and where, and say what they may do there."""
    try:
        identity = await web.auth_test()
    except SlackError as exc:
        return [slack.trouble_row("bot token", exc, slack.CURE_OF_BOT)]
    directory = Directory(web, identity)
    access = Access(identity.home, directory, rules.allowed_channels, rules.allowed_users, rules.runners)
    person, person_row = await _person(directory, user)
    place = await _channel(web, channel)
    # Where Slack does not describe the person, its events still say whose people talk in a channel of one's own.
    asked = _asking(identity, user, channel, is_shared=place.is_shared or person is not None)
    refusal = await _refusal(access, asked)
    if refusal is not None:
        denied = [Row(AREA, what, State.FAILURE, *_WHY_NOT[refusal]) for what in ("talk", "use commands", *_RUNS)]
        return [person_row, place.row, *denied]
    return [person_row, place.row, *_talking(rules, user, place), *await _running(access, user)]


_RUNS: Final = ("run workflows", "keep reports", "set default agent")


def _asking(identity: Identity, user: str, channel: str, *, is_shared: bool) -> SlashCommand:
    return SlashCommand(team=identity.team, channel=channel, user=user, is_shared=is_shared, command="/check")


async def _refusal(access: Access, asked: SlashCommand) -> str | None:
    try:
        return await access.refusal(asked)
    except SlackError:
        return "unknown"


async def _person(directory: Directory, user: str) -> tuple[Person | None, Row]:
    try:
        person = await directory.person(user)
    except SlackError as exc:
        if isinstance(exc, SlackRefused) and exc.error == "user_not_found":
            cure = "copy the member ID from the person's profile in Slack"
            return None, Row(AREA, "person", State.FAILURE, f"the app sees no {user}", cure)
        return None, slack.trouble_row("person", exc, _CURE_OF_LOOKING)
    return person, Row(AREA, "person", State.OK, f"“{person.name or user}” ({user}), {_described(person)}")


def _described(person: Person) -> str:
    if person.kind in {"member", "guest"} and person.is_home is not True:
        return "of another workspace" if person.is_home is False else "of which workspace Slack does not say"
    return _KINDS[person.kind]


async def _channel(web: SlackWeb, channel: str) -> _Channel:
    """Look at the channel. What a direct message is, Slack tells only apps with more scopes than this one needs."""
    if channel.startswith("D"):
        return _Channel(Row(AREA, "channel", State.OK, f"a direct message ({channel})"), is_shared=False)
    try:
        answer = await web.read("conversations.info", {"channel": channel})
    except SlackError as exc:
        if isinstance(exc, SlackRefused) and exc.error == "channel_not_found":
            detail = f"the app sees no {channel}: it is private and the bot is not in it, or there is none"
            return _Channel(Row(AREA, "channel", State.WARNING, detail, "/invite the bot there"), hears=False)
        detail = f"{channel} could not be looked at ({exc.detail})"
        return _Channel(Row(AREA, "channel", State.WARNING, detail, _CURE_OF_LOOKING))
    return _described_channel(channel, answer.get("channel") or {})


def _described_channel(channel: str, about: Mapping[str, Any]) -> _Channel:
    is_shared = about.get("is_ext_shared") is True
    hears = about.get("is_member") is True and about.get("is_archived") is not True
    facts = [
        "private" if about.get("is_private") else "public",
        *(["shared with another company"] if is_shared else []),
        *(["archived"] if about.get("is_archived") else []),
        "the bot is in it" if about.get("is_member") else "the bot is not in it",
    ]
    detail = f"#{about.get('name') or channel} ({channel}), {', '.join(facts)}"
    return _Channel(Row(AREA, "channel", State.OK, detail), hears, is_shared)


def _talking(rules: Rules, user: str, place: _Channel) -> list[Row]:
    """Say why a person who is not refused may talk; what nobody sends the bot it cannot answer."""
    who = "BRIDGE_ALLOWED_USERS names them" if user in rules.allowed_users else "everybody of the workspace may"
    commands = Row(AREA, "use commands", State.OK, who)
    if not place.hears:
        detail = "they may, but Slack sends the bot nothing of what is said in this channel"
        return [Row(AREA, "talk", State.FAILURE, detail, "/invite the bot there"), commands]
    return [Row(AREA, "talk", State.OK, who), commands]


async def _running(access: Access, user: str) -> list[Row]:
    try:
        may = await access.may_run(user)
    except NotAllowed as exc:
        return [Row(AREA, what, State.FAILURE, *_WHY_NOT[exc.reason]) for what in _RUNS]
    if may:
        return [Row(AREA, what, State.OK, _why_runner(access, user)) for what in _RUNS]
    why = "BRIDGE_RUNNERS names neither them nor a group of theirs"
    detail = why if access.runners else "guests do not, unless BRIDGE_RUNNERS names them"
    return [Row(AREA, what, State.FAILURE, detail, "add them there") for what in _RUNS]


def _why_runner(access: Access, user: str) -> str:
    if user in access.runners:
        return "BRIDGE_RUNNERS names them"
    return (
        "they are in a user group that BRIDGE_RUNNERS names" if access.runners else "every member of the workspace may"
    )
