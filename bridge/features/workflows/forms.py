"""The form that runs a workflow, and what all forms have in common: how they are drawn and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from bridge.errors import BadInput
from bridge.project.models import Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.failures import where_json_breaks
from bridge.slack.blockkit.json_text import typed_json
from bridge.slack.blockkit.reply import Block, View

OPEN_THE_FORM: Final = "Open the form"
RUN_A_WORKFLOW: Final = "Run a workflow"
ONLY_THE_FIRST: Final = f"Only the first {kit.PLAIN_TEXT_INPUT:,} characters fit in here."
TOOK_TOO_LONG: Final = "This took too long for the form to open by itself."

RUN: Final = "run"
"""The form's callback_id."""

PAGE: Final = "page"
"""The callback_id of what only shows something."""

WORKFLOW: Final = "workflow"
KIND: Final = "kind"
INPUT: Final = "input"
CHANNEL: Final = "channel"
REMEMBER: Final = "remember"

_TEXT = kit.option("Text", "text")
_JSON = kit.option("JSON", "json")
_REMEMBER = kit.option("Fill this in for me the next time", "yes")


class Origin(BaseModel):
    """Where a form was opened, which it carries as private_metadata; *is_sure*: an inactive workflow was confirmed.

    *direct* is the person's direct message with the bot, where that is known. Where it was opened from a message,
    *message_ts* is that and *author* wrote it, in the thread *thread_ts*.
    """

    model_config = ConfigDict(frozen=True)

    channel: str = ""
    thread_ts: str = ""
    response_url: str = ""
    is_sure: bool = False
    direct: str = ""
    author: str = ""
    message_ts: str = ""

    @property
    def opened_in(self) -> str:
        """Where the person reads private lines."""
        return self.channel or self.direct

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
    typed: str = ""
    kind: str = _TEXT["value"]
    is_remembered: bool = False


@dataclass(frozen=True, slots=True)
class FormErrors:
    """What is wrong with a form, for Slack's ``response_action: errors``: a sentence for each block_id."""

    by_block: dict[str, str]


def run_form(
    workflow: Workflow | None, origin: Origin, *, typed: str = "", kind: str = "text", is_remembered: bool = False
) -> View:
    """Draw the form, with the workflow chosen where it is known already, and what is *typed* filled in.

    Where it was opened outside any channel, it asks where the card of the run is to be.
    """
    chosen = _option(workflow) if workflow else None
    hint = "What the workflow gets to work on." if len(typed) <= kit.PLAIN_TEXT_INPUT else ONLY_THE_FIRST
    kinds = kit.select(KIND, "Text or JSON", [_TEXT, _JSON], _JSON if kind == _JSON["value"] else _TEXT)
    box: Block = {"type": "checkboxes", "action_id": REMEMBER, "options": [_REMEMBER]}
    if is_remembered:
        box["initial_options"] = [_REMEMBER]
    blocks = [
        kit.input_block(WORKFLOW, "Workflow", kit.external_select(WORKFLOW, "Choose a workflow", chosen)),
        kit.input_block(INPUT, "Input", text_input(INPUT, typed), hint=hint, optional=True),
        kit.input_block(KIND, "The input is", kinds),
        kit.input_block(REMEMBER, "Next time", box, optional=True),
    ]
    if not origin.channel:
        menu, hint = channel_menu(CHANNEL, origin.direct), "I have to be a member of the channel."
        blocks.append(kit.input_block(CHANNEL, "Show the result in", menu, hint=hint))
    return modal(RUN, RUN_A_WORKFLOW, "Run", blocks, origin)


def modal(form: str, title: str, submit: str, blocks: Sequence[Block], origin: Origin) -> View:
    """Draw a form with fields; without *submit*, it only shows something."""
    view: View = {
        "type": "modal",
        "callback_id": form,
        "title": kit.plain(title, kit.VIEW_TITLE),
        "close": kit.plain("Cancel" if submit else "Close", kit.VIEW_TITLE),
        "private_metadata": origin.model_dump_json(),
        "blocks": list(blocks[: kit.VIEW_BLOCKS]),
    }
    if submit:
        view["submit"] = kit.plain(submit, kit.VIEW_TITLE)
    return view


def page(title: str, blocks: Sequence[Block], origin: Origin) -> View:
    """Draw a modal that only shows something."""
    return modal(PAGE, title, "", blocks, origin)


def text_input(name: str, filled_in: str = "") -> Block:
    """Make a field for several lines."""
    element: Block = {
        "type": "plain_text_input", "action_id": name, "multiline": True, "max_length": kit.PLAIN_TEXT_INPUT,
    }  # fmt: skip
    if filled_in.strip():
        element["initial_value"] = kit.clean(filled_in)[: kit.PLAIN_TEXT_INPUT]
    return element


def channel_menu(name: str, first: str = "", *, with_direct: bool = True) -> Block:
    """Make a menu of the channels that its person sees; where *first* is not known, the one that they look at."""
    kinds = ["public", "private", *(["im"] if with_direct else [])]
    element: Block = {
        "type": "conversations_select", "action_id": name, "filter": {"include": kinds},
        "placeholder": kit.plain("Choose a channel", kit.PLACEHOLDER),
    }  # fmt: skip
    return element | ({"initial_conversation": first} if first else {"default_to_current_conversation": True})


def form_values(state: Mapping[str, Any]) -> dict[str, str]:
    """Read the ``state.values`` of a submitted view: what was typed or chosen, by the name of its field."""
    found: dict[str, str] = {}
    fields = (field for field in state.values() if isinstance(field, Mapping))
    for name, element in ((name, element) for field in fields for name, element in field.items()):
        if isinstance(element, Mapping):
            given = [
                element.get(key) for key in ("value", "selected_conversation", "selected_channel", "selected_time")
            ]
            value = next(filter(None, given), None)
            if isinstance(option := element.get("selected_option"), Mapping):
                value = option.get("value")
            if isinstance(ticked := element.get("selected_options"), list) and ticked:
                value = ",".join(str(one.get("value")) for one in ticked if isinstance(one, Mapping))
            found[name] = value if isinstance(value, str) else ""
    return found


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
            errors[INPUT] = (
                f"This isn't JSON. {where_json_breaks(exc)}" if typed.strip() else "Write a JSON value, or choose Text."
            )
    if errors:
        return FormErrors(errors)
    return RunRequest(int(workflow), value, typed, str(values.get(KIND) or ""), bool(values.get(REMEMBER)))


def workflow_options(workflows: Sequence[Workflow], query: str) -> list[Block]:
    """Offer the workflows that fit what was typed so far, the best first."""
    ranked = [(rank, one) for one in workflows if (rank := match_rank(one.id, one.name, query)) is not None]
    ranked.sort(key=lambda pair: (pair[0], not pair[1].is_active, pair[1].name.casefold()))
    return [_option(workflow) for _, workflow in ranked[: kit.OPTIONS]]


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
    mark = "" if workflow.is_active else " (inactive)"
    return kit.option(kit.one_line(workflow.name, kit.OPTION_TEXT - len(mark)) + mark, str(workflow.id))
