"""People and channels by their Slack IDs: cached, each looked up by one request at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from bridge.errors import BridgeError, SlackError, SlackRefused
from bridge.json_reader import Json
from bridge.latest import Cache
from bridge.names.folding import looks_like, name_key
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.blockkit.mrkdwn import Mentions
from bridge.slack.payloads import mapping, next_cursor, objects, text
from bridge.slack.scopes import USER_GROUPS
from bridge.slack.senders import Sender
from bridge.unseen import is_blank

_NAMES_SECONDS = 600.0
_REFUSED_SECONDS = 60.0  # Slack would refuse again
_FAILED_SECONDS = 5.0  # long enough to spare Slack many retries, short enough to recover
_GROUPS_SECONDS = 60.0
_CHANNELS_SECONDS = 60.0
_MOST_MEMBER_LISTS = 100  # of channels, each of up to 20,000 people
_CHANNELS_PER_PAGE = 999
_MOST_PAGES = 20  # of channels that the bot is in
_MOST_NAMES = 30  # of each kind, for one text; the others appear as IDs
_CALL_SECONDS = 5.0
_MOST_MET = 50_000  # names
_SOON = 1.0  # seconds; in time for the acknowledgment, and while someone waits for an answer


@dataclass(frozen=True, slots=True)
class Person:
    """A person according to ``users.info``. *is_home*: this is their workspace (None: unknown).

    *kind* is ``member``, ``guest`` (multi-channel or single-channel), ``bot``, ``deactivated`` or ``stranger`` (from
    another company). *time_zone* is like ``Europe/Berlin``, ``""`` if unknown. A bot may have an *app* and a *bot* ID.
    https://docs.slack.dev/reference/objects/user-object
    """

    name: str
    is_home: bool | None
    kind: str
    time_zone: str = ""
    app: str = ""
    bot: str = ""

    @property
    def is_human(self) -> bool:
        """Whether it's someone who writes messages themselves."""
        return self.kind in {"member", "guest", "stranger"}


class Directory:
    """Looks up people, channels and user groups, as the bot *identity* sees them."""

    def __init__(self, web: SlackWeb, identity: Identity, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._web = web
        self._identity = identity
        self._people = FetchCache(self._person, seconds=_NAMES_SECONDS, monotonic=monotonic)
        self._met: set[str] = set()  # how their names look
        self._channel_names = FetchCache(self._channel_name, seconds=_NAMES_SECONDS, monotonic=monotonic)
        self._channels = FetchCache(self._channels_seen, seconds=_CHANNELS_SECONDS, monotonic=monotonic)
        self._apps = FetchCache(self._app, seconds=_NAMES_SECONDS, monotonic=monotonic)
        self._group_names = FetchCache(self._handles, seconds=_NAMES_SECONDS, monotonic=monotonic)
        self._groups = FetchCache(self._members, seconds=_GROUPS_SECONDS, monotonic=monotonic)
        self._members_of = FetchCache(
            self._members_of_channel, seconds=_GROUPS_SECONDS, monotonic=monotonic, most=_MOST_MEMBER_LISTS
        )
        self._about = FetchCache(self._about_channel, seconds=_CHANNELS_SECONDS, monotonic=monotonic)

    async def person(self, user: str, *, at_most: float | None = None) -> Person:
        """Look a person up, or find them in the cache, *at_most* so many seconds old. Raises `SlackError`."""
        return await self._people.get(user, at_most=at_most)

    async def user_name(self, user: str) -> str:
        """Return the display name, or the ID if the name can't be read."""
        return (await self._if_known(user)).name or user

    async def meet(self, *users: str) -> None:
        """Look *users* up for `is_someones`, unless they're known; that may fail, and takes a second at most."""
        unknown = [user for user in users if not self._people.has(user)]
        if unknown:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SOON):
                    await asyncio.gather(*map(self.user_name, unknown))

    def is_someones(self, name: str) -> bool:
        """Whether one of the people and apps that were looked up lately could be taken for *name*."""
        return looks_like(name) in self._met

    async def time_zone(self, user: str) -> str:
        """Return the time zone (``Europe/Berlin``), or ``""`` if it can't be read."""
        return (await self._if_known(user)).time_zone

    async def _if_known(self, user: str) -> Person:
        try:
            return await self._people.get(user)
        except SlackError:
            return Person(name="", is_home=None, kind="")

    async def is_home(self, user: str) -> bool:
        """Whether *user* belongs to the installing workspace. Raises `SlackError` if that's unknown."""
        is_home = (await self._people.get(user)).is_home
        if is_home is None:
            raise SlackRefused("users.info", "team_unknown")
        return is_home

    async def is_guest(self, user: str, *, at_most: float | None = None) -> bool:
        """Whether *user* isn't a full member of a workspace. Raises `SlackError` if that's unknown."""
        return (await self.person(user, at_most=at_most)).kind != "member"

    async def is_human(self, user: str) -> bool:
        """Whether *user* writes messages themselves; False if Slack refuses to say. Raises `SlackUnreachable`."""
        try:
            return (await self._people.get(user)).is_human
        except SlackRefused:
            return False

    async def is_bot(self, user: str) -> bool:
        """Whether *user* is an app's bot; False if Slack doesn't say so soon enough."""
        try:
            async with asyncio.timeout(_SOON):
                return (await self._people.get(user)).kind == "bot"
        except (SlackError, TimeoutError):
            return False

    async def sender(self, sender: Sender) -> Sender:
        """Complete a *sender* with the app of its bot, and the bot's name, as far as Slack says that soon enough."""
        if not sender.bot or (sender.app and sender.name):
            return sender
        try:
            async with asyncio.timeout(_SOON):
                app, name = await self._apps.get(sender.bot)
        except (SlackError, TimeoutError):
            return sender
        return sender._replace(app=sender.app or app, name=sender.name or name)

    async def in_group(self, user: str, group: str, *, at_most: float | None = None) -> bool:
        """Whether *user* is in the user group (``S…``). Raises `SlackError` if that's unknown."""
        return user in await self._groups.get(group, at_most=at_most)

    async def in_channel(self, user: str, channel: str, *, at_most: float | None = None) -> bool:
        """Whether *user* is a member of *channel*. Raises `SlackError` if that's unknown, as in very large channels."""
        members, is_whole = await self._members_of.get(channel, at_most=at_most)
        if user not in members and not is_whole:
            raise SlackRefused("conversations.members", "too_many_members")
        return user in members

    async def is_public(self, channel: str, *, at_most: float | None = None) -> bool:
        """Whether *channel* is public. Raises `SlackError` if that's unknown."""
        about = await self._about.get(channel, at_most=at_most)
        return not any(about.get(name) is True for name in ("is_private", "is_group", "is_mpim", "is_im"))

    async def is_shared(self, channel: str) -> bool:
        """Whether *channel* is shared with another company. Raises `SlackError` if that's unknown."""
        return (await self._about.get(channel)).get("is_ext_shared") is not False

    async def people_in(self, id_: str, most: int = 10) -> frozenset[str] | None:
        """Return the people of a user group, or a person by their ID; None if they're more, or Slack doesn't say."""
        if not id_.startswith("S"):
            return frozenset({id_}) if id_.startswith(("U", "W")) else None
        try:
            members = await self._groups.get(id_)
        except SlackError:
            return None
        return members if len(members) <= most else None

    async def sees(self, user: str, channel: str, *, at_most: float | None = 0) -> bool:
        """Whether *user* can read *channel*: public ones every member can, the others only those in them.

        True if Slack doesn't let the bot look that up. Raises `SlackError` if it doesn't answer.
        """
        try:
            if await self.is_public(channel, at_most=at_most) and (await self.person(user)).kind == "member":
                return True
            members, is_whole = await self._members_of.get(channel, at_most=at_most)
        except SlackRefused:
            return True
        return user in members or not is_whole  # of too many to look through

    async def channel_name(self, channel: str) -> str:
        """Return the name without ``#``, or the ID if it can't be read."""
        try:
            return await self._channel_names.get(channel)
        except SlackError:
            return channel

    async def group_name(self, group: str) -> str:
        """Return a user group's handle without ``@``, or the ID if it can't be read."""
        try:
            return (await self._group_names.get("")).get(group, group)
        except SlackError:
            return group

    async def names(self, mentions: Mentions) -> dict[str, str]:
        """Return the names of mentioned people, channels and user groups by ID; of each kind, the first 30."""
        users, channels, groups = (ids[:_MOST_NAMES] for ids in mentions)
        names = await asyncio.gather(
            *map(self.user_name, users), *map(self.channel_name, channels), *map(self.group_name, groups)
        )
        return dict(zip((*users, *channels, *groups), names, strict=True))

    async def channel_called(self, name: str, user: str) -> str:
        """Return the ID of the channel that *user* means by *name*, ``""`` if the bot knows none.

        It may be a public channel that the bot is in, or a private one that both are in: names don't reveal channels
        that a person can't see.
        """
        wanted = name_key(name).removeprefix("#")
        try:
            return (await self._channels.get("")).get(wanted) or (await self._channels.get(user)).get(wanted, "")
        except SlackError:
            return ""

    async def may_post(self, channel: str) -> bool:
        """Whether the bot is in *channel*, and the channel isn't archived; True if Slack doesn't say."""
        about = await self._if_in(channel)
        return about is not None and about.get("is_archived") is not True

    async def is_member(self, channel: str) -> bool:
        """Whether the bot is in *channel*; True if Slack doesn't say."""
        return await self._if_in(channel) is not None

    async def _if_in(self, channel: str) -> Mapping[str, Any] | None:
        """Return what Slack says about *channel*, ``{}`` if it doesn't say; None if the bot isn't in it."""
        try:
            about = await self._about.get(channel, at_most=0)
        except SlackRefused as exc:
            return {} if exc.error == "missing_scope" else None
        except SlackError:
            return {}
        return about if any(about.get(name) is True for name in ("is_member", "is_im", "is_mpim")) else None

    async def _person(self, user: str) -> Person:
        answer = await self._web.read("users.info", {"user": user}, seconds=_CALL_SECONDS)
        about = answer.get("user")
        if not isinstance(about, dict):
            raise SlackRefused("users.info", "user_unknown")
        profile, time_zone = mapping(about.get("profile")), about.get("tz")
        names = (profile.get("display_name"), profile.get("real_name"), about.get("real_name"), about.get("name"))
        if len(self._met) > _MOST_MET:
            self._met.clear()
        seen = [name for name in names if isinstance(name, str) and not is_blank(name)]
        self._met.update(map(looks_like, seen))
        return Person(
            name=next(iter(seen), ""),
            is_home=_is_home(about, self._identity),
            kind=_kind_of(about),
            time_zone=time_zone if isinstance(time_zone, str) else "",
            app=text(profile, "api_app_id"),
            bot=text(profile, "bot_id"),
        )

    async def _channel_name(self, channel: str) -> str:
        name = str((await self._about.get(channel)).get("name") or "")
        return channel if is_blank(name) else name

    async def _channels_seen(self, user: str) -> Mapping[str, str]:
        """Return the IDs of public channels the bot is in, or of private ones it shares with *user*, by name.

        https://docs.slack.dev/reference/methods/users.conversations
        """
        kind, scope = ("private_channel", "groups:read") if user else ("public_channel", "channels:read")
        if self._identity.scopes and scope not in self._identity.scopes:
            return {}
        arguments = {"types": kind, "exclude_archived": "true", "limit": str(_CHANNELS_PER_PAGE)}
        if user:
            arguments["user"] = user
        ids: dict[str, str] = {}
        for _ in range(_MOST_PAGES):
            answer = await self._web.read("users.conversations", arguments, seconds=_CALL_SECONDS)
            for about in objects(answer.get("channels")):
                ids[name_key(str(about.get("name")))] = str(about.get("id"))
            arguments["cursor"] = next_cursor(answer)
            if not arguments["cursor"]:
                break
        return ids

    async def _members_of_channel(self, channel: str) -> tuple[frozenset[str], bool]:
        """Return a channel's members, and whether these are all of them.

        https://docs.slack.dev/reference/methods/conversations.members
        """
        members: set[str] = set()
        arguments = {"channel": channel, "limit": str(_CHANNELS_PER_PAGE)}
        for _ in range(_MOST_PAGES):
            answer = await self._web.read("conversations.members", arguments, seconds=_CALL_SECONDS)
            page = answer.get("members")
            if not isinstance(page, list):
                raise SlackRefused("conversations.members", "members_unknown")
            members.update(member for member in page if isinstance(member, str))
            arguments["cursor"] = next_cursor(answer)
            if not arguments["cursor"]:
                return frozenset(members), True
        return frozenset(members), False

    async def _about_channel(self, channel: str) -> Json:
        answer = await self._web.read("conversations.info", {"channel": channel}, seconds=_CALL_SECONDS)
        about = answer.get("channel")
        if not isinstance(about, dict):
            raise SlackRefused("conversations.info", "channel_unknown")
        return about

    async def _app(self, bot: str) -> tuple[str, str]:
        """Return the ID of a bot's app, and the bot's name. https://docs.slack.dev/reference/methods/bots.info."""
        about = mapping((await self._web.read("bots.info", {"bot": bot}, seconds=_CALL_SECONDS)).get("bot"))
        return text(about, "app_id"), text(about, "name")

    async def _handles(self, _all: str) -> Mapping[str, str]:
        """Return the handles of all user groups by ID. https://docs.slack.dev/reference/methods/usergroups.list."""
        if self._identity.scopes and USER_GROUPS not in self._identity.scopes:
            return {}
        listed = await self._web.read("usergroups.list", {}, seconds=_CALL_SECONDS)
        groups = objects(listed.get("usergroups"))
        return {
            str(group.get("id")): str(group.get("handle") or group.get("name") or group.get("id")) for group in groups
        }

    async def _members(self, group: str) -> frozenset[str]:
        answer: Json = await self._web.read("usergroups.users.list", {"usergroup": group}, seconds=_CALL_SECONDS)
        users = answer.get("users")
        if not isinstance(users, list):
            raise SlackRefused("usergroups.users.list", "users_unknown")
        return frozenset(user for user in users if isinstance(user, str))


def _kind_of(about: Mapping[str, Any]) -> str:
    """Return a person's *kind*; missing flags count as unset."""
    kinds = {
        "deleted": "deactivated",
        "is_bot": "bot",
        "is_stranger": "stranger",
        "is_ultra_restricted": "guest",
        "is_restricted": "guest",
    }
    return next((kind for flag, kind in kinds.items() if about.get(flag) is True), "member")


def _is_home(about: Mapping[str, Any], identity: Identity) -> bool | None:
    """Whether a person belongs to the bot's workspace; None if unknown.

    On Enterprise Grid, a person may be in several workspaces of an organization; ``enterprise_user`` lists them.
    https://docs.slack.dev/apis/slack-connect/#users
    """
    if _kind_of(about) not in {"member", "guest"}:
        return False
    organization = mapping(about.get("enterprise_user"))
    workspaces = {about.get("team_id"), *(team for team in organization.get("teams") or [] if isinstance(team, str))}
    if identity.team and identity.team in workspaces:
        return True
    if identity.is_org_wide and identity.enterprise:
        return identity.enterprise in {about.get("team_id"), organization.get("enterprise_id")}
    return False if about.get("team_id") and identity.team else None


def failed(error: BridgeError) -> float:
    """Return for how many seconds a failure of Slack's is cached."""
    return _REFUSED_SECONDS if isinstance(error, SlackRefused) else _FAILED_SECONDS


FetchCache = partial(Cache, failed=failed)
"""Caches what Slack says."""
