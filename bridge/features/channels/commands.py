"""``/agents default`` and ``/agents channel``: a channel's settings.

They affect everyone there, so only people who may run workflows can change them, and the channel is notified.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal

from bridge.ends.refusals import no_longer
from bridge.engine.feature import Feature
from bridge.engine.projects import remember
from bridge.engine.results import Modal, Result, shown
from bridge.engine.turn import Turn
from bridge.errors import NoSuch, SlackError
from bridge.features.buttons import OPEN_DEFAULT, SET_DEFAULT, id_of, settings_button
from bridge.features.channels import forms, layout
from bridge.features.channels.app_rules import RULE_PAUSED
from bridge.features.channels.layout import SettingChange
from bridge.features.channels.settings import CHANNELS, MOST_APPS, NOTHING_SET, AppRule, ChannelSettings
from bridge.features.deps import Deps
from bridge.features.lookups import (
    agent_by_id,
    agent_name,
    before_each_run,
    find_agent,
    origin_of,
    rights,
    workflow_by_id,
    workflow_name,
)
from bridge.ids import PersonKey
from bridge.inbound import Click, Notice, Submission
from bridge.names.folding import name_key
from bridge.project.connection import DEFAULT, ProjectConnection
from bridge.project.models import Agent, Item, Workflow
from bridge.queue.finished_turns import named
from bridge.slack.blockkit.kit import SOMEONE
from bridge.slack.blockkit.lists import apart
from bridge.slack.blockkit.modals import Origin
from bridge.slack.blockkit.mrkdwn import mentions_in
from bridge.slack.blockkit.reply import Reply
from bridge.slack.senders import Sender, key_of, read_key, sender_id

_NAMED: Final = 3  # apps suggested for a misspelled name

channels = Feature("channels")
channels.sets_up(*CHANNELS)
channels.outcomes |= {
    layout.CHANGED: "announced a settings change",
    RULE_PAUSED: "notified: an app's posts are no longer answered",
}


@channels.command("/agents channel", read_only=True)
async def show_settings(deps: Deps, turn: Turn) -> Result:
    """Show this channel's settings: default agent, replies and apps."""
    settings = (await deps.channels.get(turn.team, turn.channel)).of(turn.project_key)
    fixed = deps.channels.fixed(turn.channel)
    agent = await agent_name(turn, settings.agent) if settings.agent is not None else ""
    apps = []
    for key, rule in settings.apps.items():
        if rule.ignores:
            does = "ignored"
        elif rule.workflow is not None:
            does = f"runs {await workflow_name(turn, rule.workflow)}{', also on edits' if rule.edits else ''}"
        else:
            does = f"answered by {await agent_name(turn, rule.agent or 0)}"
        owner = await deps.directory.user_name(rule.owner) if rule.owner else layout.ADMIN
        by = "" if rule.ignores and not rule.owner else f" · set up by {owner}"
        paused = f" · ⏸️ paused: {no_longer(rule.paused, owner)}" if rule.paused else ""
        apps.append((layout.sender_label(key, settings.apps), f"{does}{by}{paused}"))
    project = turn.project_name if deps.projects.is_several else None
    replies = settings.replies or deps.channels.replies
    is_set = bool(deps.projects.of_channel(turn.channel)) and project is not None
    what = layout.ShownSettings(agent, settings.answers == "all", replies, apps, project, fixed, is_set)
    title = layout.settings_title(await _name(deps, turn.channel))
    may_change = await deps.policy.may(turn.asked("settings"))
    return layout.settings_card(what, title, may_change=may_change, is_direct=_is_direct(turn.channel))


@channels.command("/agents channel project <project>", form=settings_button(), needs="settings", for_several=True)
async def set_project(deps: Deps, turn: Turn, *, project: ProjectConnection) -> Result:
    """Set the project of this channel. Its default agent and the rules for apps are reset."""
    return await _move(deps, turn, project)


async def _move(deps: Deps, turn: Turn, project: ProjectConnection, *, where: str = layout.HERE) -> Result:
    """Set the project of *turn*'s channel, or of the person's direct messages."""
    if _is_direct(turn.channel):
        await remember(deps.scripts, PersonKey(turn.team, turn.user), project.key)
        change = SettingChange("project", project.id, project.name)
        return shown(layout.changed([change], layout.DIRECT), "changed", change.about)
    if fixed := deps.projects.of_channel(turn.channel):
        return layout.project_in_file(fixed.name)
    return await change_settings(
        deps, turn, lambda now: now.of(project.key).model_copy(update={"project": project.key}), where=where, moves=True
    )


async def _form_here(deps: Deps, turn: Turn, _agent: Agent | None) -> Modal:
    """Open the form of the channel's settings."""
    return await _form(deps, turn, turn.channel)


@channels.command("/agents default [agent]", form=settings_button(), needs="settings", opens=_form_here)
async def set_default(deps: Deps, turn: Turn, *, agent: Agent) -> Result:
    """Set the agent that answers mentions in this channel. Leave out the agent to get a form."""
    return await change_settings(
        deps,
        turn,
        lambda now: now.model_copy(update={"agent": agent.id}),
        about=named("agent", agent.id, agent.name),
    )


@channels.command("/agents default none", form=settings_button(), needs="settings")
async def remove_default(deps: Deps, turn: Turn) -> Result:
    """Remove this channel's default agent."""
    return await change_settings(
        deps,
        turn,
        lambda now: now.model_copy(update={"agent": None}),
        about=named("agent", layout.NONE),
    )


@channels.command("/agents channel answers <mentions|all>", form=settings_button(), needs="settings")
async def set_answers(deps: Deps, turn: Turn, *, choice: str) -> Result:
    """Answer only mentions, or every top-level message in this channel."""
    return await _set(deps, turn, lambda now: now.model_copy(update={"answers": choice}))


@channels.command("/agents channel replies <auto|all|mentions>", form=settings_button(), needs="settings")
async def set_replies(deps: Deps, turn: Turn, *, choice: str) -> Result:
    """Send a thread's agent the replies of the person it's talking with, every reply, or only mentions."""
    return await _set(deps, turn, lambda now: now.model_copy(update={"replies": choice}))


@channels.command("/agents channel ask <agent> <app>", form=settings_button(), needs="settings")
async def ask_agent(deps: Deps, turn: Turn, *, agent: Agent, app: str) -> Result:
    """Have an agent answer an app's posts in this channel, such as alerts."""
    return await _set_app(deps, turn, app, AppRule(agent=agent.id, owner=turn.user))


@channels.command("/agents channel run <workflow> <app>", form=settings_button(), needs="settings")
async def run_workflow(deps: Deps, turn: Turn, *, workflow: Workflow, app: str) -> Result:
    """Run a workflow on each of an app's posts in this channel, on your behalf."""
    await deps.policy.require(turn.asked("run", workflow))
    return await _set_app(deps, turn, app, AppRule(workflow=workflow.id, owner=turn.user))


@channels.command("/agents channel ignore <app>", form=settings_button(), needs="settings")
async def ignore_app(deps: Deps, turn: Turn, *, app: str) -> Result:
    """Stop answering an app's posts in this channel."""
    return await _set_app(deps, turn, app, None)


async def _set_app(deps: Deps, turn: Turn, typed: str, rule: AppRule | None) -> Result:
    """Set the *rule* for the sender *typed*: by name, mention or ID; None removes its rule.

    Names work for those that have a rule here or posted here recently. Raises `NoSuch`.
    """
    if _is_direct(turn.channel):
        return layout.NOT_IN_DIRECT_MESSAGES
    await deps.policy.require(turn.asked("settings"))
    rules = (await deps.channels.stored(turn.team, turn.channel)).settings.of(turn.project_key).apps
    seen = await _senders(deps, turn.channel)
    key = await _meant(deps, turn, typed, seen, rules)
    if isinstance(key, Reply):
        return key
    ids = [id_ for id_ in rules if sender_id(id_) == key]
    if rule is None:
        theirs = [key] if key in rules else ids
        sender = next((sender for sender in seen or () if sender.key == key), None)
        # A rule for an app covers what it posts under any name.
        keys = sender.keys if sender else (sender_id(key),)
        covering = next((id_ for id_ in keys if id_ in rules and id_ not in theirs), None)
        if covering is None or name_key(rules[covering].name) == name_key(typed).removeprefix("@"):
            covers = [covering] if covering else []
            return await change_settings(deps, turn, lambda now: _without(now, [*theirs, *covers]))
        rule = AppRule(ignores=True, owner=turn.user)  # an exception
    if key not in rules and len(rules) >= MOST_APPS:
        return layout.too_many_apps(MOST_APPS)
    under = [sender for sender in seen or () if key in sender.keys]
    named = list(dict.fromkeys(sender.name for sender in under if sender.name))
    bots = {sender.bot for sender in under if sender.bot}
    known_name = rules[key].name if key in rules else ""
    name = named[0] if len(named) == 1 or (named and sender_id(key) != key) else known_name
    rule = rule.model_copy(update={"name": name})
    warning = layout.not_told_apart(key, named, bots=len(bots))
    wide = rules.get(sender_id(key))  # an earlier release stored a rule for one name so: that one is set up again
    earlier = sender_id(key) if wide and wide.paused and name_key(wide.name) == name_key(name) else ""
    return await change_settings(deps, turn, lambda now: now.with_app(key, rule, instead_of=earlier), warning=warning)


async def _meant(
    deps: Deps, turn: Turn, typed: str, seen: Sequence[Sender] | None, rules: Mapping[str, AppRule]
) -> str | Reply:
    """Return the key of the sender *typed*, or why it isn't known which one that is. Raises `NoSuch`."""
    wanted = name_key(typed).removeprefix("@")
    fitting = {sender.key for sender in seen or () if name_key(sender.name) == wanted}
    if not fitting:  # its bot user may be called that
        users = {sender.user: await deps.directory.user_name(sender.user) for sender in seen or () if sender.user}
        fitting = {sender.key for sender in seen or () if name_key(users.get(sender.user, "")) == wanted}
    fitting = fitting or {key for key, rule in rules.items() if name_key(rule.name) == wanted}
    if key := read_key(typed):  # or a name in capitals
        ids = {id_ for sender in seen or () for id_ in (sender.app, sender.bot)} | set(map(sender_id, rules))
        if sender_id(key) in ids or (not fitting and re.search("[0-9]", sender_id(key))):
            return key
    elif key := await _mentioned(deps, turn, typed):
        return key
    if len(fitting) > 1:
        return layout.same_name(typed, sorted(fitting))
    if not fitting and seen is None:
        return layout.UNREADABLE
    if not fitting:
        names = (*(sender.name for sender in seen or ()), *(rule.name for rule in rules.values()))
        raise NoSuch("app", typed.strip(), list(dict.fromkeys(filter(None, names)))[:_NAMED])
    return fitting.pop()


async def _senders(deps: Deps, channel: str) -> list[Sender] | None:
    """Return the apps and bots that recently posted in *channel*, as people see them; None if it can't be read."""
    seen = await deps.slack.history().senders_in(channel)
    if not seen:
        return seen
    are_people = await asyncio.gather(*(_is_person(deps, sender) for sender in seen))
    apps = [sender for sender, is_person in zip(seen, are_people, strict=True) if not is_person]
    return list(await asyncio.gather(*map(deps.directory.sender, apps)))


async def _is_person(deps: Deps, sender: Sender) -> bool:
    """Whether a post is shown as a person's, with whose own token an app wrote it; False if Slack doesn't say."""
    try:
        return bool(sender.user) and await deps.directory.is_human(sender.user)
    except SlackError:
        return False


async def _mentioned(deps: Deps, turn: Turn, typed: str) -> str:
    """Return the key for the app whose bot user is mentioned as *typed*; ``""`` if none is."""
    wanted = name_key(typed).removeprefix("@")
    for user in mentions_in(getattr(turn.body, "text", ""), but=deps.bot_user).users:
        with suppress(SlackError):
            person = await deps.directory.person(user)
            if person.kind == "bot" and wanted in {name_key(person.name), user.lower()}:
                return key_of(person.app or person.bot)
    return ""


def _without(settings: ChannelSettings, apps: Collection[str]) -> ChannelSettings:
    """Return the settings without the rules for *apps*."""
    for app in apps:
        settings = settings.with_app(app, None)
    return settings


@channels.command("/agents channel reset", form=settings_button(), needs="settings")
async def reset(deps: Deps, turn: Turn) -> Result:
    """Reset all of this channel's settings."""
    return await _set(deps, turn, lambda _: NOTHING_SET, of_all=True)


@channels.button(SET_DEFAULT, label="button: Make default")
async def default_pressed(deps: Deps, turn: Turn, click: Click) -> Result:
    """Make the button's agent the default of the channel."""
    agent = await agent_by_id(turn, id_of(click.value))
    return await set_default(deps, turn, agent=agent)


@channels.button(OPEN_DEFAULT, label="button: Change settings")
async def open_pressed(deps: Deps, turn: Turn, click: Click) -> Result:
    """Open the form for the chosen channel, or for the button's channel."""
    return await _form(deps, turn, click.value or turn.channel)


async def _form(deps: Deps, turn: Turn, channel: str) -> Modal:
    """Open the settings form of *channel*, if the person may change them."""
    is_direct = _is_direct(channel)
    if not is_direct:
        await deps.policy.require(turn.asked("settings", channel=channel))
    stored = await deps.channels.in_force(channel, (await deps.channels.stored(turn.team, channel)).settings)
    known = _known_project(deps, channel, stored)
    if known is not None and not is_direct:
        turn.change_project(known)
    settings = stored.of(turn.project_key)
    agent = _apart(turn, await find_agent(turn, settings.agent))
    origin = (await origin_of(deps, turn)).model_copy(update={"chosen": channel})
    where = await _name(deps, channel)
    projects: list[tuple[str, str]] = []  # the current one first; none if it can't be changed
    if deps.projects.is_several and not deps.projects.of_channel(channel):
        projects = sorted(
            ((project.id, project.name) for project in deps.projects), key=lambda project: project[0] != turn.project.id
        )
    apps = list[forms.AppField]()
    if not is_direct:  # those with a rule here, and those that posted here recently
        for key, rule in settings.apps.items():
            workflow = None if rule.workflow is None else await turn.project.catalog.workflow(rule.workflow)
            asked, workflow = _apart(turn, await find_agent(turn, rule.agent)), _apart(turn, workflow)
            name, is_paused = layout.sender_label(key, settings.apps), bool(rule.paused)
            apps.append(forms.AppField(key, name, asked, workflow, rule.edits, is_paused))
        seen = await _senders(deps, channel) or ()
        new = {sender.key: AppRule(name=sender.name) for sender in seen if settings.rule_for(sender) is None}
        apps += [forms.AppField(key, layout.sender_label(key, settings.apps | new)) for key in new]
    return forms.settings_form(
        origin,
        where,
        agent,
        answers=settings.answers,
        replies=settings.replies or deps.channels.replies,
        is_direct=is_direct,
        fixed=deps.channels.fixed(channel),
        apps=apps,
        projects=projects,
    )


def _apart(turn: Turn, item: Item | None) -> Item | None:
    """Return an agent or workflow with the name that a menu shows."""
    if item is None:
        return None
    kind: Literal["agent", "workflow"] = "agent" if isinstance(item, Agent) else "workflow"
    return item.model_copy(update={"name": apart(turn.project, kind, item.id, item.name)})


def _known_project(deps: Deps, channel: str, settings: ChannelSettings) -> str | None:
    """Return the key of the project that's set for a channel, if several are served."""
    if not deps.projects.is_several:
        return None
    fixed = deps.projects.of_channel(channel)
    return fixed.key if fixed else settings.known_project


@channels.form(forms.SettingsForm)
async def form_sent(deps: Deps, turn: Turn, submission: Submission, filled: forms.Filled) -> Result:
    """Save the form: apply its differences from the current settings."""
    is_here = Origin.parse(submission.private_metadata).channel == turn.channel
    where = layout.HERE if is_here else await _name(deps, turn.channel)
    project = deps.projects.find(filled.project) if filled.project else None
    if project and project.key != turn.project_key:  # the other fields are about the earlier project
        return await _move(deps, turn, project, where=where)
    if filled.changes.get("agent") is not None:
        await agent_by_id(turn, filled.changes["agent"])
    for kind, id_ in filter(None, filled.apps.values()):
        await (workflow_by_id(turn, id_) if kind == "workflow" else agent_by_id(turn, id_))
    seen = await _senders(deps, turn.channel) if filled.apps else ()
    names = {key: sender.name for sender in reversed(seen or ()) for key in sender.keys}

    def change(now: ChannelSettings) -> ChannelSettings:
        changes = dict(filled.changes)
        if changes.get("replies") == (now.replies or deps.channels.replies):
            del changes["replies"]
        settings = now.model_copy(update=changes)
        for app, does in sorted(filled.apps.items()):  # a rule comes before its exceptions
            known = now.apps.get(app)
            if does is None:
                if known is None or known.ignores or (known.paused and app in filled.blank):
                    continue
                is_covered = sender_id(app) in settings.apps.keys() - {app}
                ignored = AppRule(ignores=True, name=known.name, owner=turn.user)
                settings = settings.with_app(app, ignored if is_covered else None)
                continue
            edits = does[0] == "workflow" and app in filled.edits
            name = (known.name if known else "") or names.get(app, "")
            rule = AppRule(**{does[0]: does[1]}, name=name, owner=turn.user, edits=edits)
            starts = (rule.agent, rule.workflow, rule.edits)
            if known is None or known.paused or (known.agent, known.workflow, known.edits) != starts:
                settings = settings.with_app(app, rule)
        return settings

    return await change_settings(deps, turn, change, where=where, of_all=True)


async def _set(
    deps: Deps, turn: Turn, change: Callable[[ChannelSettings], ChannelSettings], *, of_all: bool = False
) -> Result:
    if _is_direct(turn.channel) and change(NOTHING_SET) != NOTHING_SET:
        return layout.NOT_IN_DIRECT_MESSAGES
    return await change_settings(deps, turn, change, of_all=of_all)


async def change_settings(
    deps: Deps,
    turn: Turn,
    change: Callable[[ChannelSettings], ChannelSettings],
    *,
    where: str = layout.HERE,
    about: str = "",
    moves: bool = False,
    of_all: bool = False,
    warning: str = "",
) -> Result:
    """Change the settings of *turn*'s channel; *where* names it if the person reads the reply elsewhere.

    *about* is for the audit, a *warning* follows what is said about a rule for an app. Agents and workflows are of the
    channel's project, which only a change that *moves* it replaces; a channel without one gets *turn*'s. What the
    operator's file sets stays: a change *of_all* leaves it out, and any other is refused. A notice in the channel says
    what changed, so a reply there doesn't repeat it; for a direct message, there's no notice. The notice is queued
    before the change: if this runs again, it finds nothing to change, or queues the same notice, which counts once.
    """
    is_own = _is_direct(turn.channel)
    if not is_own:
        await deps.policy.require(turn.asked("settings"))
    while True:
        stored = await deps.channels.stored(turn.team, turn.channel)
        now = stored.settings if moves else stored.settings.of(turn.project_key)
        settings = change(now)
        fixed = deps.channels.fixed(turn.channel)
        asked_for = {name for name in fixed if getattr(settings, name) != getattr(now, name)}
        if asked_for and not of_all:
            return layout.set_in_file(sorted(asked_for))
        settings = settings.model_copy(update={name: getattr(now, name) for name in fixed})
        if deps.projects.is_several and not moves and (settings.agent, settings.apps) != (now.agent, now.apps):
            here = _known_project(deps, turn.channel, stored.settings)
            if here not in {None, turn.project.key} and not is_own:
                return layout.other_project(deps.projects.name_of(here or ""), turn.project.name)
            settings = settings.model_copy(update={"project": turn.project.key})
        changes = await _changes(deps, turn, now, settings, warning)
        if not changes:
            break
        if deps.policy.rules.has_file:
            for app, rule in settings.apps.items() - now.apps.items():
                of = (turn.user, turn.channel, turn.project_key)
                wanted = await rights(
                    deps, "settings", *of, workflow=rule.workflow, agent=rule.agent, by="app", app=sender_id(app)
                )
                await deps.policy.require(*wanted)
        if not is_own:
            name = await deps.directory.user_name(turn.user)
            reply = layout.changed_notice(changes, SOMEONE if name == turn.user else name)
            notice = Notice(
                team=turn.team, channel=turn.channel, user=turn.user, what=layout.CHANGED, reply=reply.stored(),
                of="notice", is_offer=True,
            )  # fmt: skip
            await deps.inbox.put(notice, event=f"default:{turn.id}")
        if await deps.channels.replace(turn.team, turn.channel, stored, settings):
            break
    reply = layout.changed(changes, layout.DIRECT if is_own else where)
    if not changes:
        reply = layout.NOTHING_CHANGED
    elif where == layout.HERE and not is_own:
        reply = layout.SAVED
    return shown(reply, "changed" if changes else "unchanged", ", ".join(change.about for change in changes) or about)


async def _changes(
    deps: Deps, turn: Turn, before: ChannelSettings, after: ChannelSettings, note: str = ""
) -> list[SettingChange]:
    """Return the differences, with names instead of IDs; a *note* about an app follows."""
    changes = []
    if after.project != before.project and after.project is not None:
        name = deps.projects.name_of(after.project)
        changes.append(SettingChange("project", after.project or DEFAULT, name))
    if after.agent != before.agent:
        name = await agent_name(turn, after.agent) if after.agent is not None else ""
        changes.append(SettingChange("agent", str(after.agent or ""), name))
    if after.answers != before.answers:
        changes.append(SettingChange("answers", after.answers))
    if after.replies != before.replies:
        changes.append(SettingChange("replies", after.replies or deps.channels.replies))
    for app in [*after.apps, *(before.apps.keys() - after.apps.keys())]:
        was, rule = before.apps.get(app), after.apps.get(app)
        about = rule or was
        if about is not None and rule != was and (rule is None or rule.ignores):
            changes.append(SettingChange("app", app=app, called=about.name or app))
        elif rule is not None and rule.workflow is not None and rule != was:
            name = await workflow_name(turn, rule.workflow)
            warning = await before_each_run(deps, turn, rule.workflow, turn.channel, by="app", app=sender_id(app))
            also = layout.ALSO_ON_EDITS if rule.edits else ""
            warning = " ".join(filter(None, (also, note or layout.not_told_apart(app), warning)))
            changes.append(SettingChange("app", "workflow", name, app, rule.name, warning))
        elif rule is not None and rule.agent is not None and rule != was:
            name, warning = await agent_name(turn, rule.agent), note or layout.not_told_apart(app)
            changes.append(SettingChange("app", "agent", name, app, rule.name, warning))
    return changes


async def _name(deps: Deps, channel: str) -> str:
    """Return what people call a conversation: ``#general``, or words for one without a name."""
    if _is_direct(channel):
        return layout.DIRECT
    name = await deps.directory.channel_name(channel)
    if name.startswith("mpdm-"):  # https://docs.slack.dev/reference/objects/conversation-object
        return layout.GROUP
    return layout.UNKNOWN if name == channel else f"#{name}"


def _is_direct(channel: str) -> bool:
    return channel.startswith("D")
