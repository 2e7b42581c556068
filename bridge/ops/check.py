"""`bridge check`: probes whatever is configured; each part by itself, so that one that fails hides no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from bridge.errors import ConfigurationError
from bridge.metrics import Metrics
from bridge.ops import project_rows as project, redis_rows as redis, slack_rows as slack
from bridge.ops.rows import Row, State
from bridge.queue.redis.embedded import embedded_redis, write_problem
from bridge.slack.api import Identity, SlackWeb, opened, proxy_for
from bridge.slack.scopes import required_by

PATIENCE: Final = timedelta(seconds=30)
"""How long one part may take as a whole; each call has a shorter limit of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """What is to be probed: None where a setting is missing or malformed, which other rows tell.

    *embedded_in* is the data folder of the embedded Redis, where there is to be one in place of *redis_url*.
    """

    slack_api_url: str | None = None
    bot_token: str | None = field(default=None, repr=False)
    signing_secret: str | None = field(default=None, repr=False)
    app_token: str | None = field(default=None, repr=False)
    required_scopes: Sequence[str] = ()
    namespace: str | None = None
    redis_url: str | None = field(default=None, repr=False)
    embedded_in: Path | None = None
    project_base_url: str | None = None
    project_api_key: str | None = field(default=None, repr=False)


def what_is_configured(values: Mapping[str, Any], *, embedded_redis: bool) -> Configured:
    """Take what is needed of the well-formed settings, by variable; with *embedded_redis* REDIS_URL may be missing."""

    def revealed(variable: str) -> str | None:
        secret: SecretStr | None = values.get(variable)
        return secret.get_secret_value() if secret else None

    redis_url = revealed("REDIS_URL")
    return Configured(
        slack_api_url=values.get("SLACK_API_URL"),
        bot_token=revealed("SLACK_BOT_TOKEN"),
        signing_secret=revealed("SLACK_SIGNING_SECRET"),
        app_token=revealed("SLACK_APP_TOKEN"),
        required_scopes=required_by(values.get("BRIDGE_RUNNERS", ())),
        namespace=values.get("BRIDGE_NAMESPACE"),
        redis_url=redis_url,
        embedded_in=values.get("BRIDGE_DATA_DIR") if embedded_redis and redis_url is None else None,
        project_base_url=values.get("PROJECT_BASE_URL"),
        project_api_key=revealed("PROJECT_API_KEY"),
    )


async def check(configured: Configured, *, now: Callable[[], datetime], patience: timedelta = PATIENCE) -> list[Row]:
    """Probe all that is configured. Slack comes first: whose namespace it is can be told only then."""
    found = _Found()
    rows = await _in_time(slack.AREA, _slack(configured, found, now), patience)
    others = await asyncio.gather(
        _in_time(redis.AREA, _redis(configured, found), patience),
        _in_time(project.AREA, _project(configured), patience),
    )
    return rows + [row for part in others for row in part]


@dataclass(slots=True)
class _Found:
    """What one part found out for another."""

    identity: Identity | None = None


async def _in_time(area: str, probe: Awaitable[list[Row]], patience: timedelta) -> list[Row]:
    try:
        async with asyncio.timeout(patience.total_seconds()):
            return await probe
    except TimeoutError:
        detail = f"it did not come to an end within {patience.total_seconds():g} s"
        return [Row(area, "answers", State.FAILURE, detail, "look at the way there: something swallows what is sent")]


async def _slack(configured: Configured, found: _Found, now: Callable[[], datetime]) -> list[Row]:
    url, token = configured.slack_api_url, configured.bot_token
    if url is None or not (token or configured.app_token):
        return _secret_rows(configured)
    async with opened(url, token or "", Metrics(), proxy=proxy_for(url)) as web:
        rows = await _bot_rows(web, configured, found, now) if token else []
        if configured.app_token:
            rows.append(await slack.app_token_row(web, configured.app_token))
    return rows + _secret_rows(configured)


async def _bot_rows(web: SlackWeb, configured: Configured, found: _Found, now: Callable[[], datetime]) -> list[Row]:
    rows, found.identity = await slack.bot_rows(
        web,
        now=now,
        required_scopes=configured.required_scopes,
        uses_http=configured.app_token is None,
    )
    return rows


def _secret_rows(configured: Configured) -> list[Row]:
    """In Socket Mode the secret is of no use, right or wrong."""
    if configured.signing_secret is None or configured.app_token is not None:
        return []
    return [slack.secret_row(configured.signing_secret)]


async def _redis(configured: Configured, found: _Found) -> list[Row]:
    if configured.namespace is None:
        return []
    if configured.redis_url is not None:
        return await redis.redis_rows(configured.redis_url, configured.namespace, found.identity)
    if configured.embedded_in is None:
        return []
    problem = await asyncio.to_thread(write_problem, configured.embedded_in)
    if problem and configured.embedded_in.exists():
        cure = "free some space or fix the disk; a running bridge recovers by itself"
        return [Row(redis.AREA, "embedded", State.FAILURE, problem, cure)]
    try:
        async with embedded_redis(configured.embedded_in) as url:
            rows = await redis.redis_rows(url, configured.namespace, found.identity)
    except ConfigurationError as exc:
        return [Row(redis.AREA, "embedded", State.FAILURE, problem) for problem in exc.problems]
    detail = f"its data is in {configured.embedded_in}; for one machine only"
    return [Row(redis.AREA, "embedded", State.OK, detail), *rows]


async def _project(configured: Configured) -> list[Row]:
    if configured.project_base_url is None or configured.project_api_key is None:
        return []
    return await project.project_rows(configured.project_base_url, configured.project_api_key)
