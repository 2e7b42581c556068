"""Who may: the rules about people and channels, checked at the door for everything that comes in.

What Slack does not tell is never guessed: a person whose home cannot be known is not let in, and a run of theirs is
not started, by a reason of its own (``unknown``) that says so. Only where the app was installed without ``users:read``
nobody is a guest to it: everybody of the home workspace may run, unless ``BRIDGE_RUNNERS`` names who may.
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
    """The configured rules. Empty sets allow everybody of the home workspace; its guests talk, but do not run.

    *home* are the ids that mean "here": the workspace's, and its organisation's where it has one. *runners* may run
    workflows, guests among them too: users (``U…``, ``W…``) and user groups (``S…``).
    """

    home: frozenset[str]
    directory: Directory
    allowed_channels: frozenset[str] = field(default_factory=frozenset)
    allowed_users: frozenset[str] = field(default_factory=frozenset)
    runners: frozenset[str] = field(default_factory=frozenset)

    async def refusal(self, inbound: Inbound) -> str | None:
        """Why this person may not talk to the bridge here; None: they may.

        The answer is one of the reasons of `bridge.errors.NotAllowed`. Of whom Slack does not say where they belong,
        it is asked. Raises `SlackError` where it has no answer at the moment, so that the event is sent again.
        """
        team = inbound.user_team
        if team.startswith("T") and team in self.home:
            is_home = True
        elif team and not any(place.startswith("E") for place in self.home):  # we are in no organisation
            is_home = False
        elif not team and not inbound.is_shared:
            is_home = True  # nobody else can write there
        else:
            # In an organisation people are members of several workspaces: what an event names need not be the only one.
            try:
                is_home = await self.directory.is_home(inbound.user)
            except SlackRefused as exc:  # it will not tell next time either
                log.warning("slack didn't say which workspace a person is from", extra={"detail": exc.detail})
                return "unknown"
        if not is_home:
            return "stranger"
        if self.allowed_users and inbound.user not in self.allowed_users:
            return "user"
        # What happens outside any channel (a form, the Home tab) is not a matter of channels; a direct message is. Of
        # Home and forms, the channel is only where private lines about it go.
        if self.allowed_channels and inbound.channel and inbound.channel not in self.allowed_channels:
            is_outside = isinstance(inbound, HomeOpened) or (isinstance(inbound, Click) and bool(inbound.view))
            return None if is_outside else "channel"
        return None

    async def may_run(self, user: str) -> bool:
        """Whether *user* may run workflows and keep reports. Raises `NotAllowed` where that cannot be known."""
        if user in self.runners:
            return True
        try:
            return await self._is_in_a_group(user) if self.runners else not await self.directory.is_guest(user)
        except SlackError as exc:
            if not self.runners and isinstance(exc, SlackRefused) and exc.error == "missing_scope":
                return True
            log.warning("slack didn't list the user groups that may run workflows", extra={"detail": exc.detail})
            raise NotAllowed("unknown") from exc

    async def _is_in_a_group(self, user: str) -> bool:
        """Whether *user* is in a group of the runners; one that cannot be read counts only if no other has them."""
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
