"""The probes of `bridge check`: Slack, Redis and the project service.

They run separately, so that one failure doesn't hide another. Nothing is written or posted (but a test in the channel
for incidents, on request), no socket is opened, and the project's contents are counted, never shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from bridge.cli.check.project import key_row, one_row, project_rows
from bridge.cli.check.redis import configured_redis_rows
from bridge.cli.check.slack import UserGroupsSeen, slack_rows
from bridge.cli.rows import FAILURE, PROJECT, REDIS, SLACK, Row, problem_row
from bridge.config import ProjectSettings
from bridge.engine.unknown_names import Lists
from bridge.errors import ConfigurationError
from bridge.slack.api import Identity

PATIENCE: Final = timedelta(seconds=30)
"""How long the probes of each service may take in total; single calls have shorter limits."""


async def probe(
    values: Mapping[str, Any],
    projects: Sequence[ProjectSettings] = (),
    *,
    now: Callable[[], datetime],
    patience: timedelta = PATIENCE,
    posts_test: bool = False,
    lists: Lists | None = None,
) -> list[Row]:
    """Probe the services that *values*, by variable, configure. Several *projects* get a row each.

    With *posts_test*, a test is posted in the channel for incidents. What the projects have is put into *lists*.

    Slack comes first, because it says which bot should own the namespace.
    """
    lists = lists or Lists()
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
        rows, identity, groups = await slack_rows(values, now, posts_test=posts_test)
        return rows

    rows = await in_time(SLACK, slack())
    others = [in_time(REDIS, configured_redis_rows(values, identity, groups))]
    url, own = values.get("PROJECT_BASE_URL"), values.get("PROJECT_API_KEY")
    if len(projects) > 1:
        others += [in_time(PROJECT, one_row(one, lists)) for one in projects if one.base_url and one.api_key]
    elif url is not None and own:
        default_agent = values.get("BRIDGE_DEFAULT_AGENT") or ""
        others.append(in_time(PROJECT, project_rows(url, own.get_secret_value(), default_agent, lists=lists)))
    others += [in_time(PROJECT, key_row(one, key)) for one in projects if one.base_url for key in one.keys]
    return sum(await asyncio.gather(*others), rows)
