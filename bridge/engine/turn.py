"""`Turn`: what a handler gets."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial

from bridge.config_tables import Act
from bridge.ends.notices import other_project
from bridge.engine.destination import Destination
from bridge.engine.projects import ASK, ServedProjects
from bridge.engine.results import RUN_MARK
from bridge.errors import ProjectNotChosen, ProjectRemoved, SlackAmbiguous, SlackError
from bridge.ids import MessageKey, base_of
from bridge.inbound import InboundMessage, starters_of
from bridge.policy.rules import Asked, Target
from bridge.project.connection import ProjectConnection
from bridge.project.models import Agent, Workflow
from bridge.queue.journal import Journal, TakenTurn
from bridge.queue.lease import Lease
from bridge.queue.records import Taken
from bridge.queue.watches import Watches
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Reply
from bridge.slack.indicators import AfterAWhile
from bridge.slack.parts import MessageTag
from bridge.slack.post import ExistingParts, Poster

log = logging.getLogger(__name__)


class Turn(TakenTurn):
    """A turn of a thread, command, click or form, about one of the *projects*.

    *project_key* is that project's in records, also if it's no longer served. *destination* is where it's answered.
    """

    def __init__(
        self,
        taken: Taken,
        lease: Lease,
        journal: Journal,
        watches: Watches,
        *,
        may_begin: Callable[[], bool],
        slack: Poster,
        projects: ServedProjects,
    ) -> None:
        super().__init__(taken, lease, journal, watches, may_begin=may_begin)
        self.destination = Destination.of(self.body)
        self.project_key = taken.project
        self.projects = projects
        self._project: ProjectConnection | None = None
        self._slack = slack

    @property
    def project(self) -> ProjectConnection:
        """The project, the same throughout the turn. Raises `ProjectNotChosen` and `ProjectRemoved`."""
        if self._project is None:
            if self.project_key == ASK:
                raise ProjectNotChosen
            self._project = self.projects.get(self.project_key)
        if self._project is None:
            raise ProjectRemoved(self.project_key)
        return self._project

    @property
    def causer(self) -> str:
        """The person who causes it now: its own, unless someone else had it done again."""
        return self.record.pressed_by or self.user

    @property
    def project_name(self) -> str:
        """The project's name for people, ``""`` if there's only one project, or it's not known or no longer served."""
        return self.projects.name_of(self.project_key) if self.projects.is_several else ""

    def asked(self, act: Act, target: Workflow | Agent | Target | None = None, *, channel: str | None = None) -> Asked:
        """Return what its person wants to do, with *target*, there or in another *channel*."""
        channel = self.channel if channel is None else channel
        return self.projects.asked(act, self.user, channel, self.project_key, target)

    def started(self, act: Act, target: Workflow | Agent | Target) -> list[Asked]:
        """Return what it starts, as it's asked for each of `starters_of`."""
        asked, starters = self.asked(act, target), starters_of(self.body, self.causer)
        return [replace(asked, person=person, by=by, app=app) for person, by, app in starters]

    def change_project(self, key: str) -> None:
        """Continue about another project, such as that of a channel chosen in a menu."""
        self.project_key, self._project = key, None

    def check_thread(self) -> Reply | None:
        """Return what to say if a message names another project than that of its thread, which nothing changes."""
        of_thread = self.conversation.project
        if of_thread is None or base_of(of_thread) == base_of(self.project_key):
            return None
        return other_project(self.projects.name_of(of_thread), self.projects.name_of(self.project_key))

    async def say_if_near(self) -> None:
        """Tell its person in private, once per period, that they're near a limit of the operator's file."""
        body = self.body
        if self.near is None or not body.is_request or (isinstance(body, InboundMessage) and body.app):
            return
        quota, left, wait = self.near
        if quota.called:  # a setting's
            return
        start = f"You're near {quota.words}: {left:,} left." if left > 0 else f"This used up {quota.words}."
        text = f"{start} It starts again in {kit.spoken(wait)}."
        try:
            await self._slack.whisper(self.destination.recipient, kit.reply(text))
        except SlackError as exc:
            log.info("a notice about a limit can't be shown", extra={"detail": exc.detail})

    @asynccontextmanager
    async def progress(self, shown: Reply, *, later: Reply, after: timedelta) -> AsyncIterator[None]:
        """Post *shown* if the block takes a while; it becomes *later* if the block takes longer than *after*.

        The message becomes the turn's outcome, whose mark must be `RUN_MARK`. If Slack doesn't accept it, the outcome
        is a new message. Only for use within the effect of `once`.
        """
        show, change = partial(self._show_progress, shown), partial(self._change_progress, later)
        async with AfterAWhile() as timed:
            timed.call(show)
            timed.call(change, after=after)
            yield

    async def _show_progress(self, shown: Reply) -> None:
        mark, place = MessageTag(RUN_MARK, self.id), self.destination.place
        try:
            self.card = await self._slack.post(place, shown, mark, ExistingParts(), self.lease.ensure)
        except SlackError as exc:
            log.info("progress not posted yet", extra={"detail": exc.detail})
            self.is_card_in_doubt |= isinstance(exc, SlackAmbiguous)
        else:
            card = MessageKey(self.team, self._slack.channel_of(place), self.card)
            await self.journal.card(self.taken, card)

    async def _change_progress(self, later: Reply) -> None:
        if not self.card:
            return
        try:
            await self._slack.update(self.channel, self.card, later, MessageTag(RUN_MARK, self.id), self.lease.ensure)
        except SlackError as exc:
            log.info("progress not updated", extra={"detail": exc.detail})
