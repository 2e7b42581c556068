"""`bridge check`: find problems in the settings, Slack, Redis and the project.

The probes run separately, so that one failure doesn't hide another. Nothing is written or posted (but a test in the
channel for incidents, on request), no socket is opened, and the project's contents are counted, never shown.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bridge.cli.check.access import access_of
from bridge.cli.check.project import key_row, one_row, project_rows
from bridge.cli.check.redis import configured_redis_rows
from bridge.cli.check.rules import rule_rows
from bridge.cli.check.slack import UserGroupsSeen, slack_rows
from bridge.cli.printing import line_width, out
from bridge.cli.rows import FAILURE, PROJECT, REDIS, SLACK, Row, as_typed, is_well, problem_row, settings_rows, shown
from bridge.cli.running import CANNOT_RUN, complain, config_of, problems_of, run, say, setup_hint
from bridge.cli.store import JsonOption
from bridge.config import Config, ProjectSettings
from bridge.engine.unknown_names import Lists
from bridge.errors import ConfigurationError
from bridge.logs import configure
from bridge.proxies import unusable_proxy_settings
from bridge.settings import environment, unknown_variables, well_formed
from bridge.slack.api import Identity

PATIENCE: Final = timedelta(seconds=30)
"""How long the probes of each service may take in total; single calls have shorter limits."""

_OF_ACCESS = ("SLACK_BOT_TOKEN", "SLACK_API_URL", "BRIDGE_ALLOWED_", "BRIDGE_RUNNERS")


def check(
    *,
    as_json: JsonOption = False,
    embedded_redis: Annotated[
        bool, typer.Option("--embedded-redis", help="Check the embedded Redis if REDIS_URL isn't set.")
    ] = False,
    post_test: Annotated[
        bool, typer.Option("--post-test", help="Post a test in the channel for incidents, BRIDGE_OPS_CHANNEL.")
    ] = False,
    access: Annotated[
        tuple[str, str] | None,
        typer.Option("--access", metavar="USER CHANNEL", help="Show what this person may do in this channel, and why."),
    ] = None,
    workflow: Annotated[
        str, typer.Option("--run", metavar="WORKFLOW", help="With --access: whether they may run this workflow.")
    ] = "",
) -> None:
    """Check the settings, Slack, Redis and the project.

    Each problem comes with a fix. Nothing is written, and nothing posted without --post-test.
    """
    configure("console", "ERROR")  # problems are shown in rows
    if workflow and access is None:
        raise typer.Exit(
            complain([ConfigurationError(["--run needs --access USER CHANNEL: add whom to check, and where"])])
        )
    warnings: list[str] = []
    slips: list[str] = []
    found_config: Config | None = None
    of_file: tuple[str, ...] = ()
    try:
        environ = environment(os.environ, Path(".env"), embedded_redis=embedded_redis, slips=slips)
    except ConfigurationError as exc:  # .env can't be read
        values, problems = well_formed(os.environ), exc.problems
    else:
        values, warnings = well_formed(environ), [*unknown_variables(environ), *unusable_proxy_settings()]
        problems = problems_of(environ, slips)
        try:
            found_config = config_of(environ)
        except ConfigurationError as exc:  # it's among the problems, too
            of_file = exc.problems

    projects = found_config.projects if found_config else ()

    async def show() -> int:
        if access is None:
            now = lambda: datetime.now(UTC)  # noqa: E731 - short
            lists = Lists()
            rows = settings_rows(problems, warnings)
            rows += await probe(values, projects, now=now, posts_test=post_test, lists=lists)
            rows += await rule_rows(values, found_config, lists) if found_config else []
        else:
            of_access = [*slips, *(line for line in problems if line.startswith(_OF_ACCESS) and line not in slips)]
            of_access += of_file
            access_rows = None
            if not slips and found_config is not None:
                access_rows = await access_of(values, found_config, *access, workflow=workflow)
            rows = settings_rows(of_access, []) if access_rows is None else access_rows
        out(shown(rows, as_json=as_json, width=line_width()), signs=not as_json)
        return 0 if is_well(rows) else CANNOT_RUN

    code = run(show)
    for line in [] if as_json or access else setup_hint(problems):
        say(line)
    raise typer.Exit(code)


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
        others += [
            in_time(PROJECT, one_row(project, lists)) for project in projects if project.base_url and project.api_key
        ]
    elif url is not None and own:
        default_agent = values.get("BRIDGE_DEFAULT_AGENT") or ""
        others.append(in_time(PROJECT, project_rows(url, own.get_secret_value(), default_agent, lists=lists)))
    others += [
        in_time(PROJECT, key_row(project, key)) for project in projects if project.base_url for key in project.keys
    ]
    return as_typed(sum(await asyncio.gather(*others), rows), values)
