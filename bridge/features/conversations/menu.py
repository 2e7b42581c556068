"""The menu that asks which agent is to answer in a thread. Which thread that is, its message tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bridge.project.models import Agent
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.modals import match_rank
from bridge.slack.blockkit.reply import Audience, Block, Reply

CHOOSE_AN_AGENT: Final = "Choose an agent"

CHOOSE: Final = "agent:choose"


def agent_menu(agents: Sequence[Agent]) -> Reply:
    """Ask for an agent. More agents than a menu holds are looked up as the person types."""
    if len(agents) > kit.OPTIONS:
        element = kit.external_select(CHOOSE, CHOOSE_AN_AGENT)
    else:
        element = kit.select(CHOOSE, CHOOSE_AN_AGENT, agent_options(agents))
    text, waits = "Which agent should answer here?", kit.context("Your message waits until somebody has chosen.")
    return kit.reply(text, kit.section(text), kit.actions(element), waits, audience=Audience.THREAD)


def agent_options(agents: Sequence[Agent], query: str = "") -> list[Block]:
    """Offer the agents that fit what was typed so far, the best first."""
    ranked = [(rank, agent) for agent in agents if (rank := match_rank(agent.id, agent.name, query)) is not None]
    ranked.sort(key=lambda pair: (pair[0], pair[1].name.casefold()))
    return [agent_option(agent) for _, agent in ranked[: kit.OPTIONS]]


def agent_option(agent: Agent) -> Block:
    """Offer one agent."""
    return kit.option(agent.name or f"agent {agent.id}", str(agent.id))


def chosen(agent_name: str) -> Reply:
    """Take the menu's place."""
    text = f"{kit.named(agent_name, 100)} answers in this thread."
    return kit.note(text, audience=Audience.THREAD, replaces_original=True)


def chosen_before() -> Reply:
    """Tell who chose second."""
    return kit.reply("Somebody has chosen an agent for this thread already.")
