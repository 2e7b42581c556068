"""The form that runs a workflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from bridge.ends.typed import where_json_breaks
from bridge.engine.forms import ChannelMenu, Form, Select, Text, Ticks, Values
from bridge.engine.results import Modal
from bridge.errors import BadInput
from bridge.features.buttons import RUN_FORM, run_value, workflow_menu
from bridge.project.models import Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.json_text import compact, json_kind, typed_input, typed_json
from bridge.slack.blockkit.modals import Origin

RUN_A_WORKFLOW: Final = "Run a workflow"

AUTOMATIC: Final = "auto"
"""The input type that reads an input like the command does."""

_KINDS: Final = {AUTOMATIC: "Automatic", "text": "Text", "json": "JSON"}


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A valid form: the *workflow*'s ID, and the parsed *input* with the text as *typed*."""

    workflow: int
    input: Any
    typed: str = ""
    kind: str = "text"
    is_remembered: bool = False


def _hint(typed: str | None) -> str:
    if not typed or not typed.strip():
        return 'Such as monday or {"day": "monday"}. Automatic tells text from JSON.'
    try:
        return f"Automatic reads this as {json_kind(typed_input(typed))}."
    except BadInput as exc:
        return f"Automatic reads this as JSON, but it isn't valid. {where_json_breaks(exc)}"


def _value_of(values: Values) -> Any:
    """Return the input's value. Raises `BadInput`."""
    read = {AUTOMATIC: typed_input, "json": typed_json}.get(values["kind"])
    return read(values["input"]) if read else values["input"]


def _problem(typed: str, values: Values) -> str:
    try:
        _value_of(values)
    except BadInput as exc:
        if not typed.strip():
            return "Enter a JSON value, or choose Text."
        problem = f"This isn't valid JSON. {where_json_breaks(exc)}"
        return f"{problem} To send it as it is, choose Text." if values["kind"] == AUTOMATIC else problem
    return ""


class RunForm(Form):
    """The form; a hint says what its input is read as. *channel* is where to post the run's card."""

    id, title, submit, opener = "run", RUN_A_WORKFLOW, "Run", RUN_FORM

    workflow = workflow_menu()
    input = Text("Input", is_optional=True, hint=_hint, check=_problem)
    kind = Select("Input type", _KINDS, "Text or JSON", initial=AUTOMATIC)
    remember = Ticks("Remember my input", {"yes": "Fill it in next time"}, is_optional=True)
    channel = ChannelMenu("Post the result in")

    @classmethod
    def _read(cls, values: Values) -> RunRequest:
        is_remembered = bool(values["remember"])
        return RunRequest(int(values["workflow"]), _value_of(values), values["input"], values["kind"], is_remembered)


def run_form(
    workflow: Workflow | None, origin: Origin, *, typed: str = "", kind: str = AUTOMATIC, is_remembered: bool = False
) -> Modal:
    """Open the form, with *workflow* chosen if it's known, and *typed* filled in."""
    remember = {"yes"} if is_remembered else None
    without = ["channel"] if origin.channel else []
    blocks = RunForm.blocks(
        without=without, workflow=workflow, input=typed, kind=kind, remember=remember, channel=origin.direct
    )
    if workflow is None:
        return RunForm.opened(origin, blocks, "Which workflow do you want to run?", compact({}))
    text = f"To run {kit.named(workflow.name, 100)}, fill in the form."
    return RunForm.opened(origin, blocks, text, run_value(workflow.id))
