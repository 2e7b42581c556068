"""Channel settings: which agent answers, to what, and which apps' messages count.

One record per channel, all in one hash. Every incoming message needs them, so each process caches them as long as it
hears of changes (`bridge.queue.turn.Watches`); a change costs one read of the hash. While Redis is away, the last known
settings apply.

A record with nothing but an agent is stored as that number alone.
"""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, Field, ValidationError

from bridge.errors import StoreUnavailable
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts

log = logging.getLogger(__name__)

VERSION: Final = 1
Replies = Literal["all", "mentions"]


class AppRule(BaseModel, frozen=True):
    """What an app's message starts: the *agent* answers it, or the *workflow* runs with its text.

    *name* is the app's name, and *owner* the person who set this up, on whose behalf the workflow runs.
    """

    agent: int | None = None
    workflow: int | None = None
    name: str = ""
    owner: str = ""


class ChannelSettings(BaseModel, frozen=True):
    """One channel's settings; by default, nothing is set.

    *agent* answers if nothing else picks one. *answers*: to mentions, or to every top-level message. *replies*: which
    ones in a thread go to its agent; None: as ``BRIDGE_THREAD_REPLIES`` says. *apps* whose top-level messages count, by
    app ID (``A…``).
    """

    v: int = VERSION
    agent: int | None = None
    answers: Literal["mentions", "all"] = "mentions"
    replies: Replies | None = None
    apps: dict[str, AppRule] = Field(default_factory=dict)

    def to_text(self) -> str:
        """Return the stored form; ``""`` if nothing is set."""
        if self == ChannelSettings():
            return ""
        if self == ChannelSettings(agent=self.agent):
            return str(self.agent)
        return self.model_dump_json(exclude_defaults=True, exclude={"v"})[:-1] + f',"v":{self.v}}}'

    @classmethod
    def from_text(cls, text: str) -> ChannelSettings:
        """Read a stored form. If this version can't read it, nothing is set."""
        if text.isdecimal():
            return cls(agent=int(text))
        try:
            return cls.model_validate_json(text) if text else NOTHING_SET
        except ValidationError:
            log.warning("channel settings can't be parsed")
            return NOTHING_SET

    def with_app(self, app: str, rule: AppRule | None) -> ChannelSettings:
        """Set what the messages of *app* start; None: nothing."""
        apps = {id_: known for id_, known in self.apps.items() if id_ != app}
        return self.model_copy(update={"apps": apps if rule is None else {**apps, app: rule}})


NOTHING_SET: Final = ChannelSettings()
MOST_APPS: Final = 10
"""The most apps per channel."""

APP_ID: Final = re.compile(r"A[A-Z0-9]{2,30}")


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """The *settings* of a channel as read, and their stored form, to compare when changing them."""

    settings: ChannelSettings
    text: str


class Channels:
    """All channels' settings. *replies* is ``BRIDGE_THREAD_REPLIES``.

    Reading and changing them may raise `StoreUnavailable`.
    """

    def __init__(self, scripts: Scripts, *, replies: Replies = "all") -> None:
        self.replies = replies
        self._scripts = scripts
        self._known: dict[str, ChannelSettings] | None = None
        self._is_fresh = False
        self._changes = 0  # that were heard of
        self._hears = False
        self._reading = asyncio.Lock()

    def heard(self, *, is_open: bool) -> None:
        """Handle a possible change; unless *is_open*, further changes won't be heard of."""
        self._changes += 1
        self._hears, self._is_fresh = is_open, False

    def needs_mention(self, settings: ChannelSettings) -> bool:
        """Whether a reply in a thread must mention the bot under these *settings*."""
        return (settings.replies or self.replies) == "mentions"

    async def get(self, team: str, channel: str) -> ChannelSettings:
        """Return the settings of *channel*."""
        if not self._is_fresh:
            async with self._reading:
                if not self._is_fresh:
                    await self._read()
        known = self._known or {}
        return known.get(f"{team}:{channel}", NOTHING_SET)

    async def _read(self) -> None:
        changes = self._changes
        try:
            with translated():
                found: Any = await self._scripts.redis.hgetall(self._scripts.keys.channels())
        except StoreUnavailable:
            if self._known is None:
                raise
            return
        self._known = {channel: ChannelSettings.from_text(text) for channel, text in found.items()}
        self._is_fresh = self._hears and changes == self._changes

    async def stored(self, team: str, channel: str) -> StoredSettings:
        """Read the settings of *channel* in order to change them."""
        with translated():
            text = str(await self._scripts.redis.hget(self._scripts.keys.channels(), f"{team}:{channel}") or "")
        return StoredSettings(ChannelSettings.from_text(text), text)

    async def replace(self, team: str, channel: str, stored: StoredSettings, settings: ChannelSettings) -> bool:
        """Replace what was *stored* with *settings*. False: someone else changed it meanwhile."""
        answer = await self._scripts.run(
            "channel", f"{team}:{channel}", stored.text, settings.to_text(), confirmed=True
        )
        self.heard(is_open=self._hears)
        return bool(answer)
