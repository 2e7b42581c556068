"""`bridge check`: Slack's tokens, the scopes, the clock, the channel for incidents and agents' handles."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from bridge.cli.rows import CURE_OF_APP, CURE_OF_BOT, FAILURE, OK, SLACK, WARNING, Row, trouble_row
from bridge.ends.failures import NOT_SLACK
from bridge.errors import SlackError, SlackRefused
from bridge.features.agents.handles import Handle, state_of
from bridge.metrics import Metrics
from bridge.slack.api import Hello, Identity, SlackWeb, opened
from bridge.slack.blockkit.kit import command, counted
from bridge.slack.scopes import SCOPES, USER_GROUPS, missing, required_by
from bridge.slack.user_groups import UserGroup, UserGroups

UserGroupsSeen = dict[str, UserGroup] | SlackError | None
"""The workspace's user groups; None if they weren't looked up."""

_OPS: Final = "BRIDGE_OPS_CHANNEL"
_SET_OPS: Final = "set BRIDGE_OPS_CHANNEL to the ID of a channel (in Slack: the channel's name → About → Channel ID)"
_INVITE: Final = "invite the bot to the channel (/invite), and check that BRIDGE_OPS_CHANNEL is its ID"
_TEST_POST: Final = "✅ This is a test. The bridge's incidents are posted in this channel."
_HANDLES: Final = "handles"
_SET_HANDLE: Final = f"enable or rename the user group in Slack, or set the handle again: {command('/agents handle')}"
_NOTABLE_SKEW: Final = timedelta(seconds=60)
_OLDEST_SIGNATURE: Final = timedelta(seconds=300)
_INSTALL_AGAIN: Final = (
    "run bridge manifest with the same flags as the first time, paste its output on your Slack app's page → App "
    "Manifest, and reinstall the app"
)


async def slack_rows(
    values: Mapping[str, Any], now: Callable[[], datetime], *, posts_test: bool
) -> tuple[list[Row], Identity | None, UserGroupsSeen]:
    """Check the bot token with Slack, and the other two secrets; also return the user groups."""
    rows: list[Row] = []
    identity = None
    groups: UserGroupsSeen = None
    url, bot, app = values.get("SLACK_API_URL"), values.get("SLACK_BOT_TOKEN"), values.get("SLACK_APP_TOKEN")
    if url is not None and (bot or app):
        async with opened(url, bot.get_secret_value() if bot else "", Metrics()) as web:
            if bot:
                required = required_by(values.get("BRIDGE_RUNNERS", ()))
                rows, identity = await bot_rows(web, now=now, required_scopes=required, uses_http=not app)
            if identity is not None and USER_GROUPS in identity.scopes:
                try:
                    groups = await UserGroups(web).all()
                except SlackError as exc:
                    groups = exc
            if identity is not None and (ops := values.get("BRIDGE_OPS_CHANNEL")):
                rows.append(await ops_channel_row(web, ops, posts_test=posts_test))
            elif posts_test and not values.get("BRIDGE_OPS_CHANNEL"):
                rows.append(Row(SLACK, _OPS, FAILURE, "isn't set, so there's nowhere to post a test", _SET_OPS))
            if app:
                rows.append(await app_token_row(web, app.get_secret_value()))
    secret = values.get("SLACK_SIGNING_SECRET")
    if secret and not app:  # Socket Mode doesn't use it
        rows.append(secret_row(secret.get_secret_value()))
    return rows, identity, groups


def handle_rows(stored: Mapping[str, str], groups: UserGroupsSeen) -> list[Row]:
    """Compare the *stored* handles of agents, by user group, with the workspace's *groups*."""
    known = {group: Handle.model_validate_json(text) for group, text in stored.items()}
    if not known or groups is None:
        return []
    if isinstance(groups, SlackError):
        return [Row(SLACK, _HANDLES, WARNING, f"can't be looked up: {groups.detail}", "try again later")]
    now = [state_of(group, handle, groups) for group, handle in known.items()]
    rows = [
        Row(SLACK, _HANDLES, WARNING, f"@{handle.handle} of agent {handle.agent} is {handle.trouble}", _SET_HANDLE)
        for handle in now
        if handle.trouble
    ]
    return rows or [Row(SLACK, _HANDLES, OK, counted(len(now), "handle"))]


_ORG_WIDE: Final = "it's of an org-wide install, and the bridge serves one workspace"
_OF_A_WORKSPACE: Final = "install the app in the workspace (its page → Install App), and use that bot token"


async def bot_rows(
    web: SlackWeb, *, now: Callable[[], datetime], required_scopes: Collection[str], uses_http: bool
) -> tuple[list[Row], Identity | None]:
    """Check the token, its scopes and the clock."""
    try:
        hello = await web.hello()
    except SlackError as exc:
        return [trouble_row("bot token", exc, CURE_OF_BOT)], None
    granted = hello.identity.scopes
    needed, optional = missing(granted, required_scopes)
    scopes = [
        Row(SLACK, "scopes", FAILURE, f"{scope.name} is missing; the bot needs it to {scope.purpose}", _INSTALL_AGAIN)
        for scope in needed
    ]
    scopes += [
        Row(SLACK, "scopes", WARNING, f"{scope.name} isn't granted; the bot needs it to {scope.purpose}")
        for scope in optional
    ]
    if optional:
        scopes[-1] = replace(scopes[-1], cure=_INSTALL_AGAIN)
    if unused := sorted(granted - {scope.name for scope in SCOPES}):
        cure = "remove what isn't needed (your Slack app's page → OAuth & Permissions), and reinstall the app"
        detail = f"granted, but not in the manifest: {', '.join(unused)}"
        scopes.append(Row(SLACK, "scopes", WARNING, detail, cure))
    if not granted:
        cure = "compare your Slack app's page → OAuth & Permissions with bridge manifest"
        scopes = [Row(SLACK, "scopes", WARNING, "Slack didn't say which scopes the token has", cure)]
    if hello.identity.is_org_wide:
        scopes.insert(0, Row(SLACK, "bot token", FAILURE, _ORG_WIDE, _OF_A_WORKSPACE))
    who = f"bot “{hello.bot_name}” ({hello.identity.bot_user}) in “{hello.team_name}” ({hello.identity.team})"
    rows = [
        Row(SLACK, "bot token", OK, who),
        *(scopes or [Row(SLACK, "scopes", OK, "all required and optional scopes are granted")]),
        _clock_row(hello, now(), uses_http=uses_http),
    ]
    return rows, hello.identity


def _clock_row(hello: Hello, now: datetime, *, uses_http: bool) -> Row:
    if hello.answered_at is None:
        return Row(SLACK, "clock", WARNING, "Slack didn't send its time", NOT_SLACK)
    off = now - hello.answered_at
    detail = f"{abs(round(off.total_seconds()))} s {'ahead of' if off > timedelta(0) else 'behind'} Slack's"
    cure = "synchronize this machine's clock (NTP)"
    if abs(off) > _OLDEST_SIGNATURE and uses_http:
        detail += "; requests from Slack are refused whenever the bridge can't ask Slack for the time"
        return Row(SLACK, "clock", FAILURE, detail, cure)
    if abs(off) > _NOTABLE_SKEW:
        return Row(SLACK, "clock", WARNING, detail, cure)
    return Row(SLACK, "clock", OK, "agrees with Slack's")


async def ops_channel_row(web: SlackWeb, channel: str, *, posts_test: bool) -> Row:
    """Check that the bot can post in the channel for incidents; with *posts_test*, by posting there."""
    try:
        if posts_test:
            await web.call("chat.postMessage", {"channel": channel, "text": _TEST_POST})
            return Row(SLACK, _OPS, OK, f"a test was posted in {channel}")
        info = (await web.read("conversations.info", {"channel": channel})).get("channel")
    except SlackError as exc:
        if isinstance(exc, SlackRefused) and exc.error == "missing_scope" and not posts_test:
            detail = f"{channel} can't be looked up without the scope {exc.needed or 'channels:read'}"
            return Row(SLACK, _OPS, WARNING, detail, "try it: bridge check --post-test")
        return trouble_row(_OPS, exc, _INVITE)
    about = info if isinstance(info, dict) else {}
    if about.get("is_archived"):
        return Row(SLACK, _OPS, FAILURE, f"{channel} is archived", _SET_OPS)
    if not about.get("is_im") and about.get("is_member") is False:
        return Row(SLACK, _OPS, FAILURE, f"the bot isn't in {channel}", _INVITE)
    return Row(SLACK, _OPS, OK, f"the bot is in {channel}; bridge check --post-test posts a test")


async def app_token_row(web: SlackWeb, app_token: str) -> Row:
    """Check the app token by requesting a socket's address, without opening it: an open socket would receive events."""
    try:
        await web.socket_url(app_token)
    except SlackError as exc:
        return trouble_row("app token", exc, CURE_OF_APP)
    return Row(SLACK, "app token", OK, "valid; events arrive over Socket Mode")


def secret_row(signing_secret: str) -> Row:
    """Check the secret's format; only a request from Slack can show that it's the right one."""
    if re.fullmatch(r"[0-9a-f]{32}", signing_secret):
        detail = "the format is right; the first request from Slack shows whether it's this app's"
        return Row(SLACK, "signing secret", OK, detail)
    cure = "copy SLACK_SIGNING_SECRET (not the Client Secret) again (your Slack app's page → Basic Information)"
    return Row(SLACK, "signing secret", WARNING, "isn't 32 characters of 0-9 and a-f", cure)
