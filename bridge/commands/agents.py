"""``/agents``."""

from __future__ import annotations

from bridge import words
from bridge.blocks.agents import agent_card, conversation_root, default_set, default_taken_away
from bridge.blocks.kit import escape
from bridge.blocks.lists import Spot
from bridge.commands.deps import Call, Deps
from bridge.commands.listing import agents_listed
from bridge.commands.routing import Router
from bridge.project.models import Agent
from bridge.turns.plan import Plan, Show, StartThread

router = Router()


@router.command("/agents list [words]", words.HELP_AGENTS_LIST, default=True, reading=True)
async def list_agents(deps: Deps, call: Call, *, words: str = "") -> Plan:
    """List the agents, or those with certain words."""
    return Show(await agents_listed(deps, call, Spot(words=words)))


@router.command("/agents show <agent>", words.HELP_AGENTS_SHOW, reading=True)
async def show_agent(deps: Deps, call: Call, *, agent: Agent) -> Plan:  # noqa: ARG001 - every command gets a call
    """Show one agent and its tools."""
    return Show(agent_card(agent, await deps.project.get_agent(agent.id)))


@router.command("/agents chat <agent> <message>", words.HELP_AGENTS_CHAT)
async def chat_with_agent(deps: Deps, call: Call, *, agent: Agent, message: str) -> Plan:
    """Ask an agent, in a new thread of this channel."""
    # Queued like a message that was typed, which has Slack's escapes.
    return StartThread(agent.id, conversation_root(agent, message, await deps.name_of(call.user)), escape(message))


@router.command("/agents default <agent>", words.HELP_AGENTS_DEFAULT)
async def set_default(deps: Deps, call: Call, *, agent: Agent) -> Plan:
    """Choose the agent that answers mentions in this channel."""
    await deps.sessions.set_channel_default(call.team, call.channel, agent.id)
    return Show(default_set(agent))


@router.command("/agents default none", words.HELP_AGENTS_DEFAULT_NONE)
async def take_default_away(deps: Deps, call: Call) -> Plan:
    """Let this channel have no default agent."""
    await deps.sessions.set_channel_default(call.team, call.channel, None)
    return Show(default_taken_away())
