"""Names in the operator's file that nothing has: a typo, or what was renamed or deleted since.

A rule that refuses, confirms or asks for approval, and a limit, are *gates*: with such a name, they silently don't
hold. So `GateCheck` looks at the start, after a reload and while the bridge runs; `bridge check` looks at all names.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from bridge.config import Config, KeyPath, ProjectSettings
from bridge.config_tables import RuleTable
from bridge.engine.projects import ServedProjects
from bridge.errors import ProjectError, SlackError
from bridge.names.listing import Listing
from bridge.names.matching import similar
from bridge.policy.rules import is_listed, target_of
from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit import kit
from bridge.slack.user_groups import UserGroups

log = logging.getLogger(__name__)

LOOKS_EVERY: Final = timedelta(seconds=30)
_SOON: Final = 5.0  # seconds; what doesn't answer by then is looked up the next time

NameKind = Literal["workflow", "agent", "category", "project", "user group"]


@dataclass(slots=True)
class Lists:
    """What there is: the workflows and agents of each project by its ID, and the user groups' IDs.

    A project that didn't answer isn't in there, and without an answer of Slack's, *groups* is None.
    """

    workflows: dict[str, Listing[Workflow]] = field(default_factory=dict)
    agents: dict[str, Listing[Agent]] = field(default_factory=dict)
    groups: frozenset[str] | None = None


class UnknownName(NamedTuple):
    """An *entry* at a *key_path* in the file that should name a *kind* of thing; *nearest* are similar names."""

    key_path: KeyPath
    kind: NameKind
    entry: str
    nearest: tuple[str, ...] = ()

    def in_words(self) -> str:
        """Say which rule or limit names nothing: ``rule 1 names no workflow: “Imprt”; nearest: “Import”``."""
        table, at, *_ = self.key_path
        nearest = f"; nearest: {', '.join(kit.quoted(name, 60) for name in self.nearest)}" if self.nearest else ""
        number = f" {at + 1 if isinstance(at, int) else at}"
        return f"{str(table).removesuffix('s')}{number} names no {self.kind}: {kit.quoted(self.entry, 60)}{nearest}"


def unknown_names(config: Config, lists: Lists, *, gates_only: bool = False) -> Iterator[UnknownName]:
    """Return the names that nothing in *lists* has; what isn't in there isn't known, and counts as there."""
    for at, rule in enumerate(config.rules):
        if not gates_only or _is_gate(rule):
            yield from _in_rule(config, ("rules", at), rule, lists)
    for at, limit in enumerate(config.limits):
        key_path, only = ("limits", at, "only"), limit.only or ()
        match limit.per:
            case "workflow" | "agent":
                yield from _unlisted(key_path, limit.per, only, _of(config.projects, limit.per, lists))
            case "project":
                yield from _unknown_projects(config, key_path, only)
    if lists.groups is not None:
        for named_in, id_ in config.ids():
            is_wanted = not gates_only or named_in[0] != "rules" or _is_gate(config.rules[int(named_in[1])])
            if is_wanted and id_.startswith("S") and id_ not in lists.groups:
                yield UnknownName(named_in, "user group", id_)
    if not gates_only:
        yield from _in_channels(config, lists)
        agents = _of(config.projects, "agent", lists)
        for entry in config.agents:
            yield from _unlisted(("agents", entry), "agent", [entry], agents)
        for project in config.projects:
            named = [entry for entry in project.repeat if entry not in config.agents]
            listed = ("projects", project.id, "repeat")
            yield from _unlisted(listed, "agent", named, _of([project], "agent", lists))


def _is_gate(rule: RuleTable) -> bool:
    return bool(rule.refuse or rule.confirm or rule.approve)


def _in_rule(config: Config, key_path: KeyPath, rule: RuleTable, lists: Lists) -> Iterator[UnknownName]:
    yield from _unknown_projects(config, (*key_path, "projects"), rule.projects or ())
    projects = [
        project
        for project in config.projects
        if not rule.projects or is_listed(rule.projects, project.id, project.name)
    ]
    if projects:
        workflows, agents = _of(projects, "workflow", lists), _of(projects, "agent", lists)
        yield from _unlisted((*key_path, "workflows"), "workflow", rule.workflows or (), workflows)
        yield from _unlisted((*key_path, "agents"), "agent", rule.agents or (), agents)
        if rule.categories and workflows is not None and agents is not None:
            known = {target.category for item in (*workflows, *agents) if (target := target_of(item))} - {""}
            for entry in rule.categories:
                if not is_listed([entry], *known):
                    yield UnknownName((*key_path, "categories"), "category", entry, _nearest(entry, known))


def _in_channels(config: Config, lists: Lists) -> Iterator[UnknownName]:
    for id_, channel in config.channels.items():
        own = [config.of_channel(id_)]
        workflows, agents = _of(own, "workflow", lists), _of(own, "agent", lists)
        if channel.agent not in {None, "none"}:
            yield from _unlisted(("channels", id_, "agent"), "agent", [channel.agent or ""], agents)
        for app, does in (channel.apps or {}).items():
            key_path = ("channels", id_, "apps", app)
            if does.workflow:
                yield from _unlisted(key_path, "workflow", [does.workflow], workflows)
            else:
                yield from _unlisted(key_path, "agent", [does.agent or ""], agents)


def _of(
    projects: Iterable[ProjectSettings], kind: Literal["workflow", "agent"], lists: Lists
) -> list[Workflow | Agent] | None:
    """Return what there is of a kind in *projects*; None if not all of them answered, or one listed only a part."""
    known: Mapping[str, Listing[Workflow] | Listing[Agent]] = lists.workflows if kind == "workflow" else lists.agents
    ids = [project.id for project in projects]
    is_whole = all(id_ in known and not known[id_].is_part for id_ in ids)
    return [item for id_ in ids for item in known[id_]] if is_whole else None


def _unlisted(
    key_path: KeyPath, kind: NameKind, entries: Iterable[str], known: Sequence[Workflow | Agent] | None
) -> Iterator[UnknownName]:
    if known is None:
        return
    for entry in entries:
        if not any(is_listed([entry], str(item.id), item.name) for item in known):
            yield UnknownName(key_path, kind, entry, _nearest(entry, (item.name for item in known)))


def _unknown_projects(config: Config, key_path: KeyPath, entries: Iterable[str]) -> Iterator[UnknownName]:
    for entry in entries:
        if not any(is_listed([entry], project.id, project.name) for project in config.projects):
            yield UnknownName(key_path, "project", entry, _nearest(entry, (project.id for project in config.projects)))


def _nearest(entry: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(similar(entry.replace("*", " "), names))


async def enabled_groups(groups: UserGroups) -> frozenset[str]:
    """Return the IDs of Slack's user groups; a disabled one has no members that count. Raises `SlackError`."""
    return frozenset(id_ for id_, group in (await groups.all()).items() if not group.is_disabled)


class GateCheck:
    """Looks for gates that don't hold because of a name. *unknown* says what was found last, in words."""

    def __init__(self, projects: ServedProjects, groups: UserGroups) -> None:
        self.unknown: tuple[str, ...] = ()
        self._projects = projects
        self._groups = groups
        self._config = Config(())
        self._looked_at: datetime | None = None

    def use(self, config: Config) -> None:
        """Check this *config* from now on."""
        self._config, self.unknown, self._looked_at = config, (), None

    async def look(self, now: datetime) -> None:
        """Look what's unknown, unless that was just done. What can't be looked up stays as it was found last."""
        if self._looked_at is not None and now - self._looked_at < LOOKS_EVERY:
            return
        self._looked_at, config = now, self._config
        lists = Lists(groups=None if config.groups else frozenset())
        gates = [rule for rule in config.rules if _is_gate(rule)]
        needs_lists = any(gate.workflows or gate.agents or gate.categories for gate in gates)
        needs_lists |= any(limit.only and limit.per in {"workflow", "agent"} for limit in config.limits)
        with suppress(TimeoutError):
            async with asyncio.timeout(_SOON):
                await asyncio.gather(*(self._read(project.id, lists) for project in config.projects if needs_lists))
                try:
                    if config.groups:
                        lists.groups = await enabled_groups(self._groups)
                except SlackError as exc:
                    log.info("user groups in the operator's file can't be checked", extra={"detail": exc.detail})
        if config is not self._config:
            return
        problems = dict.fromkeys(name.in_words() for name in unknown_names(config, lists, gates_only=True))
        for problem in problems.keys() - set(self.unknown):
            log.error("a rule or limit names what doesn't exist, so it has no effect", extra={"problem": problem})
        is_whole = lists.groups is not None and (not needs_lists or len(lists.agents) == len(config.projects))
        self.unknown = tuple(problems if is_whole else dict.fromkeys([*self.unknown, *problems]))

    async def _read(self, id_: str, lists: Lists) -> None:
        """Read what a project has into *lists*, unless its service doesn't answer."""
        project = next((project for project in self._projects if project.id == id_), None)
        try:
            if project:
                workflows, agents = await project.catalog.get_workflows(), await project.catalog.get_agents()
                lists.workflows[id_], lists.agents[id_] = workflows, agents
        except ProjectError as exc:
            log.info("names in the operator's file can't be checked", extra={"why": type(exc).__name__})
