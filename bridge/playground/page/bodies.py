"""The body of each action, `POST /page/do/ACTION`; anything else is refused."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class ActionBody(BaseModel):
    """The body of an action."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class AttachedFile(ActionBody):
    """A file: text in *content*, anything else in *base64*; *alt_txt* describes an image."""

    name: str
    content: str = ""
    base64: str = ""
    alt_txt: str = ""


class Clip(ActionBody):
    """A voice clip: its words, and when Slack's transcript is ready."""

    words: str
    transcript: Literal["ready", "later", "never"] = "ready"


class EmptyBody(ActionBody):
    """An action without arguments."""


class ChannelBody(ActionBody):
    """An action in a channel."""

    channel: str


class SayBody(ChannelBody):
    """A message, as typed."""

    text: str
    thread_ts: str | None = None
    broadcast: bool = False
    files: list[AttachedFile] = []
    table: list[list[str]] = []
    clip: Clip | None = None


class MessageBody(ChannelBody):
    """An action on a message."""

    ts: str


class ForwardBody(MessageBody):
    """A message to forward, and its destination."""

    to: str
    comment: str = ""


class GroupBody(ActionBody):
    """The other members of a group message."""

    users: list[str]


class AlertBody(ChannelBody):
    """Another app's post: by its bot user or an incoming webhook, in an attachment or in blocks."""

    title: str
    text: str
    by: Literal["webhook", "bot"] = "webhook"
    form: Literal["attachment", "blocks"] = "attachment"


class EditBody(MessageBody):
    """A message's new text."""

    text: str


class ReactBody(MessageBody):
    """A reaction to add or remove."""

    name: str


class CommandBody(ChannelBody):
    """A slash command, *in_thread* if typed in a thread's composer."""

    command: str
    text: str = ""
    in_thread: bool = False


class ElementBody(ActionBody):
    """A button or menu."""

    block_id: str = ""
    action_id: str


class ClickBody(ElementBody, MessageBody):
    """A button in a message."""


class SelectBody(ClickBody):
    """A choice in a message."""

    value: Any


class ClickInViewBody(ElementBody):
    """A button in a modal or on Home."""

    view_id: str


class SelectInViewBody(ClickInViewBody):
    """A choice in a modal or on Home."""

    value: Any


class SuggestBody(ElementBody):
    """Text typed into a menu with external options."""

    typed: str
    channel: str = ""
    ts: str = ""
    view_id: str = ""


class ViewBody(ActionBody):
    """A modal with its values."""

    view_id: str
    values: dict[str, dict[str, Any]] = {}


class ShortcutBody(ActionBody):
    """A shortcut; a message shortcut names its message."""

    callback_id: str
    channel: str = ""
    ts: str = ""


class ThreadBody(ChannelBody):
    """An action in a thread."""

    thread_ts: str


class SwitchBody(ActionBody):
    """A switch and its new state."""

    name: str
    is_on: bool = True
