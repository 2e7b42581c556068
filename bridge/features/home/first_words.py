"""The first words of threads, as Slack has them now: the bridge itself stores no text of a finished conversation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from bridge.errors import SlackError
from bridge.ids import ThreadKey
from bridge.slack import contents
from bridge.slack.directory import FetchCache
from bridge.slack.parts import Place
from bridge.slack.post import Poster

log = logging.getLogger(__name__)

_SECONDS: Final = 3600.0
_SOON: Final = 2.0  # seconds, after which Home is shown without them


class FirstWords:
    """Reads the first messages of threads, and remembers them for an hour."""

    def __init__(self, slack: Poster, *, monotonic: Callable[[], float]) -> None:
        self._slack = slack
        self._texts = FetchCache(self._fetch, seconds=_SECONDS, monotonic=monotonic, most=1000)

    async def of(self, threads: Iterable[ThreadKey]) -> dict[ThreadKey, str]:
        """Return the text of each thread's first message, with Slack's escapes, as far as Slack shows it soon."""
        texts: dict[ThreadKey, str] = {}

        async def look(thread: ThreadKey) -> None:
            try:
                texts[thread] = await self._texts.get(str(thread))
            except SlackError as exc:
                log.info("can't read the first message of a thread", extra={"detail": exc.detail})

        try:
            async with asyncio.timeout(_SOON):
                await asyncio.gather(*map(look, threads))
        except TimeoutError:
            log.info("Slack didn't show the first messages of threads in time")
        return texts

    async def _fetch(self, key: str) -> str:
        thread = ThreadKey.parse(key)
        root = await self._slack.history().root(Place(thread.channel, thread.root))
        return contents.read(root).text if root else ""
