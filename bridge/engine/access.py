"""Access rules for people and channels, checked when any input arrives, and again when it's acted on later.

A person about whom Slack says too little is refused, with the reason ``unknown``. Only if the app lacks ``users:read``,
no one counts as a guest, unless ``BRIDGE_RUNNERS`` says who may run workflows.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from bridge.engine.results import TryLater
from bridge.errors import NotAllowed, SlackError, SlackRefused
from bridge.inbound import Inbound
from bridge.slack.people import Directory

log = logging.getLogger(__name__)

UNREACHABLE: Final = frozenset({"deactivated", "stranger"})
"""Reasons against people who get no private messages."""

_SLACK_PAUSE: Final = timedelta(seconds=5)
_AT_ONCE: Final = 1.0  # seconds; one lookup for everything that's due at the same moment
_LATELY: Final = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Access:
    """The configured rules. Empty sets allow everyone in the workspace; guests may talk, but not run workflows.

    *home* are the IDs of the workspace and its organization, if any. *runners* may run workflows, guests included:
    users (``U…``, ``W…``) and user groups (``S…``).
    """

    home: frozenset[str]
    directory: Directory
    allowed_channels: frozenset[str] = field(default_factory=frozenset)
    allowed_users: frozenset[str] = field(default_factory=frozenset)
    runners: frozenset[str] = field(default_factory=frozenset)

    async def refusal(self, inbound: Inbound) -> str | None:
        """Return why this person may not talk to the bridge here, or None if they may.

        It's one of the reasons of `bridge.errors.NotAllowed`. Raises `SlackError` if Slack doesn't answer right now, so
        that Slack retries the event.
        """
        team = inbound.user_team
        if team.startswith("T") and team in self.home:
            is_home = True
        elif team and not any(place.startswith("E") for place in self.home):  # not an organization's workspace
            is_home = False
        elif not team and not inbound.is_shared:
            is_home = True  # only members can write there
        else:
            # In an organization, people may be members of more workspaces than the event names.
            try:
                is_home = await self.directory.is_home(inbound.user)
            except SlackRefused as exc:  # a retry would get the same answer
                log.warning("Slack didn't say which workspace a person is from", extra={"detail": exc.detail})
                return "unknown"
        if not is_home:
            return "stranger"
        return self.not_listed(inbound.user, inbound.place)

    def not_listed(self, user: str, channel: str) -> str | None:
        """Return the reason if the settings' lists lack this *user* or *channel*; ``""`` is no one or no channel.

        Direct messages count as channels.
        """
        if user and self.allowed_users and user not in self.allowed_users:
            return "user"
        if channel and self.allowed_channels and channel not in self.allowed_channels:
            return "channel"
        return None

    async def refusal_now(self, user: str, channel: str, *, is_set_up: bool = False) -> str | None:
        """Return why what *user* sent earlier may no longer happen in *channel*, or None if it may.

        Whatever isn't done at once is decided here when it's done: reports, apps' rules, and messages that waited.
        What *is_set_up* goes on until someone changes it, so its owner must still be able to set it up. Without a
        *user* (earlier versions stored none), only the channel counts. The result is a reason of
        `bridge.errors.NotAllowed`. Raises `TryLater` if Slack doesn't answer right now.
        """
        try:
            return await self._refusal_now(user, channel, is_set_up=is_set_up)
        except SlackError as exc:
            raise TryLater(exc.retry_after or _SLACK_PAUSE) from exc

    async def _refusal_now(self, user: str, channel: str, *, is_set_up: bool) -> str | None:
        """Return the same. Raises `SlackError`."""
        if refusal := self.not_listed("", channel) or self.not_listed(user, ""):
            return refusal
        if not user:
            return None
        at_most = _AT_ONCE if is_set_up else _LATELY
        try:
            try:
                person = await self.directory.person(user, at_most=at_most)
            except SlackRefused as exc:
                if exc.error != "missing_scope":
                    raise
            else:
                if person.kind == "deactivated" or person.is_home is False:
                    return "deactivated" if person.kind == "deactivated" else "stranger"
            if is_set_up and not await self._may_run(user, at_most=at_most):
                return "runner"
        except SlackRefused as exc:  # a retry would get the same answer
            log.warning("Slack doesn't say whether a person still has access", extra={"detail": exc.detail})
            return "unknown"
        is_theirs = not is_set_up or not channel or channel.startswith("D")
        return None if is_theirs or await self.directory.sees(user, channel) else "left"

    async def check_runner(self, user: str, reason: str = "runner") -> None:
        """Raise `NotAllowed` with *reason* unless *user* may run workflows."""
        if not await self.may_run(user):
            raise NotAllowed(reason)

    async def is_runner(self, user: str) -> bool:
        """Whether to offer a person buttons that run workflows; False if it's unknown whether they may."""
        try:
            return await self.may_run(user)
        except NotAllowed:
            return False

    async def may_run(self, user: str) -> bool:
        """Whether *user* may run workflows and schedule reports. Raises `NotAllowed` if that's unknown."""
        try:
            return await self._may_run(user)
        except SlackError as exc:
            log.warning("Slack didn't list the user groups that may run workflows", extra={"detail": exc.detail})
            raise NotAllowed("unknown") from exc

    async def _may_run(self, user: str, *, at_most: float | None = None) -> bool:
        """Whether *user* may run workflows. Raises `SlackError` if that's unknown."""
        if user in self.runners:
            return True
        if self.runners:
            return await self._is_in_a_group(user, at_most)
        try:
            return not await self.directory.is_guest(user, at_most=at_most)
        except SlackRefused as exc:
            if exc.error == "missing_scope":
                return True
            raise

    async def _is_in_a_group(self, user: str, at_most: float | None) -> bool:
        """Whether *user* is in a runners' group. Raises `SlackError` if a group can't be read and no other has them."""
        trouble: SlackError | None = None
        for group in sorted(runner for runner in self.runners if runner.startswith("S")):
            try:
                if await self.directory.in_group(user, group, at_most=at_most):
                    return True
            except SlackError as exc:
                trouble = exc
        if trouble is not None:
            raise trouble
        return False
