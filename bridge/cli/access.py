"""`bridge check --access USER CHANNEL`: what a person may do in a channel, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bridge.cli.rows import FAILURE, OK, WARNING, Row
from bridge.cli.troubles import CURE_OF_BOT, slack_trouble
from bridge.engine.access import Access
from bridge.errors import ConfigurationError, NotAllowed, SlackError, SlackRefused
from bridge.inbound import SlashCommand
from bridge.metrics import Metrics
from bridge.slack.api import SlackWeb, opened
from bridge.slack.people import Directory, Person

AREA: Final = "Access"
RULES: Final = ("BRIDGE_ALLOWED_CHANNELS", "BRIDGE_ALLOWED_USERS", "BRIDGE_RUNNERS")
_REPLIES: Final = "BRIDGE_THREAD_REPLIES"

_TO_RUN: Final = ("run workflows", "schedule reports", "change channel settings")
_CURE_OF_READING: Final = "grant the scopes that `bridge check` lists, and reinstall the app"
_NO_MENTION: Final = {
    "auto": "only while the agent is talking with them and nobody else has written since",
    "all": "every reply goes to the thread's agent",
    "mentions": "no, every reply needs a mention",
}
_EVERYONE: Final = "everyone in the workspace can, including guests"
_KINDS: Final = {
    "member": "a member of the workspace",
    "guest": "a guest of the workspace",
    "bot": "a bot",
    "deactivated": "deactivated",
    "stranger": "from another company",
}
_WHY_NOT: Final = {
    "stranger": ("not a member of the app's workspace", ""),
    "deactivated": ("this account is deactivated", ""),
    "bot": ("this is a bot, not a person", ""),
    "user": ("not in BRIDGE_ALLOWED_USERS", "add them there, or remove the setting to allow everyone"),
    "channel": (
        "this channel isn't in BRIDGE_ALLOWED_CHANNELS",
        "add it there, or remove the setting to allow every channel",
    ),
    "unknown": ("Slack doesn't give enough information about this person", _CURE_OF_READING),
}


async def access_of(values: Mapping[str, Any], user: str, channel: str) -> list[Row] | None:
    """Return rows on what *user* may do in *channel*; None if a required setting is missing or invalid.

    Raises `ConfigurationError` for names instead of IDs.
    """
    problems = []
    if not re.fullmatch(r"[UW][A-Z0-9]{2,}", user):
        problems.append(
            f"USER “{user}” isn't a member ID such as U0123ABCD: copy it from the person's profile in Slack"
        )
    if not re.fullmatch(r"[CGD][A-Z0-9]{2,}", channel):
        problems.append(
            f"CHANNEL “{channel}” isn't a channel ID such as C0123ABCD: copy it from the channel's details in Slack"
        )
    if problems:
        raise ConfigurationError(problems)
    if any(
        name not in values for name in ("SLACK_API_URL", "SLACK_BOT_TOKEN", _REPLIES, *RULES)
    ):  # some rules alone would mislead
        return None
    async with opened(values["SLACK_API_URL"], values["SLACK_BOT_TOKEN"].get_secret_value(), Metrics()) as web:
        rules, replies = [values[name] for name in RULES], values[_REPLIES]
        return await access_rows(web, rules, user=user, channel=channel, replies=replies)


async def access_rows(
    web: SlackWeb, rules: Sequence[frozenset[str]], *, user: str, channel: str, replies: str = "auto"
) -> list[Row]:
    """Ask Slack about the person and the channel, and apply the *rules*, in the order of `RULES`.

    *replies* is ``BRIDGE_THREAD_REPLIES``, which `/agents channel` may override for a channel.
    """
    try:
        identity = (await web.hello()).identity
    except SlackError as exc:
        return [slack_trouble("bot token", exc, CURE_OF_BOT)]
    directory = Directory(web, identity)
    access = Access(identity.home, directory, *rules)
    person, person_row, is_unknown = await _person(directory, user)
    channel_row, hears, is_shared = await _channel(web, channel)
    if is_unknown:
        return [person_row, channel_row]
    # In a channel that isn't shared, an event is from a member even if Slack doesn't describe the person.
    is_shared = is_shared or person is not None
    command = SlashCommand(team=identity.team, channel=channel, user=user, is_shared=is_shared, command="/check")
    try:
        refusal = await access.refusal(command)
    except SlackError:
        refusal = "unknown"
    if refusal == "stranger" and person is not None and person.kind in _WHY_NOT:
        refusal = person.kind  # they aren't at home either
    if refusal is not None:
        actions = ("talk", "use commands", *_TO_RUN)
        return [person_row, channel_row, *_refused(actions, refusal, person_row)]
    who = "listed in BRIDGE_ALLOWED_USERS" if user in access.allowed_users else _EVERYONE
    talk = Row(AREA, "talk", OK, who)
    if not hears:
        detail = "allowed, but the bot isn't in this channel and doesn't receive its messages"
        talk = Row(AREA, "talk", FAILURE, detail, "/invite the bot there")
    return [
        person_row,
        channel_row,
        talk,
        *_unmentioned(channel, replies),
        Row(AREA, "use commands", OK, who),
        *await _running(access, user, person_row),
    ]


async def _person(directory: Directory, user: str) -> tuple[Person | None, Row, bool]:
    """Return the person, their row, and whether Slack says that there is no such person."""
    try:
        person = await directory.person(user)
    except SlackError as exc:
        if isinstance(exc, SlackRefused) and exc.error == "user_not_found":
            cure = "copy the member ID from the person's profile in Slack"
            return None, Row(AREA, "person", FAILURE, f"the app can't see {user}", cure), True
        return None, slack_trouble("person", exc, _CURE_OF_READING), False
    described = _KINDS[person.kind]
    if person.kind in {"member", "guest"} and person.is_home is not True:
        described = "from another workspace" if person.is_home is False else "workspace unknown"
    return person, Row(AREA, "person", OK, f"{person.name or user} ({user}), {described}"), False


async def _channel(web: SlackWeb, channel: str) -> tuple[Row, bool, bool]:
    """Return the channel's row, whether the bot receives its messages, and whether it's shared.

    Direct messages aren't looked up: that would need more scopes.
    """
    if channel.startswith("D"):
        return Row(AREA, "channel", OK, f"a direct message ({channel})"), True, False
    try:
        about = (await web.read("conversations.info", {"channel": channel})).get("channel") or {}
    except SlackError as exc:
        if isinstance(exc, SlackRefused) and exc.error == "channel_not_found":
            detail = f"the app can't see {channel}: it doesn't exist, or it's private and the bot isn't in it"
            return Row(AREA, "channel", WARNING, detail, "/invite the bot there"), False, True
        detail = f"can't read {channel} ({exc.detail})"
        return Row(AREA, "channel", WARNING, detail, _CURE_OF_READING), True, True
    is_shared, is_archived, is_in_it = (
        about.get(f"is_{what}") is True for what in ("ext_shared", "archived", "member")
    )
    facts = [
        "private" if about.get("is_private") else "public",
        *(["shared with another company"] if is_shared else []),
        *(["archived"] if is_archived else []),
        "the bot is in it" if is_in_it else "the bot isn't in it",
    ]
    detail = f"#{about.get('name') or channel} ({channel}), {', '.join(facts)}"
    return Row(AREA, "channel", OK, detail), is_in_it and not is_archived, is_shared


def _refused(actions: Sequence[str], reason: str, person_row: Row) -> list[Row]:
    detail, cure = _WHY_NOT[reason]
    if reason == "unknown" and person_row.state == FAILURE:
        cure = person_row.cure
    return [Row(AREA, action, FAILURE, detail, cure) for action in actions]


def _unmentioned(channel: str, replies: str) -> list[Row]:
    if channel.startswith("D"):
        return []
    detail = f"{_NO_MENTION[replies]} ({_REPLIES}={replies}, unless /agents channel says otherwise)"
    return [Row(AREA, "reply without a mention", OK, detail)]


async def _running(access: Access, user: str, person_row: Row) -> list[Row]:
    try:
        may = await access.may_run(user)
    except NotAllowed as exc:
        return _refused(_TO_RUN, exc.reason, person_row)
    match may, bool(access.runners):
        case True, _ if user in access.runners:
            detail = "listed in BRIDGE_RUNNERS"
        case True, True:
            detail = "in a user group listed in BRIDGE_RUNNERS"
        case True, False:
            detail = "every member of the workspace can"
        case _, True:
            detail = "not in BRIDGE_RUNNERS, nor in a user group listed there"
        case _:
            detail = "guests can't, unless listed in BRIDGE_RUNNERS"
    return [Row(AREA, what, OK if may else FAILURE, detail, "" if may else "add them there") for what in _TO_RUN]
