"""What the page sends with each action, `POST /page/do/ACTION`; anything else is refused."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class ActionBody(BaseModel):
    """What the page sends with an action."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class AttachedFile(ActionBody):
    """A file: a text is in *content*, anything else in *base64*. Of an image *alt_txt* says what it shows."""

    name: str
    content: str = ""
    base64: str = ""
    alt_txt: str = ""


class Clip(ActionBody):
    """A voice clip: what is spoken, and when Slack's transcript of it is there."""

    words: str
    transcript: Literal["ready", "later", "never"] = "ready"


class EmptyBody(ActionBody):
    """An action that needs no more words."""


class ChannelBody(ActionBody):
    """Something that is done in a channel."""

    channel: str


class SayBody(ChannelBody):
    """A message, as it was typed."""

    text: str
    thread_ts: str | None = None
    broadcast: bool = False
    files: list[AttachedFile] = []
    table: list[list[str]] = []
    clip: Clip | None = None


class MessageBody(ChannelBody):
    """Something that is done to a message."""

    ts: str


class ForwardBody(MessageBody):
    """A message, and the channel that it is forwarded to."""

    to: str
    comment: str = ""


class GroupBody(ActionBody):
    """The others of a direct message of several people."""

    users: list[str]


class AlertBody(ChannelBody):
    """What another app posts: as its bot user or by an incoming webhook, in an attachment or in blocks."""

    title: str
    text: str
    by: Literal["webhook", "bot"] = "webhook"
    form: Literal["attachment", "blocks"] = "attachment"


class EditBody(MessageBody):
    """The new text of a message."""

    text: str


class ReactBody(MessageBody):
    """A reaction, to be put there or taken back."""

    name: str


class CommandBody(ChannelBody):
    """A slash command; it is *in_thread* where it was typed in a thread's composer."""

    command: str
    text: str = ""
    in_thread: bool = False


class ElementBody(ActionBody):
    """What is pressed or chosen from."""

    block_id: str = ""
    action_id: str


class ClickBody(ElementBody, MessageBody):
    """A button of a message."""


class SelectBody(ClickBody):
    """A choice in a message."""

    value: Any


class ClickInViewBody(ElementBody):
    """A button of a modal or of Home."""

    view_id: str


class SelectInViewBody(ClickInViewBody):
    """A choice in a modal or in Home."""

    value: Any


class SuggestBody(ElementBody):
    """What is being typed into a menu whose options the app knows."""

    typed: str
    channel: str = ""
    ts: str = ""
    view_id: str = ""


class ViewBody(ActionBody):
    """A modal with what was entered."""

    view_id: str
    values: dict[str, dict[str, Any]] = {}


class ShortcutBody(ActionBody):
    """A shortcut; one for messages says which."""

    callback_id: str
    channel: str = ""
    ts: str = ""


class ThreadBody(ChannelBody):
    """Something that is done in a thread."""

    thread_ts: str


class SwitchBody(ActionBody):
    """A switch, and what it shall be."""

    name: str
    is_on: bool = True
