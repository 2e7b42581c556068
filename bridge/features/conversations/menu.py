"""The menu that asks which agent should answer in its thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bridge.features.buttons import CHOOSE_AN_AGENT, NO_FACES, OPEN_DEFAULT, SET_DEFAULT, agent_options
from bridge.project.models import Agent
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.lists import part_note
from bridge.slack.blockkit.reply import Audience, Reply

CHOOSE: Final = "agent:choose"
CHOOSE_MEANT: Final = "agent:meant"
CHOSEN_BEFORE: Final = kit.reply("Someone has already chosen an agent for this thread.")


def agent_menu(
    agents: Sequence[Agent],
    meant: Agent | None = None,
    *,
    faces: Mapping[int, str] = NO_FACES,
    may_set_default: bool = False,
) -> Reply:
    """Ask for an agent, first for the one that may have been *meant*; *faces* are the agents' by ID.

    More agents than a menu can hold are looked up as the person types. *may_set_default* adds a button for that.
    """
    if len(agents) > kit.OPTIONS:
        element = kit.external_select(CHOOSE, CHOOSE_AN_AGENT)
    else:
        element = kit.select(CHOOSE, CHOOSE_AN_AGENT, agent_options(agents, faces=faces))
    first, text = [], "Which agent should answer here?"
    if meant is not None:
        name = kit.one_line(meant.name, 60) or kit.NO_NAME
        first = [kit.button(kit.with_face(faces.get(meant.id, ""), name), CHOOSE_MEANT, str(meant.id))]
        text = f"Did you mean {kit.named(meant.name, 100)}? Or which agent should answer here?"
    last = [kit.button("Set a default…", OPEN_DEFAULT, "")] if may_set_default else []
    small = kit.context("Your message will be sent once someone picks one or types its name.")
    choice = kit.actions(*first, element, *last)
    return card(text, choice, small, part_note(agents, "agent"), audience=Audience.THREAD)


def chosen(agent: int, name: str, *, face: str = "", may_set_default: bool = False) -> Reply:
    """Replace the menu with the choice, and offer it as the channel's default to people who *may_set_default*."""
    text = f"{kit.with_face(face, kit.named(name, 100))} answers in this thread."
    default = [kit.button("Make it the default here", SET_DEFAULT, str(agent), about=name)] if may_set_default else []
    return card(kit.context(text), buttons=default, audience=Audience.THREAD, replaces_original=True)
