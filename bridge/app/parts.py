"""The composition root: builds every part of a bridge once Slack has been reached."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from slack_bolt.async_app import AsyncApp
from slack_bolt.response import BoltResponse

from bridge.app.connections import Connections
from bridge.config import OWN, Config
from bridge.documents import Documents
from bridge.door.listeners.app import Intake, slack_app
from bridge.door.listeners.events import EventListeners
from bridge.door.listeners.interactions import InteractionListeners, answer_not_stored
from bridge.door.listeners.messages import MessageListeners
from bridge.door.listeners.token_watch import TokenWatch
from bridge.ends import notices
from bridge.engine.addressing import Addressing
from bridge.engine.clock import Clock
from bridge.engine.finished_turns import Entries, FinishedTurns
from bridge.engine.home import Homes
from bridge.engine.processor import TurnProcessor
from bridge.engine.projects import ServedProjects
from bridge.engine.reply_poster import ReplyPoster
from bridge.engine.said_once import SaidOnce
from bridge.engine.unknown_names import GateCheck
from bridge.features.agents.faces import Faces
from bridge.features.agents.handles import Handles
from bridge.features.approvals.requesting import Approvals
from bridge.features.channels.settings import Channels
from bridge.features.conversations.answering import waits_for
from bridge.features.conversations.app_posts import AppPosts
from bridge.features.conversations.contents import PartReader
from bridge.features.conversations.context import Context
from bridge.features.conversations.receive import Receiver
from bridge.features.conversations.sessions import Sessions
from bridge.features.conversations.stopping import Stopping
from bridge.features.deps import Deps
from bridge.features.home.first_words import FirstWords
from bridge.features.home.seen import SeenHomes
from bridge.features.incidents.incident import Troubles
from bridge.features.registry import features
from bridge.ids import ThreadKey
from bridge.json_reader import Json
from bridge.policy.limits import ARRIVALS, Limits, limits_in_short, limits_of, of_arrival
from bridge.policy.policy import Policy
from bridge.policy.rules import Rules, rules_of
from bridge.project import Catalog
from bridge.project.connection import ProjectConnection
from bridge.queue.lease import LEASE, Elapsed
from bridge.queue.namespace import Namespace
from bridge.queue.outages import Outages
from bridge.queue.patience import Patience
from bridge.queue.scripting import Scripts
from bridge.queue.slots import Shares, Slots
from bridge.queue.watches import Watches
from bridge.queue.worker import Worker
from bridge.recovery.catch_up import CatchUp
from bridge.settings import Settings
from bridge.slack.api import Identity
from bridge.slack.blockkit import kit
from bridge.slack.directory import Directory
from bridge.slack.files import Files
from bridge.slack.indicators import Indicators, QueuedReactions
from bridge.slack.post import Poster
from bridge.slack.scopes import missing, required_by
from bridge.slack.user_groups import UserGroups

_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that run: *listen* builds the Bolt app, the *worker* runs *turns*, the others run on their own.

    *not_stored* answers Slack's requests whose input can't be stored, as the app does.
    *gates* says which rules have no effect. *use* takes what the operator's file says, besides the projects, from now
    on.
    """

    listen: Callable[[], AsyncApp]
    not_stored: Callable[[Json], Awaitable[BoltResponse]]
    receiver: Receiver
    stopping: Stopping
    worker: Worker
    turns: TurnProcessor
    queued_reactions: QueuedReactions
    clock: Clock
    finished_turns: FinishedTurns
    gates: GateCheck
    use: Callable[[Config], None]
    token_watch: TokenWatch
    catch_up: CatchUp


def build(
    settings: Settings,
    wires: Connections,
    scripts: Scripts,
    identity: Identity,
    namespace: Namespace,
    *,
    consumer: str,
    patience: Patience,
    draining: asyncio.Event,
    projects: ServedProjects | None = None,
    door_troubles: Callable[[], Mapping[str, str]] = dict,
    config: Config | None = None,
    monotonic: Callable[[], float] | None = None,
    sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep,
    lease: timedelta = LEASE,
) -> Parts:
    """Build the parts, without running them; *consumer* names this process for the queue.

    Without *projects*, there's one; without *config*, there's no operator's file. *door_troubles* returns what's wrong
    with how Slack reaches this process.

    All processes of a namespace need the same *lease*.
    """
    monotonic = monotonic or Elapsed()
    own: Any = {name: getattr(settings, name) or "" for name in OWN}
    only = ProjectConnection(wires.project, Catalog(wires.project, monotonic=monotonic), **own)
    of_settings = ("thread_turns", "app_turns", "user_turns", "user_runs")
    in_short = limits_in_short(**{name: getattr(settings, name) for name in of_settings})
    how: Any = {"consumer": consumer, "session_lifetime": settings.session_lifetime, "now": wires.web.now}
    inbox = wires.kinds.inbox(
        scripts, **how, limits=partial(of_arrival, [limit for limit in in_short if limit.unit == ARRIVALS])
    )
    journal = wires.kinds.journal(scripts, patience, **how)

    async def ensure_caught_up(thread: ThreadKey) -> None:
        await catch_up.ensure_caught_up(thread)

    served = projects or ServedProjects(only)
    gates = GateCheck(served, UserGroups(wires.web))
    wires.web.command_prefix = settings.command_prefix
    slack = Poster(wires.web, identity, monotonic=monotonic, sleep=sleep)
    directory = Directory(wires.web, identity, monotonic=monotonic)
    channels = Channels(scripts, served, replies=settings.thread_replies)
    files = Files(wires.web, identity, settings.slack_api_url)
    deps = Deps(
        scripts=scripts,
        projects=served,
        inbox=inbox,
        homes=Homes(scripts, inbox, served, now=wires.web.now),
        approvals=Approvals(identity.workspace),
        sessions=Sessions(scripts, session_lifetime=settings.session_lifetime),
        channels=channels,
        faces=Faces(directory, slack.authorship, identity.bot_user),
        handles=Handles(scripts, UserGroups(wires.web), identity.bot_user),
        seen_homes=SeenHomes(scripts),
        first_words=FirstWords(slack, monotonic=monotonic),
        said_once=SaidOnce(scripts),
        policy=Policy(identity.home, directory, Rules()),
        slack=slack,
        indicators=Indicators(wires.web, identity, slack.authorship, monotonic=monotonic),
        directory=directory,
        context=Context(slack, directory, channels, identity.bot_user, is_on=settings.context == "on"),
        parts=PartReader(directory, identity.bot_user, files, Documents(), mode=settings.files, sleep=sleep),
        ensure_caught_up=ensure_caught_up,
        store_since=lambda: namespace.since,
        now=wires.web.now,
        session_lifetime=settings.session_lifetime,
        metrics=wires.metrics,
        home_sections=features.home_sections,
        needs=features.needs,
        standing=features.standing,
        gates=gates,
        troubles=Troubles(lambda: {**door_troubles(), **_troubles(settings, wires, identity, gates)}),
        team=identity.team,
        ops_channel=settings.ops_channel or "",
        bot_user=identity.bot_user,
        command_prefix=settings.command_prefix,
        workspace=identity.workspace,
        names_caller=settings.caller_headers == "true",
    )

    def use(config: Config) -> None:
        deps.policy.rules = rules_of(
            config,
            allowed_channels=settings.allowed_channels,
            allowed_users=settings.allowed_users,
            runners=settings.runners,
        )
        deps.channels.file, deps.faces.file = config.channels, config.agents
        deps.policy.limits = Limits(limits_of(config.limits), in_short)
        gates.use(config)

    use(config or Config(()))
    queued_reactions = QueuedReactions(
        deps.indicators,
        deps.slack,
        scripts,
        notices.in_line,
        waits_for=partial(waits_for, deps),
        monotonic=monotonic,
        sleep=sleep,
    )

    # Input
    addressing = Addressing(
        deps.projects, features.commands, scripts, identity.bot_user, deps.policy, deps.channels.project_of
    )
    receiver = Receiver(
        inbox=inbox,
        sessions=deps.sessions,
        policy=deps.policy,
        features=features,
        channels=deps.channels,
        apps=AppPosts(inbox, deps.sessions, deps.policy, deps.channels),
        bot_user=identity.bot_user,
        store_since=deps.store_since,
        addressing=addressing,
        mentioned=deps.handles.mentioned,
        now=deps.now,
        on_queued=queued_reactions.on_queued,
    )
    intake, stopping = Intake(inbox, deps.policy, wires.metrics, addressing), Stopping(inbox, deps.policy)
    messages = MessageListeners(receiver, inbox, identity, wires.metrics)
    if settings.catch_up == "on":
        inbox.refused_messages.on_unread = namespace.notice_outage
    token_watch = TokenWatch(wires.web, identity, settings.bot_token_now, sleep=sleep)
    not_stored = partial(answer_not_stored, identity, deps.slack)
    listen = partial(
        slack_app,
        wires.web,
        identity,
        wires.metrics,
        not_stored,
        messages,
        InteractionListeners(intake, identity, deps.projects, deps.faces.of, settings.command_prefix),
        EventListeners(intake, stopping.stop, identity),
        token_watch,
    )
    catch_up = CatchUp(
        outages=Outages(scripts),
        web=wires.web,
        identity=identity,
        receive=messages.found,
        is_human=deps.directory.is_human,
        patience=patience,
        metrics=wires.metrics,
        process=consumer,
        now=deps.now,
        has_outage=lambda: namespace.has_outage,
        store_since=deps.store_since,
        depth=inbox.depth,
        monotonic=monotonic,
        lease=lease,
    )

    watches = Watches(deps.channels.heard, deps.handles.heard)
    turns = TurnProcessor(
        deps=deps,
        features=features,
        journal=journal,
        poster=ReplyPoster(deps.slack, patience, journal, watches, indicators=deps.indicators),
        patience=patience,
        slots=Slots(settings.max_turns),
        shares=Shares(settings.max_turns, lambda: len(list(deps.projects))),
        metrics=deps.metrics,
        entries=Entries(scripts.keys, features.commands.fixed_words, lifetime=settings.audit_lifetime, now=deps.now),
        max_age=settings.max_age,
        watches=watches,
    )
    worker = Worker(
        inbox=inbox,
        journal=journal,
        namespace=namespace,
        blocking=wires.blocking,
        slots=turns.slots,
        drain=settings.drain,
        draining=draining,
        monotonic=monotonic,
        watches=watches,
        may_begin=wires.web.token.accepted.is_set,
        lease=lease,
    )
    wires.metrics.queue_depth.set_function(lambda: worker.depth)
    wires.metrics.in_flight.set_function(lambda: settings.max_turns - turns.slots.free)
    clock = Clock(deps, features.clocks, features.jobs, patience)
    handlers = features.finished_turn_handlers
    finished_turns = FinishedTurns(deps, handlers, patience, has_audit=bool(settings.audit_lifetime))
    return Parts(
        listen, not_stored, receiver, stopping, worker, turns, queued_reactions, clock, finished_turns, gates, use,
        token_watch, catch_up,
    )  # fmt: skip


def _troubles(settings: Settings, wires: Connections, identity: Identity, gates: GateCheck) -> dict[str, str]:
    """Say what this process knows to be wrong with its token, clock and file, by the kind of incident."""
    troubles, token = {}, wires.web.token
    if token.refused_because:
        troubles["token"] = f"it says {token.refused_because}; messages are queued until it accepts one"
    if wires.web.clock.off_redis:
        troubles["clock"] = wires.web.clock.off_redis
    lacking = {scope.name for scope in missing(identity.scopes, required_by(settings.runners))[0] if identity.scopes}
    lacking |= {scope for scope in wires.web.lacking.values() if scope in identity.scopes}  # it was taken away
    if lacking:
        troubles["scopes"] = ", ".join(sorted(lacking))
    if gates.unknown:
        troubles["names"] = kit.first_of(gates.unknown, _MOST_NAMED, "; ")
    return troubles
