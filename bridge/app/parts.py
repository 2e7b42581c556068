"""The parts of a bridge that has reached Slack and Redis, each built once, from the ground up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from bridge.app.intake import Intake
from bridge.app.wires import Wires
from bridge.chats.context import Context
from bridge.chats.decide import Decide
from bridge.chats.planning import Chats
from bridge.chats.stopping import Stopping
from bridge.commands.deps import Deps
from bridge.project import Catalog
from bridge.reports.hourly import Hourly
from bridge.reports.keeping import Reports
from bridge.reports.reporter import Reporter
from bridge.reports.statistics import Statistics
from bridge.settings import Settings
from bridge.slack.actions import Actions
from bridge.slack.agent_view import AgentView
from bridge.slack.bolt import Bolt
from bridge.slack.home import Home
from bridge.slack.rereading import KeptReplies
from bridge.slack.say import SlackSay
from bridge.slack.shortcuts import Shortcuts
from bridge.slack.stops import StopsSurface
from bridge.slack.token_watch import TokenWatch
from bridge.store.feedback import Votes
from bridge.store.hourglass import Hourglasses
from bridge.store.journal import Journal
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


@dataclass(frozen=True)
class Parts:
    """Whatever is asked for is built with what it needs, on top of what takes in what comes."""

    intake: Intake
    patience: Patience
    draining: asyncio.Event

    @property
    def settings(self) -> Settings:
        """What was configured."""
        return self.intake.settings

    @property
    def wires(self) -> Wires:
        """What is open to the outside."""
        return self.intake.wires

    @property
    def scripts(self) -> Scripts:
        """The store's scripts."""
        return self.intake.scripts

    @property
    def now(self) -> Callable[[], datetime]:
        """The clock, for everybody: Slack's."""
        return self.intake.now

    # What works by itself

    @cached_property
    def bolt(self) -> Bolt:
        """Who takes in whatever is no message and no command."""
        identity, access, door = self.intake.identity, self.intake.access, self.intake.door
        return Bolt(
            self.wires.web,
            identity,
            self.wires.metrics,
            StopsSurface(Stopping(self.intake.inbox, access), identity, self.wires.metrics),
            AgentView(door, identity),
            self.token_watch,
            Home(door, identity),
            Shortcuts(door, identity, self.say),
            Actions(door, identity, self.catalog, access, self.say),
        )

    @cached_property
    def worker(self) -> Worker:
        """Who takes lanes out of the queue."""
        worker = Worker(
            inbox=self.intake.inbox,
            journal=self.journal,
            namespace=self.intake.namespace,
            blocking=self.wires.blocking,
            slots=self._slots,
            drain=self.settings.drain_timeout,
            draining=self.draining,
            monotonic=time.monotonic,
            watches=self._watches,
            may_begin=lambda: self.wires.web.token.is_accepted,
        )
        self.wires.metrics.watch_queue(lambda: worker.depth)
        return worker

    @cached_property
    def turns(self) -> Turns:
        """What is done with the head of a lane."""
        return Turns(
            plan=Decide(self._chats, self._deps, KeptReplies(self.wires.web, self.intake.messages)),
            journal=self.journal,
            sessions=self.sessions,
            effects=self._effects,
            project=self.wires.project,
            runs=self._runs,
            say=self.say,
            shower=Shower(self.say, self.patience),
            patience=self.patience,
            slots=self._slots,
            metrics=self.wires.metrics,
            max_age=self.settings.max_age,
            now=self.now,
            watches=self._watches,
        )

    @cached_property
    def token_watch(self) -> TokenWatch:
        """Who finds out when a token that Slack has refused works again."""
        return TokenWatch(self.wires.web, self.intake.identity, self.settings.bot_token_now)

    @cached_property
    def signs(self) -> WaitingSigns:
        """The signs on messages that wait."""
        return WaitingSigns(self.intake.line, self.say, Hourglasses(self.scripts))

    @cached_property
    def hourly(self) -> Hourly:
        """What is kept of the statistics once an hour."""
        return Hourly(self._statistics, name=self.intake.consumer, pause=self.patience.pause)

    @cached_property
    def reporter(self) -> Reporter:
        """What queues reports when they are due."""
        return Reporter(self._schedules, self.now)

    # The store

    @cached_property
    def journal(self) -> Journal:
        """The steps of turns."""
        return Journal(
            self.scripts,
            consumer=self.intake.consumer,
            session_lifetime=self.settings.session_lifetime,
            now=self.now,
            limits=self.intake.limits,
            audit_lifetime=self.settings.audit_lifetime,
        )

    @cached_property
    def sessions(self) -> Sessions:
        """Which thread continues what."""
        return Sessions(self.scripts, session_lifetime=self.settings.session_lifetime)

    @cached_property
    def _schedules(self) -> Schedules:
        return Schedules(
            self.scripts, consumer=self.intake.consumer, session_lifetime=self.settings.session_lifetime, now=self.now
        )

    # Slack and the service

    @cached_property
    def say(self) -> SlackSay:
        """The only way out."""
        return SlackSay(self.wires.web, self.intake.identity)

    @cached_property
    def catalog(self) -> Catalog:
        """The project's workflows and agents, remembered for some seconds."""
        return Catalog(self.wires.project)

    # What is decided

    @cached_property
    def _chats(self) -> Chats:
        return Chats(
            catalog=self.catalog,
            sessions=self.sessions,
            directory=self.intake.directory,
            say=self.say,
            bot_user=self.intake.identity.bot_user,
            default_agent=self.settings.default_agent or "",
            store_since=lambda: self.intake.namespace.since,
            context=self._context,
        )

    @cached_property
    def _context(self) -> Context:
        return Context(
            self.say,
            self.intake.directory,
            self.intake.identity.bot_user,
            is_on=self.settings.context == "on",
            mentions_only=self.intake.mentions_only,
        )

    @cached_property
    def _deps(self) -> Deps:
        return Deps(
            catalog=self.catalog,
            project=self.wires.project,
            sessions=self.sessions,
            results=Results(self.scripts),
            may_run=self.intake.access.may_run,
            name_of=self.intake.directory.user_name,
            command_prefix=self.settings.command_prefix,
            locale_of=self.intake.directory.user_locale,
            statistics=self._statistics,
            reports=self._reports,
            recent=Recent(self.scripts),
            in_thread=self._context.quoting,
            channel_name_of=self.intake.directory.channel_name,
            workspace=self.intake.identity.workspace,
        )

    @cached_property
    def _statistics(self) -> Statistics:
        return Statistics(self.wires.project, SnapshotStore(self.scripts), self.now)

    @cached_property
    def _reports(self) -> Reports:
        return Reports(
            schedules=self._schedules,
            inbox=self.intake.inbox,
            sessions=self.sessions,
            statistics=self._statistics,
            directory=self.intake.directory,
            now=self.now,
            has_default_agent=bool(self.settings.default_agent),
            allowed_channels=self.settings.allowed_channels,
        )

    # What is done

    @cached_property
    def _effects(self) -> Effects:
        votes = Votes(self.scripts, self.wires.metrics, now=self.now)
        after = AfterReports(self._schedules, self.patience)
        return Effects(self.say, self.intake.inbox, self.sessions, self.patience, votes, reports=after)

    @cached_property
    def _runs(self) -> Runs:
        return Runs(
            project=self.wires.project,
            say=self.say,
            directory=self.intake.directory,
            journal=self.journal,
            patience=self.patience,
            now=self.now,
        )

    @cached_property
    def _slots(self) -> Slots:
        return Slots(self.settings.max_turns)

    @cached_property
    def _watches(self) -> Watches:
        return Watches()
