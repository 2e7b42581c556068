"""`bridge check --access USER CHANNEL`: what a person may do in a channel, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bridge.cli.rows import CURE_OF_BOT, FAILURE, OK, WARNING, Row, as_typed, trouble_row
from bridge.cli.running import slack_of
from bridge.config import Config, ProjectKey
from bridge.config_tables import Act
from bridge.ends.failures import sentence
from bridge.ends.refusals import PERMISSIONS
from bridge.errors import CommandError, ConfigurationError, ProjectError, SlackError, SlackRefused
from bridge.inbound import SlashCommand
from bridge.names.matching import pick
from bridge.policy.policy import Policy
from bridge.policy.rules import ANY_AGENT, ANY_WORKFLOW, Asked, Rules, Verdict, rules_of, target_of
from bridge.policy.words import ids_of, in_words
from bridge.project import Catalog, ProjectClient
from bridge.project.connection import DEFAULT
from bridge.project.models import Workflow
from bridge.slack.api import SlackWeb
from bridge.slack.blockkit import kit
from bridge.slack.directory import Directory, Person

AREA: Final = "Access"
RULES: Final = ("BRIDGE_ALLOWED_CHANNELS", "BRIDGE_ALLOWED_USERS", "BRIDGE_RUNNERS")
_REPLIES: Final = "BRIDGE_THREAD_REPLIES"

_TO_DO: Final[tuple[tuple[str, Act], ...]] = (
    ("run workflows", "run"),
    ("schedule reports", "report"),
    ("change channel settings", "settings"),
)
_TO_DO_BY_RULES: Final[tuple[tuple[str, Act], ...]] = (
    ("schedule questions and runs", "schedule"),
    ("set up alerts", "alert"),
    ("approve", "approve"),
    ("see the trace", "trace"),
)
_NO_GUESTS: Final = "guests can't, unless listed in BRIDGE_RUNNERS"
_CURE_OF_READING: Final = PERMISSIONS["unknown"].mend
_NO_MENTION: Final = {
    "auto": "only while the agent is talking with them and nobody else has written since",
    "all": "every reply goes to the thread's agent",
    "mentions": "no, every reply needs a mention",
}
_EVERYONE: Final = "everyone in the workspace can, including guests"
_KINDS: Final = {
    "member": "a member of the workspace",
    "guest": "a guest of the workspace",
    "bot": "a bot",
    "deactivated": "deactivated",
    "stranger": "from another company",
}


async def access_of(
    values: Mapping[str, Any], config: Config, user: str, channel: str, *, workflow: str = ""
) -> list[Row] | None:
    """Return rows on what *user* may do in *channel*; None if a required setting is missing or invalid.

    *config* is the operator's file; *workflow* names one by ID or name. Raises `ConfigurationError` for names instead
    of IDs, and for a workflow that can't be found.
    """
    problems = []
    if not re.fullmatch(r"[UW][A-Z0-9]{2,}", user):
        problems.append(
            f"USER “{user}” isn't a member ID such as U0123ABCD: copy it from the person's profile in Slack"
        )
    if not re.fullmatch(r"[CGD][A-Z0-9]{2,}", channel):
        problems.append(
            f"CHANNEL “{channel}” isn't a channel ID such as C0123ABCD: copy it from the channel's details in Slack"
        )
    if problems:
        raise ConfigurationError(problems)
    if not values.keys() >= {"SLACK_API_URL", "SLACK_BOT_TOKEN", _REPLIES, *RULES}:  # some rules alone would mislead
        return None
    channels, users, runners = (values[name] for name in RULES)
    rules = rules_of(config, allowed_channels=channels, allowed_users=users, runners=runners)
    project = config.of_channel(channel)
    target: Workflow | None = None
    if workflow:
        try:
            async with ProjectClient(project.base_url, project.api_key.get_secret_value()) as client:
                known = await Catalog(client).candidates("workflow", workflow)
        except ProjectError as exc:
            raise ConfigurationError([f"the workflows can't be listed ({exc.cause}): bridge check says why"]) from None
        try:
            target = pick("workflow", workflow, known, takes_rest=False, acts=True).item
        except CommandError as exc:
            raise ConfigurationError([f"--run: {sentence(exc)}"]) from None
    async with slack_of(values) as web:
        asking = Asking(user, channel, project.id, project.name, target, project.keys)
        return as_typed(await access_rows(web, rules, asking, replies=values[_REPLIES]), values)


@dataclass(frozen=True, slots=True)
class Asking:
    """What's asked: what *user* may do in *channel*, of the *project* with this ID, or whether to run *workflow*."""

    user: str
    channel: str
    project: str = DEFAULT
    project_name: str = DEFAULT
    workflow: Workflow | None = None
    keys: tuple[ProjectKey, ...] = ()


async def access_rows(web: SlackWeb, rules: Rules, asking: Asking, *, replies: str = "auto") -> list[Row]:
    """Ask Slack about the person and the channel, and apply the *rules*.

    *replies* is ``BRIDGE_THREAD_REPLIES``, which `/agents channel` may override for a channel.
    """
    user, channel = asking.user, asking.channel
    try:
        identity = (await web.hello()).identity
    except SlackError as exc:
        return [trouble_row("bot token", exc, CURE_OF_BOT)]
    directory = Directory(web, identity)
    policy = Policy(identity.home, directory, rules)
    person, person_row, is_unknown = await _person(directory, user)
    channel_row, hears, is_shared = await _channel(web, channel)
    if is_unknown:
        return [person_row, channel_row]
    # In a channel that isn't shared, an event is from a member even if Slack doesn't describe the person.
    is_shared = is_shared or person is not None
    command = SlashCommand(team=identity.team, channel=channel, user=user, is_shared=is_shared, command="/check")
    try:
        refusal = await policy.refusal(command)
    except SlackError:
        refusal = "unknown"
    if refusal == "stranger" and person is not None and person.kind in PERMISSIONS:
        refusal = person.kind  # they aren't at home either
    if refusal is not None:
        actions = ("talk", "use commands", *(label for label, _act in _TO_DO))
        return [person_row, channel_row, *_refused(actions, refusal, person_row)]
    who = "listed in BRIDGE_ALLOWED_USERS" if rules.users else _EVERYONE
    talk = await _row(policy, asking, "talk", "ask", person_row) if rules.has_file else Row(AREA, "talk", OK, who)
    if not hears and talk.state == OK:
        detail = "allowed, but the bot isn't in this channel and doesn't receive its messages"
        talk = Row(AREA, "talk", FAILURE, detail, "/invite the bot there")
    rows = [person_row, channel_row, *(await _key_row(policy, asking)), talk]
    if not channel.startswith("D"):
        detail = (
            f"{_NO_MENTION[replies]} ({_REPLIES}={replies}, unless {kit.command('/agents channel')} says otherwise)"
        )
        rows.append(Row(AREA, "reply without a mention", OK, detail))
    rows.append(Row(AREA, "use commands", OK, who))
    if asking.workflow is not None:
        return [*rows, await _row(policy, asking, f"run {asking.workflow.name}", "run", person_row)]
    todo = [*_TO_DO, *(_TO_DO_BY_RULES if rules.has_file else ())]
    return rows + [await _row(policy, asking, label, act, person_row) for label, act in todo]


async def _key_row(policy: Policy, asking: Asking) -> list[Row]:
    """Return the key of the project that the person uses, if there are several."""
    try:
        for key in asking.keys:
            if await policy.holds(key.who, asking.user):
                return [Row(AREA, "project's key", OK, f"{key.name}, as keys in the file says")]
    except SlackError as exc:
        return [trouble_row("project's key", exc, _CURE_OF_READING)]
    return [Row(AREA, "project's key", OK, "the project's own")] if asking.keys else []


async def _person(directory: Directory, user: str) -> tuple[Person | None, Row, bool]:
    """Return the person, their row, and whether Slack says that there is no such person."""
    try:
        person = await directory.person(user)
    except SlackError as exc:
        if isinstance(exc, SlackRefused) and exc.error == "user_not_found":
            cure = "copy the member ID from the person's profile in Slack"
            return None, Row(AREA, "person", FAILURE, f"the app can't see {user}", cure), True
        return None, trouble_row("person", exc, _CURE_OF_READING), False
    described = _KINDS[person.kind]
    if person.kind in {"member", "guest"} and person.is_home is not True:
        described = "from another workspace" if person.is_home is False else "workspace unknown"
    return person, Row(AREA, "person", OK, f"{person.name or user} ({user}), {described}"), False


async def _channel(web: SlackWeb, channel: str) -> tuple[Row, bool, bool]:
    """Return the channel's row, whether the bot receives its messages, and whether it's shared.

    Direct messages aren't looked up: that would need more scopes.
    """
    if channel.startswith("D"):
        return Row(AREA, "channel", OK, f"a direct message ({channel})"), True, False
    try:
        about = (await web.read("conversations.info", {"channel": channel})).get("channel") or {}
    except SlackError as exc:
        if isinstance(exc, SlackRefused) and exc.error == "channel_not_found":
            detail = f"the app can't see {channel}: it doesn't exist, or it's private and the bot isn't in it"
            return Row(AREA, "channel", WARNING, detail, "/invite the bot there"), False, True
        detail = f"can't read {channel} ({exc.detail})"
        return Row(AREA, "channel", WARNING, detail, _CURE_OF_READING), True, True
    is_shared, is_archived, is_in_it = (
        about.get(f"is_{what}") is True for what in ("ext_shared", "archived", "member")
    )
    facts = [
        "private" if about.get("is_private") else "public",
        *(["shared with another company"] if is_shared else []),
        *(["archived"] if is_archived else []),
        "the bot is in it" if is_in_it else "the bot isn't in it",
    ]
    detail = f"#{about.get('name') or channel} ({channel}), {', '.join(facts)}"
    return Row(AREA, "channel", OK, detail), is_in_it and not is_archived, is_shared


def _refused(actions: Sequence[str], reason: str, person_row: Row) -> list[Row]:
    row = PERMISSIONS[reason]
    cure = person_row.cure if reason == "unknown" and person_row.state == FAILURE else row.mend
    return [Row(AREA, action, FAILURE, row.checked, cure) for action in actions]


async def _row(policy: Policy, asking: Asking, label: str, act: Act, person_row: Row) -> Row:
    """Return whether the person may do this, and which rule says so."""
    target = ANY_AGENT if act == "ask" else None
    if act == "run":
        target = target_of(asking.workflow) or ANY_WORKFLOW
    asked = Asked(act, asking.user, asking.channel, asking.project, asking.project_name, target)
    try:
        verdict = await policy.judge(asked)
    except SlackError:
        return _refused([label], "unknown", person_row)[0]
    may, cure = verdict.is_allowed, "add them there"
    if verdict.of is None or verdict.of.reason == "rule":
        detail = explained(verdict, asked, await policy.names(ids_of(verdict.rule) if verdict.rule else ()))
        if act == "run" and asking.workflow is None and policy.rules.has_file:
            detail += "; to ask about one workflow, add --run WORKFLOW"
        cure = _CURE_OF_READING if verdict.missing else "change the rules in the file"
    elif verdict.missing:
        return _refused([label], "unknown", person_row)[0]
    elif not any(listed.origin == "BRIDGE_RUNNERS" for listed in policy.rules.lists):
        detail = "every member of the workspace can" if may else _NO_GUESTS
    elif may:
        is_listed = verdict.rule is not None and asking.user in verdict.rule.who
        detail = "listed in BRIDGE_RUNNERS" if is_listed else "in a user group listed in BRIDGE_RUNNERS"
    else:
        detail = "not in BRIDGE_RUNNERS, nor in a user group listed there"
    return Row(AREA, label, OK if may else FAILURE, detail, "" if may else cure)


def explained(verdict: Verdict, asked: Asked, names: Mapping[str, str]) -> str:
    """Say which rule of the operator's file decided, for operators."""
    if verdict.of is None:
        return "no rules"
    if verdict.rule is None:
        target = asked.target
        for_it = f" for {kit.quoted(target.name or target.id, 60)}" if target and not target.is_any else ""
        return f"no rule in {verdict.of.origin} allows it{for_it}"
    unsure = " may decide, but Slack doesn't say whether it fits" if verdict.missing else ""
    place = f"rule {verdict.rule.index} ({verdict.of.origin}){unsure}"
    return f"{place}: {in_words(verdict.rule, names)}"
