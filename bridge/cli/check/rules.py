"""`bridge check`: the tables of the operator's file against what Slack and the service know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bridge.cli.rows import FAILURE, OK, WARNING, Row
from bridge.cli.running import slack_of
from bridge.config import Config, KeyPath, ProjectSettings, path_of
from bridge.config_tables import ACTS, KINDS_OF_PLACES, Act
from bridge.engine.unknown_names import Lists, enabled_groups, unknown_names
from bridge.errors import SlackError, SlackRefused
from bridge.policy.rules import Rule, is_listed, target_of
from bridge.project.models import Workflow
from bridge.slack.blockkit import kit
from bridge.slack.user_groups import UserGroups

AREA: Final = "Rules"
_MOST_LOOKED_UP: Final = 50  # people, and channels
_OF_WORKFLOWS: Final = frozenset({"run", "schedule", "alert", "approve"})
_OF_AGENTS: Final = frozenset({"ask", "schedule", "settings"})
"""What can be asked about a workflow, and about an agent."""

_UNKNOWN: Final = frozenset({"user_not_found", "channel_not_found", "user_not_visible", "users_not_found"})


async def rule_rows(values: Mapping[str, Any], config: Config, lists: Lists) -> list[Row]:
    """Return a row for each problem of the rules, channels, agents and limits; none without any of these tables.

    *lists* have what the projects have, as far as they answered.
    """
    keys = any(project.keys for project in config.projects)
    if not (config.rules or config.channels or config.agents or config.limits or keys):
        return []
    rules = [Rule.of(table, at) for at, table in enumerate(config.rules, start=1)]
    rows = []
    for rule, over in never_fits(rules):
        if over is not None:
            why = f"rule {over.index} fits all that it does"
            cure = "move it before that rule, or remove it"
        else:
            why = "nothing in its may is about the workflows or agents that it names"
            cure = 'add the act to may, such as "run" for workflows and "ask" for agents'
        rows.append(Row(AREA, path_of(("rules", rule.index - 1)), FAILURE, f"never matches: {why}", cure))
    rows += [*await _unknown_to_slack(values, config, lists), *_unknown(config, lists)]
    # Workflows that nobody may run, as no rule allows it, or an earlier one refuses it
    nobodys = [
        workflow.name or str(workflow.id)
        for project in config.projects
        for workflow in lists.workflows.get(project.id, ())
        if not any(
            rule.approval is None or rule.approval.by or _granting(rules, "approve", project, workflow)
            for rule in _granting(rules, "run", project, workflow)
        )
    ]
    if rules and nobodys:
        names = kit.first_of([kit.quoted(name, 60) for name in nobodys], 5)
        cure = 'add a rule with may = ["run"] for them before the others, if people should run them'
        rows.append(Row(AREA, "workflows", WARNING, f"no rule lets anyone run {names}", cure))
    if not any(row.state == FAILURE for row in rows):
        tables = [kit.counted(len(rules), "rule"), kit.counted(len(config.channels), "channel")]
        tables.append(kit.counted(len(config.limits), "limit"))
        rows.insert(0, Row(AREA, "bridge.toml", OK, ", ".join(tables)))
    return rows


async def _unknown_to_slack(values: Mapping[str, Any], config: Config, lists: Lists) -> list[Row]:
    """Return rows for people and channels that Slack doesn't know, and read its user groups into *lists*."""
    if any(name not in values for name in ("SLACK_API_URL", "SLACK_BOT_TOKEN")):
        return []
    named = [(key_path, id_) for key_path, id_ in config.ids() if id_[0] not in "AD"]
    ids = {id_ for _key_path, id_ in named}
    groups = {id_ for id_ in ids if id_.startswith("S")}
    unknown, trouble = set[str](), dict[str, None]()
    async with slack_of(values) as web:
        if groups:
            try:
                lists.groups = await enabled_groups(UserGroups(web))
            except SlackError as exc:
                trouble[f"user groups can't be looked up ({exc.detail})"] = None
        for id_ in sorted(ids - groups)[:_MOST_LOOKED_UP]:
            method, argument = ("conversations.info", "channel") if id_[0] in "CG" else ("users.info", "user")
            try:
                await web.read(method, {argument: id_})
            except SlackError as exc:
                if isinstance(exc, SlackRefused) and exc.error in _UNKNOWN:
                    unknown.add(id_)
                else:
                    trouble[f"{method} can't be asked ({exc.detail})"] = None
    rows = [
        _unknown_id(key_path, "channel" if id_[0] in "CG" else "person", id_)
        for key_path, id_ in named
        if id_ in unknown
    ]
    return rows + [Row(AREA, "IDs", WARNING, why, "grant the scopes that `bridge check` lists") for why in trouble]


def _unknown_id(key_path: KeyPath, kind: str, id_: str) -> Row:
    also = "; a private channel also needs the bot in it (/invite)" if kind == "channel" else ""
    detail = f"names {id_}, and Slack doesn't know a {kind} with this ID"
    return Row(AREA, path_of(key_path), FAILURE, detail, f"copy the ID again from Slack{also}")


def _unknown(config: Config, lists: Lists) -> Iterator[Row]:
    """Return rows for names of workflows, agents, categories, projects and user groups that nothing has."""
    projects = ", ".join(project.id for project in config.projects)
    for unknown in unknown_names(config, lists):
        if unknown.kind == "user group":
            yield _unknown_id(unknown.key_path, unknown.kind, unknown.entry)
            continue
        entry = kit.quoted(unknown.entry, 60)
        nearest = f"; the nearest is {kit.quoted(unknown.nearest[0], 60)}" if unknown.nearest else ""
        match unknown.kind:
            case "project":
                problem, cure = f"names {entry}, which fits no project", f"use one of {projects}"
            case "category":
                problem = f"names {entry}, and the service has nothing of this category"
                cure = f"fix the name{nearest}"
            case kind:
                problem = f"names {entry}, and the service has no such {kind}"
                cure = f"fix the name{nearest}, or use the ID that /{kind}s shows"
        yield Row(AREA, path_of(unknown.key_path), FAILURE, problem, cure)


def _granting(rules: Sequence[Rule], act: Act, project: ProjectSettings, workflow: Workflow) -> list[Rule]:
    """Return the rules that allow some people this with a workflow: none before them fits all of these people."""
    names, target = (project.id, project.name), target_of(workflow)
    fitting = [
        rule for rule in rules
        if (not rule.may or act in rule.may)
        and (not rule.projects or is_listed(rule.projects, *names))
        and rule.is_about(target)
    ]  # fmt: skip
    only_who = [Rule(rule.index, who=rule.who, channels=rule.channels) for rule in fitting]
    never = {rule.index for rule, _over in never_fits(only_who)}
    return [rule for rule in fitting if not rule.refuse and rule.index not in never]


def never_fits(rules: Sequence[Rule]) -> list[tuple[Rule, Rule | None]]:
    """Return the rules that can never decide, each with the earlier one that covers it, if that's why."""
    pairs: list[tuple[Rule, Rule | None]] = []
    for at, rule in enumerate(rules):
        over = next((earlier for earlier in rules[:at] if _covers(earlier, rule)), None)
        of_workflows, of_agents = bool(rule.workflows or rule.triggers), bool(rule.agents)
        possible = (_OF_WORKFLOWS if of_workflows or not of_agents else frozenset()) | (
            _OF_AGENTS if of_agents or not of_workflows else frozenset()
        )
        is_about_nothing = rule.is_of_some and not possible & (rule.may or frozenset(ACTS))
        if over is not None or is_about_nothing:
            pairs.append((rule, over))
    return pairs


def _covers(earlier: Rule, later: Rule) -> bool:
    """Whether all that *later* fits, *earlier* fits, too."""
    who, channels = earlier.who, earlier.channels
    kinds = {"guests", "members"} <= who
    if who and not kinds and not (later.who and later.who <= who):
        return False
    if earlier.may and not (later.may or frozenset(ACTS)) <= earlier.may:
        return False
    if channels and not set(KINDS_OF_PLACES) <= channels:
        direct = "direct" in channels
        if not later.channels or not all(
            channel in channels or (direct and channel[0] == "D") for channel in later.channels
        ):
            return False
    if earlier.projects and not _includes(earlier.projects, later.projects):
        return False
    if not earlier.is_of_some:
        return True
    names = ("workflows", "triggers", "agents", "categories")
    if not later.is_of_some or any(
        getattr(later, name) and not getattr(earlier, name) for name in ("agents", "workflows")
    ):
        return False
    return all(not getattr(earlier, name) or _includes(getattr(earlier, name), getattr(later, name)) for name in names)


def _includes(entries: Sequence[str], others: Sequence[str]) -> bool:
    return bool(others) and all(is_listed(entries, other) for other in others)
