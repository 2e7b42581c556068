"""Handles: an agent's name that completes as people type it, and counts as a mention of the bot for that agent.

A handle is a user group without members, so that it notifies nobody. The bridge sees a mention of it only in channels
whose history it may read, as Slack has no event for it. A group may change behind the bridge's back: what's wrong with
it is told to the person who set it, once, and stands in the list of agents and in `bridge check`. Slack's events say so
at once; a job finds what they missed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel

from bridge.engine.standing import ExportedLine, Portable, Standing, check_fields, size
from bridge.ids import base_of
from bridge.names.folding import fold
from bridge.project.models import Agent
from bridge.queue.cached_hash import CachedHash
from bridge.queue.keys import Keys
from bridge.queue.scripting import Scripts
from bridge.queue.stops import signal_settings
from bridge.queue.writes import Write, only_if
from bridge.slack.blockkit import kit
from bridge.slack.user_groups import UserGroup, UserGroups

_MENTION: Final = re.compile(r"<!subteam\^(S[A-Z0-9]+)(?:\|[^<>]*)?>")
_HANDLE: Final = re.compile(r"@?([a-z0-9][a-z0-9._-]{0,79})")
_NAME: Final = 60
_DESCRIPTION: Final = "Ask this agent by its handle. The group is empty, so nobody is notified."
_LONGEST: Final = 200

TAKEN: Final = "used by another group"
DISABLED: Final = "disabled"
REMOVED: Final = "removed"
RENAMED: Final = "renamed"


class Handle(BaseModel, frozen=True):
    """The *handle* of an *agent* of a *project* (``""``: the default one), set by *owner* (``""``: erased since).

    *trouble* is what's wrong with its group, if that's known.
    """

    agent: int
    project: str = ""
    handle: str
    owner: str
    team: str
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class HandleChange:
    """A handle whose *group* has changed: how it's *stored*, and as it was and is."""

    group: str
    stored: str
    before: Handle
    now: Handle


class HandleTaken(Exception):
    """Another user group has the handle."""


def read_handle(typed: str) -> str:
    """Return the handle that was *typed*, without ``@``; ``""`` if it can't be one."""
    match = _HANDLE.fullmatch(fold(typed.strip(), _LONGEST).text)
    return match[1] if match else ""


def state_of(group: str, known: Handle, groups: Mapping[str, UserGroup]) -> Handle:
    """Return a handle with what's wrong with its *group*; a renamed one has its new name."""
    there = groups.get(group)
    others = [other for id_, other in groups.items() if id_ != group and other.handle == known.handle]
    is_taken = not all(other.is_disabled for other in others)
    if there is None or there.is_disabled:
        trouble = TAKEN if is_taken else REMOVED if there is None else DISABLED
        return known.model_copy(update={"trouble": trouble})
    if there.handle and there.handle != known.handle:
        return known.model_copy(update={"trouble": TAKEN if is_taken else RENAMED, "handle": there.handle})
    return known.model_copy(update={"trouble": ""})


async def stored_handles(redis: Any, namespace: str) -> Mapping[str, str]:
    """Return the handles that are stored in a *namespace*, by user group. Raises `StoreUnavailable`."""
    handles: Mapping[str, str] = await redis.hgetall(Keys(namespace).handles())
    return handles


class Handles:
    """All agents' handles, by the ID of the user group. Coroutines may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts, groups: UserGroups, bot_user: str) -> None:
        self._scripts = scripts
        self._groups = groups
        self._bot_user = bot_user
        self._known = CachedHash(scripts, scripts.keys.handles(), Handle.model_validate_json)
        self.heard = self._known.heard

    async def all(self) -> Mapping[str, Handle]:
        """Return the handles by group."""
        return await self._known.values()

    async def of(self, project: str) -> dict[int, Handle]:
        """Return the handles of a project's agents, by agent."""
        handles = (await self.all()).values()
        return {handle.agent: handle for handle in handles if base_of(handle.project) == base_of(project)}

    async def mentioned(self, text: str) -> tuple[str, Handle] | None:
        """Return *text* with a mention of the bot in place of the first handle in it, and that handle; None without."""
        known = await self.all()
        for mention in _MENTION.finditer(text):
            if handle := known.get(mention[1]):
                return f"{text[: mention.start()]}<@{self._bot_user}>{text[mention.end() :]}", handle
        return None

    async def give(self, handle: Handle, agent: Agent) -> None:
        """Give an agent its handle, or another one. Repeatable. Raises `HandleTaken` and `SlackError`."""
        groups = await self._groups.all()
        name = f"{kit.one_line(agent.name, _NAME)} (agent {agent.id}{handle.project and f' of {handle.project}'})"
        own = [id_ for id_, own in (await self.all()).items() if (own.project, own.agent) == (handle.project, agent.id)]
        own += [group.id for group in groups.values() if group.name == name and group.creator == self._bot_user]
        group = next((groups[id_] for id_ in own if id_ in groups), None)
        if any(other.handle == handle.handle and other is not group for other in groups.values()):
            raise HandleTaken
        if group is None:
            group = UserGroup(await self._groups.create(name, handle.handle, _DESCRIPTION), handle=handle.handle)
        if group.is_disabled:
            await self._groups.enable(group.id)
        if group.handle != handle.handle:
            await self._groups.rename(group.id, handle.handle)
        await self._store({group.id: handle}, forget={id_ for id_ in own if id_ != group.id})

    async def remove(self, group: str) -> None:
        """Take an agent's handle away. Repeatable. Raises `SlackError`, unless the group is gone already."""
        known = (await self._groups.all()).get(group)
        if known is not None and not known.is_disabled:
            await self._groups.disable(group)
        await self._store({}, forget={group})

    async def is_about(self, group: str, handle: str) -> bool:
        """Whether a user *group* that has this *handle* is, or may be in the way of, an agent's."""
        return any(id_ == group or known.handle == handle for id_, known in (await self.all()).items())

    async def check(self) -> list[HandleChange]:
        """Look at all groups; return the handles whose state has changed. Raises `SlackError`."""
        stored = await stored_handles(self._scripts.redis, self._scripts.keys.namespace)
        groups = await self._groups.all() if stored else {}
        changes = []
        for group, text in stored.items():
            before = Handle.model_validate_json(text)
            now = state_of(group, before, groups)
            changes += [HandleChange(group, text, before, now)] if now != before else []
        return changes

    def notes(self, change: HandleChange, notices: Sequence[Write] = ()) -> tuple[Write, ...]:
        """Return the writes that store a handle's new state and make *told*, unless it was stored or set meanwhile.

        A renamed handle is fine once people were told.
        """
        trouble = "" if change.now.trouble == RENAMED else change.now.trouble
        now = change.now.model_copy(update={"trouble": trouble}).model_dump_json()
        key = self._scripts.keys.handles()
        return only_if(key, {change.group: change.stored}, ("field", key, 0, change.group, now), *notices)

    async def changed(self) -> None:
        """Have all processes read the handles again."""
        self._known.changed()
        await signal_settings(self._scripts)

    async def _store(self, handles: Mapping[str, Handle], forget: frozenset[str] | set[str] = frozenset()) -> None:
        redis, key = self._scripts.redis, self._scripts.keys.handles()
        async with redis.pipeline(transaction=True) as pipe:
            if forget:
                pipe.hdel(key, *sorted(forget))
            for group, handle in handles.items():
                pipe.hset(key, group, handle.model_dump_json())
            await pipe.execute()
        await self.changed()


async def _erase_owner(scripts: Scripts, user: str) -> int:
    """Take a person's name off the handles that they set: an agent keeps its handle."""
    key, erased = scripts.keys.handles(), set[str]()
    while True:
        stored = await stored_handles(scripts.redis, scripts.keys.namespace)
        handles = {group: Handle.model_validate_json(text) for group, text in stored.items()}
        theirs = {group: handle for group, handle in handles.items() if handle.owner == user}
        if not theirs:
            break
        nobodys = {group: handle.model_copy(update={"owner": ""}).model_dump_json() for group, handle in theirs.items()}
        writes = [("field if", key, 0, group, text, stored[group]) for group, text in nobodys.items()]
        await scripts.run("write", writes, confirmed=True)
        erased |= theirs.keys()
    if erased:
        await signal_settings(scripts)
    return len(erased)


async def _lines(scripts: Scripts) -> list[ExportedLine]:
    stored = await stored_handles(scripts.redis, scripts.keys.namespace)
    return [ExportedLine(kind="handle", id=group, spec=json.loads(text)) for group, text in sorted(stored.items())]


def _read(line: ExportedLine) -> tuple[str, Handle]:
    """Read an exported handle, with the ID of its user group. Raises ValueError."""
    if not re.fullmatch(r"S[A-Z0-9]{2,30}", line.id, re.ASCII):
        raise ValueError("id isn't valid: use a user group's, such as S0123456789")
    handle = Handle.model_validate(line.spec)
    check_fields(line.spec, handle.model_dump(mode="json"))
    return line.id, handle


async def _written(scripts: Scripts, items: Sequence[tuple[str, Handle]], _now: datetime) -> int:
    stored = await stored_handles(scripts.redis, scripts.keys.namespace)
    new = {group: handle.model_dump_json() for group, handle in items if group not in stored}
    writes = [("field if", scripts.keys.handles(), 0, group, text, "") for group, text in new.items()]
    if writes:
        await scripts.run("write", writes, confirmed=True)
        await signal_settings(scripts)
    return len(new)


HANDLES: Final = Standing(
    noun="handle", plural="handles", keys=("handles",), count=size("handles"), erase=_erase_owner,
    portable=Portable(_lines, _read, _written),
)  # fmt: skip
