"""Buttons and menus that several features show. The feature that registers their action ID handles them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bridge.ids import TurnId
from bridge.project.models import Agent
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.json_text import compact
from bridge.slack.blockkit.modals import match_rank
from bridge.slack.blockkit.reply import Block

RUN_FORM: Final = "run:form"
"""Opens the form that runs a workflow; its value is `run_value`."""

DETAILS: Final = "workflow:details"
"""Shows one workflow; its value is the id."""

FIND: Final = "workflow:find"
"""A searchable menu that does the same."""

OPEN_ASK: Final = "ask:form"
"""Opens the form that asks an agent; its value may be the agent's id."""

OPEN_DEFAULT: Final = "default:form"
"""Opens the form *Channel settings*, for the channel that is the value, or where the button is."""

REPORT_FORM: Final = "report:form"
"""Opens the form that schedules a report."""

FEEDBACK: Final = "answer:feedback"
"""A person's vote on an agent's answer."""

FOR_RUNNERS: Final = frozenset({RUN_FORM, OPEN_DEFAULT, REPORT_FORM})
"""Open what only people who may run workflows can use."""

CHOOSE_AN_AGENT: Final = "Choose an agent"

_GOOD, _BAD = ({"text": kit.plain(text), "accessibility_label": text} for text in ("Good answer", "Bad answer"))


def run_value(workflow: int, *typed: Any) -> str:
    """Make the value of a button that runs a workflow, with the input if there's room."""
    with_input = compact({"w": workflow, "i": typed[0]}) if typed else ""
    return with_input if 0 < len(with_input) <= kit.BUTTON_VALUE else compact({"w": workflow})


def run_button() -> Block:
    """Make a button that opens the form to run a workflow."""
    return kit.button("Run a workflow…", RUN_FORM, compact({}))


def settings_button() -> Block:
    """Make a button that opens the settings of the channel it's in."""
    return kit.button("Change settings…", OPEN_DEFAULT, "")


def ask_button(agent: Agent | None, label: str) -> Block:
    """Make a button that opens the form to ask an agent."""
    return kit.button(label, OPEN_ASK, str(agent.id) if agent else "", about=agent.name if agent else "")


def channel_choice() -> Block:
    """Make the menu that opens the settings of the channel chosen in it.

    https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element#conversations_select
    """
    return {
        "type": "conversations_select", "action_id": OPEN_DEFAULT, "filter": {"include": ["public", "private", "mpim"]},
        "placeholder": kit.plain("Channel settings…", kit.PLACEHOLDER),
    }  # fmt: skip


def agent_options(agents: Sequence[Agent], query: str = "") -> list[Block]:
    """Offer the agents that match what was typed so far, best first."""
    ranked = [(rank, agent) for agent in agents if (rank := match_rank(agent.id, agent.name, query)) is not None]
    ranked.sort(key=lambda pair: (pair[0], pair[1].name.casefold()))
    return [agent_option(agent) for _, agent in ranked[: kit.OPTIONS]]


def agent_option(agent: Agent) -> Block:
    """Offer one agent."""
    return kit.option(agent.name or f"agent {agent.id}", str(agent.id))


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer a vote is about: its *turn*, *agent* and *session*."""

    turn: TurnId
    agent: int
    session: int | None


def feedback_buttons(of: Answered) -> Block:
    """Make Slack's own pair of buttons for a vote on an answer.

    https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element
    """
    which = f"{of.turn}:{of.agent}:{'' if of.session is None else of.session}"
    buttons = {
        "type": "feedback_buttons",
        "action_id": FEEDBACK,
        "positive_button": {**_GOOD, "value": f"up:{which}"},
        "negative_button": {**_BAD, "value": f"down:{which}"},
    }
    return {"type": "context_actions", "elements": [buttons]}
