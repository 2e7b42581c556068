"""Open the wires, build the parts, run them in one TaskGroup, and close in reverse.

Production and tests both start here; tests replace only the other ends of the wires.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import secrets
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import aiohttp

from bridge import __version__
from bridge.app.connections import Connections, opened_connections
from bridge.app.parts import build as build_parts
from bridge.app.projects import ProjectClients
from bridge.config import Config, changes, default_project, no_file
from bridge.door.guard import Guard
from bridge.door.http import Reach, Readiness, build, serving
from bridge.door.listeners.app import dispatcher
from bridge.door.sockets import SILENCE, Sockets
from bridge.engine.standing import all_counted
from bridge.engine.unknown_names import GateCheck
from bridge.errors import ConfigurationError, SlackError, SlackRefused, StoreUnavailable
from bridge.features.registry import features
from bridge.logs import configure
from bridge.proxies import unusable_proxy_settings
from bridge.queue.lease import LEASE
from bridge.queue.measuring import measure_queue
from bridge.queue.namespace import Namespace
from bridge.queue.outages import Outages
from bridge.queue.patience import Patience
from bridge.queue.redis.refusals import in_words
from bridge.queue.reloads import InForce, Reloads
from bridge.queue.scripting import Scripts
from bridge.queue.wipe import CURE
from bridge.recovery.catch_up import CatchUp
from bridge.settings import Settings
from bridge.slack.api import Identity
from bridge.slack.payloads import Dispatch
from bridge.slack.scopes import missing, required_by

__all__ = ["Bridge", "Connections", "serve"]

log = logging.getLogger(__name__)

_SLACK_RETRY = 2.0
_NOTED_EVERY = 60.0  # seconds
_REACHED_EVERY = 5.0  # seconds
_LOOKED_EVERY = 1.0  # seconds
_TICK = 0.5  # seconds


async def serve(settings: Settings, read_config: Callable[[], Config]) -> int:
    """Run the bridge until SIGTERM or SIGINT, and return the exit code. Raises `BridgeError` if it can't run.

    A second SIGINT ends it at once.

    *read_config* reads the projects, at the start and on SIGHUP; it raises `ConfigurationError`.
    """
    configure(settings.log_format, settings.log_level)
    for problem in unusable_proxy_settings():
        log.warning("a proxy setting can't be used", extra={"problem": problem})
    draining, hung_up = asyncio.Event(), asyncio.Event()
    running, loop = asyncio.current_task(), asyncio.get_running_loop()

    def interrupt() -> None:
        if draining.is_set() and running:  # whoever presses Ctrl-C again doesn't want to wait
            running.cancel()
        draining.set()

    for number, event in ((signal.SIGTERM, draining.set), (signal.SIGINT, interrupt), (signal.SIGHUP, hung_up.set)):
        loop.add_signal_handler(number, event)
    try:
        async with opened_connections(settings) as wires:
            await Bridge(settings, wires, draining, read_config, hung_up).run()
    except asyncio.CancelledError:
        log.warning("stopped at once; work that was running is cut off")
        return 0
    log.info("stopped")
    return 0


class Bridge:
    """One process of the bridge, built from *settings* and *wires*; it runs until *draining* is set.

    *read_config* reads the projects, again whenever *hung_up* is set; without it, there's one.
    *lease* is how long it holds a thread's queue unrenewed, and *silence* after how long a silent socket is replaced.
    """

    def __init__(
        self,
        settings: Settings,
        wires: Connections,
        draining: asyncio.Event,
        read_config: Callable[[], Config] | None = None,
        hung_up: asyncio.Event | None = None,
        *,
        lease: timedelta = LEASE,
        silence: timedelta = SILENCE,
    ) -> None:
        self._lease = lease
        self._silence = silence
        self._settings = settings
        self._wires = wires
        self._draining = draining
        self._read_config = read_config or partial(no_file, default_project(settings.model_dump(by_alias=True)))
        self._config = self._read_config()
        self._use: Callable[[Config], None] = lambda _: None
        self._gates: GateCheck | None = None
        self._clients = ProjectClients(settings, wires)
        self._hung_up = hung_up or asyncio.Event()
        self._patience = Patience(draining)
        self._scripts = Scripts(wires.redis, settings.namespace, wires.metrics, wires.web.clock)
        self._consumer = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._identity: Identity | None = None
        self._namespace: Namespace | None = None
        self._sockets: Sockets | None = None
        self._guard: Guard | None = None
        self._catch_up: CatchUp | None = None
        self._accepts = False

    async def run(self) -> None:
        """Listen at once, start work once Slack and Redis have been reached, and drain on request.

        Events that arrive while the last turns finish are still accepted and queued.
        """
        secret, web = self._settings.slack_signing_secret, self._wires.web
        if secret and self._settings.slack_app_token is None:
            self._guard = Guard(
                secret.get_secret_value(),
                self._wires.metrics,
                now=lambda: web.now().timestamp(),
                ask_clock=web.ask_clock,
            )
        pages = build(self._guard, self._readiness, self._wires.metrics)
        async with (
            self._clients,
            asyncio.TaskGroup() as group,
            serving(pages, self._settings.host, self._settings.port, group) as address,
        ):
            log.info("listening", extra={"address": address.url, "version": __version__})
            keeping = group.create_task(self._wires.keeper.run()) if self._wires.keeper else None
            work = group.create_task(self._reach_and_work())
            await asyncio.wait({work, group.create_task(self._draining.wait())}, return_when=asyncio.FIRST_COMPLETED)
            if self._namespace is None or self._namespace.since is None:
                work.cancel()  # nothing has started yet
            await asyncio.wait({work})
            if keeping is not None:
                keeping.cancel()

    async def _reach_and_work(self) -> None:
        await self._clients.serve(self._config.projects)
        self._identity = identity = await self._identify()
        self._namespace = namespace = Namespace(
            self._scripts,
            name=self._settings.namespace,
            team=identity.team,
            bot=identity.bot_user,
            now=self._wires.web.now,
            audit_lifetime=self._settings.audit_lifetime,
            workspace=identity.workspace,
            process=self._consumer,
            session_lifetime=self._settings.session_lifetime,
            hears_slack=self._hears_slack,
            notes_outages=self._settings.catch_up == "on",
            waited=self._settings.max_age,
            counts_set_up=partial(all_counted, features.standing, self._scripts),
        )
        parts = build_parts(
            self._settings,
            self._wires,
            self._scripts,
            identity,
            namespace,
            consumer=self._consumer,
            patience=self._patience,
            draining=self._draining,
            projects=self._clients.served,
            door_troubles=self._door_troubles,
            config=self._config,
            lease=self._lease,
        )
        self._catch_up, self._use, self._gates = parts.catch_up, parts.use, parts.gates
        if self._guard is not None:
            # Nothing can be stored until Redis has been reached.
            self._guard.dispatch = dispatcher(lambda request: parts.not_stored(request.body), self._wires.metrics)
        await self._claim(namespace)
        self._wires.metrics.look_up = self._look_up
        with self._patience.through_outages():
            await parts.catch_up.mark_threads()
        dispatch = self._wires.kinds.door(dispatcher(parts.listen().async_dispatch, self._wires.metrics))
        # Objects that exist now stay, so the garbage collector skips them. With these thresholds, it takes 1 to 2% of
        # the processor time, and its longest run 20 ms with 150 turns in flight. With 1,000, it takes 7%, in runs that
        # are hardly shorter; with 50,000, a run blocks the process for 0.1 s.
        gc.freeze()
        gc.set_threshold(10_000, 20, 50)
        if self._guard is not None:
            self._guard.dispatch = dispatch
        async with self._listening_to_sockets(dispatch):
            self._accepts = True
            # Process the queue until the process drains.
            async with parts.queued_reactions.at_work(), asyncio.TaskGroup() as group:
                background = [self._log_ready(), parts.clock.run(), parts.token_watch.run(), parts.catch_up.run()]
                background += [parts.finished_turns.run(), self._look_at_gates(), self._reach_projects()]
                background += [self._reload_on_request(Reloads(self._scripts)), self._measure_lag()]
                if self._guard is not None and self._settings.catch_up == "on":
                    background.append(self._note_refused(self._guard, parts.catch_up.outages))
                tasks = [group.create_task(each) for each in background]
                await parts.worker.run(self._wires.kinds.work(parts.turns.work))
                for task in tasks:
                    task.cancel()  # it may be waiting for Slack or the service
        with suppress(StoreUnavailable):
            await parts.finished_turns.apply()  # of the turns that finished last
            await namespace.leave()

    async def reload(self, config: Config) -> tuple[str, ...]:
        """Use *config* from now on, all of it; returns what changes, in words. Raises `ConfigurationError`."""
        await self._clients.serve(config.projects)
        changed, self._config = changes(self._config, config), config
        self._use(config)
        return changed

    async def _reload_on_request(self, reloads: Reloads) -> None:
        """Read the projects again on SIGHUP and on `bridge config reload`, and report what's in force."""
        in_force = self._in_force()
        while True:
            is_asked, request, reported = self._hung_up.is_set(), "", None
            self._hung_up.clear()
            with suppress(StoreUnavailable):
                request, reported = await reloads.requested(self._consumer)
            if is_asked or (request and request != in_force.request):
                in_force = replace(await self._reload(in_force), request=request or in_force.request)
            elif (config := await self._with_new_keys()) is not None:
                changed = await self.reload(config)
                log.info("a rejected key was replaced", extra={"changed": "; ".join(changed)})
                in_force = replace(in_force, changed=changed)
            unknown = self._gates.unknown if self._gates else ()
            in_force = replace(in_force, unknown=unknown, clock=self._wires.web.clock.off_redis)
            if in_force != reported:
                with suppress(StoreUnavailable):
                    await reloads.report(self._consumer, in_force)
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOKED_EVERY):
                    await self._hung_up.wait()

    async def _reload(self, before: InForce) -> InForce:
        """Read the settings of the projects again, and use them if they have no problems; returns what's in force."""
        problems: tuple[str, ...] = ()
        changed: tuple[str, ...] = ()
        try:
            changed = await self.reload(await asyncio.to_thread(self._read_config))
        except ConfigurationError as exc:
            problems = exc.problems
        if problems:
            log.error(
                "the new configuration was refused; the old one stays in force", extra={"problems": "; ".join(problems)}
            )
            return replace(before, problems=problems)
        await self._look_at_gates()
        config = self._config
        facts: dict[str, Any] = {"projects": [project.id for project in config.projects], "changed": "; ".join(changed)}
        log.info("the configuration was reloaded", extra=facts | {"needs_restart": list(config.needs_restart)})
        return replace(self._in_force(), changed=changed, needs_restart=config.needs_restart)

    async def _look_at_gates(self) -> None:
        """Look for rules without an effect, as far as the service and Slack answer soon."""
        if self._gates is not None:
            await self._gates.look(self._wires.web.now())

    async def _reach_projects(self) -> None:
        """Find out whether each project's service can be reached, before someone needs it."""
        while True:
            unknown = [project.client for project in self._clients.served if not project.client.was_reached]
            await asyncio.gather(*(client.get_project() for client in unknown), return_exceptions=True)
            await asyncio.sleep(_REACHED_EVERY)

    async def _with_new_keys(self) -> Config | None:
        """Return the configuration in force with new keys, if the service rejected some that were replaced since."""
        rejected = {project.id for project in self._clients.served if project.client.rejects_key}
        if not rejected:
            return None
        try:
            read = await asyncio.to_thread(self._read_config)
        except ConfigurationError:
            return None
        keys = {project.id: project.api_key for project in read.projects if project.id in rejected}
        projects = [
            replace(project, api_key=keys.get(project.id, project.api_key)) for project in self._config.projects
        ]
        return None if projects == list(self._config.projects) else replace(self._config, projects=tuple(projects))

    def _in_force(self) -> InForce:
        projects = tuple(project.id for project in self._config.projects)
        return InForce(self._config.revision, projects, self._wires.web.now().timestamp())

    async def _claim(self, namespace: Namespace) -> None:
        """Claim the namespace once Redis is up, and log once if it's down."""
        has_waited = False
        while True:
            try:
                return await namespace.claim()
            except StoreUnavailable as exc:
                if not has_waited:
                    why, cure = in_words(exc)
                    facts = {"reason": exc.reason, "denied": exc.denied, "why": why}
                    facts["cure"] = cure.removeprefix("allow it: ")
                    log.warning("can't reach Redis yet, retrying", extra=facts)
            has_waited = True
            await self._patience.wait_for_redis()

    async def _log_ready(self) -> None:
        """Log that the bridge is ready; in Socket Mode, that's once a socket is open."""
        if self._sockets is not None:
            await self._sockets.opened.wait()
        log.info("ready")

    @asynccontextmanager
    async def _listening_to_sockets(self, dispatch: Dispatch) -> AsyncIterator[None]:
        """In Socket Mode, keep a socket open while the block runs."""
        token = self._settings.slack_app_token
        if token is None:
            yield
            return
        opened = partial(self._open_socket, token.get_secret_value())
        self._sockets = sockets = Sockets(opened, dispatch, self._wires.metrics, self._silence)
        closing = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(sockets.run(closing))
            yield
            closing.set()

    async def _look_up(self) -> None:
        """Look up what's measured whenever metrics are read. Raises `StoreUnavailable`."""
        metrics = self._wires.metrics
        for gauge in (metrics.breaker_open, metrics.socket_silent):
            gauge.clear()  # a project may be gone, or a socket closed
        for project in self._clients.served:
            metrics.breaker_open.labels(project.id).set(not project.client.is_up)
        for number, seconds in enumerate(self._sockets.silent_for() if self._sockets else (), 1):
            metrics.socket_silent.labels(number).set(seconds)
        await measure_queue(self._scripts, metrics, features.due)

    async def _measure_lag(self) -> None:
        """Measure how late this task is woken: whatever blocks the event loop delays everything else as long."""
        while True:
            due = time.monotonic() + _TICK
            await asyncio.sleep(_TICK)
            self._wires.metrics.loop_lag.observe(max(0.0, time.monotonic() - due))

    def _hears_slack(self) -> bool:
        """Whether Slack's events arrive, as far as this process knows."""
        hears = self._settings.slack_app_token is None or (self._sockets is not None and self._sockets.is_up)
        return hears and self._wires.web.token.accepted.is_set()

    def _door_troubles(self) -> dict[str, str]:
        """Say what's wrong with how Slack reaches this process, by the kind of incident."""
        troubles = {}
        if self._guard is not None and self._guard.unauthorized:
            troubles["unauthorized"] = self._guard.unauthorized
        if self._sockets is not None and not self._sockets.is_up and self._wires.web.token.accepted.is_set():
            troubles["socket"] = "no socket to Slack is open"
        return troubles

    async def _open_socket(self, app_token: str) -> aiohttp.ClientWebSocketResponse:
        """Open a socket. If Slack refuses because the app was removed, wait until it's back.

        Raises `SlackRefused` if Slack rejects the app-level token.
        """
        web = self._wires.web
        while True:
            await web.token.accepted.wait()
            try:
                socket = await web.open_socket(app_token)
            except SlackRefused:
                with suppress(SlackError):
                    await web.call("auth.test", {})
                if web.token.accepted.is_set():
                    raise
                continue
            # Record how long no events arrived, before the first one arrives on this socket.
            if self._namespace is not None and self._catch_up is not None:
                with suppress(StoreUnavailable):  # the heartbeat records it later
                    await self._namespace.hold(hears_slack=True)
                    await self._catch_up.mark_threads()
            return socket

    async def _identify(self) -> Identity:
        """Return the bot's identity, waiting while Slack is unreachable, and log each scope that the token lacks.

        Raises `SlackRefused` if Slack rejects the token.
        """
        while True:
            try:
                identity = (await self._wires.web.hello()).identity
                break
            except SlackRefused:
                raise
            except SlackError as exc:
                log.warning("can't reach Slack yet, retrying; bridge check says why", extra={"detail": exc.detail})
                await asyncio.sleep(_SLACK_RETRY)
        if identity.scopes:  # else Slack didn't list them
            needed, optional = missing(identity.scopes, required_by(self._settings.runners | self._config.groups))
            for scope in needed:
                log.error(
                    "a required scope is missing; run bridge check", extra={"scope": scope.name, "to": scope.purpose}
                )
            for scope in optional:
                log.warning("an optional scope is missing", extra={"scope": scope.name, "to": scope.purpose})
        return identity

    async def _note_refused(self, guard: Guard, outages: Outages) -> None:
        """Record an outage for requests that were refused because of this machine's clock: Slack gives up on them."""
        while True:
            began, ended = await guard.refused()
            with self._patience.through_outages():
                await outages.note(began, ended)
            await asyncio.sleep(_NOTED_EVERY)

    def _readiness(self) -> Readiness:
        namespace = self._namespace
        trouble = self._wires.keeper.trouble if self._wires.keeper else ""
        if self._identity is None:
            slack = Reach.NOT_YET
        elif self._sockets is not None:
            slack = _reach(is_up=self._sockets.is_up)
        else:
            slack = _reach(is_up=self._guard is None or not self._guard.refuses_by_clock)
        projects, project = self._clients.served, Reach.DOWN
        if all(each.client.is_up for each in projects):
            project = Reach.UP if all(each.client.was_reached for each in projects) else Reach.UNKNOWN
        rejected = [each.id for each in projects if each.client.rejects_key]
        of_projects = f" of {', '.join(rejected)}" if projects.is_several else ""
        clock = self._wires.web.clock.trouble
        if not clock and self._guard is not None and self._guard.refuses_by_clock:
            clock = "this machine's clock seems wrong, so requests from Slack are refused"
        return Readiness(
            slack=slack,
            slack_trouble=self._wires.web.token.refused_because,
            clock_trouble=clock,
            redis=Reach.NOT_YET
            if namespace is None or namespace.since is None
            else _reach(is_up=namespace.is_held and not trouble),
            project=project,
            project_trouble=f"the key{of_projects} is rejected; run bridge check" if rejected else "",
            draining=self._draining.is_set(),
            accepts=self._accepts,
            redis_trouble=trouble,
            redis_notice=f"{namespace.wipe.in_words()}; {CURE}" if namespace and namespace.wipe else "",
        )


def _reach(*, is_up: bool) -> Reach:
    return Reach.UP if is_up else Reach.DOWN
