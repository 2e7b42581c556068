"""The form that changes an agent's face."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bridge.features.agents.layout import OPEN_FACE
from bridge.features.buttons import ID, agent_field
from bridge.names.folding import name_key, shortcode_of
from bridge.project.models import Agent
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.modals import OPEN_THE_FORM, FormErrors, Origin, modal, text_input
from bridge.slack.blockkit.reply import Reply, View

FACE: Final = "face"
"""The form's callback_id."""

AGENT: Final = "agent"
EMOJI: Final = "emoji"
DEFAULTS: Final = frozenset({"", "default", "none"})
NOT_AN_EMOJI: Final = "Enter one emoji, such as :headphones:."


@dataclass(frozen=True, slots=True)
class ChosenFace:
    """A valid form: the *agent*'s ID, and its *face*, ``""`` for the default."""

    agent: int
    face: str


def face_form(origin: Origin, agent: Agent | None, face: str) -> View:
    """Return the form, with the *agent* and its *face* filled in."""
    return modal(
        FACE,
        "Agent's face",
        "Save",
        [
            agent_field(agent),
            kit.input_block(
                EMOJI,
                "Emoji",
                text_input(EMOJI, face, is_multiline=False),
                hint="Shown beside the agent's answers. Leave it empty for the default.",
                optional=True,
            ),
        ],
        origin,
    )


def read_face_form(values: Mapping[str, Any]) -> ChosenFace | FormErrors:
    """Parse the result of `bridge.slack.blockkit.modals.form_values`."""
    agent, face = str(values.get(AGENT) or ""), read_face(str(values.get(EMOJI) or ""))
    if not ID.fullmatch(agent):
        return FormErrors({AGENT: "Choose an agent from the list."})
    return FormErrors({EMOJI: NOT_AN_EMOJI}) if face is None else ChosenFace(int(agent), face)


def read_face(typed: str) -> str | None:
    """Return the shortcode of the emoji that was *typed*, ``""`` for the default; None if it's something else."""
    return "" if name_key(typed) in DEFAULTS else shortcode_of(typed) or None


def offer_face_form(agent: Agent | None) -> Reply:
    """Offer the form with a button, for when it couldn't be opened."""
    text = f"Which emoji should {kit.named(agent.name, 100)} have?" if agent else "Change an agent's face?"
    return kit.ask(text, kit.button(OPEN_THE_FORM, OPEN_FACE, str(agent.id) if agent else ""))
