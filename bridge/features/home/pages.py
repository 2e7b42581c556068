"""What a person sees of Home's list, for as long as Home may be open."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge.engine.home import Reads
from bridge.ids import PersonKey
from bridge.project.connection import ProjectConnection
from bridge.queue.keys import LOOKING, MOST_LOOKERS, RECENT, milliseconds
from bridge.queue.records import Write, only_if
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.slack.blockkit.json_text import compact
from bridge.slack.blockkit.modals import Carried
from bridge.slack.blockkit.reply import View


class HomePages(Carried):
    """The page shown of Home's list of agents, from 0, stored as its private_metadata.

    *channel* is the person's direct message with the bot.
    """

    channel: str = ""
    agents: int = 0


@dataclass(frozen=True, slots=True)
class SeenHome:
    """The *pages* of Home that a person last saw, and the `digest_of` what they saw within the hour, or ``""``."""

    pages: HomePages
    digest: str = ""


def digest_of(view: View) -> str:
    """Return what tells whether two tabs are the same."""
    return hashlib.sha256(compact(view).encode(errors="replace")).hexdigest()[:16]


class StoredPages:
    """Reads and writes them. Coroutines may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys

    async def get(self, team: str, user: str) -> HomePages:
        """Return the pages of Home that a person last saw."""
        return HomePages.parse(str(await self._redis.get(self._keys.home(PersonKey(team, user))) or ""))

    async def look(
        self, reads: Reads, person: PersonKey, project: ProjectConnection, *, opened: datetime | None
    ) -> SeenHome:
        """Return what a person last saw, and have what changes from now on redrawn; for an hour if Home is *opened*."""
        looking, lookers = self._keys.looking(person), self._keys.lookers()

        def commands(pipe: Any) -> None:
            pipe.hdel(looking, "queued")
            if opened:
                pipe.hset(looking, "project", project.id)
                pipe.pexpire(looking, milliseconds(LOOKING))
                pipe.zadd(lookers, {str(person): epoch_ms(opened)})
                pipe.zremrangebyrank(lookers, 0, -MOST_LOOKERS - 1)
                pipe.pexpire(lookers, milliseconds(LOOKING))
            pipe.hget(looking, "shown")
            pipe.get(self._keys.home(person))

        *_, digest, pages = await reads.ask(commands)
        return SeenHome(HomePages.parse(str(pages or "")), str(digest or ""))

    def store(self, person: PersonKey, project: ProjectConnection, pages: HomePages, view: View) -> tuple[Write, ...]:
        """Return the writes that store the pages and what a person sees."""
        looking, home = self._keys.looking(person), self._keys.home(person)
        return (
            ("set", home, milliseconds(RECENT), pages.model_dump_json()),
            *only_if(looking, {"project": project.id}, ("field", looking, 0, "shown", digest_of(view))),
        )
