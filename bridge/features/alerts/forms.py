"""The forms that set up an alert: what to watch is asked first, then what that one needs; or all of it in words.

What is filled in becomes the words of the command, which `bridge.features.alerts.conditions` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from bridge.ends.failures import sentence
from bridge.errors import BadAlert
from bridge.features.alerts.conditions import TypedAlert, read_alert
from bridge.features.buttons import ID, agent_field
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.modals import FormErrors, NextForm, Origin, channel_menu, modal
from bridge.slack.blockkit.reply import Block, View

WORDS: Final = "alert"
CHOOSE: Final = "alert:what"
"""The forms' callback_ids; those of the others are ``alert:<name>``."""

WHAT: Final = "what"
CONDITION: Final = "condition"
RUN: Final = "run"
CHANNEL: Final = "channel"
WORKFLOW: Final = "workflow"
AGENT: Final = "agent"

_EXAMPLES: Final = ("runs < 1 in 24h", "runs > 3x usual", "category billing > 40%", "agent Support p95 > 60s")
_THAN: Final = {"<": "Fewer than", ">": "More than"}
_SPANS: Final = {"1h": "An hour", "24h": "A day", "7d": "A week"}
_ENDS: Final = {"p95": "It takes too long", "fails": "It fails"}
_LONGEST: Final = 300
_SHORT: Final = 80


@dataclass(frozen=True, slots=True)
class Watch:
    """Something that an alert may be about: its *label*, its *fields*, and their values in *words*.

    An error is shown below the field *at*.
    """

    name: str
    label: str
    at: str
    fields: Callable[[], Sequence[Block]]
    words: Callable[[Mapping[str, str]], str]

    @property
    def form(self) -> str:
        """The form's callback_id."""
        return f"{WORDS}:{self.name}"


def _text(name: str, label: str, example: str, *, hint: str = "", filled_in: str = "") -> Block:
    element: Block = {
        "type": "plain_text_input",
        "action_id": name,
        "max_length": _LONGEST if name == CONDITION else _SHORT,
    }
    filled = {"initial_value": filled_in} if filled_in else {"placeholder": kit.plain(example, kit.PLACEHOLDER)}
    return kit.input_block(name, label, element | filled, hint=hint)


def _choice(name: str, label: str, choices: Mapping[str, str], first: str) -> Block:
    options = {value: kit.option(text, value) for value, text in choices.items()}
    return kit.input_block(name, label, kit.select(name, "Choose", list(options.values()), options[first]))


def _condition(typed: str = "") -> Sequence[Block]:
    hint = f"Such as {', '.join(_EXAMPLES[:-1])} or {_EXAMPLES[-1]}."
    return [
        _text(
            CONDITION,
            "Alert when",
            _EXAMPLES[0],
            hint=hint,
            filled_in=kit.one_line(typed, _LONGEST) if typed.strip() else "",
        )
    ]


def _of_workflow() -> Sequence[Block]:
    menu = kit.external_select(WORKFLOW, "Any workflow")
    return [kit.input_block(WORKFLOW, "Workflow", menu, hint="Leave it out for any.", optional=True)]


def _of_runs() -> Sequence[Block]:
    return [
        _choice("than", "Alert at", _THAN, "<"),
        _text("count", "Runs", "1", hint="A number, or a multiple of what's usual, such as 3x usual."),
        _choice("span", "Within", _SPANS, "24h"),
    ]


def _of_answers() -> Sequence[Block]:
    hint = "What one in twenty answers may take; only if it takes too long."
    return [
        agent_field(None),
        _choice("how", "Alert when", _ENDS, "p95"),
        _text("seconds", "Seconds", "60", hint=hint, filled_in="60"),
    ]


def _number(values: Mapping[str, str], name: str) -> str:
    return str(values.get(name) or "").strip() or "?"


def _answers_in_words(values: Mapping[str, str]) -> str:
    agent = f"agent {_number(values, AGENT)}"
    return f"{agent} fails" if values.get("how") == "fails" else f"{agent} p95 > {_number(values, 'seconds')}s"


def _share_in_words(values: Mapping[str, str]) -> str:
    category = _number(values, "category").replace('"', " ")
    return f'category "{category}" > {_number(values, "percent")}%'


def _workflow_in_words(values: Mapping[str, str]) -> str:
    chosen = str(values.get(WORKFLOW) or "")
    return f"workflow {chosen} fails" if ID.fullmatch(chosen) else "failed runs > 0"


WATCHES: Final = (
    Watch("fails", "A workflow fails, or any", WORKFLOW, _of_workflow, _workflow_in_words),
    Watch(
        "runs", "Too few or too many runs", "count", _of_runs,
        lambda values: f"runs {values.get('than') or '<'} {_number(values, 'count')} in {values.get('span') or '24h'}",
    ),
    Watch("answers", "Slow or failing answers", "seconds", _of_answers, _answers_in_words),
    Watch(
        "down", "The project service is down", "minutes",
        lambda: [_text("minutes", "For how many minutes", "5", filled_in="5")],
        lambda values: f"service down {_number(values, 'minutes')}m",
    ),
    Watch(
        "share", "A category's share", "percent",
        lambda: [_text("category", "Category", "billing"), _text("percent", "More than how many percent", "40")],
        _share_in_words,
    ),
)  # fmt: skip
IN_WORDS: Final = Watch(
    "", "Something else, in words", CONDITION, _condition, lambda values: str(values.get(CONDITION) or "")
)


def choose(origin: Origin) -> View:
    """Return the form that asks what to watch."""
    options = [kit.option(watch.label, watch.name or "words") for watch in (*WATCHES, IN_WORDS)]
    radio: Block = {"type": "radio_buttons", "action_id": WHAT, "options": options}
    return modal(CHOOSE, "Set up an alert", "Next", [kit.input_block(WHAT, "What should I watch?", radio)], origin)


def read_choice(values: Mapping[str, Any]) -> NextForm | FormErrors:
    """Return the form that asks what the chosen thing needs."""
    chosen = next((watch for watch in WATCHES if watch.name == values.get(WHAT)), None)
    if chosen is None and values.get(WHAT) != "words":
        return FormErrors({WHAT: "Choose one."})
    return NextForm(partial(_form, chosen.form, chosen.fields()) if chosen else in_words)


def in_words(origin: Origin, typed: str = "", channel: str = "") -> View:
    """Return the form for an alert in words, as *typed*, in a *channel* if that isn't where it's opened."""
    return _form(WORDS, _condition(typed), origin, channel)


def _form(form: str, fields: Sequence[Block], origin: Origin, channel: str = "") -> View:
    where = channel or origin.channel
    channels = channel_menu(CHANNEL, where if kit.is_channel(where) else "", with_direct=False)
    runs = kit.external_select(RUN, "Choose a workflow")
    blocks = [
        *fields,
        kit.input_block(CHANNEL, "Channel", channels, hint="I need to be a member of that channel."),
        kit.input_block(RUN, "Then run", runs, hint="It runs once each time, on your behalf.", optional=True),
    ]
    return modal(form, "Edit alert" if origin.editing else "Set up an alert", "Preview", blocks, origin)


def read(watch: Watch, values: Mapping[str, Any]) -> TypedAlert | FormErrors:
    """Parse a form; an error is shown under its field, and its channel is the chosen one."""
    if watch.form == f"{WORDS}:answers" and not ID.fullmatch(str(values.get(AGENT) or "")):
        return FormErrors({AGENT: "Choose an agent from the list."})
    try:
        return replace(read_alert(watch.words(values)), channel="")
    except BadAlert as exc:
        return FormErrors({watch.at: sentence(exc)})
