"""The probes of `bridge check`: Slack, Redis and the project service.

They run separately, so that one failure doesn't hide another. Nothing is written or posted (but a test in the channel
for incidents, on request), no socket is opened, and
the project's contents are counted, never shown.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from bridge.cli.rows import FAILURE, OK, WARNING, Row, State
from bridge.cli.troubles import (
    CURE_OF_APP,
    CURE_OF_BOT,
    PROJECT,
    REDIS,
    SLACK,
    problem_row,
    project_trouble,
    redis_trouble,
    slack_trouble,
)
from bridge.config import ProjectSettings
from bridge.ends.failures import NOT_SLACK
from bridge.errors import (
    CannotConnect,
    ConfigurationError,
    NotSignedIn,
    ProjectError,
    SlackError,
    SlackRefused,
    StoreUnavailable,
)
from bridge.features.agents.handles import Handle, state_of, stored_handles
from bridge.features.conversations.answering import configured
from bridge.metrics import Metrics
from bridge.names.listing import Listing
from bridge.project import ProjectClient
from bridge.project.connection import DEFAULT
from bridge.project.models import Row as RowOf
from bridge.queue.redis.condition import RedisCondition, condition_of
from bridge.queue.redis.connection import connect
from bridge.queue.redis.embedded import embedded_redis, write_problem
from bridge.queue.redis.refusals import Unexpected, denial, unexpected
from bridge.queue.wipe import CURE
from bridge.setting_types import EMBEDDED
from bridge.slack.api import Hello, Identity, SlackWeb, opened
from bridge.slack.blockkit.content_words import size
from bridge.slack.blockkit.kit import counted, first_of
from bridge.slack.scopes import SCOPES, USER_GROUPS, missing, required_by
from bridge.slack.user_groups import UserGroup, UserGroups

PATIENCE: Final = timedelta(seconds=30)
"""How long the probes of each service may take in total; single calls have shorter limits."""

T = TypeVar("T")
UserGroupsSeen = dict[str, UserGroup] | SlackError | None
"""The workspace's user groups; None if they weren't looked up."""


async def probe(
    values: Mapping[str, Any],
    projects: Sequence[ProjectSettings] = (),
    *,
    now: Callable[[], datetime],
    patience: timedelta = PATIENCE,
    posts_test: bool = False,
) -> list[Row]:
    """Probe the services that *values*, by variable, configure. Several *projects* get a row each.

    With *posts_test*, a test is posted in the channel for incidents.

    Slack comes first, because it says which bot should own the namespace.
    """
    identity: Identity | None = None
    groups: UserGroupsSeen = None

    async def in_time(area: str, rows: Awaitable[list[Row]]) -> list[Row]:
        try:
            async with asyncio.timeout(patience.total_seconds()):
                return await rows
        except ConfigurationError as exc:  # the environment names certificates that can't be read
            return [problem_row(area, "settings", problem) for problem in exc.problems]
        except TimeoutError:
            detail = f"no complete answer within {patience.total_seconds():g} s"
            return [
                Row(area, "answers", FAILURE, detail, "check the network: a firewall or proxy may be dropping packets")
            ]

    async def slack() -> list[Row]:
        nonlocal identity, groups
        rows, identity, groups = await _slack_rows(values, now, posts_test=posts_test)
        return rows

    rows = await in_time(SLACK, slack())
    others = [in_time(REDIS, _redis_rows(values, identity, groups))]
    url, key = values.get("PROJECT_BASE_URL"), values.get("PROJECT_API_KEY")
    if len(projects) > 1:
        others += [in_time(PROJECT, _one_row(one)) for one in projects if one.base_url and one.api_key]
    elif url is not None and key:
        default_agent = values.get("BRIDGE_DEFAULT_AGENT") or ""
        others.append(in_time(PROJECT, project_rows(url, key.get_secret_value(), default_agent)))
    return sum(await asyncio.gather(*others), rows)


# Slack

_OPS: Final = "BRIDGE_OPS_CHANNEL"
_SET_OPS: Final = "set BRIDGE_OPS_CHANNEL to the ID of a channel (in Slack: the channel's name → About → Channel ID)"
_INVITE: Final = "invite the bot to the channel (/invite), and check that BRIDGE_OPS_CHANNEL is its ID"
_TEST_POST: Final = "✅ This is a test. The bridge's incidents are posted in this channel."
_HANDLES: Final = "handles"
_SET_HANDLE: Final = "enable or rename the user group in Slack, or set the handle again: /agents handle"
_NOTABLE_SKEW: Final = timedelta(seconds=60)
_OLDEST_SIGNATURE: Final = timedelta(seconds=300)
_INSTALL_AGAIN: Final = (
    "run bridge manifest with the same flags as the first time, paste its output on your Slack app's page → App "
    "Manifest, and reinstall the app"
)


async def _slack_rows(
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
    now = [state_of(group, one, groups) for group, one in known.items()]
    rows = [
        Row(SLACK, _HANDLES, WARNING, f"@{one.handle} of agent {one.agent} is {one.trouble}", _SET_HANDLE)
        for one in now
        if one.trouble
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
        return [slack_trouble("bot token", exc, CURE_OF_BOT)], None
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
        found = (await web.read("conversations.info", {"channel": channel})).get("channel")
    except SlackError as exc:
        if isinstance(exc, SlackRefused) and exc.error == "missing_scope" and not posts_test:
            detail = f"{channel} can't be looked up without the scope {exc.needed or 'channels:read'}"
            return Row(SLACK, _OPS, WARNING, detail, "try it: bridge check --post-test")
        return slack_trouble(_OPS, exc, _INVITE)
    about = found if isinstance(found, dict) else {}
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
        return slack_trouble("app token", exc, CURE_OF_APP)
    return Row(SLACK, "app token", OK, "valid; events arrive over Socket Mode")


def secret_row(signing_secret: str) -> Row:
    """Check the secret's format; only a request from Slack can show that it's the right one."""
    if re.fullmatch(r"[0-9a-f]{32}", signing_secret):
        detail = "the format is right; the first request from Slack shows whether it's this app's"
        return Row(SLACK, "signing secret", OK, detail)
    cure = "copy SLACK_SIGNING_SECRET (not the Client Secret) again (your Slack app's page → Basic Information)"
    return Row(SLACK, "signing secret", WARNING, "isn't 32 characters of 0-9 and a-f", cure)


# Redis

BRIDGE: Final = "Bridge"
_OLDEST: Final = (6, 2)
_FAR: Final = 0.02  # seconds; a turn takes up to five round trips
_ALWAYS: Final = "appendfsync always"
_NAME_MASTER: Final = "name the master in REDIS_URL, or the Sentinels: redis+sentinel://host:26379,host:26379/master/0"
_NEARER: Final = "run the bridge and Redis in the same network: a message takes up to five round trips"
_NO_FILE: Final = "if Redis dies, everything since its last snapshot is lost"
_CANNOT_WRITE: Final = "its append-only file can't be written, so it refuses all writes"
_NOT_SYNCED: Final = "synced by the operating system: a power cut may lose 30 s"
_EVERY_SECOND: Final = (
    "synced every second: a power cut may lose the last second, and a crash on a busy disk the last two. "
    "A message may be lost or sent to an agent twice"
)
_NOT_IN_REWRITES: Final = "synced on every write, except during rewrites: a power cut may lose those writes"
_NONE_CONFIRMS: Final = "none of them confirms writes"
_UNDONE: Final = "check the replicas: a failover would lose the latest writes"


async def _redis_rows(values: Mapping[str, Any], identity: Identity | None, groups: UserGroupsSeen) -> list[Row]:
    namespace, url, folder = (values.get(name) for name in ("BRIDGE_NAMESPACE", "REDIS_URL", "BRIDGE_DATA_DIR"))
    if namespace is None or not url:
        return []
    if url.get_secret_value() != EMBEDDED:
        return await redis_rows(url.get_secret_value(), namespace, identity, groups)
    if folder is None:
        return []
    problem = await asyncio.to_thread(write_problem, folder)
    if problem and folder.exists():
        cure = "free some space or fix the disk; a running bridge recovers by itself"
        return [Row(REDIS, "embedded", FAILURE, problem, cure)]
    try:
        async with embedded_redis(folder) as here:
            rows = await redis_rows(here, namespace, identity, groups)
    except ConfigurationError as exc:
        parts = [problem.rpartition(": ") for problem in exc.problems]
        return [
            Row(REDIS, "embedded", FAILURE, what, f"{cure}, or set REDIS_URL to another Redis")
            for what, _, cure in parts
        ]
    return [Row(REDIS, "embedded", OK, f"data in {folder}; for a single machine only"), *rows]


async def redis_rows(url: str, namespace: str, identity: Identity | None, groups: UserGroupsSeen = None) -> list[Row]:
    """Check the Redis at *url*; *identity*, if known, is the bot that should own the namespace.

    The agents' handles stored there are compared with the workspace's *groups*.
    """
    try:
        async with connect(url) as redis:
            condition = await condition_of(redis, namespace, time.monotonic)
            handles = await stored_handles(redis, namespace)
    except (StoreUnavailable, Unexpected) as exc:
        return [redis_trouble(exc if isinstance(exc, StoreUnavailable) else unexpected(exc))]
    if condition.running:
        running = Row(BRIDGE, "process", OK, f"{condition.running} running")
    else:
        running = Row(BRIDGE, "process", WARNING, "no bridge is running", "start it with bridge serve")
    return [*handle_rows(handles, groups), *condition_rows(condition, namespace, identity), running]


def condition_rows(condition: RedisCondition, namespace: str, identity: Identity | None) -> list[Row]:
    """Make rows on the server's condition: for each subject, the first case that holds."""
    is_, took = condition, f"round trip {condition.round_trip * 1000:.1f} ms"
    version = f"{is_.product} {'.'.join(map(str, is_.version)) or '(unknown version)'}"
    file, synced, policy = "append-only file", is_.appendfsync, is_.policy
    of = f" of {size(is_.maxmemory)}" if is_.maxmemory else ""
    used = f"{size(is_.memory)}{of} used"
    team, bot = is_.owner or ("", "")
    unknown = ", so its settings and replicas are unknown" if "INFO" in is_.denied else ""
    whose = f"“{namespace}” belongs to bot {bot} in workspace {team}"
    ours = identity and (identity.team, identity.bot_user) == is_.owner
    confirm = "critical writes wait for one of them"
    noeviction = "set maxmemory-policy noeviction"
    server = [
        _first(
            "version",
            (is_.product == "Redis" and is_.version < _OLDEST, FAILURE, version, "use Redis 6.2 or later, or Valkey"),
            (True, OK, version, ""),
        ),
        _first(
            "persistence",
            (not is_.is_append_only, WARNING, f"no {file}: {_NO_FILE}", f"set appendonly yes and {_ALWAYS}"),
            (not is_.can_write, FAILURE, _CANNOT_WRITE, "check whether its disk is full"),
            (synced == "no", WARNING, f"{file}, {_NOT_SYNCED}", f"set {_ALWAYS}"),
            (synced == "everysec", WARNING, f"{file}, {_EVERY_SECOND}", f"set {_ALWAYS}"),
            (synced != "always", OK, f"{file}; sync interval unknown", ""),
            (not is_.syncs_in_rewrites, WARNING, f"{file}, {_NOT_IN_REWRITES}", "set no-appendfsync-on-rewrite no"),
            (True, OK, f"{file}, synced on every write", ""),
        ),
        _first(
            "memory",
            (not is_.maxmemory, OK, f"{used}; maxmemory isn't set", ""),
            (not is_.is_nearly_full or is_.evicts, OK, used, ""),
            (is_.memory < is_.maxmemory, WARNING, f"{used}: when it's full, it accepts no messages", "raise maxmemory"),
            (True, FAILURE, f"{used}: it refuses writes, so it accepts no messages", "raise maxmemory"),
        ),
        _first(
            "maxmemory-policy",
            (not is_.evicts, OK, policy or "unknown", ""),
            (not is_.maxmemory, WARNING, f"{policy}: harmless while maxmemory isn't set", noeviction),
            (True, FAILURE, f"{policy}: when memory runs out, Redis evicts sessions and queued messages", noeviction),
        ),
        _first(
            "replicas",
            (not is_.replicas, OK, "none; this server holds everything", ""),
            (not is_.confirming, WARNING, f"{is_.replicas}, and {_NONE_CONFIRMS}", _UNDONE),
            (True, OK, f"{is_.replicas}; {confirm}", ""),
        ),
    ]
    if "INFO" in is_.denied:
        server = []
    return [
        _first(
            "reachable",
            (is_.is_replica, FAILURE, f"{took}; it's a read-only replica", _NAME_MASTER),
            (is_.round_trip > _FAR, WARNING, took, _NEARER),
            (True, OK, took, ""),
        ),
        *(
            [Row(REDIS, "permissions", WARNING, denial(is_.denied) + unknown, f"allow it: {is_.cure}")]
            if is_.denied
            else []
        ),
        *server,
        _first(
            "namespace",
            (is_.owner is None, OK, f"“{namespace}” is free", ""),
            (
                identity is None,
                WARNING,
                whose,
                "fix the problem with Slack first, then run the check again to see whether that's this bot",
            ),
            (ours, OK, f"“{namespace}” belongs to this bot ({bot} in {team})", ""),
            (True, FAILURE, f"{whose}, not to this one", "set BRIDGE_NAMESPACE to another name"),
        ),
        *([Row(REDIS, "data", WARNING, is_.wipe.in_words(), CURE)] if is_.wipe else []),
    ]


def _first(what: str, *cases: tuple[object, State, str, str]) -> Row:
    return next(Row(REDIS, what, state, detail, cure) for holds, state, detail, cure in cases if holds)


# The project service

_MOST_UNUSABLE: Final = 5
_TELLING: Final = frozenset({"get_project", "get_workflows", "get_agents"})


async def _one_row(project: ProjectSettings) -> list[Row]:
    """Check one of several projects, in one row: its first problem, or what it has."""
    rows = await project_rows(project.base_url, project.api_key.get_secret_value(), project.default_agent)
    what = project.id if project.name == project.id else f"{project.id} ({project.name})"
    worst = next((row for state in (FAILURE, WARNING) for row in rows if row.state == state), None)
    if worst is None:
        return [Row(PROJECT, what, OK, "; ".join(row.detail for row in rows if row.what in _TELLING))]
    cure = worst.cure
    if project.id != DEFAULT:  # it's set in the file
        cure = cure.replace("PROJECT_BASE_URL", f"projects.{project.id}.base_url")
        cure = cure.replace("this project's PROJECT_API_KEY", f"the key of projects.{project.id}")
        cure = cure.replace("BRIDGE_DEFAULT_AGENT", f"projects.{project.id}.default_agent")
    return [replace(worst, what=what, detail=f"{worst.what}: {worst.detail}", cure=cure)]


async def project_rows(base_url: str, api_key: str, default_agent: str = "") -> list[Row]:
    """Call every read operation of the service, and look for the *default_agent*."""
    quickly, soon = timedelta(seconds=3), timedelta(seconds=5)
    unusable: dict[str, Sequence[str]] = {}
    async with ProjectClient(
        base_url, api_key, read_timeout=soon, connect_timeout=quickly, note=unusable.__setitem__
    ) as project:
        try:
            await project.get_project()
        except (CannotConnect, NotSignedIn) as exc:  # every other operation would fail the same way
            return [project_trouble("get_project", exc)]
        except ProjectError as exc:
            first = project_trouble("get_project", exc)
        else:
            first = Row(PROJECT, "get_project", OK, "reachable, key accepted")
        (numbers, stats), (workflows, _), (agents, listed) = await asyncio.gather(
            _called("get_stats", project.get_stats()),
            _list_rows("workflow", project.get_workflows(), project.get_workflow),
            _list_rows("agent", project.get_agents(), project.get_agent),
        )
    if stats:
        counts = ((stats.runCount, "run"), (stats.promptCount, "prompt"))
        known = ", ".join(counted(count, noun) for count, noun in counts if count is not None)
        numbers = replace(numbers, detail=known or numbers.detail)
    others = [*workflows, *agents, numbers]
    if default_agent and listed and configured(default_agent, listed) is None:
        cure = "set BRIDGE_DEFAULT_AGENT to an agent's ID or name"
        others.append(Row(PROJECT, "default agent", WARNING, f"no agent is called {default_agent}", cure))
    if all((row.detail, row.cure) == (first.detail, first.cure) for row in others):
        return [replace(first, detail=f"{first.detail}; the other calls fail the same way")]
    return [_with_unusable(row, unusable.get(row.what, ())) for row in (first, *others)]


def _with_unusable(row: Row, problems: Sequence[str]) -> Row:
    """Name what of a response couldn't be used."""
    if not problems or row.state is not OK:
        return row
    listed = first_of(problems, _MOST_UNUSABLE, "; ")
    cure = "report it to the service's developers; the bridge uses the rest"
    return replace(row, state=WARNING, detail=f"{row.detail}; not as documented: {listed}", cure=cure)


async def _list_rows(
    noun: str, listing: Awaitable[Listing[RowOf]], read: Callable[[int], Awaitable[Any]]
) -> tuple[list[Row], Listing[RowOf] | None]:
    """Read the list, and its first entry; returns the list, too."""
    row, found = await _called(f"get_{noun}s", listing)
    if found is None:
        return [row], None
    listed = replace(row, detail=counted(len(found), noun))
    if found.is_part:
        detail = f"{listed.detail}, but the service says that there are more"
        cure = "have the service list all of them; until then, people reach the others by their IDs only"
        listed = replace(row, state=WARNING, detail=detail, cure=cure)
    if not found:
        return [listed, Row(PROJECT, f"get_{noun}", WARNING, f"skipped: the project has no {noun}s")], found
    first: Any = found[0]
    return [listed, (await _called(f"get_{noun}", read(first.id)))[0]], found


async def _called(operation: str, answer: Awaitable[T]) -> tuple[Row, T | None]:
    try:
        return Row(PROJECT, operation, OK, "works as documented"), await answer
    except ProjectError as exc:
        return project_trouble(operation, exc), None
