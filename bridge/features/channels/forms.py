"""The form *Who answers here*: all that is set for one channel, in one view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bridge.features.shared.buttons import OPEN_DEFAULT, agent_option, agent_options
from bridge.project.models import Agent
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.modals import OPEN_THE_FORM, FormErrors, Origin, modal
from bridge.slack.blockkit.reply import Block, Reply, View

DEFAULT: Final = "default"
"""The form's callback_id."""

AGENT: Final = "agent"
ANSWERS: Final = "answers"
REPLIES: Final = "replies"
NOBODY: Final = "none"

_ANSWERS: Final = (kit.option("Mentions only", "mentions"), kit.option("Every top-level message", "all"))
_REPLIES: Final = (kit.option("All replies", "all"), kit.option("Replies that mention me", "mentions"))


@dataclass(frozen=True, slots=True)
class Filled:
    """A form that was filled in well: the *agent*'s id, None for nobody. A direct message has no more to set."""

    agent: int | None
    answers: str = ""
    replies: str = ""


def settings_form(
    origin: Origin, where: str, agent: Agent | None, *, answers: str, replies: str, is_direct: bool
) -> View:
    """Draw the form for the channel *where*, with what is set there now filled in."""
    chosen = agent_option(agent) if agent else kit.option("Nobody in particular", NOBODY)
    fields = [
        kit.section(f"For {where}."),
        kit.input_block(AGENT, "Agent", kit.external_select(AGENT, "Choose an agent, or nobody", chosen)),
    ]
    if not is_direct:
        fields += [
            _choice(ANSWERS, "It answers", _ANSWERS, answers),
            _choice(REPLIES, "In threads, it gets", _REPLIES, replies),
        ]
    return modal(DEFAULT, "Who answers here", "Save", fields, origin)


def _choice(name: str, label: str, options: Sequence[Block], value: str) -> Block:
    initial = next(option for option in options if option["value"] == value)
    return kit.input_block(name, label, kit.select(name, "Choose", options, initial))


def read_settings_form(values: Mapping[str, Any]) -> Filled | FormErrors:
    """Check what `bridge.slack.blockkit.modals.form_values` gave."""
    agent = str(values.get(AGENT) or "")
    if agent != NOBODY and not agent.isdecimal():
        return FormErrors({AGENT: "Choose an agent from the list."})
    answers, replies = str(values.get(ANSWERS) or ""), str(values.get(REPLIES) or "")
    return Filled(None if agent == NOBODY else int(agent), answers, replies)


def agent_choices(agents: Sequence[Agent], query: str) -> list[Block]:
    """Offer agents, and nobody."""
    found = agent_options(agents, query)
    return found if query.strip() else [kit.option("Nobody in particular", NOBODY), *found[: kit.OPTIONS - 1]]


def offer_settings_form(channel: str) -> Reply:
    """Offer the form with a button, for when it could not be opened by itself."""
    return kit.ask("Who is to answer here?", kit.button(OPEN_THE_FORM, OPEN_DEFAULT, channel[: kit.BUTTON_VALUE]))
