"""Samples of buttons and menus that several features show (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.features import buttons
from bridge.features.buttons import Answered
from bridge.ids import TurnId
from bridge.slack.blockkit.samples import FACE, TURN, Sample, agent, sample, workflow


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of buttons and menus."""
    agents = [agent(text, number) for number in range(many)]
    workflows = [workflow(text, number) for number in range(many)]
    yield sample(buttons.run_button)
    yield sample(buttons.settings_button)
    yield sample(buttons.ask_button, agent(text), text, about=text)
    yield sample(buttons.ask_button, None, text)
    yield sample(buttons.agent_options, agents, text, faces={1: FACE})
    yield sample(buttons.agent_option, agent(text), FACE, has_namesake=True)
    yield sample(buttons.workflow_options, workflows, "")
    yield sample(buttons.workflow_options, workflows, text)
    yield sample(buttons.workflow_option, workflow(text, 4), has_namesake=True)
    yield sample(buttons.feedback_buttons, Answered(TurnId(TURN), 7, None))
    yield sample(buttons.channel_choice)
