"""Channel settings: which agent answers, which messages it answers, and which apps' messages count.

Each channel has one record, all in one hash, which each process caches, as every message needs it (`CachedHash`).

A record that has only an agent is stored as the agent's ID alone.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, Field, ValidationError

from bridge.config_tables import AppTable, ChannelTable
from bridge.engine.projects import ServedProjects
from bridge.engine.standing import ExportedLine, Portable, Standing, check_fields, size
from bridge.ids import base_of
from bridge.names.folding import name_key
from bridge.names.listing import Listing
from bridge.names.matching import called
from bridge.project.catalog import Cached
from bridge.project.connection import ProjectConnection
from bridge.project.models import Agent, Workflow
from bridge.queue.cached_hash import CachedHash
from bridge.queue.scripting import Scripts
from bridge.slack.senders import Sender, read_key, sender_id

log = logging.getLogger(__name__)

VERSION: Final = 1
_NOUN: Final = "channel with settings"
Replies = Literal["auto", "all", "mentions"]
"""Which replies in a thread go to its agent without a mention: those of the person it's talking with, all, or none."""


class AppRule(BaseModel, frozen=True):
    """The rule for an app's messages: the *agent* answers them, or the *workflow* runs with their text.

    *name* is the app's name, and *owner* the person who set this up, on whose behalf it happens. *paused* is the reason
    why they no longer may (`bridge.errors.NotAllowed`), or ``""``. *edits*: the workflow also runs on edits of posts.
    With *ignores* instead of an agent or a workflow, it's an exception from its app's rule for posts under any name.
    """

    agent: int | None = None
    workflow: int | None = None
    name: str = ""
    owner: str = ""
    paused: str = ""
    edits: bool = False
    ignores: bool = False


class ChannelSettings(BaseModel, frozen=True):
    """One channel's settings; by default, nothing is set.

    *agent* answers if nothing else picks one. *answers*: whether mentions are answered, or every top-level message.
    *replies*: which replies in a thread go to its agent; None is ``BRIDGE_THREAD_REPLIES``. *apps* are the rules for
    apps' top-level messages, by sender (`bridge.slack.senders`). *project* is the channel's (`ProjectConnection.key`),
    and of the IDs here; None: none is set, and the IDs are of the default one.
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
        return (
            self
            if (self.project or "") == project or base_of(self.project or "") == base_of(project)
            else self.model_copy(update={"agent": None, "apps": {}})
        )

    def rule_for(self, sender: Sender) -> tuple[str, AppRule] | None:
        """Return the rule for what this *sender* posts, and its key, if there's one."""
        return next(((key, self.apps[key]) for key in sender.keys if key in self.apps), None)

    def with_app(self, app: str, rule: AppRule | None, *, instead_of: str = "") -> ChannelSettings:
        """Return the settings with this *rule* for *app*, *instead_of* another's; None removes the app's rule.

        The exceptions from a rule that's removed go with it.
        """
        apps = {
            id_: known
            for id_, known in self.apps.items()
            if id_ not in {app, instead_of} and not (rule is None and known.ignores and sender_id(id_) == app)
        }
        return self.model_copy(update={"apps": apps if rule is None else {**apps, app: rule}})


async def _rule_of(project: ProjectConnection, app: str, table: AppTable) -> AppRule:
    """Return the rule for an app in the operator's file; it has no owner."""
    name = table.name or app.partition(" ")[2].strip() or app
    if table.workflow is not None:
        workflow = await _id_of(project.catalog.get_workflows, table.workflow)
        return AppRule(workflow=workflow, name=name, edits=table.edits)
    return AppRule(agent=await _id_of(project.catalog.get_agents, table.agent or ""), name=name)


async def _id_of(listed: Cached[Listing[Agent]] | Cached[Listing[Workflow]], wanted: str) -> int:
    """Return the ID of the agent or workflow with this ID or name, `UNKNOWN` if there's none. Raises `ProjectError`."""
    if wanted.isascii() and wanted.isdecimal():
        return int(wanted)
    items = called(wanted, listed.last or ()) or called(wanted, await listed())  # a name keeps its ID
    return items[0].id if items else UNKNOWN


UNKNOWN: Final = -1
"""The ID of an agent or workflow that the operator's file names, and the service doesn't have."""

NOTHING_SET: Final = ChannelSettings()
MOST_APPS: Final = 10
"""Apps with a rule, per channel."""


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """The *settings* of a channel, and their stored *text*, which a change is compared with."""

    settings: ChannelSettings
    text: str


Fixed = Literal["agent", "answers", "replies", "apps"]
"""A setting that the operator's file can set; it also sets the project (`ServedProjects.of_channel`)."""


class Channels:
    """All channels' settings: what *file*, the operator's, doesn't set may be changed in Slack.

    *replies* is ``BRIDGE_THREAD_REPLIES``. Methods that read or change them may raise `StoreUnavailable`.
    """

    def __init__(self, scripts: Scripts, projects: ServedProjects | None = None, *, replies: Replies = "auto") -> None:
        self.replies = replies
        self.file: Mapping[str, ChannelTable] = {}
        self._projects = projects
        self._scripts = scripts
        self._known = CachedHash(scripts, scripts.keys.channels(), ChannelSettings.from_text)
        self.heard = self._known.heard

    async def get(self, team: str, channel: str, *, with_ids: bool = True) -> ChannelSettings:
        """Return the settings of *channel*; without IDs of agents and workflows, the service isn't asked.

        Raises `ProjectError` if it doesn't say which ones the operator's file names.
        """
        settings = (await self._known.values()).get(f"{team}:{channel}", NOTHING_SET)
        return await self.in_force(channel, settings, with_ids=with_ids) if channel in self.file else settings

    async def project_of(self, team: str, channel: str) -> str | None:
        """Return the project that's set for *channel*, or whose agents and workflows are; None if none is known."""
        return (await self._known.values()).get(f"{team}:{channel}", NOTHING_SET).known_project

    def fixed(self, channel: str) -> frozenset[Fixed]:
        """Return what the operator's file sets for *channel*."""
        table = self.file.get(channel)
        names: tuple[Fixed, ...] = get_args(Fixed)
        return frozenset(name for name in names if table is not None and getattr(table, name) is not None)

    async def in_force(self, channel: str, settings: ChannelSettings, *, with_ids: bool = True) -> ChannelSettings:
        """Return *settings* with what the operator's file sets. Raises what `get` raises."""
        table, fixed = self.file.get(channel), self.fixed(channel)
        if table is None or not fixed or self._projects is None:
            return settings
        of_channel = self._projects.of_channel(channel)
        key = of_channel.key if of_channel else settings.known_project or ""
        project = self._projects.get(key) or self._projects.default
        here = settings.of(project.key)
        update: dict[str, object] = {name: getattr(table, name) for name in fixed & {"answers", "replies"}}
        if not with_ids:
            apps = {read_key(key): AppRule(name=app.name or key) for key, app in (table.apps or {}).items()}
            return settings.model_copy(update=update | ({"apps": apps} if apps else {}))
        if table.agent is not None:
            is_none = name_key(table.agent) == "none"
            update["agent"] = None if is_none else await _id_of(project.catalog.get_agents, table.agent)
        if table.apps is not None:
            update["apps"] = {read_key(key): await _rule_of(project, key, app) for key, app in table.apps.items()}
        if {"agent", "apps"} & fixed:
            update["project"] = project.key if of_channel or settings.project is not None else settings.project
        return here.model_copy(update=update)

    async def all(self) -> list[tuple[str, str]]:
        """List the teams and channels with settings."""
        places: Any = await self._scripts.redis.hkeys(self._scripts.keys.channels())
        return [(team, channel) for team, _, channel in (place.partition(":") for place in sorted(places))]

    async def stored(self, team: str, channel: str) -> StoredSettings:
        """Read the settings of *channel* in order to change them."""
        text = str(await self._scripts.redis.hget(self._scripts.keys.channels(), f"{team}:{channel}") or "")
        return StoredSettings(ChannelSettings.from_text(text), text)

    async def replace(self, team: str, channel: str, stored: StoredSettings, settings: ChannelSettings) -> bool:
        """Replace the *stored* settings. Returns False if someone else has changed them in the meantime."""
        answer = await self._scripts.run(
            "features.channels.channel", f"{team}:{channel}", stored.text, settings.to_text(), confirmed=True
        )
        self._known.changed()
        return bool(answer)

    async def rules(self) -> list[AppRule]:
        """Return the rules for apps, of all workspaces, paused ones too."""
        return [rule for settings in (await self._known.values()).values() for rule in settings.apps.values()]


async def _erase_rules(scripts: Scripts, user: str) -> int:
    """Delete the rules for apps that a person set up; exceptions from another's rule stay without their name."""
    channels, count = Channels(scripts), 0
    for team, channel in await channels.all():
        is_replaced = False
        while not is_replaced:
            stored = await channels.stored(team, channel)
            theirs = [app for app, rule in stored.settings.apps.items() if rule.owner == user]
            settings = stored.settings
            for app in theirs:
                rule = settings.apps.get(app)
                stays = rule.model_copy(update={"owner": ""}) if rule and rule.ignores else None
                settings = settings.with_app(app, stays)
            is_replaced = not theirs or await channels.replace(team, channel, stored, settings)
            count += len(theirs) if is_replaced else 0
    return count


async def _lines(scripts: Scripts) -> list[ExportedLine]:
    channels = Channels(scripts)
    return [
        ExportedLine(
            kind=_NOUN, id=f"{team}:{channel}",
            spec=(await channels.stored(team, channel)).settings.model_dump(mode="json", exclude_defaults=True),
        )
        for team, channel in await channels.all()
    ]  # fmt: skip


def _read(line: ExportedLine) -> tuple[str, ChannelSettings]:
    """Read an exported channel, with the place where it's stored. Raises ValueError."""
    if not re.fullmatch(r"[TE][A-Z0-9]{2,30}:[CGD][A-Z0-9]{2,30}", line.id, re.ASCII):
        raise ValueError("id isn't valid: use one such as T0123456789:C0123456789")
    settings = ChannelSettings.model_validate(line.spec)
    check_fields(line.spec, settings.model_dump(mode="json"))
    for app, rule in settings.apps.items():
        if read_key(app) != app:
            raise ValueError("apps has a rule for something that isn't an app: use an ID such as A0123456789")
        if [rule.agent is None, rule.workflow is None, not rule.ignores].count(False) != 1:
            raise ValueError(f"apps.{app} needs an agent or a workflow")
    if len(settings.apps) > MOST_APPS:
        raise ValueError(f"apps has too many rules: at most {MOST_APPS}")
    return line.id, settings


async def _written(scripts: Scripts, items: Sequence[tuple[str, ChannelSettings]], _now: datetime) -> int:
    channels, count = Channels(scripts), 0
    for place, wanted in items:
        team, _, channel = place.partition(":")
        stored = await channels.stored(team, channel)
        is_new = not stored.text and wanted != NOTHING_SET
        count += is_new and await channels.replace(team, channel, stored, wanted)
    return count


async def _count_rules(scripts: Scripts) -> int:
    return len(await Channels(scripts).rules())


async def _paused_rules(deps: Any) -> list[str]:
    return [rule.paused for rule in await deps.channels.rules() if rule.paused]


CHANNELS: Final = (
    Standing(
        noun=_NOUN, plural="channels with settings", keys=("channels",), count=size("channels"), erase=None,
        portable=Portable(_lines, _read, _written),
    ),
    Standing(
        noun="app rule", plural="app rules", keys=("channels",), count=_count_rules, erase=_erase_rules,
        paused=_paused_rules,
    ),
)  # fmt: skip
