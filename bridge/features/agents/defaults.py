"""Who answers in a channel: a change for everybody there, so who may is the rule for runs, and the channel is told."""

from __future__ import annotations

from bridge.features.agents import asking
from bridge.features.agents.layout import change_notice
from bridge.features.deps import Call, Deps
from bridge.features.home.commands import agent_by_id, origin_of
from bridge.features.plan import OpenForm, Plan, SetDefault
from bridge.features.workflows.running import check_runner
from bridge.inbound import Notice
from bridge.project.models import Agent
from bridge.queue.audit import named
from bridge.slack.blockkit.kit import SOMEBODY
from bridge.slack.blockkit.reply import Reply


async def open_default_form(deps: Deps, call: Call) -> Plan:
    """Open the form, with the channel's present agent chosen, for who may change it."""
    await check_runner(deps, call.user, "default")
    default = await deps.sessions.channel_default(call.team, call.channel)
    agent = await agent_by_id(deps, default) if default is not None else None
    return OpenForm(asking.default_form(await origin_of(deps, call), agent), otherwise=asking.offer_default_form())


async def change_default(deps: Deps, call: Call, agent: Agent | None, told: Reply) -> Plan:
    """Let *agent* answer in the channel of *call*, None: nobody; who asked for that is *told*.

    A direct message is its person's own.
    """
    is_own = call.channel.startswith("D")
    if not is_own:
        await check_runner(deps, call.user, "default")
    name = await deps.name_of(call.user)
    person = SOMEBODY if name == call.user else name
    notice = Notice(
        team=call.team,
        channel=call.channel,
        user=call.user,
        what=change_notice(agent, person),
        of="notice",
        is_offer=True,
    )
    about = named("agent", agent.id, agent.name) if agent else named("agent", "none")
    return SetDefault(agent.id if agent else None, told, None if is_own else notice, about)
