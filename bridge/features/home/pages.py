"""The pages of Home's lists that a person sees, for as long as Home may be open."""

from __future__ import annotations

from bridge.ids import PersonKey
from bridge.queue.keys import RECENT, milliseconds
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts
from bridge.slack.blockkit.modals import Carried


class HomePages(Carried):
    """The pages shown of Home's two lists, from 0, stored as its private_metadata.

    *channel* is the person's direct message with the bot.
    """

    channel: str = ""
    workflows: int = 0
    agents: int = 0


class StoredPages:
    """Reads and writes them. Methods may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys

    async def get(self, team: str, user: str) -> HomePages:
        """Return the pages of Home that a person last saw."""
        with translated():
            return HomePages.parse(str(await self._redis.get(self._keys.home(PersonKey(team, user))) or ""))

    async def store(self, team: str, user: str, pages: HomePages) -> None:
        """Store the pages of Home that a person sees."""
        key, text = self._keys.home(PersonKey(team, user)), pages.model_dump_json()
        with translated():
            await self._redis.set(key, text, px=milliseconds(RECENT))
