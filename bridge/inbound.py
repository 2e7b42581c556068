"""What comes in from Slack, parsed once at the door: a closed set of kinds.

These values are what the inbox keeps until they are dealt with, so each has a JSON form. From 1.0.0 on, a field that
is added needs a default, because what an earlier release queued must be readable.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from bridge.errors import RecordNotUnderstood
from bridge.ids import MessageKey, ThreadKey

SLACK_ITSELF = frozenset({"USLACK", "USLACKBOT"})
"""Slack's own users. They write without a ``bot_id``, and ``users.info`` says that they are no bots."""

WAITING_LIMIT = 50
"""How many messages may wait in one thread."""


FileKind = Literal["text", "mail", "document", "clip", "image", "video", "link", "gone", "other", "unknown"]
"""What a file is read as. ``link``: it is stored elsewhere; ``gone``: Slack no longer shows it; ``unknown``: Slack
describes it only when asked, as all of another company's."""


class _Part(BaseModel):
    """A part of a message: words that people see there, with Slack's escapes, and references, never bytes.

    One that *is_cut* was larger than what is kept of one message.
    """

    model_config = ConfigDict(frozen=True)

    is_cut: bool = False


class Table(_Part):
    """A table, row by row; the first row is its head."""

    part: Literal["table"] = "table"
    rows: tuple[tuple[str, ...], ...]


class MessageFile(_Part):
    """A file, as Slack describes it.

    *format* is a document's (``pdf``), *type* what Slack calls any file's (``PDF``), *size* in bytes. *url* is where
    its content is, of a clip where its transcript is. *words* came with the description (all of a short snippet, a
    mail, a clip's transcript); they are all that there are if it *is_whole*. Of a clip that *is_pending* there will be
    a transcript.
    """

    part: Literal["file"] = "file"
    id: str
    kind: FileKind = "unknown"
    name: str = ""
    format: str = ""
    type: str = ""
    size: int = 0
    url: str = ""
    alt_text: str = ""
    words: str = ""
    is_whole: bool = False
    is_pending: bool = False


class Quotation(_Part):
    """A message that was forwarded: who wrote it where, as far as Slack says, and what is in it."""

    part: Literal["quotation"] = "quotation"
    author: str = ""
    author_id: str = ""
    channel: str = ""
    channel_name: str = ""
    link: str = ""
    text: str = ""
    tables: tuple[Table, ...] = ()
    files: tuple[MessageFile, ...] = ()


class Alert(_Part):
    """What an app shows beside a text, or in place of it."""

    part: Literal["alert"] = "alert"
    text: str


class LeftOut(_Part):
    """There were *count* more parts than are kept of one message."""

    part: Literal["left_out"] = "left_out"
    count: int


MessagePart = Annotated[Quotation | Table | Alert | MessageFile | LeftOut, Field(discriminator="part")]
"""What a message has besides its text: a closed set (`bridge.slack.contents` reads them)."""


class _Inbound(BaseModel):
    model_config = ConfigDict(frozen=True)

    team: str
    channel: str  # "" where there is none: a form opened from Home
    user: str
    user_team: str = ""  # the workspace or organisation that the person belongs to, where Slack says it
    is_shared: bool = False  # the channel is shared with another workspace (Slack Connect)


class InboundMessage(_Inbound):
    """A message that a person wrote.

    *text* is what its person wrote, with Slack's escapes: only there are commands, mentions and an agent's name looked
    for. *parts* are whatever else is in it. *thread_ts* is ``""`` for a message that is not in a thread. *is_mention*:
    it mentions the bot; *is_direct*: it is in the direct message with the bot; *is_typed*: it was written in one of
    Slack's own clients, which only people use. One that an app posted has that *app*'s id (``A…``, or where Slack tells
    only that, its bot's, ``B…``) and its *app_name*; nobody can be told anything about it in private.
    """

    kind: Literal["message"] = "message"
    text: str
    ts: str
    thread_ts: str = ""
    event_id: str = ""
    retry: int = 0  # which repetition by Slack it came with
    is_mention: bool = False
    is_direct: bool = False
    is_typed: bool = True
    edited_ts: str = ""  # when it got this text, where that is not its first
    looks_at: str = ""  # the channel that its person has open beside the direct message with the bot
    calls_in: bool = False  # a form put it into a thread that others have begun
    is_text: bool = False  # no command, however it begins: its person said so
    parts: tuple[MessagePart, ...] = ()
    app: str = ""
    app_name: str = ""
    was_found: bool = False  # in Slack's history, after an outage

    @property
    def key(self) -> MessageKey:
        """The identity that a mention's two events share."""
        return MessageKey(self.team, self.channel, self.ts)

    @property
    def thread(self) -> ThreadKey:
        """The thread that this message is in, or starts."""
        return ThreadKey(self.team, self.channel, self.thread_ts or self.ts)

    @property
    def is_root(self) -> bool:
        """Whether it stands at the top level of its channel."""
        return self.thread_ts in {"", self.ts}


class TriggeredRun(_Inbound):
    """A *workflow* that runs with a *message* of an app, on behalf of the person who has set that for its channel."""

    kind: Literal["triggered_run"] = "triggered_run"
    workflow: int
    message: InboundMessage

    @property
    def thread_ts(self) -> str:
        """The thread below the message, for all that comes of it."""
        return self.message.thread.root

    @property
    def retry(self) -> int:
        """Which repetition by Slack it came with."""
        return self.message.retry


class SlashCommand(_Inbound):
    """A slash command as it was typed: *command* (``/workflows``, without the configured prefix) and *text*."""

    kind: Literal["command"] = "command"
    command: str
    text: str = ""
    response_url: str = ""
    trigger_id: str = ""


class Click(_Inbound):
    """A button or menu choice: *action_id* and *value* are ours, from when the block was made.

    *message_ts* is the message that holds the block, *thread_ts* the thread it is in (``""``: none). Only one
    person sees a message that *is_ephemeral*.
    """

    kind: Literal["click"] = "click"
    action_id: str
    value: str = ""
    message_ts: str = ""
    thread_ts: str = ""
    is_ephemeral: bool = False
    response_url: str = ""
    trigger_id: str = ""
    view: str = ""  # "home" or "modal" where it was not in a message; then *channel* is what the bridge put there
    view_hash: str = ""
    private_metadata: str = ""


class StopRequest(_Inbound):
    """A stop that is no message and no button of ours: Slack's own Stop, or the ❌ on one's own message.

    *given* is Slack's ts of it. *message_ts* is the message that was crossed out (``""``: whatever is in work in
    *thread_ts* is meant); which thread that belongs to is known once its turn is found.
    """

    kind: Literal["stop"] = "stop"
    given: str
    thread_ts: str = ""
    message_ts: str = ""

    @property
    def thread(self) -> ThreadKey:
        """The thread that is meant, as far as it is known: that of the message alone, or the one it stands in."""
        return ThreadKey(self.team, self.channel, self.thread_ts or self.message_ts)


class Submission(_Inbound):
    """A form that was filled in and already found valid: *form* is its callback_id, *values* by input name.

    *private_metadata* is what the bridge put into the form when it was opened. *channel* is where what comes of it is
    shown, in the thread *thread_ts* if it is set; *opened_in* is where its person reads private lines.
    """

    kind: Literal["submission"] = "submission"
    form: str
    values: dict[str, Any] = Field(default_factory=dict)
    private_metadata: str = ""
    thread_ts: str = ""
    opened_in: str = ""
    response_url: str = ""
    trigger_id: str = ""


class Notice(_Inbound):
    """Something to be told to one person, decided at the door: *what* names it (`notices`).

    *of* is what they did, as `bridge.features.activity.action_name` has it. One that *is_offer* refuses nothing.
    """

    kind: Literal["notice"] = "notice"
    what: str
    of: str = ""
    is_offer: bool = False
    ts: str = ""
    thread_ts: str = ""
    response_url: str = ""


class HomeOpened(_Inbound):
    """Somebody looks at the Home tab, or what it shows has changed; *channel* is their direct message with the bot.

    *view_hash* is of what they see (``""``: whatever it is). *refusal*: they may not see more than why.
    """

    kind: Literal["home"] = "home"
    view_hash: str = ""
    refusal: str = ""


class MessagesTabOpened(_Inbound):
    """Somebody looks at the bot's Messages tab; *channel* is that direct message."""

    kind: Literal["messages_opened"] = "messages_opened"


class Shortcut(_Inbound):
    """A shortcut that was used: *name* is its callback_id. One on a message carries that message's *text* and *parts*.

    *text* has Slack's escapes; *author* wrote it. A global one has no channel, and so no way to tell anything but a
    form. *refusal*: this person may not use it.
    """

    kind: Literal["shortcut"] = "shortcut"
    name: str
    text: str = ""
    author: str = ""
    message_ts: str = ""
    thread_ts: str = ""
    response_url: str = ""
    trigger_id: str = ""
    refusal: str = ""
    parts: tuple[MessagePart, ...] = ()


class Report(_Inbound):
    """A report that is to be posted for its *slot*, the moment at which it was due: nobody sent it but the bridge.

    *user* is whom it belongs to. With *is_asked_for* somebody wants one now, whatever its schedule says.
    """

    kind: Literal["report"] = "report"
    report: str
    slot: AwareDatetime
    is_asked_for: bool = False


Inbound = (
    InboundMessage
    | TriggeredRun
    | SlashCommand
    | Click
    | StopRequest
    | Submission
    | Notice
    | HomeOpened
    | MessagesTabOpened
    | Shortcut
    | Report
)

_adapter: TypeAdapter[Inbound] = TypeAdapter(Annotated[Inbound, Field(discriminator="kind")])


def to_json(inbound: Inbound) -> str:
    """The stored form; `from_json` reads it."""
    try:
        return inbound.model_dump_json(exclude_defaults=False)
    except PydanticSerializationError:  # half a character, somewhere in a form: JSON can write it, UTF-8 cannot
        return json.dumps(inbound.model_dump(), ensure_ascii=False).encode(errors="replace").decode()


def from_json(text: str) -> Inbound:
    """Read a stored form. Raises `RecordNotUnderstood`."""
    try:
        return _adapter.validate_json(text)
    except ValidationError as exc:
        raise RecordNotUnderstood("inbound") from exc
