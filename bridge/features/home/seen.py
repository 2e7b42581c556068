"""What a person sees in Home, for as long as Home may be open, and their direct message with the bot."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge.engine.home import Reads
from bridge.ids import PersonKey
from bridge.project.connection import DEFAULT, ProjectConnection
from bridge.queue.keys import LOOKING, MOST_LOOKERS, RECENT, milliseconds
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.queue.writes import Write, only_if
from bridge.slack.blockkit.json_text import compact
from bridge.slack.blockkit.modals import Origin
from bridge.slack.blockkit.reply import View


@dataclass(frozen=True, slots=True)
class SeenHome:
    """The *channel* of a person's direct messages, if known, and the `digest_of` what they saw within the hour."""

    channel: str = ""
    digest: str = ""


def digest_of(view: View) -> str:
    """Return what tells whether two tabs are the same."""
    return hashlib.sha256(compact(view).encode(errors="replace")).hexdigest()[:16]


class SeenHomes:
    """Reads and writes them. Coroutines may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys

    async def channel(self, person: PersonKey) -> str:
        """Return a person's direct message with the bot; ``""`` if they never opened Home."""
        return Origin.parse(str(await self._redis.get(self._keys.home(person)) or "")).channel

    async def look(
        self, reads: Reads, person: PersonKey, project: ProjectConnection, *, opened: datetime | None
    ) -> SeenHome:
        """Return what a person last saw, and have what changes from now on redrawn; for an hour if Home is *opened*."""
        looking, lookers = self._keys.looking(person), self._keys.lookers()

        def commands(pipe: Any) -> None:
            pipe.hdel(looking, "queued")
            if opened:
                pipe.hset(looking, "project", project.key or DEFAULT)
                pipe.pexpire(looking, milliseconds(LOOKING))
                pipe.zadd(lookers, {str(person): epoch_ms(opened)})
                pipe.zremrangebyrank(lookers, 0, -MOST_LOOKERS - 1)
                pipe.pexpire(lookers, milliseconds(LOOKING))
            pipe.hget(looking, "shown")
            pipe.get(self._keys.home(person))

        *_, digest, origin = await reads.ask(commands)
        return SeenHome(Origin.parse(str(origin or "")).channel, str(digest or ""))

    def store(self, person: PersonKey, project: ProjectConnection, view: View) -> tuple[Write, ...]:
        """Return the writes for a *view* that was published; its digest counts only while they look at *project*."""
        looking, home = self._keys.looking(person), self._keys.home(person)
        return (
            ("set", home, milliseconds(RECENT), view["private_metadata"]),
            *only_if(looking, {"project": project.key or DEFAULT}, ("field", looking, 0, "shown", digest_of(view))),
        )
