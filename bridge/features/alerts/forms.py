"""The forms that set up an alert: what to watch is asked first, then what that one needs; or all of it in words.

What is filled in becomes the words of the command, which `bridge.features.alerts.conditions` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final

from bridge.ends.failures import sentence
from bridge.engine.forms import ChannelMenu, Form, Menu, Radio, Select, Text, Values
from bridge.engine.results import Modal
from bridge.errors import BadAlert
from bridge.features.alerts.conditions import LONGEST_TEXT, TypedAlert, read_alert
from bridge.features.buttons import ALERT_FORM, ID, agent_menu, workflow_option, workflows_to_choose
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.modals import FormErrors, NextForm, Origin

_EXAMPLES: Final = ("runs < 1 in 24h", "runs > 3x usual", "category billing > 40%", "agent Support p95 > 60s")
_SHORT: Final = 80


class _AlertForm(Form):
    """What the forms of all alerts share. Their errors are shown below the field *at*."""

    title, submit, opener = "Set up an alert", "Preview", ALERT_FORM
    watches: ClassVar[str]
    at: ClassVar[str]

    channel = ChannelMenu(with_direct=False)
    run = Menu(
        "Then run", "Choose a workflow", workflows_to_choose, workflow_option, act="run", is_optional=True,
        hint="It runs once each time, on your behalf.",
    )  # fmt: skip

    @classmethod
    def alert(cls, origin: Origin, channel: str = "", **filled_in: str) -> Modal:
        """Open the form, for a *channel* if that isn't where it's opened."""
        where = channel or origin.channel
        blocks = cls.blocks(channel=where if kit.is_channel(where) else "", **filled_in)
        return cls.opened(origin, blocks, title="Edit alert" if origin.editing else "")

    @classmethod
    def _words(cls, values: Values) -> str:
        """Return the form's fields as the text of the command."""
        raise NotImplementedError

    @classmethod
    def _read(cls, values: Values) -> TypedAlert | FormErrors:
        try:
            return replace(read_alert(cls._words(values)), channel="")  # its channel is the chosen one
        except BadAlert as exc:
            return FormErrors({cls.at: sentence(exc)})


def _typed(values: Values, name: str) -> str:
    return values[name].strip() or "?"


class _WorkflowFails(_AlertForm):
    id, watches, at = "alert:fails", "A workflow fails, or any", "workflow"

    workflow = Menu(
        "Workflow", "Any workflow", workflows_to_choose, workflow_option, hint="Leave it out for any.", is_optional=True
    )

    @classmethod
    def _words(cls, values: Values) -> str:
        chosen = values["workflow"]
        return f"workflow {chosen} fails" if ID.fullmatch(chosen) else "failed runs > 0"


class _Runs(_AlertForm):
    id, watches, at = "alert:runs", "Too few or too many runs", "count"

    than = Select("Alert at", {"<": "Fewer than", ">": "More than"}, initial="<")
    count = Text("Runs", example="1", longest=_SHORT, hint="A number, or a multiple of what's usual, such as 3x usual.")
    span = Select("Within", {"1h": "An hour", "24h": "A day", "7d": "A week"}, initial="24h")

    @classmethod
    def _words(cls, values: Values) -> str:
        return f"runs {values['than'] or '<'} {_typed(values, 'count')} in {values['span'] or '24h'}"


class _Answers(_AlertForm):
    id, watches, at = "alert:answers", "Slow or failing answers", "seconds"

    agent = agent_menu()
    how = Select("Alert when", {"p95": "It takes too long", "fails": "It fails"}, initial="p95")
    seconds = Text(
        "Seconds", initial="60", longest=_SHORT, hint="What one in twenty answers may take; only if it takes too long."
    )

    @classmethod
    def _words(cls, values: Values) -> str:
        agent = f"agent {_typed(values, 'agent')}"
        return f"{agent} fails" if values["how"] == "fails" else f"{agent} p95 > {_typed(values, 'seconds')}s"


class _ServiceDown(_AlertForm):
    id, watches, at = "alert:down", "The project service is down", "minutes"

    minutes = Text("For how many minutes", initial="5", longest=_SHORT)

    @classmethod
    def _words(cls, values: Values) -> str:
        return f"service down {_typed(values, 'minutes')}m"


class _Share(_AlertForm):
    id, watches, at = "alert:share", "A category's share", "percent"

    category = Text("Category", example="billing", longest=_SHORT)
    percent = Text("More than how many percent", example="40", longest=_SHORT)

    @classmethod
    def _words(cls, values: Values) -> str:
        category = _typed(values, "category").replace('"', " ")
        return f'category "{category}" > {_typed(values, "percent")}%'


class _InWords(_AlertForm):
    id, watches, at = "alert", "Something else, in words", "condition"

    condition = Text(
        "Alert when", example=_EXAMPLES[0], longest=LONGEST_TEXT,
        hint=f"Such as {', '.join(_EXAMPLES[:-1])} or {_EXAMPLES[-1]}.",
    )  # fmt: skip

    @classmethod
    def _words(cls, values: Values) -> str:
        return values["condition"]


WATCHES: Final[Mapping[str, type[_AlertForm]]] = {
    "fails": _WorkflowFails, "runs": _Runs, "answers": _Answers, "down": _ServiceDown, "share": _Share,
    "words": _InWords,
}  # fmt: skip


class ChooseForm(Form):
    """The form that asks what to watch."""

    id, title, submit, opener, label = "alert:what", "Set up an alert", "Next", ALERT_FORM, "form: What to watch"

    what = Radio("What should I watch?", {name: form.watches for name, form in WATCHES.items()})

    @classmethod
    def _read(cls, values: Values) -> NextForm | FormErrors:
        chosen = WATCHES.get(values["what"])
        return NextForm(lambda origin: chosen.alert(origin).view) if chosen else FormErrors({"what": "Choose one."})


def choose(origin: Origin) -> Modal:
    """Open the form that asks what to watch."""
    return ChooseForm.opened(origin, ChooseForm.blocks())


def in_words(origin: Origin, typed: str = "", channel: str = "") -> Modal:
    """Open the form for an alert in words, as *typed*, in a *channel* if that isn't where it's opened."""
    return _InWords.alert(origin, channel, condition=kit.one_line(typed, LONGEST_TEXT) if typed.strip() else "")
