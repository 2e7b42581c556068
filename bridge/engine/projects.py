"""The projects that a bridge serves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from bridge.config_tables import Act
from bridge.ids import PersonKey, base_of
from bridge.inbound import Starter
from bridge.names.matching import called
from bridge.policy.policy import Policy
from bridge.policy.rules import ApprovalTerms, Asked, Target, target_of
from bridge.project.connection import DEFAULT, ProjectConnection
from bridge.project.models import Agent, Workflow
from bridge.queue.keys import RECENT, milliseconds
from bridge.queue.scripting import Scripts

ASK: Final = "?"
"""The project of a command that doesn't say which one it's about: its person is asked."""


CHOOSE: Final = "project:choose"
"""The menu that asks which project a command is about."""

OF_DIRECT: Final = "project:direct"
"""Home's menu of the project of a person's direct messages."""


def chosen_by(action_id: str, value: str) -> str:
    """Return the project chosen in one of these menus (`menu_of`); ``""`` for any other control."""
    chosen = value.partition(":")[0] if action_id in {CHOOSE, OF_DIRECT} else ""
    return "" if chosen == DEFAULT else chosen


class ServedProjects:
    """The projects that a bridge serves, the default one first. They may change while it runs (`replace`)."""

    def __init__(self, *projects: ProjectConnection) -> None:
        self._replaced = asyncio.Event()
        self.replace(*projects)

    def __iter__(self) -> Iterator[ProjectConnection]:
        return iter(self._all)

    def replace(self, *projects: ProjectConnection, keyed: Sequence[ProjectConnection] = ()) -> None:
        """Serve these *projects* instead; turns that are being worked on go on with the earlier ones.

        *keyed* are the same projects, as those use them who have keys of their own.
        """
        self._all = projects
        self.connections = (*projects, *keyed)
        self.has_keys = bool(keyed)
        self._by_key = {connection.key: connection for connection in self.connections}
        self._by_channel = {channel: project for project in reversed(projects) for channel in project.channels}
        self.is_several = len(projects) > 1  # otherwise, people see nothing of projects
        self._replaced.set()
        self._replaced = asyncio.Event()

    @property
    def default(self) -> ProjectConnection:
        """The project of PROJECT_BASE_URL and PROJECT_API_KEY."""
        return self._all[0]

    def get(self, key: str) -> ProjectConnection | None:
        """Return the project that a record names (`ProjectConnection.key`); None if it's no longer served."""
        return self._by_key.get(key)

    def keyed(self, key: str) -> list[ProjectConnection]:
        """Return the project with this key as those use it who have keys of their own; the first one counts."""
        return [
            connection
            for connection in self.connections
            if connection.key_name and base_of(connection.key) == base_of(key)
        ]

    async def key_for(self, policy: Policy, project: str, user: str) -> str:
        """Return what records say about a *project* as *user* uses it: with a key of theirs, if they have one.

        If that's unknown, it's a key that they're refused. Raises `SlackError`.
        """
        for keyed in self.keyed(project):
            if await policy.holds(keyed.who, user, if_unknown=True):
                return keyed.key
        return project

    def holders(self, key: str) -> tuple[str, ...]:
        """Return the people and user groups that have the key which a record names; none if everybody uses it."""
        known = self.get(key)
        return known.who if known else ()

    def serves(self, project: ProjectConnection) -> bool:
        """Whether *project* is served, still at the same address and with the same key."""
        served = self.get(project.key)
        return served is not None and served.client is project.client

    async def until_replaced(self, project: ProjectConnection) -> None:
        """Return once *project* has another address or key, or is no longer served."""
        while self.serves(project):
            await self._replaced.wait()

    def name_of(self, key: str) -> str:
        """Return what people call a project; its ID if it's no longer served."""
        known = self.get(key) or self.get(base_of(key))
        return known.name if known else base_of(key) or DEFAULT

    def asked(
        self,
        act: Act,
        person: str,
        channel: str,
        key: str,
        target: Workflow | Agent | Target | None = None,
        *,
        by: Starter = "person",
        app: str = "",
        terms: ApprovalTerms | None = None,
    ) -> Asked:
        """Return what *person* wants to do in *channel* with *target* of the project with this *key*; see `Asked`."""
        id_, name = ("", "") if key == ASK else (base_of(key) or DEFAULT, self.name_of(key))
        return Asked(act, person, channel, id_, name, target_of(target), by, app, terms, self.holders(key))

    def find(self, typed: str) -> ProjectConnection | None:
        """Return the project whose ID or name someone has *typed*."""
        return next(iter(called(typed, self._all)), None)

    def of_channel(self, channel: str) -> ProjectConnection | None:
        """Return the project that the operator's file names for *channel*."""
        return self._by_channel.get(channel)


async def last_project(scripts: Scripts, person: PersonKey, projects: ServedProjects) -> str | None:
    """Return the project of a person's direct messages, if it's known and still served. Raises `StoreUnavailable`."""
    stored = await scripts.redis.get(scripts.keys.last_project(person))
    project = projects.find(str(stored)) if stored else None
    return project.key if project else None


async def remember(scripts: Scripts, person: PersonKey, project: str) -> None:
    """Store the project of a person's direct messages. Raises `StoreUnavailable`."""
    key = scripts.keys.last_project(person)
    await scripts.redis.set(key, base_of(project) or DEFAULT, px=milliseconds(RECENT))
