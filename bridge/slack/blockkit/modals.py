"""Forms: building them, the values they carry, and reading their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from pydantic import BaseModel, ValidationError

from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Block, View

OPEN_THE_FORM: Final = "Open the form"
TOOK_TOO_LONG: Final = "The form took too long to open."

PAGE: Final = "page"
"""The callback_id of modals without fields."""

CHANNEL: Final = "channel"
"""The name of a field in several forms."""


class Carried(BaseModel, frozen=True, defer_build=True):
    """A value that a button, a form or Home carries, and Slack returns when it's used."""

    @classmethod
    def parse(cls, value: str) -> Self:
        """Parse *value*; an unreadable one, perhaps from another version, counts as empty."""
        try:
            return cls.model_validate_json(value)
        except ValidationError:
            return cls()


class Origin(Carried):
    """Where a form was opened, carried as private_metadata.

    *is_sure*: the person confirmed running the workflow *sure_of* (``""``: any, in an earlier release). *direct* is the
    person's direct message with the bot, if known; *chosen* is the channel the form is about. If the form was opened
    from a message, that is *message_ts*, written by *author* in the thread *thread_ts*; *files* are its files' IDs.
    *project* is written by `bridge.slack.in_project`; *editing* is the ID of what the form changes.
    """

    channel: str = ""
    thread_ts: str = ""
    response_url: str = ""
    is_sure: bool = False
    sure_of: str = ""
    direct: str = ""
    chosen: str = ""
    author: str = ""
    message_ts: str = ""
    files: tuple[str, ...] = ()
    project: str = ""
    editing: str = ""

    @property
    def opened_in(self) -> str:
        """Return the channel for private notices to the person."""
        return self.channel or self.direct


@dataclass(frozen=True, slots=True)
class FormErrors:
    """A form's errors, for Slack's ``response_action: errors``: a sentence per block_id."""

    by_block: dict[str, str]


@dataclass(frozen=True, slots=True)
class NextForm:
    """A form that takes this one's place, made for where this one was opened (``response_action: update``).

    https://docs.slack.dev/surfaces/modals#updating_response
    """

    view: Callable[[Origin], View]


def modal(form: str, title: str, submit: str, blocks: Sequence[Block], origin: Origin) -> View:
    """Make a modal; without the button *submit*, it only shows its blocks."""
    view: View = {
        "type": "modal",
        "callback_id": form,
        "title": kit.plain(title, kit.VIEW_TITLE),
        "close": kit.plain("Cancel" if submit else "Close", kit.VIEW_TITLE),
        "private_metadata": origin.model_dump_json(exclude={"project"}),
        "blocks": list(blocks[: kit.VIEW_BLOCKS]),
    }
    if submit:
        view["submit"] = kit.plain(submit, kit.VIEW_TITLE)
    return view


def page(title: str, blocks: Sequence[Block], origin: Origin) -> View:
    """Make a modal that only shows its blocks."""
    return modal(PAGE, title, "", blocks, origin)


def form_values(state: Mapping[str, Any]) -> dict[str, str]:
    """Read the ``state.values`` of a submitted view, by field name."""
    values: dict[str, str] = {}
    fields = (field for field in state.values() if isinstance(field, Mapping))
    for name, element in ((name, element) for field in fields for name, element in field.items()):
        if isinstance(element, Mapping):
            kinds = ("value", "selected_conversation", "selected_channel", "selected_time")
            value = next(filter(None, map(element.get, kinds)), None)
            if isinstance(option := element.get("selected_option"), Mapping):
                value = option.get("value")
            if isinstance(ticked := element.get("selected_options"), list) and ticked:
                value = ",".join(str(option.get("value")) for option in ticked if isinstance(option, Mapping))
            values[name] = value if isinstance(value, str) else ""
    return values
