"""Access rules for people and channels, checked when any input arrives.

A person about whom Slack says too little is refused, with the reason ``unknown``. Only if the app lacks ``users:read``,
no one counts as a guest, unless ``BRIDGE_RUNNERS`` says who may run workflows.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from bridge.errors import NotAllowed, SlackError, SlackRefused
from bridge.inbound import Click, HomeOpened, Inbound
from bridge.slack.people import Directory

log = logging.getLogger(__name__)


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
        if self.allowed_users and inbound.user not in self.allowed_users:
            return "user"
        # Direct messages count as channels. The Home tab and forms aren't in one: their channel only says where
        # private notices go.
        if self.allowed_channels and inbound.channel and inbound.channel not in self.allowed_channels:
            is_outside = isinstance(inbound, HomeOpened) or (isinstance(inbound, Click) and bool(inbound.view))
            return None if is_outside else "channel"
        return None

    async def may_run(self, user: str) -> bool:
        """Whether *user* may run workflows and schedule reports. Raises `NotAllowed` if that's unknown."""
        if user in self.runners:
            return True
        try:
            return await self._is_in_a_group(user) if self.runners else not await self.directory.is_guest(user)
        except SlackError as exc:
            if not self.runners and isinstance(exc, SlackRefused) and exc.error == "missing_scope":
                return True
            log.warning("Slack didn't list the user groups that may run workflows", extra={"detail": exc.detail})
            raise NotAllowed("unknown") from exc

    async def _is_in_a_group(self, user: str) -> bool:
        """Whether *user* is in a runners' group. Raises `SlackError` if a group can't be read and no other has them."""
        trouble: SlackError | None = None
        for group in sorted(runner for runner in self.runners if runner.startswith("S")):
            try:
                if await self.directory.in_group(user, group):
                    return True
            except SlackError as exc:
                trouble = exc
        if trouble is not None:
            raise trouble
        return False
