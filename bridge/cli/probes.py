"""What `bridge check` asks Slack, Redis and the project service, and what it makes of their answers.

Each is probed by itself, so that one that fails hides no other. Nothing is written or posted, no socket is opened, and
of the project counts are shown, never contents.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from bridge.cli.drift import OF_APP, drift_rows
from bridge.cli.rows import FAILURE, OK, WARNING, Row, State
from bridge.errors import (
    Busy,
    CannotConnect,
    CircuitOpen,
    ConfigurationError,
    ConnectionLost,
    NotFound,
    NotSignedIn,
    NotUnderstood,
    Outage,
    ProjectError,
    ServiceRefused,
    SlackAmbiguous,
    SlackError,
    SlackRefused,
    SlackUnreachable,
    StoreUnavailable,
    TimedOut,
)
from bridge.metrics import Metrics
from bridge.project import ProjectClient
from bridge.queue.redis.condition import RedisCondition, condition_of
from bridge.queue.redis.connection import connect
from bridge.queue.redis.embedded import embedded_redis, write_problem
from bridge.slack.api import Hello, Identity, SlackWeb, opened, proxy_for
from bridge.slack.scopes import SCOPES, missing, required_by

PATIENCE: Final = timedelta(seconds=30)
"""How long one of the three may take as a whole; each call has a shorter limit of its own."""

T = TypeVar("T")


async def probe(
    values: Mapping[str, Any], *, embedded: bool, now: Callable[[], datetime], patience: timedelta = PATIENCE
) -> list[Row]:
    """Probe all that is configured by *values*, by variable; without REDIS_URL the *embedded* Redis, if wanted.

    Slack comes first: whose namespace it is can be told only then.
    """
    identity: Identity | None = None

    async def in_time(area: str, rows: Awaitable[list[Row]]) -> list[Row]:
        try:
            async with asyncio.timeout(patience.total_seconds()):
                return await rows
        except TimeoutError:
            detail = f"it did not come to an end within {patience.total_seconds():g} s"
            return [Row(area, "answers", FAILURE, detail, "look at the way there: something swallows what is sent")]

    async def slack() -> list[Row]:
        nonlocal identity
        rows, identity = await _slack_rows(values, now)
        return rows

    rows = await in_time(SLACK, slack())
    others = await asyncio.gather(
        in_time(REDIS, _redis_rows(values, identity, embedded=embedded)), in_time(PROJECT, _project_rows(values))
    )
    return [*rows, *others[0], *others[1]]


# Slack

SLACK: Final = "Slack"
CURE_OF_BOT: Final = (
    "copy SLACK_BOT_TOKEN again from your Slack app's page, OAuth & Permissions; installing the app again may change it"
)
_CURE_OF_APP: Final = (
    "make an app-level token with the scope connections:write on your Slack app's page, Basic Information, and turn on "
    "Socket Mode there"
)
_CURE_OF_CONFIG: Final = (
    "make a new one on https://api.slack.com/apps, Your App Configuration Tokens, as somebody who may manage the app; "
    "each is valid for twelve hours"
)
_NOTABLE_SKEW: Final = timedelta(seconds=60)
_OLDEST_SIGNATURE: Final = timedelta(seconds=300)
_NOT_SLACK: Final = "look at SLACK_API_URL (normally not set) and at a proxy that may stand between (HTTPS_PROXY)"
_INSTALL_AGAIN: Final = (
    "paste what `bridge manifest` prints on your Slack app's page, App Manifest (with the flags of the first time), "
    "and install the app again"
)


async def _slack_rows(values: Mapping[str, Any], now: Callable[[], datetime]) -> tuple[list[Row], Identity | None]:
    """Ask Slack who the bot is, and look at the other two secrets."""
    rows: list[Row] = []
    identity = None
    url, bot, app = values.get("SLACK_API_URL"), values.get("SLACK_BOT_TOKEN"), values.get("SLACK_APP_TOKEN")
    if url is not None and (bot or app):
        async with opened(url, bot.get_secret_value() if bot else "", Metrics(), proxy=proxy_for(url)) as web:
            if bot:
                required = required_by(values.get("BRIDGE_RUNNERS", ()))
                rows, identity = await bot_rows(web, now=now, required_scopes=required, uses_http=not app)
            if app:
                rows.append(await app_token_row(web, app.get_secret_value()))
            if config := values.get("SLACK_CONFIG_TOKEN"):
                app_id = await _app_id(web, identity, app.get_secret_value() if app else "")
                prefix = values.get("BRIDGE_COMMAND_PREFIX", "")
                rows += await app_rows(web, config.get_secret_value(), app_id, prefix, uses_socket=bool(app))
    secret = values.get("SLACK_SIGNING_SECRET")
    if secret and not app:  # over a socket it is of no use, right or wrong
        rows.append(secret_row(secret.get_secret_value()))
    return rows, identity


async def bot_rows(
    web: SlackWeb, *, now: Callable[[], datetime], required_scopes: Collection[str], uses_http: bool
) -> tuple[list[Row], Identity | None]:
    """Ask Slack who the bot is; what it says of the token, of its scopes and of the time."""
    try:
        hello = await web.hello()
    except SlackError as exc:
        return [slack_trouble("bot token", exc, CURE_OF_BOT)], None
    granted = hello.identity.scopes
    needed, optional = missing(granted, required_scopes)
    scopes = [
        Row(SLACK, "scopes", FAILURE, f"{scope.name} is missing; it is needed to {scope.purpose}", _INSTALL_AGAIN)
        for scope in needed
    ]
    scopes += [
        Row(SLACK, "scopes", WARNING, f"{scope.name} is not granted: without it the bot cannot {scope.purpose}")
        for scope in optional
    ]
    if unused := sorted(granted - {scope.name for scope in SCOPES}):
        cure = "take them out on your Slack app's page, OAuth & Permissions, and install the app again"
        detail = f"{', '.join(unused)}: granted, and not in `bridge manifest`"
        scopes.append(Row(SLACK, "scopes", WARNING, detail, cure))
    if not granted:
        cure = "compare OAuth & Permissions with `bridge manifest`"
        scopes = [Row(SLACK, "scopes", WARNING, "Slack did not say which the token has", cure)]
    who = f"bot “{hello.bot_name}” ({hello.identity.bot_user}) in “{hello.team_name}” ({hello.identity.team})"
    rows = [
        Row(SLACK, "bot token", OK, who),
        *(scopes or [Row(SLACK, "scopes", OK, "all that are needed, and all optional ones")]),
        _clock_row(hello, now(), uses_http=uses_http),
    ]
    return rows, hello.identity


def _clock_row(hello: Hello, now: datetime, *, uses_http: bool) -> Row:
    if hello.said_at is None:
        return Row(SLACK, "clock", WARNING, "Slack did not say what time it is", _NOT_SLACK)
    off = now - hello.said_at
    detail = f"{abs(round(off.total_seconds()))} s {'ahead of' if off > timedelta(0) else 'behind'} Slack's"
    cure = "set this machine's clock (NTP)"
    if abs(off) > _OLDEST_SIGNATURE and uses_http:
        detail += "; beyond 300 s every request of Slack's is refused as too old"
        return Row(SLACK, "clock", FAILURE, detail, cure)
    if abs(off) > _NOTABLE_SKEW:
        return Row(SLACK, "clock", WARNING, detail, cure)
    return Row(SLACK, "clock", OK, "agrees with Slack's")


async def app_token_row(web: SlackWeb, app_token: str) -> Row:
    """Ask for a socket's address without opening it: an open one would be sent events."""
    try:
        await web.socket_url(app_token)
    except SlackError as exc:
        return slack_trouble("app token", exc, _CURE_OF_APP)
    return Row(SLACK, "app token", OK, "accepted; Slack's events come over a socket (Socket Mode)")


async def _app_id(web: SlackWeb, identity: Identity | None, app_token: str) -> str:
    """Find out which app it is: ``auth.test`` says so, or ``bots.info``, or the app-level token (xapp-1-A…-…)."""
    if identity is not None and identity.app_id:
        return identity.app_id
    if identity is not None and identity.bot_id:
        with suppress(SlackError):
            bot = (await web.read("bots.info", {"bot": identity.bot_id})).get("bot")
            if isinstance(bot, dict) and bot.get("app_id"):
                return str(bot["app_id"])
    found = re.match(r"xapp-\d+-(A[A-Z0-9]+)-", app_token)
    return found[1] if found else ""


async def app_rows(web: SlackWeb, config_token: str, app_id: str, prefix: str, *, uses_socket: bool) -> list[Row]:
    """Compare the installed app with the manifest."""
    if not app_id:
        return [Row(SLACK, OF_APP, WARNING, "Slack does not say which app the bot token is of", _CURE_OF_CONFIG)]
    try:
        answer = await web.call("apps.manifest.export", {"app_id": app_id}, token=config_token)
    except SlackError as exc:
        return [replace(slack_trouble("configuration token", exc, _CURE_OF_CONFIG), state=WARNING)]
    installed = answer.get("manifest")
    return drift_rows(
        SLACK, installed if isinstance(installed, dict) else {}, prefix, _INSTALL_AGAIN, uses_socket=uses_socket
    )


def secret_row(signing_secret: str) -> Row:
    """Look at the secret's shape: only a request of Slack's can show that it is the right one."""
    if re.fullmatch(r"[0-9a-f]{32}", signing_secret):
        detail = "looks like one; whether it is this app's shows with Slack's first request"
        return Row(SLACK, "signing secret", OK, detail)
    cure = "copy the Signing Secret (not the Client Secret) again from your Slack app's page, Basic Information"
    return Row(SLACK, "signing secret", WARNING, "Slack's have 32 characters 0-9 and a-f; this has not", cure)


def slack_trouble(what: str, error: SlackError, cure: str) -> Row:
    """Say why Slack could not be asked; *cure* is for what it does not accept."""
    match error:
        case SlackRefused(error=word) if word.startswith("http_"):
            detail = f"the address answers with a redirect ({word.removeprefix('http_')}), as Slack never does"
            cure = _NOT_SLACK
        case SlackRefused(needed=scope) if scope:
            detail = f"Slack does not accept it: it lacks the scope {scope}"
        case SlackRefused(error=word):
            detail = f"Slack does not accept it ({word})"
        case SlackUnreachable(retry_after=timedelta()):
            detail, cure = "Slack asks to wait: too many calls", "wait a minute, and check again"
        case SlackUnreachable():
            detail = f"no connection could be made ({error.detail})"
            way = "directly or by a proxy (HTTPS_PROXY); SLACK_API_URL is not needed"
            cure = f"see that this machine reaches Slack, {way}"
        case SlackAmbiguous() if ", not " in error.detail:
            detail, cure = f"something answers that is not Slack ({error.detail})", _NOT_SLACK
        case _:
            detail = f"Slack did not answer properly ({error.detail})"
            cure = "check again; see https://slack-status.com"
    return Row(SLACK, what, FAILURE, detail, cure)


# Redis

REDIS: Final = "Redis"
_OLDEST: Final = (6, 2)
_FAR: Final = 0.02  # seconds; a turn takes up to five round trips
_ALWAYS: Final = "appendfsync always"
_NAME_MASTER: Final = "name the master in REDIS_URL, or the Sentinels: redis+sentinel://host:26379,host:26379/master/0"
_NEARER: Final = "put the bridge and Redis into one network: a turn takes up to five round trips"
_NO_FILE: Final = "whatever came after its last snapshot is lost when it is killed"
_CANNOT_WRITE: Final = "it couldn't write its append-only file the last time, and refuses all writes until it can"
_NOT_SYNCED: Final = "synced when the system likes: a power cut may lose half a minute"
_EVERY_SECOND: Final = (
    "synced every second: a power cut may lose the last second, and a kill of Redis on a busy disk the last two. "
    "A message may be forgotten, or sent to an agent twice"
)
_NOT_IN_REWRITES: Final = "synced with every write, except while it is rewritten: a power cut may lose that"
_NONE_CONFIRMS: Final = "none confirms that it has what was written"
_UNDONE: Final = "look at the replicas: a failover would undo the last steps"
_REDIS_TROUBLE: Final = {
    "away": (
        "nobody answers there",
        "see that it runs (its log says whether its disk is full), and that REDIS_URL names its host, port and TLS",
    ),
    "refused": (
        "it does not accept the user and password, or does not let this user do what is needed",
        "mend them in REDIS_URL (redis://user:password@host:6379/0), or the user's ACL: all keys and commands",
    ),
    "loading": ("it still loads its data", "wait, and check again"),
    "full": ("it is full", "give it more memory; the bridge never lets it evict"),
    "read-only": ("it takes no writes now", "look at its disk, and whether it has become a replica"),
}


async def _redis_rows(values: Mapping[str, Any], identity: Identity | None, *, embedded: bool) -> list[Row]:
    namespace, url, folder = (values.get(name) for name in ("BRIDGE_NAMESPACE", "REDIS_URL", "BRIDGE_DATA_DIR"))
    if namespace is None:
        return []
    if url:
        return await redis_rows(url.get_secret_value(), namespace, identity)
    if folder is None or not embedded:
        return []
    problem = await asyncio.to_thread(write_problem, folder)
    if problem and folder.exists():
        cure = "free some space or fix the disk; a running bridge recovers by itself"
        return [Row(REDIS, "embedded", FAILURE, problem, cure)]
    try:
        async with embedded_redis(folder) as here:
            rows = await redis_rows(here, namespace, identity)
    except ConfigurationError as exc:
        return [Row(REDIS, "embedded", FAILURE, problem) for problem in exc.problems]
    return [Row(REDIS, "embedded", OK, f"its data is in {folder}; for one machine only"), *rows]


async def redis_rows(url: str, namespace: str, identity: Identity | None) -> list[Row]:
    """Look at the Redis at *url*; *identity* tells whether the namespace is ours, where Slack said who we are."""
    try:
        async with connect(url) as redis:
            condition = await condition_of(redis, namespace, time.monotonic)
    except StoreUnavailable as exc:
        return [Row(REDIS, "reachable", FAILURE, *_REDIS_TROUBLE[exc.reason])]
    return condition_rows(condition, namespace, identity)


def condition_rows(condition: RedisCondition, namespace: str, identity: Identity | None) -> list[Row]:
    """Judge what the server said of itself: in each table, the first line that holds."""
    is_, took = condition, f"a round trip takes {condition.round_trip * 1000:.1f} ms"
    version = f"{is_.product} {'.'.join(map(str, is_.version)) or 'of unknown version'}"
    file, synced, policy = "append-only file", is_.appendfsync, is_.policy
    team, bot = is_.owner or ("", "")
    whose = f"{namespace} belongs to bot {bot} of workspace {team}"
    ours = identity and (identity.team, identity.bot_user) == is_.owner
    confirm = "important steps wait until one of them has them"
    noeviction = "set maxmemory-policy noeviction"
    return [
        _first(
            "reachable",
            (is_.is_replica, FAILURE, f"{took}; it is a replica, which takes no writes", _NAME_MASTER),
            (is_.round_trip > _FAR, WARNING, took, _NEARER),
            (True, OK, took, ""),
        ),
        _first(
            "version",
            (is_.product == "Redis" and is_.version < _OLDEST, FAILURE, version, "use Redis 6.2 or later, or Valkey"),
            (True, OK, version, ""),
        ),
        _first(
            "persistence",
            (not is_.is_append_only, WARNING, f"no {file}: {_NO_FILE}", f"set appendonly yes and {_ALWAYS}"),
            (not is_.can_write, FAILURE, _CANNOT_WRITE, "look at its disk: is it full?"),
            (synced == "no", WARNING, f"{file}, {_NOT_SYNCED}", f"set {_ALWAYS}"),
            (synced == "everysec", WARNING, f"{file}, {_EVERY_SECOND}", f"set {_ALWAYS}"),
            (synced != "always", OK, f"{file}; how often it is synced is not told", ""),
            (not is_.syncs_in_rewrites, WARNING, f"{file}, {_NOT_IN_REWRITES}", "set no-appendfsync-on-rewrite no"),
            (True, OK, f"{file}, synced with every write", ""),
        ),
        _first(
            "maxmemory-policy",
            (policy in {"noeviction", ""}, OK, policy or "not told", ""),
            (not is_.maxmemory, WARNING, f"{policy}: harmless as long as no maxmemory is set", noeviction),
            (True, FAILURE, f"{policy}: once full, it throws sessions or waiting messages away", noeviction),
        ),
        _first(
            "replicas",
            (not is_.replicas, OK, "none; this one server has everything", ""),
            (not is_.confirming, WARNING, f"{is_.replicas}, and {_NONE_CONFIRMS}", _UNDONE),
            (True, OK, f"{is_.replicas}; {confirm}", ""),
        ),
        _first(
            "namespace",
            (is_.owner is None, OK, f"{namespace} is free", ""),
            (identity is None, WARNING, whose, "check again when Slack can say whether that is this bot"),
            (ours, OK, f"{whose}: ours", ""),
            (True, FAILURE, f"{whose}, not to this one", "set BRIDGE_NAMESPACE to another name"),
        ),
    ]


def _first(what: str, *cases: tuple[object, State, str, str]) -> Row:
    return next(Row(REDIS, what, state, detail, cure) for holds, state, detail, cure in cases if holds)


# The project service

PROJECT: Final = "Project service"
_WRONG_ADDRESS: Final = "look at PROJECT_BASE_URL: it is the service's own address, to which /api/sdk/… is added"
_LATER: Final = "look at the service, and check again"


async def _project_rows(values: Mapping[str, Any]) -> list[Row]:
    url, key = values.get("PROJECT_BASE_URL"), values.get("PROJECT_API_KEY")
    return await project_rows(url, key.get_secret_value()) if url is not None and key else []


async def project_rows(base_url: str, api_key: str) -> list[Row]:
    """Ask for everything that can be read."""
    quickly, soon = timedelta(seconds=3), timedelta(seconds=5)
    async with ProjectClient(base_url, api_key, read_timeout=soon, connect_timeout=quickly) as project:
        try:
            await project.get_project()
        except (CannotConnect, NotSignedIn) as exc:  # the same would be said of every other operation
            return [_project_trouble("get_project", exc)]
        except ProjectError as exc:
            first = _project_trouble("get_project", exc)
        else:
            first = Row(PROJECT, "get_project", OK, "reachable, the key is accepted")
        (numbers, stats), workflows, agents = await asyncio.gather(
            _asked("get_stats", project.get_stats()),
            _list_rows("workflow", project.get_workflows(), project.get_workflow),
            _list_rows("agent", project.get_agents(), project.get_agent),
        )
    if stats:
        counts = f"{_counted(stats.runCount, 'run')}, {_counted(stats.promptCount, 'prompt')}"
        numbers = replace(numbers, detail=counts)
    return [first, *workflows, *agents, numbers]


async def _list_rows(noun: str, listing: Awaitable[list[Any]], read: Callable[[int], Awaitable[Any]]) -> list[Row]:
    """Ask for the list, and for the first that is on it."""
    row, found = await _asked(f"get_{noun}s", listing)
    if found is None:
        return [row]
    listed = replace(row, detail=_counted(len(found), noun))
    if not found:
        return [listed, Row(PROJECT, f"get_{noun}", WARNING, f"not asked, for there is no {noun} in the project")]
    return [listed, (await _asked(f"get_{noun}", read(found[0].id)))[0]]


async def _asked(operation: str, answer: Awaitable[T]) -> tuple[Row, T | None]:
    try:
        return Row(PROJECT, operation, OK, "answers as documented"), await answer
    except ProjectError as exc:
        return _project_trouble(operation, exc), None


def _project_trouble(operation: str, error: ProjectError) -> Row:
    """Say what happened and what to do about it."""
    said = str(error)
    if isinstance(error, ServiceRefused):  # its own words, which the client has cut and cleaned
        said = f"{error.status}: “{error.said}”" if error.said else str(error.status)
    cure = _LATER
    match error:
        case CannotConnect():
            detail = f"no connection could be made ({error.detail})"
            cure = "see that the service runs there, and that PROJECT_BASE_URL and a proxy (HTTPS_PROXY) are right"
        case CircuitOpen():
            detail = "not asked: the service was gone too often just now"
        case TimedOut() | ConnectionLost():
            detail = f"no whole answer ({error.detail})"
        case NotUnderstood(problem=problem) if problem.startswith("not JSON but text/html"):
            detail, cure = f"a web page came in place of an answer ({error.detail})", _WRONG_ADDRESS
        case NotUnderstood():
            detail = f"the answer is not what is documented: {error.detail}"
            cure = "the service does not keep to its interface, or PROJECT_BASE_URL names another one"
        case NotSignedIn():
            detail, cure = f"the key is not accepted ({said})", "copy PROJECT_API_KEY again, for this very project"
        case NotFound():
            detail, cure = f"there is no such thing at this address ({said})", _WRONG_ADDRESS
        case Busy() | Outage():
            detail = f"it is not available now ({said})"
        case ServiceRefused(status=status) if 300 <= status < 400:  # noqa: PLR2004 - HTTP's redirects
            detail = f"the address sends us elsewhere ({status}), and the key does not follow"
            cure = _WRONG_ADDRESS
        case ServiceRefused():
            detail = f"it refused ({said})"
        case _:
            detail = f"it failed ({said})"
    return Row(PROJECT, operation, FAILURE, detail, cure)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
