"""What the page sends with each action, `POST /page/do/ACTION`; anything else is refused."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """What the page sends with an action."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Attached(Body):
    """A text file."""

    name: str
    content: str


class Nothing(Body):
    """An action that needs no more words."""


class InChannel(Body):
    """Something that is done in a channel."""

    channel: str


class Said(InChannel):
    """A message, as it was typed."""

    text: str
    thread_ts: str | None = None
    broadcast: bool = False
    files: list[Attached] = []


class OnMessage(InChannel):
    """Something that is done to a message."""

    ts: str


class Edited(OnMessage):
    """The new text of a message."""

    text: str


class ReactedWith(OnMessage):
    """A reaction, to be put there or taken back."""

    name: str


class Commanded(InChannel):
    """A slash command; it is *in_thread* where it was typed in a thread's composer."""

    command: str
    text: str = ""
    in_thread: bool = False


class Element(Body):
    """What is pressed or chosen from."""

    block_id: str = ""
    action_id: str


class Clicked(Element, OnMessage):
    """A button of a message."""


class Selected(Clicked):
    """A choice in a message."""

    value: Any


class ClickedInView(Element):
    """A button of a modal or of Home."""

    view_id: str


class SelectedInView(ClickedInView):
    """A choice in a modal or in Home."""

    value: Any


class Typed(Element):
    """What is being typed into a menu whose options the app knows."""

    typed: str
    channel: str = ""
    ts: str = ""
    view_id: str = ""


class OfView(Body):
    """A modal with what was entered."""

    view_id: str
    values: dict[str, dict[str, Any]] = {}


class Shortcut(Body):
    """A shortcut; one for messages says which."""

    callback_id: str
    channel: str = ""
    ts: str = ""


class InThread(InChannel):
    """Something that is done in a thread."""

    thread_ts: str


class Turned(Body):
    """A switch, and what it shall be."""

    name: str
    is_on: bool = True
