"""Lists of workflows and agents, and the buttons that turn their pages."""

from __future__ import annotations

from typing import Final

from bridge.features.agents import layout as agents
from bridge.features.agents.layout import agent_list
from bridge.features.deps import Call, Deps
from bridge.features.plan import Plan, Show
from bridge.features.workflows import layout as workflows
from bridge.features.workflows.layout import workflow_list
from bridge.features.workflows.running import is_runner
from bridge.inbound import Click
from bridge.slack.blockkit.lists import ListPage
from bridge.slack.blockkit.reply import Reply

TURNS: Final = frozenset({*workflows.TURNS, *agents.TURNS})
"""The buttons of both lists."""


async def workflows_listed(deps: Deps, call: Call, spot: ListPage) -> Reply:
    """List workflows, with a menu to run one for who may."""
    workflows = await deps.catalog.get_workflows()
    return workflow_list(workflows, spot.words, spot.page, may_run=await is_runner(deps, call.user))


async def agents_listed(deps: Deps, call: Call, spot: ListPage) -> Reply:
    """List agents, the one that answers in the channel marked."""
    default = await deps.sessions.channel_default(call.team, call.channel)
    return agent_list(await deps.catalog.get_agents(), spot.words, default, spot.page)


async def turned(deps: Deps, call: Call, click: Click) -> Plan:
    """Turn a page. A list that everybody sees stays as it is, and who turns it gets one of their own."""
    spot = ListPage.parse(click.value)
    if click.action_id in workflows.TURNS:
        reply = await workflows_listed(deps, call, spot)
    else:
        reply = await agents_listed(deps, call, spot)
    is_own = click.is_ephemeral or click.channel.startswith("D")
    return Show(reply.model_copy(update={"replaces_original": is_own}))
