"""``/agents``."""

from __future__ import annotations

from bridge.features.agents import asking
from bridge.features.agents.defaults import change_default, open_default_form
from bridge.features.agents.layout import agent_card, conversation_root, default_set, default_taken_away
from bridge.features.deps import Call, Deps
from bridge.features.listing import agents_listed
from bridge.features.plan import OpenForm, Plan, Show, StartThread
from bridge.features.routing import Router
from bridge.features.workflows.forms import Origin
from bridge.project.models import Agent
from bridge.slack.blockkit.kit import escape
from bridge.slack.blockkit.lists import ListPage

router = Router()


@router.command("/agents list [words]", "List the agents, or those with certain words.", default=True, reading=True)
async def list_agents(deps: Deps, call: Call, *, words: str = "") -> Plan:
    """List the agents, or those with certain words."""
    return Show(await agents_listed(deps, call, ListPage(words=words)))


@router.command("/agents show <agent>", "Show one agent and its tools.", reading=True)
async def show_agent(deps: Deps, call: Call, *, agent: Agent) -> Plan:  # noqa: ARG001 - every command gets a call
    """Show one agent and its tools."""
    return Show(agent_card(agent, await deps.project.get_agent(agent.id)))


@router.command(
    "/agents chat [agent] [message]",
    "Ask an agent in a new thread of this channel. Without a message, a form asks for it.",
)
async def chat_with_agent(deps: Deps, call: Call, *, agent: Agent | None = None, message: str = "") -> Plan:
    """Ask an agent, in a new thread of this channel; a form asks for what is missing."""
    if agent is None or not message:
        here = Origin(channel=call.channel, response_url=call.response_url)
        return OpenForm(asking.ask_form(agent, here), otherwise=asking.offer_ask_form(agent))
    # Queued like a message that was typed, which has Slack's escapes.
    return StartThread(agent.id, conversation_root(agent, message, await deps.name_of(call.user)), escape(message))


@router.command(
    "/agents default [agent]", "Choose the agent that answers mentions in this channel. Without one, a form asks."
)
async def set_default(deps: Deps, call: Call, *, agent: Agent | None = None) -> Plan:
    """Choose the agent that answers mentions in this channel; without one, a form asks."""
    if agent is None:
        return await open_default_form(deps, call)
    return await change_default(deps, call, agent, default_set(agent))


@router.command("/agents default none", "Let this channel have no default agent.")
async def take_default_away(deps: Deps, call: Call) -> Plan:
    """Let this channel have no default agent."""
    return await change_default(deps, call, None, default_taken_away())
