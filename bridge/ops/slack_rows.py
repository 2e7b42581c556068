"""Does Slack know us, and may we do there what we need to? Nothing is posted."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Final

from bridge.errors import SlackAmbiguous, SlackError, SlackRefused, SlackUnreachable
from bridge.ops.rows import Row, State
from bridge.slack.api import Hello, Identity, SlackWeb
from bridge.slack.scopes import missing

AREA: Final = "Slack"

_NOTABLE_SKEW: Final = timedelta(seconds=60)
_OLDEST_SIGNATURE: Final = timedelta(seconds=300)
_NOT_SLACK: Final = "look at SLACK_API_URL (normally not set) and at a proxy that may stand between (HTTPS_PROXY)"
CURE_OF_BOT: Final = (
    "copy SLACK_BOT_TOKEN again from your Slack app's page, OAuth & Permissions; installing the app again may change it"
)
_CURE_OF_APP: Final = (
    "make an app-level token with the scope connections:write on your Slack app's page, Basic Information, and turn on "
    "Socket Mode there"
)
_INSTALL_AGAIN: Final = (
    "paste what `bridge manifest` prints on your Slack app's page, App Manifest (with the flags of the first time), "
    "and install the app again"
)


async def bot_rows(
    web: SlackWeb, *, now: Callable[[], datetime], required_scopes: Collection[str], uses_http: bool
) -> tuple[list[Row], Identity | None]:
    """Ask Slack who the bot is; what it says of the token, of its scopes and of the time."""
    try:
        hello = await web.hello()
    except SlackError as exc:
        return [trouble_row("bot token", exc, CURE_OF_BOT)], None
    who = f"bot “{hello.bot_name}” ({hello.identity.bot_user}) in “{hello.team_name}” ({hello.identity.team})"
    rows = [Row(AREA, "bot token", State.OK, who), *_scope_rows(hello.identity.scopes, required_scopes)]
    return [*rows, _clock_row(hello, now(), uses_http=uses_http)], hello.identity


async def app_token_row(web: SlackWeb, app_token: str) -> Row:
    """Ask for a socket's address without opening it: an open one would be sent events."""
    try:
        await web.socket_url(app_token)
    except SlackError as exc:
        return trouble_row("app token", exc, _CURE_OF_APP)
    return Row(AREA, "app token", State.OK, "accepted; Slack's events come over a socket (Socket Mode)")


def secret_row(signing_secret: str) -> Row:
    """Look at the secret's shape: only a request of Slack's can show that it is the right one."""
    if re.fullmatch(r"[0-9a-f]{32}", signing_secret):
        detail = "looks like one; whether it is this app's shows with Slack's first request"
        return Row(AREA, "signing secret", State.OK, detail)
    cure = "copy the Signing Secret (not the Client Secret) again from your Slack app's page, Basic Information"
    return Row(AREA, "signing secret", State.WARNING, "Slack's have 32 characters 0-9 and a-f; this has not", cure)


def _scope_rows(granted: Collection[str], required: Collection[str]) -> list[Row]:
    if not granted:
        detail = "Slack did not say which the token has"
        return [Row(AREA, "scopes", State.WARNING, detail, "compare OAuth & Permissions with `bridge manifest`")]
    needed, optional = missing(granted, required)
    rows = [
        Row(AREA, "scopes", State.FAILURE, f"{scope.name} is missing; it is needed to {scope.purpose}", _INSTALL_AGAIN)
        for scope in needed
    ]
    rows += [
        Row(AREA, "scopes", State.WARNING, f"{scope.name} is not granted: without it the bot cannot {scope.purpose}")
        for scope in optional
    ]
    return rows or [Row(AREA, "scopes", State.OK, "all that are needed, and all optional ones")]


def _clock_row(hello: Hello, now: datetime, *, uses_http: bool) -> Row:
    if hello.said_at is None:
        return Row(AREA, "clock", State.WARNING, "Slack did not say what time it is", _NOT_SLACK)
    off = now - hello.said_at
    seconds = abs(round(off.total_seconds()))
    detail = f"{seconds} s {'ahead of' if off > timedelta(0) else 'behind'} Slack's"
    if abs(off) > _OLDEST_SIGNATURE and uses_http:
        why = "; beyond 300 s every request of Slack's is refused as too old"
        return Row(AREA, "clock", State.FAILURE, detail + why, "set this machine's clock (NTP)")
    if abs(off) > _NOTABLE_SKEW:
        return Row(AREA, "clock", State.WARNING, detail, "set this machine's clock (NTP)")
    return Row(AREA, "clock", State.OK, "agrees with Slack's")


def trouble_row(what: str, error: SlackError, cure_of_refusal: str) -> Row:
    """Say why Slack could not be asked, and what to do about it."""
    return Row(AREA, what, State.FAILURE, *_explained(error, cure_of_refusal))


def _explained(error: SlackError, cure_of_refusal: str) -> tuple[str, str]:
    match error:
        case SlackRefused(error=word) if word.startswith("http_"):
            return (
                f"the address answers with a redirect ({word.removeprefix('http_')}), as Slack never does",
                _NOT_SLACK,
            )
        case SlackRefused(needed=scope) if scope:
            return f"Slack does not accept it: it lacks the scope {scope}", cure_of_refusal
        case SlackRefused(error=word):
            return f"Slack does not accept it ({word})", cure_of_refusal
        case SlackUnreachable(retry_after=timedelta()):
            return "Slack asks to wait: too many calls", "wait a minute, and check again"
        case SlackUnreachable():
            cure = (
                "see that this machine reaches Slack, directly or by a proxy (HTTPS_PROXY); SLACK_API_URL is not needed"
            )
            return f"no connection could be made ({error.detail})", cure
        case SlackAmbiguous() if ", not " in error.detail:
            return f"something answers that is not Slack ({error.detail})", _NOT_SLACK
        case _:
            return f"Slack did not answer properly ({error.detail})", "check again; see https://slack-status.com"
