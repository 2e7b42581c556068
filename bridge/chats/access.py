"""Who may: the rules about people and channels, checked at the door for everything that comes in."""

from __future__ import annotations

from dataclasses import dataclass, field

from bridge.inbound import Inbound
from bridge.turns.ports import Directory


@dataclass(frozen=True, slots=True)
class Access:
    """The configured rules. Empty sets allow everybody of the home workspace.

    *home* are the ids that mean "here": the workspace's, and its organisation's where it has one. *runners* may run
    workflows: users (``U…``, ``W…``) and user groups (``S…``).
    """

    home: frozenset[str]
    directory: Directory
    allowed_channels: frozenset[str] = field(default_factory=frozenset)
    allowed_users: frozenset[str] = field(default_factory=frozenset)
    runners: frozenset[str] = field(default_factory=frozenset)

    async def refusal(self, inbound: Inbound) -> str | None:
        """Why this person may not talk to the bridge here; None: they may.

        The answer is one of the reasons of `bridge.errors.NotAllowed`. A person in a shared channel of whom Slack
        does not say where they belong is looked up. Raises `SlackError` where that fails: never guessed.
        """
        if await self._is_stranger(inbound):
            return "stranger"
        if self.allowed_users and inbound.user not in self.allowed_users:
            return "user"
        # What happens outside any channel (a form, the Home tab) is not a matter of channels; a direct message is.
        if self.allowed_channels and inbound.channel and inbound.channel not in self.allowed_channels:
            return "channel"
        return None

    async def _is_stranger(self, inbound: Inbound) -> bool:
        if inbound.user_team and inbound.user_team not in self.home:
            return True
        if inbound.user_team.startswith("T") or not inbound.is_shared:
            return False
        return not await self.directory.is_home(inbound.user)

    async def may_run(self, user: str) -> bool:
        """Whether *user* may run workflows. Raises `SlackError` where a user group cannot be read."""
        if not self.runners or user in self.runners:
            return True
        groups = sorted(runner for runner in self.runners if runner.startswith("S"))
        for group in groups:
            if await self.directory.in_group(user, group):
                return True
        return False
