"""The menu that asks which agent should answer in its thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bridge.features.shared.buttons import CHOOSE_AN_AGENT, agent_options
from bridge.project.models import Agent
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Reply

CHOOSE: Final = "agent:choose"


def agent_menu(agents: Sequence[Agent]) -> Reply:
    """Ask for an agent. If there are more than a menu can hold, they're looked up as the person types."""
    if len(agents) > kit.OPTIONS:
        element = kit.external_select(CHOOSE, CHOOSE_AN_AGENT)
    else:
        element = kit.select(CHOOSE, CHOOSE_AN_AGENT, agent_options(agents))
    text = "Which agent should answer here?"
    small = kit.context("Your message will be sent once someone picks an agent.")
    return kit.reply(text, kit.section(text), kit.actions(element), small, audience=Audience.THREAD)


def chosen(agent_name: str) -> Reply:
    """Replace the menu with the choice."""
    text = f"{kit.named(agent_name, 100)} answers in this thread."
    return kit.note(text, audience=Audience.THREAD, replaces_original=True)


def chosen_before() -> Reply:
    """Tell the person who chose second."""
    return kit.reply("Someone has already chosen an agent for this thread.")
