"""The form that runs a workflow: how it is drawn, what it offers, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from bridge.blocks import kit
from bridge.blocks.json_text import typed_json
from bridge.blocks.reply import Block, View
from bridge.errors import BadInput
from bridge.project.models import Workflow

RUN: Final = "run"
"""The form's callback_id."""

WORKFLOW: Final = "workflow"
KIND: Final = "kind"
INPUT: Final = "input"

_TEXT = kit.option("Text", "text")
_JSON = kit.option("JSON", "json")


class Origin(BaseModel):
    """Where a form was opened, which it carries as private_metadata; *is_sure*: an inactive workflow was confirmed."""

    model_config = ConfigDict(frozen=True)

    channel: str = ""
    thread_ts: str = ""
    response_url: str = ""
    is_sure: bool = False

    @classmethod
    def parse(cls, private_metadata: str) -> Origin:
        """Read what a form carried; nothing is known where it carried something else."""
        try:
            return cls.model_validate_json(private_metadata)
        except ValidationError:
            return cls()


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A form that was filled in well."""

    workflow: int
    input: Any


@dataclass(frozen=True, slots=True)
class FormErrors:
    """What is wrong with a form, for Slack's ``response_action: errors``: a sentence for each block_id."""

    by_block: dict[str, str]


def run_form(workflow: Workflow | None, origin: Origin) -> View:
    """Draw the form, with the workflow chosen where it is known already."""
    chosen = _option(workflow) if workflow else None
    typed = {"type": "plain_text_input", "action_id": INPUT, "multiline": True, "max_length": kit.PLAIN_TEXT_INPUT}
    return {
        "type": "modal",
        "callback_id": RUN,
        "title": kit.plain("Run a workflow", kit.VIEW_TITLE),
        "submit": kit.plain("Run", kit.VIEW_TITLE),
        "close": kit.plain("Cancel", kit.VIEW_TITLE),
        "private_metadata": origin.model_dump_json(),
        "blocks": [
            kit.input_block(WORKFLOW, "Workflow", kit.external_select(WORKFLOW, "Choose a workflow", chosen)),
            kit.input_block(INPUT, "Input", typed, hint="What the workflow gets to work on.", optional=True),
            kit.input_block(KIND, "The input is", kit.select(KIND, "Text or JSON", [_TEXT, _JSON], _TEXT)),
        ],
    }


def form_values(state: Mapping[str, Any]) -> dict[str, str]:
    """Read the ``state.values`` of a submitted view: what was typed or chosen, by the name of its field."""
    return {
        name: _value(element)
        for fields in state.values()
        if isinstance(fields, Mapping)
        for name, element in fields.items()
        if isinstance(element, Mapping)
    }


def read_run_form(values: Mapping[str, Any]) -> RunRequest | FormErrors:
    """Check what `form_values` gave."""
    errors = {}
    workflow, typed = str(values.get(WORKFLOW) or ""), str(values.get(INPUT) or "")
    if not workflow.isdecimal():
        errors[WORKFLOW] = "Choose a workflow from the list."
    value: Any = typed
    if values.get(KIND) == _JSON["value"]:
        try:
            value = typed_json(typed)
        except BadInput as exc:
            errors[INPUT] = json_problem(exc) if typed.strip() else "Write a JSON value, or choose Text."
    return FormErrors(errors) if errors else RunRequest(int(workflow), value)


def json_problem(error: BadInput) -> str:
    """Say where JSON is broken."""
    return f"This is not JSON: {error.problem}, in line {error.line} at character {error.column}."


def workflow_options(workflows: Sequence[Workflow], query: str) -> list[Block]:
    """Offer the workflows that fit what was typed so far, the best first."""
    ranked = [(rank, workflow) for workflow in workflows if (rank := _rank(workflow, query)) is not None]
    ranked.sort(key=lambda pair: (pair[0], not pair[1].is_active, pair[1].name.casefold()))
    return [_option(workflow) for _, workflow in ranked[: kit.OPTIONS]]


def _rank(workflow: Workflow, query: str) -> int | None:
    return match_rank(workflow.id, workflow.name, query)


def match_rank(id_: int, name: str, query: str) -> int | None:
    """Say how well a name fits what was typed: 0 is best, None not at all."""
    wanted, name = query.casefold().strip(), name.casefold()
    tests = (
        wanted in {name, str(id_)},
        name.startswith(wanted),
        any(word.startswith(wanted) for word in name.split()),
        wanted in name,
        all(word in name for word in wanted.split()),
    )
    return next((rank for rank, fits in enumerate(tests) if fits), None)


def _option(workflow: Workflow) -> Block:
    ending = "" if workflow.is_active else " (inactive)"
    return kit.option(kit.one_line(workflow.name, kit.OPTION_TEXT - len(ending)) + ending, str(workflow.id))


def _value(element: Mapping[str, Any]) -> str:
    option = element.get("selected_option")
    found = option.get("value") if isinstance(option, Mapping) else element.get("value")
    return found if isinstance(found, str) else ""
