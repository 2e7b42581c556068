"""The composition root: opens the wires, builds the parts, runs them in one TaskGroup, and closes in reverse.

Production and tests both start here; tests replace only what is at the other end of the wires.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from redis.asyncio import Redis

from bridge import __version__
from bridge.chats.access import Access
from bridge.chats.context import Context
from bridge.chats.decide import Decide
from bridge.chats.planning import Chats
from bridge.chats.receive import Receiver
from bridge.chats.stopping import Stopping
from bridge.commands.deps import Deps
from bridge.errors import SlackError, SlackRefused
from bridge.logs import configure
from bridge.metrics import Metrics
from bridge.project import Catalog, ProjectClient
from bridge.reports.hourly import Hourly
from bridge.reports.keeping import Reports
from bridge.reports.reporter import Reporter
from bridge.reports.statistics import Statistics
from bridge.settings import Settings
from bridge.slack.actions import Actions
from bridge.slack.agent_view import AgentView
from bridge.slack.bolt import Listeners, bolt_app, over_http, over_socket
from bridge.slack.commands import Commands
from bridge.slack.directory import SlackDirectory
from bridge.slack.door import Door
from bridge.slack.guard import Guard
from bridge.slack.home import Home
from bridge.slack.messages import Messages
from bridge.slack.say import SlackSay
from bridge.slack.server import NotYet, Reach, Readiness, build, serving, settle_memory
from bridge.slack.shortcuts import Shortcuts
from bridge.slack.sockets import Sockets
from bridge.slack.stops import StopsSurface
from bridge.slack.web import Identity, SlackWeb, opened, proxy_for
from bridge.store.connection import blocking_connection, connect
from bridge.store.embedded import embedded_redis as embedded_server
from bridge.store.feedback import Votes
from bridge.store.hourglass import Hourglasses
from bridge.store.inbox import Inbox
from bridge.store.journal import Journal
from bridge.store.limits import Limits
from bridge.store.namespace import Namespace
from bridge.store.recent import Recent
from bridge.store.schedules import Schedules
from bridge.store.scripting import Scripts
from bridge.store.sessions import Results, Sessions
from bridge.store.snapshots import SnapshotStore
from bridge.turns.effects import Effects
from bridge.turns.hourglass import WaitingSigns
from bridge.turns.patience import Patience
from bridge.turns.reports import AfterReports
from bridge.turns.runs import Runs
from bridge.turns.show import Shower
from bridge.turns.slots import Slots
from bridge.turns.turn import Turns
from bridge.turns.watching import Watches
from bridge.turns.worker import Worker

log = logging.getLogger(__name__)

_SLACK_RETRY = 2.0


async def serve(settings: Settings, *, embedded_redis: bool) -> int:
    """Run the bridge until SIGTERM or SIGINT; returns the exit code. Raises `BridgeError` where it cannot run."""
    configure(settings.log_format, settings.log_level)
    draining = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, draining.set)
    async with _wires(settings, embedded=embedded_redis) as wires:
        await Bridge(settings, wires, draining).run()
    log.info("stopped")
    return 0


@dataclass(frozen=True, slots=True)
class Wires:
    """What is open to the outside for the life of the process."""

    metrics: Metrics
    redis: Redis
    blocking: Redis
    web: SlackWeb
    project: ProjectClient


@asynccontextmanager
async def _wires(settings: Settings, *, embedded: bool) -> AsyncIterator[Wires]:
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(_redis_url(settings, embedded=embedded))
        redis, blocking = connect(url), blocking_connection(url)
        stack.push_async_callback(redis.aclose)
        stack.push_async_callback(blocking.aclose)
        token, proxy = settings.slack_bot_token.get_secret_value(), proxy_for(settings.slack_api_url)
        web = await stack.enter_async_context(opened(settings.slack_api_url, token, metrics, proxy=proxy))
        project = ProjectClient(
            settings.project_base_url,
            settings.project_api_key.get_secret_value(),
            chat_timeout=settings.chat_timeout,
            run_timeout=settings.run_timeout,
            observe=metrics.upstream,
        )
        yield Wires(metrics, redis, blocking, web, await stack.enter_async_context(project))


@asynccontextmanager
async def _redis_url(settings: Settings, *, embedded: bool) -> AsyncIterator[str]:
    if embedded:
        async with embedded_server(settings.data_dir) as url:
            log.info("embedded redis: one machine only", extra={"data": str(settings.data_dir)})
            yield url
    elif settings.redis_url is not None:
        yield settings.redis_url.get_secret_value()


class Bridge:
    """The parts, built from *settings* and *wires*, at work until *draining* is set."""

    def __init__(self, settings: Settings, wires: Wires, draining: asyncio.Event) -> None:
        self._settings = settings
        self._wires = wires
        self._draining = draining
        self._patience = Patience(draining)
        self._scripts = Scripts(wires.redis, settings.namespace, wires.metrics)
        self._consumer = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._identity: Identity | None = None
        self._namespace: Namespace | None = None
        self._sockets: Sockets | None = None

    async def run(self) -> None:
        """Listen at once, work as soon as Slack and Redis have been reached, drain when told to.

        What Slack sends while the last turns are finished is still accepted, into the queue.
        """
        door, secret = NotYet(), self._settings.slack_signing_secret
        uses_http = secret is not None and self._settings.slack_app_token is None
        guard = Guard(door, secret.get_secret_value(), self._wires.metrics) if secret and uses_http else None
        pages = build(guard, self._readiness, self._wires.metrics)
        async with (
            asyncio.TaskGroup() as group,
            serving(pages, self._settings.host, self._settings.port, group) as address,
        ):
            log.info("listening", extra={"address": address.url, "version": __version__})
            work = group.create_task(self._reach_and_work(door))
            await asyncio.wait({work, group.create_task(self._draining.wait())}, return_when=asyncio.FIRST_COMPLETED)
            if self._namespace is None or self._namespace.since is None:
                work.cancel()  # nothing was begun yet
            await asyncio.wait({work})

    async def _reach_and_work(self, door: NotYet) -> None:
        self._identity = identity = await self._who_we_are()
        self._namespace = namespace = Namespace(
            self._scripts,
            name=self._settings.namespace,
            team=identity.team,
            bot=identity.bot_user,
            now=_now,
            audit_lifetime=self._settings.audit_lifetime,
            workspace=identity.workspace,
        )
        await self._patience.through_outages(namespace.hold)
        parts = self._parts(identity, namespace)
        door.opens(over_http(parts.listeners))
        settle_memory()
        log.info("ready")
        async with self._listening_to_sockets(parts.listeners), parts.signs.at_work(), asyncio.TaskGroup() as group:
            hourly = group.create_task(parts.hourly.run())
            group.create_task(parts.reporter.run(self._draining))
            await parts.worker.run(parts.turns.work)
            hourly.cancel()  # it may be waiting for the service

    @asynccontextmanager
    async def _listening_to_sockets(self, listeners: Listeners) -> AsyncIterator[None]:
        """In Socket Mode, have a socket open meanwhile."""
        token = self._settings.slack_app_token
        if token is None:
            yield
            return
        dispatch = over_socket(listeners, self._wires.metrics, time.monotonic)
        self._sockets = sockets = Sockets(lambda: self._wires.web.open_socket(token.get_secret_value()), dispatch)
        closing = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(sockets.run(closing))
            yield
            closing.set()

    async def _who_we_are(self) -> Identity:
        """Ask Slack, for as long as it cannot be reached. Raises `SlackRefused` where the token is not accepted."""
        while True:
            try:
                return await self._wires.web.auth_test()
            except SlackRefused:
                raise
            except SlackError as exc:
                log.warning("slack cannot be reached yet", extra={"detail": exc.detail})
                await asyncio.sleep(_SLACK_RETRY)

    def _readiness(self) -> Readiness:
        namespace, project = self._namespace, self._wires.project
        return Readiness(
            slack=self._slack(),
            redis=Reach.NOT_YET if namespace is None or namespace.since is None else _reach(is_up=namespace.is_held),
            project=_reach(is_up=project.is_up),
            draining=self._draining.is_set(),
        )

    def _slack(self) -> Reach:
        if self._identity is None:
            return Reach.NOT_YET
        return Reach.UP if self._sockets is None else _reach(is_up=self._sockets.is_up)

    def _parts(self, identity: Identity, namespace: Namespace) -> Parts:
        settings, wires, scripts = self._settings, self._wires, self._scripts
        limits = Limits(settings.thread_turns, settings.user_turns, settings.user_runs)
        inbox = Inbox(
            scripts, consumer=self._consumer, session_lifetime=settings.session_lifetime, now=_now, limits=limits
        )
        journal = Journal(
            scripts,
            consumer=self._consumer,
            session_lifetime=settings.session_lifetime,
            now=_now,
            limits=limits,
            audit_lifetime=settings.audit_lifetime,
        )
        sessions = Sessions(scripts, session_lifetime=settings.session_lifetime)
        say, directory = SlackSay(wires.web, identity), SlackDirectory(wires.web, identity)
        catalog, slots = Catalog(wires.project), Slots(settings.max_turns)
        access = Access(
            home=identity.home,
            directory=directory,
            allowed_channels=settings.allowed_channels,
            allowed_users=settings.allowed_users,
            runners=settings.runners,
        )
        chats = Chats(
            catalog=catalog,
            sessions=sessions,
            directory=directory,
            say=say,
            bot_user=identity.bot_user,
            default_agent=settings.default_agent or "",
            store_since=lambda: namespace.since,
            context=Context(
                say,
                directory,
                identity.bot_user,
                is_on=settings.context == "on",
                mentions_only=settings.thread_replies == "mentions",
            ),
        )
        signs = WaitingSigns(say, Hourglasses(scripts))
        statistics = Statistics(wires.project, SnapshotStore(scripts), _now)
        schedules = Schedules(scripts, consumer=self._consumer, session_lifetime=settings.session_lifetime, now=_now)
        reports = Reports(
            schedules=schedules,
            inbox=inbox,
            sessions=sessions,
            statistics=statistics,
            directory=directory,
            now=_now,
            has_default_agent=bool(settings.default_agent),
            allowed_channels=settings.allowed_channels,
        )
        deps = Deps(
            catalog=catalog,
            project=wires.project,
            sessions=sessions,
            results=Results(scripts),
            may_run=access.may_run,
            name_of=directory.user_name,
            command_prefix=settings.command_prefix,
            locale_of=directory.user_locale,
            statistics=statistics,
            reports=reports,
            recent=Recent(scripts),
            in_thread=chats.context.quoting,
            channel_name_of=directory.channel_name,
            workspace=identity.workspace,
        )
        watches = Watches()
        turns = Turns(
            plan=Decide(chats, deps),
            journal=journal,
            sessions=sessions,
            effects=Effects(
                say,
                inbox,
                sessions,
                self._patience,
                Votes(scripts, wires.metrics, now=_now),
                reports=AfterReports(schedules, self._patience),
            ),
            project=wires.project,
            runs=Runs(
                project=wires.project,
                say=say,
                directory=directory,
                journal=journal,
                patience=self._patience,
                now=_now,
            ),
            say=say,
            shower=Shower(say, self._patience),
            patience=self._patience,
            slots=slots,
            metrics=wires.metrics,
            max_age=settings.max_age,
            now=_now,
            watches=watches,
        )
        worker = Worker(
            inbox=inbox,
            journal=journal,
            namespace=namespace,
            blocking=wires.blocking,
            slots=slots,
            drain=settings.drain_timeout,
            draining=self._draining,
            monotonic=time.monotonic,
            watches=watches,
        )
        wires.metrics.watch_queue(lambda: worker.depth)
        receiver = Receiver(
            inbox=inbox,
            access=access,
            bot_user=identity.bot_user,
            mentions_only=settings.thread_replies == "mentions",
            store_since=lambda: namespace.since,
            waits_behind=signs.behind,
        )
        door = Door(inbox, access, wires.metrics)
        messages = Messages(receiver, identity, wires.metrics)
        bolt = bolt_app(
            wires.web,
            identity,
            StopsSurface(Stopping(inbox, access), identity, wires.metrics),
            AgentView(door, identity),
            Home(door, identity),
            Shortcuts(door, identity, say),
            messages,
            Commands(door, identity, settings.command_prefix),
            Actions(door, identity, catalog, access, say),
        )
        hourly = Hourly(statistics, name=self._consumer, pause=self._patience.pause)
        reporter = Reporter(schedules, _now)
        return Parts(worker, turns, Listeners(bolt, messages.on_message), hourly, signs, reporter)


@dataclass(frozen=True, slots=True)
class Parts:
    """What `Bridge` puts together."""

    worker: Worker
    turns: Turns
    listeners: Listeners
    hourly: Hourly
    signs: WaitingSigns
    reporter: Reporter


def _reach(*, is_up: bool) -> Reach:
    return Reach.UP if is_up else Reach.DOWN


def _now() -> datetime:
    return datetime.now(UTC)
