"""`bridge check`: find problems in the settings, Slack, Redis and the project."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.check.access import access_of
from bridge.cli.check.probes import probe
from bridge.cli.check.rules import rule_rows
from bridge.cli.printing import line_width, out
from bridge.cli.rows import is_well, settings_rows, shown
from bridge.cli.running import CANNOT_RUN, complain, config_of, problems_of, run, say, setup_hint
from bridge.cli.store import JsonOption
from bridge.config import Config
from bridge.engine.unknown_names import Lists
from bridge.errors import ConfigurationError
from bridge.logs import configure
from bridge.proxies import unusable_proxy_settings
from bridge.settings import environment, unknown_names, well_formed

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
        values, warnings = well_formed(environ), [*unknown_names(environ), *unusable_proxy_settings()]
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
            found = None
            if not slips and found_config is not None:
                found = await access_of(values, found_config, *access, workflow=workflow)
            rows = settings_rows(of_access, []) if found is None else found
        out(shown(rows, as_json=as_json, width=line_width()), signs=not as_json)
        return 0 if is_well(rows) else CANNOT_RUN

    code = run(show)
    for line in [] if as_json or access else setup_hint(problems):
        say(line)
    raise typer.Exit(code)
