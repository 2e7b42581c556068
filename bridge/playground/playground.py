"""The whole playground: the real bridge between stand-ins for whatever isn't configured.

There are two processes: this one is Slack, the page and the project service, the other is the bridge. They meet over
HTTP, WebSockets and Redis only, as in production.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bridge.playground.bridge_process import BridgeProcess
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.sample import FINANCE, RANDOM
from bridge.playground.local_server import Port
from bridge.playground.page.routes import Page
from bridge.playground.sample_project import SampleProject
from bridge.playground.sample_project.sample import DEFAULT_AGENT
from bridge.playground.status_page import status_page
from bridge.playground.supervisor import PlaygroundSupervisor, StoppableRedis

NAMESPACE: Final = "playground"  # a bridge on the real Slack may share the Redis
_RETRY_DELAYS: Final = (0.5, 2.5, 30.0)  # seconds; short, because the person who kills the bridge is watching


@dataclass(frozen=True)
class PlaygroundOptions:
    """The page with its data in *folder*, and a bridge with the settings *environ* at *bridge_url*.

    The bridge logs to *log_file*. *projects* are the IDs of more sample projects; the first of them has #random.
    """

    folder: Path
    log_file: Path
    environ: Mapping[str, str]
    bridge_url: str
    drain: float
    is_slack_real: bool
    is_project_real: bool
    uses_socket: bool
    projects: Sequence[str] = ()


@dataclass(frozen=True)
class Playground:
    """A running playground; *url* is the page's address."""

    url: str
    bridge: BridgeProcess
    supervisor: PlaygroundSupervisor
    redis: StoppableRedis | None

    async def run(self, until: asyncio.Event) -> int:
        """Run the bridge *until* the event. Returns the exit code of a bridge that never got ready, else 0."""
        async with asyncio.TaskGroup() as group:
            bridge = group.create_task(self.bridge.run())
            beside = [
                group.create_task(self.bridge.watch()),
                group.create_task(self.supervisor.read_manifest()),
                *([group.create_task(self.redis.keep())] if self.redis else []),
            ]
            ended = group.create_task(until.wait())
            await asyncio.wait({bridge, ended}, return_when=asyncio.FIRST_COMPLETED)
            code = bridge.result() if bridge.done() else 0
            for task in (*beside, ended, bridge):
                task.cancel()
        return code


@asynccontextmanager
async def open_playground(
    options: PlaygroundOptions, port: Port, redis: StoppableRedis | None
) -> AsyncIterator[Playground]:
    """Start the stand-ins that *options* ask for, first the page at *port*; without *redis*, theirs is a real one."""
    bridge = BridgeProcess(options.environ, url=options.bridge_url, drain=options.drain, log_file=options.log_file)
    project = None if options.is_project_real else SampleProject(api_key=secrets.token_hex(16), data_dir=options.folder)
    supervisor = PlaygroundSupervisor(
        bridge, folder=options.folder, is_slack_real=options.is_slack_real, project=project, redis=redis
    )
    async with AsyncExitStack() as stack:
        if options.is_slack_real:
            url = (await stack.enter_async_context(status_page(supervisor, port=port))).url
        else:
            slack = _slack(options, port, bridge)
            await supervisor.load_manifest(slack.install)  # a page without its commands would refuse them
            page = Page(
                slack,
                supervisor,
                supervisor.trace,
                project=project,
                folder=options.folder,
                default_agent=bridge.environ.get("BRIDGE_DEFAULT_AGENT", ""),
            )
            slack.serve_also(*page.routes())
            await stack.enter_async_context(slack)
            bridge.environ["SLACK_API_URL"], url = slack.api_url, slack.url
        if project is not None:
            await stack.enter_async_context(project)
            bridge.environ |= {"PROJECT_BASE_URL": project.base_url, "PROJECT_API_KEY": project.api_key}
            bridge.environ["BRIDGE_CALLER_HEADERS"] = "true"  # by which the page knows whose call it was
        if options.projects:
            bridge.environ |= await _more_projects(options, stack)
        if redis is not None:
            bridge.environ["REDIS_URL"] = redis.url
        yield Playground(url, bridge, supervisor, redis)


async def _more_projects(options: PlaygroundOptions, stack: AsyncExitStack) -> dict[str, str]:
    """Start more sample projects, and write the bridge's file that names them; returns the settings for both."""
    environ, lines = {}, ["[projects.default]", 'name = "Shop"']
    for number, id_ in enumerate(options.projects):
        name, folder = id_.capitalize(), options.folder / "projects" / id_
        more = SampleProject(api_key=secrets.token_hex(16), data_dir=folder, name=f"Sample {id_}")
        await stack.enter_async_context(more)
        key = f"SAMPLE_{id_.upper()}_KEY"
        environ[key] = more.api_key
        lines += [
            "",
            f"[projects.{id_}]",
            f'name = "{name}"',
            f'base_url = "{more.base_url}"',
            f'api_key_env = "{key}"',
            f'default_agent = "{DEFAULT_AGENT}"',
        ]
        if not number and not options.is_slack_real:
            environ["SAMPLE_FINANCE_KEY"] = secrets.token_hex(16)
            more.more_keys.add(environ["SAMPLE_FINANCE_KEY"])
            lines += [
                f'channels = ["{RANDOM}"]',
                f'keys = [{{who = ["{FINANCE}"], api_key_env = "SAMPLE_FINANCE_KEY"}}]  # Alice and Bob',
            ]
    file = options.folder / "bridge.toml"
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return environ | {"BRIDGE_CONFIG": str(file)}


def _slack(options: PlaygroundOptions, port: Port, bridge: BridgeProcess) -> EmulatedSlack:
    """Create the workspace, and give Slack and the bridge each other's secrets."""
    bot_token, secret, app_token = (f"{kind}{secrets.token_hex(16)}" for kind in ("xoxb-", "", "xapp-"))
    bridge.environ["SLACK_BOT_TOKEN"] = bot_token
    if options.uses_socket:
        bridge.environ["SLACK_APP_TOKEN"] = app_token
    else:
        bridge.environ["SLACK_SIGNING_SECRET"] = secret
    slack = EmulatedSlack(
        signing_secret=secret,
        bot_token=bot_token,
        app_token=app_token if options.uses_socket else "",
        events_url=f"{bridge.url}/slack/events",
        port=port,
        data_dir=options.folder,
        retry_delays=_RETRY_DELAYS,
        holds_retries=True,
    )
    slack.use_sockets = options.uses_socket
    return slack
