"""``/agents default`` and ``/agents channel``: who answers in a channel, to what, and which apps' messages count.

That is a change for everybody there, so who may is the rule for runs, and the channel is told.
"""

from __future__ import annotations

from collections.abc import Callable

from bridge.errors import NoSuch
from bridge.features.channels import forms, layout
from bridge.features.channels.layout import SettingChange
from bridge.features.deps import Deps
from bridge.features.feature import Feature
from bridge.features.results import Form, Outcome, Result, shown
from bridge.features.shared.buttons import OPEN_DEFAULT
from bridge.features.shared.channels import NOTHING_SET, ChannelSettings
from bridge.features.shared.lookups import agent_by_id, agent_name, check_runner, is_runner, origin_of
from bridge.inbound import Click, Notice, Submission
from bridge.project.models import Agent
from bridge.queue.audit import named
from bridge.queue.turn import Turn
from bridge.slack.blockkit.kit import SOMEBODY
from bridge.slack.blockkit.reply import Reply

channels = Feature("channels")
channels.notice(layout.CHANGED)(layout.told_of_change)


@channels.command("/agents channel", "Show who answers in this channel, to what, and which apps' messages count.")
async def show_settings(deps: Deps, turn: Turn) -> Result:
    """Show who answers in this channel, to what, and which apps' messages count."""
    settings = (await deps.channels.stored(turn.team, turn.channel)).settings
    agent = await agent_name(deps, settings.agent) if settings.agent is not None else ""
    what = layout.Shown(agent, settings.answers == "all", deps.channels.needs_mention(settings), [])
    return layout.settings_card(what, may_change=await is_runner(deps, turn.user), is_direct=_is_direct(turn.channel))


@channels.command(
    "/agents default [agent]", "Choose the agent that answers mentions in this channel. Without one, a form asks."
)
async def set_default(deps: Deps, turn: Turn, *, agent: Agent | None = None) -> Result:
    """Choose the agent that answers mentions in this channel; without one, a form asks."""
    if agent is None:
        return await _form(deps, turn, turn.channel)
    return await change_settings(
        deps,
        turn,
        lambda now: now.model_copy(update={"agent": agent.id}),
        told=layout.default_set(agent.name),
        about=named("agent", agent.id, agent.name),
    )


@channels.command("/agents default none", "Let this channel have no default agent.")
async def take_default_away(deps: Deps, turn: Turn) -> Result:
    """Let this channel have no default agent."""
    return await change_settings(
        deps,
        turn,
        lambda now: now.model_copy(update={"agent": None}),
        told=layout.default_taken_away(),
        about=named("agent", layout.NONE),
    )


@channels.command("/agents channel answers <mentions|all>", "Answer mentions only, or every top-level message here.")
async def set_answers(deps: Deps, turn: Turn, *, choice: str) -> Result:
    """Answer mentions only, or every top-level message here."""
    return await _set(deps, turn, lambda now: now.model_copy(update={"answers": choice}))


@channels.command(
    "/agents channel replies <all|mentions>",
    "Send all replies in a thread to its agent, or only those that mention me.",
)
async def set_replies(deps: Deps, turn: Turn, *, choice: str) -> Result:
    """Send all replies in a thread to its agent, or only those that mention me."""
    return await _set(deps, turn, lambda now: now.model_copy(update={"replies": choice}))


@channels.command("/agents channel reset", "Undo everything that was set for this channel.")
async def reset(deps: Deps, turn: Turn) -> Result:
    """Undo everything that was set for this channel."""
    return await _set(deps, turn, lambda _: NOTHING_SET)


@channels.button(OPEN_DEFAULT)
async def open_pressed(deps: Deps, turn: Turn, click: Click) -> Result:
    """Open the form, for the channel that was chosen or where the button is."""
    return await _form(deps, turn, click.value or turn.channel)


async def _form(deps: Deps, turn: Turn, channel: str) -> Form:
    """Open the form for who may change what is set for *channel*, with that filled in."""
    is_direct = _is_direct(channel)
    if not is_direct:
        await check_runner(deps, turn.user, "default")
    settings = (await deps.channels.stored(turn.team, channel)).settings
    agent = await agent_by_id(deps, settings.agent) if settings.agent is not None else None
    origin = (await origin_of(deps, turn)).model_copy(update={"chosen": channel})
    where = "our direct message" if is_direct else f"#{await deps.directory.channel_name(channel)}"
    view = forms.settings_form(
        origin,
        where,
        agent,
        answers=settings.answers,
        replies=settings.replies or deps.channels.replies,
        is_direct=is_direct,
    )
    return Form(view, otherwise=forms.offer_settings_form(channel))


@channels.form(forms.DEFAULT, reader=forms.read_settings_form)
async def form_sent(deps: Deps, turn: Turn, submission: Submission, filled: forms.Filled) -> Result:  # noqa: ARG001 - every form gets it
    """Change what the form says otherwise."""
    if filled.agent is not None and await agent_by_id(deps, filled.agent) is None:
        raise NoSuch("agent", str(filled.agent))

    def change(now: ChannelSettings) -> ChannelSettings:
        settings = now.model_copy(update={"agent": filled.agent})
        if filled.answers:
            settings = settings.model_copy(update={"answers": filled.answers})
        if filled.replies not in {"", now.replies or deps.channels.replies}:
            settings = settings.model_copy(update={"replies": filled.replies})
        return settings

    where = layout.HERE if _is_direct(turn.channel) else f"#{await deps.directory.channel_name(turn.channel)}"
    return await change_settings(deps, turn, change, where=where)


async def _set(deps: Deps, turn: Turn, change: Callable[[ChannelSettings], ChannelSettings]) -> Result:
    if _is_direct(turn.channel) and change(NOTHING_SET) != NOTHING_SET:
        return layout.not_in_direct_messages()
    return await change_settings(deps, turn, change)


async def change_settings(
    deps: Deps,
    turn: Turn,
    change: Callable[[ChannelSettings], ChannelSettings],
    *,
    told: Reply | None = None,
    where: str = layout.HERE,
    about: str = "",
) -> Outcome:
    """Make a *change* of what is set for the channel of *turn*; who asked for that is *told*. *about* is for the audit.

    A direct message is its person's own, and nobody else is told. The notice is queued first: whoever runs this again
    finds nothing to change, or queues the same one again.
    """
    is_own = _is_direct(turn.channel)
    if not is_own:
        await check_runner(deps, turn.user, "default")
    while True:
        stored = await deps.channels.stored(turn.team, turn.channel)
        settings = change(stored.settings)
        changes = await _changes(deps, stored.settings, settings)
        if not changes:
            break
        if not is_own:
            name = await deps.directory.user_name(turn.user)
            what = layout.change_notice(changes, SOMEBODY if name == turn.user else name)
            notice = Notice(team=turn.team, channel=turn.channel, user=turn.user, what=what, of="notice", is_offer=True)
            await deps.inbox.put(notice, event=f"default:{turn.id}")
        if await deps.channels.replace(turn.team, turn.channel, stored, settings):
            break
    reply = told or (layout.changed(changes, where) if changes else layout.nothing_changed())
    return shown(reply, "changed", ", ".join(one.about for one in changes) or about)


async def _changes(deps: Deps, before: ChannelSettings, after: ChannelSettings) -> list[SettingChange]:
    """List what differs, by the names that people know."""
    changes = []
    if after.agent != before.agent:
        name = await agent_name(deps, after.agent) if after.agent is not None else ""
        changes.append(SettingChange("agent", str(after.agent or ""), name))
    if after.answers != before.answers:
        changes.append(SettingChange("answers", after.answers))
    if after.replies != before.replies:
        changes.append(SettingChange("replies", after.replies or ""))
    return changes


def _is_direct(channel: str) -> bool:
    return channel.startswith("D")
