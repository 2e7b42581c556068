"""The form that runs a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bridge.ends.typed import where_json_breaks
from bridge.errors import BadInput
from bridge.features.buttons import ID, workflow_field
from bridge.project.models import Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.json_text import kind_of, typed_input, typed_json
from bridge.slack.blockkit.modals import (
    CHANNEL,
    ONLY_THE_FIRST,
    FormErrors,
    Origin,
    channel_menu,
    modal,
    text_input,
)
from bridge.slack.blockkit.reply import Block, View

RUN_A_WORKFLOW: Final = "Run a workflow"

RUN: Final = "run"
"""The form's callback_id."""


WORKFLOW: Final = "workflow"
KIND: Final = "kind"
INPUT: Final = "input"
REMEMBER: Final = "remember"

AUTOMATIC: Final = "auto"
"""The input type that reads an input like the command does."""

_AUTO = kit.option("Automatic", AUTOMATIC)
_TEXT = kit.option("Text", "text")
_JSON = kit.option("JSON", "json")
_REMEMBER = kit.option("Fill it in next time", "yes")

_INPUT_HINT: Final = 'Such as monday or {"day": "monday"}. Automatic tells text from JSON.'


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A valid form: the *workflow*'s ID, and the parsed *input* with the text as *typed*."""

    workflow: int
    input: Any
    typed: str = ""
    kind: str = _TEXT["value"]
    is_remembered: bool = False


def run_form(
    workflow: Workflow | None, origin: Origin, *, typed: str = "", kind: str = AUTOMATIC, is_remembered: bool = False
) -> View:
    """Return the form, with *workflow* chosen if it's known, and *typed* filled in.

    A hint says what *typed* is read as. If it's opened outside of a channel, it asks where to post the run's card.
    """
    hint = _hint(typed) if len(typed) <= kit.PLAIN_TEXT_INPUT else ONLY_THE_FIRST
    options = [_AUTO, _TEXT, _JSON]
    kinds = kit.select(KIND, "Text or JSON", options, next((one for one in options if one["value"] == kind), _AUTO))
    box: Block = {"type": "checkboxes", "action_id": REMEMBER, "options": [_REMEMBER]}
    if is_remembered:
        box["initial_options"] = [_REMEMBER]
    blocks = [
        workflow_field(workflow),
        kit.input_block(INPUT, "Input", text_input(INPUT, typed), hint=hint, optional=True),
        kit.input_block(KIND, "Input type", kinds),
        kit.input_block(REMEMBER, "Remember my input", box, optional=True),
    ]
    if not origin.channel:
        menu, hint = channel_menu(CHANNEL, origin.direct), "I need to be a member of that channel."
        blocks.append(kit.input_block(CHANNEL, "Post the result in", menu, hint=hint))
    return modal(RUN, RUN_A_WORKFLOW, "Run", blocks, origin)


def _hint(typed: str) -> str:
    if not typed.strip():
        return _INPUT_HINT
    try:
        return f"Automatic reads this as {kind_of(typed_input(typed))}."
    except BadInput as exc:
        return f"Automatic reads this as JSON, but it isn't valid. {where_json_breaks(exc)}"


def read_run_form(values: Mapping[str, Any]) -> RunRequest | FormErrors:
    """Parse the result of `bridge.slack.blockkit.modals.form_values`."""
    errors = {}
    workflow, typed = str(values.get(WORKFLOW) or ""), str(values.get(INPUT) or "")
    if not ID.fullmatch(workflow):
        errors[WORKFLOW] = "Choose a workflow from the list."
    value: Any = typed
    try:
        match values.get(KIND):
            case "json":
                value = typed_json(typed)
            case "auto":
                value = typed_input(typed)
    except BadInput as exc:
        where = where_json_breaks(exc)
        errors[INPUT] = f"This isn't valid JSON. {where}"
        if not typed.strip():
            errors[INPUT] = "Enter a JSON value, or choose Text."
        elif values.get(KIND) == AUTOMATIC:
            errors[INPUT] += " To send it as it is, choose Text."
    if errors:
        return FormErrors(errors)
    return RunRequest(int(workflow), value, typed, str(values.get(KIND) or ""), bool(values.get(REMEMBER)))
