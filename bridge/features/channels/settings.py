"""Channel settings: which agent answers, which messages it answers, and which apps' messages count.

Each channel has one record, all in one hash, which each process caches, as every message needs it (`CachedHash`).

A record that has only an agent is stored as the agent's ID alone.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, Field, ValidationError

from bridge.queue.cached_hash import CachedHash
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts

log = logging.getLogger(__name__)

VERSION: Final = 1
Replies = Literal["auto", "all", "mentions"]
"""Which replies in a thread go to its agent without a mention: those of the person it's talking with, all, or none."""


class AppRule(BaseModel, frozen=True):
    """The rule for an app's messages: the *agent* answers them, or the *workflow* runs with their text.

    *name* is the app's name, and *owner* the person who set this up, on whose behalf it happens. *paused* is the reason
    why they no longer may (`bridge.errors.NotAllowed`), or ``""``.
    """

    agent: int | None = None
    workflow: int | None = None
    name: str = ""
    owner: str = ""
    paused: str = ""


class ChannelSettings(BaseModel, frozen=True):
    """One channel's settings; by default, nothing is set.

    *agent* answers if nothing else picks one. *answers*: whether mentions are answered, or every top-level message.
    *replies*: which replies in a thread go to its agent; None is ``BRIDGE_THREAD_REPLIES``. *apps* are the rules for
    apps' top-level messages, by app ID (``A…``). *project* is the channel's (`ProjectConnection.key`), and of the IDs
    here; None: none is set, and the IDs are of the default one.
    """

    v: int = VERSION
    project: str | None = None
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
        """Parse the stored form; if this version can't, nothing is set."""
        if text.removeprefix("-").isdecimal():
            return cls(agent=int(text))
        try:
            return cls.model_validate_json(text) if text else NOTHING_SET
        except ValidationError:
            log.warning("channel settings can't be parsed")
            return NOTHING_SET

    @property
    def known_project(self) -> str | None:
        """The project that's set, or whose IDs are."""
        return "" if self.project is None and (self.agent is not None or self.apps) else self.project

    def of(self, project: str) -> ChannelSettings:
        """Return the settings for *project*: the IDs of another one mean nothing there."""
        return self if (self.project or "") == project else self.model_copy(update={"agent": None, "apps": {}})

    def with_app(self, app: str, rule: AppRule | None) -> ChannelSettings:
        """Return the settings with this *rule* for *app*; None removes the app's rule."""
        apps = {id_: known for id_, known in self.apps.items() if id_ != app}
        return self.model_copy(update={"apps": apps if rule is None else {**apps, app: rule}})


NOTHING_SET: Final = ChannelSettings()
MOST_APPS: Final = 10
"""Apps with a rule, per channel."""

APP_ID: Final = re.compile(r"A[A-Z0-9]{2,30}")


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """The *settings* of a channel, and their stored *text*, which a change is compared with."""

    settings: ChannelSettings
    text: str


class Channels:
    """All channels' settings. *replies* is ``BRIDGE_THREAD_REPLIES``.

    Methods that read or change them may raise `StoreUnavailable`.
    """

    def __init__(self, scripts: Scripts, *, replies: Replies = "auto") -> None:
        self.replies = replies
        self._scripts = scripts
        self._known = CachedHash(scripts, scripts.keys.channels(), ChannelSettings.from_text)
        self.heard = self._known.heard

    async def get(self, team: str, channel: str) -> ChannelSettings:
        """Return the settings of *channel*."""
        return (await self._known.values()).get(f"{team}:{channel}", NOTHING_SET)

    async def project_of(self, team: str, channel: str) -> str | None:
        """Return the project that's set for *channel*, or whose agents and workflows are; None if none is known."""
        return (await self.get(team, channel)).known_project

    async def all(self) -> list[tuple[str, str]]:
        """List the teams and channels with settings."""
        with translated():
            found: Any = await self._scripts.redis.hkeys(self._scripts.keys.channels())
        return [(team, channel) for team, _, channel in (place.partition(":") for place in sorted(found))]

    async def stored(self, team: str, channel: str) -> StoredSettings:
        """Read the settings of *channel* in order to change them."""
        with translated():
            text = str(await self._scripts.redis.hget(self._scripts.keys.channels(), f"{team}:{channel}") or "")
        return StoredSettings(ChannelSettings.from_text(text), text)

    async def replace(self, team: str, channel: str, stored: StoredSettings, settings: ChannelSettings) -> bool:
        """Replace the *stored* settings. Returns False if someone else has changed them in the meantime."""
        answer = await self._scripts.run(
            "features.channels.channel", f"{team}:{channel}", stored.text, settings.to_text(), confirmed=True
        )
        self._known.changed()
        return bool(answer)
