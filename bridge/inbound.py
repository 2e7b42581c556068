"""Everything that comes in from Slack, parsed on arrival: a closed set of kinds.

The inbox stores these values until they're handled, so each has a JSON form. From 1.0.0 on, a new field needs a
default, so that what an earlier version queued stays readable.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from pydantic import AwareDatetime, BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from bridge.errors import RecordNotUnderstood
from bridge.ids import MessageKey, ThreadKey

SLACK_ITSELF = frozenset({"USLACK", "USLACKBOT"})
"""Slack's own users. They write without a ``bot_id``, and ``users.info`` says that they are no bots."""

WAITING_LIMIT = 50
"""How many messages may wait in one thread."""


FileKind = Literal["text", "mail", "document", "clip", "image", "video", "link", "gone", "other", "unknown"]
"""How a file is read. ``link``: it's stored elsewhere; ``gone``: Slack no longer shows it; ``unknown``: Slack describes
it only on request, like all files of other companies."""


class _Part(BaseModel, frozen=True):
    """A part of a message: the text people see there, with Slack's escapes, and references, never bytes.

    *is_cut*: it was larger than what is stored of a message.
    """

    is_cut: bool = False


class Table(_Part):
    """A table, row by row; the first row is its header."""

    part: Literal["table"] = "table"
    rows: tuple[tuple[str, ...], ...]


class MessageFile(_Part):
    """A file, as Slack describes it.

    *format* is a document's (``pdf``), *type* Slack's word for any file's (``PDF``), *size* in bytes. *url* has its
    content or, for a clip, its transcript. *words* came with the description (a short snippet, a mail, a clip's
    transcript); if it *is_whole*, that's all of it. A clip that *is_pending* will get a transcript.
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
    """A forwarded message: who wrote it where, as far as Slack says, and its content."""

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
    """What an app shows beside a text, or instead of it."""

    part: Literal["alert"] = "alert"
    text: str


class LeftOut(_Part):
    """There were *count* more parts than are stored of a message."""

    part: Literal["left_out"] = "left_out"
    count: int


MessagePart = Annotated[Quotation | Table | Alert | MessageFile | LeftOut, Field(discriminator="part")]
"""What a message has besides its text: a closed set (`bridge.slack.contents` reads them)."""


class _Inbound(BaseModel, frozen=True):
    team: str
    channel: str  # "" if there is none: a form opened from Home
    user: str
    user_team: str = ""  # the person's workspace or organization, if Slack says it
    is_shared: bool = False  # the channel is shared with another workspace (Slack Connect)
    is_greeting: ClassVar[bool] = False  # nobody asked: Slack needn't retry it, and missing access brings no notice


class InboundMessage(_Inbound):
    """A message.

    *text* is the person's own, with Slack's escapes: commands, mentions and an agent's name are looked for only there.
    *parts* are everything else. *thread_ts* is ``""`` outside of a thread. *is_mention*: it mentions the bot;
    *is_direct*: it's in the direct message with the bot; *is_typed*: it was written in one of Slack's own clients,
    which only people use. An app's post has that *app*'s ID (``A…``, or only its bot's, ``B…``) and its *app_name*;
    no one can be notified in private.
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
    edited_ts: str = ""  # when it got this text, unless it's the first
    looks_at: str = ""  # the channel its person has open beside the bot's direct message
    calls_in: bool = False  # a form put it into someone else's thread
    is_text: bool = False  # not a command, whatever it starts with: its person said so
    parts: tuple[MessagePart, ...] = ()
    app: str = ""
    app_name: str = ""
    was_found: bool = False  # in Slack's history after an outage

    @property
    def key(self) -> MessageKey:
        """The identity shared by a mention's two events."""
        return MessageKey(self.team, self.channel, self.ts)

    @property
    def thread(self) -> ThreadKey:
        """The thread this message is in, or starts."""
        return ThreadKey(self.team, self.channel, self.thread_ts or self.ts)

    @property
    def is_root(self) -> bool:
        """Whether it's at the top level of its channel."""
        return self.thread_ts in {"", self.ts}


class TriggeredRun(_Inbound):
    """A *workflow* run on an app's *message*, on behalf of the person who set that up for its channel."""

    kind: Literal["triggered_run"] = "triggered_run"
    workflow: int
    message: InboundMessage

    @property
    def thread_ts(self) -> str:
        """The thread below the message, for everything that follows."""
        return self.message.thread.root

    @property
    def retry(self) -> int:
        """The number of its repetition by Slack."""
        return self.message.retry


class SlashCommand(_Inbound):
    """A slash command as typed: *command* (``/workflows``, without the configured prefix) and *text*."""

    kind: Literal["command"] = "command"
    command: str
    text: str = ""
    response_url: str = ""
    trigger_id: str = ""


class Click(_Inbound):
    """A button or menu choice: *action_id* and *value* are ours, from when the block was made.

    *message_ts* is the block's message, *thread_ts* its thread (``""``: none). Only one person sees a message that
    *is_ephemeral*.
    """

    kind: Literal["click"] = "click"
    action_id: str
    value: str = ""
    message_ts: str = ""
    thread_ts: str = ""
    is_ephemeral: bool = False
    response_url: str = ""
    trigger_id: str = ""
    view: str = ""  # "home" or "modal" if it wasn't in a message; the bridge then put *channel* there
    view_hash: str = ""
    private_metadata: str = ""


class StopRequest(_Inbound):
    """A stop other than a message or our button: Slack's own Stop, or a ❌ on one's own message.

    *given* is Slack's ts of it. *message_ts* is the message with the ❌ (``""``: whatever is running in *thread_ts*);
    its thread is known once its turn is found.
    """

    kind: Literal["stop"] = "stop"
    given: str
    thread_ts: str = ""
    message_ts: str = ""

    @property
    def thread(self) -> ThreadKey:
        """The thread that is meant, as far as it's known: the message's own, or the one it's in."""
        return ThreadKey(self.team, self.channel, self.thread_ts or self.message_ts)


class Submission(_Inbound):
    """A valid form: *form* is its callback_id, *values* are by input name.

    *private_metadata* is what the bridge put into the form. *channel* is where its result is shown, in the thread
    *thread_ts* if that's set; *opened_in* is where its person reads private notices.
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
    """A private notice, decided on arrival: *what* names its text (`notices`).

    *of* is what the person did, named as in `bridge.features.activity.action_name`. *is_offer*: nothing
    was refused.
    """

    kind: Literal["notice"] = "notice"
    what: str
    of: str = ""
    is_offer: bool = False
    ts: str = ""
    thread_ts: str = ""
    response_url: str = ""


class HomeOpened(_Inbound):
    """Someone opened the Home tab, or its content changed; *channel* is their direct message with the bot.

    *view_hash* is of what they see (``""``: anything). *refusal*: they may only see this reason.
    """

    kind: Literal["home"] = "home"
    view_hash: str = ""
    refusal: str = ""


class MessagesTabOpened(_Inbound):
    """Someone opened the bot's Messages tab; *channel* is that direct message."""

    is_greeting: ClassVar[bool] = True
    kind: Literal["messages_opened"] = "messages_opened"


class Shortcut(_Inbound):
    """A shortcut that was used: *name* is its callback_id. One on a message has its *text* and *parts*.

    *text* has Slack's escapes; *author* wrote it. A global one has no channel, so it can only show a form. *refusal*:
    this person may not use it.
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
    """A report to post for its *slot*, the time it was due, queued by the bridge itself.

    *user* is its owner. *is_asked_for*: someone requested it now, whatever its schedule says.
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

KINDS: Final = frozenset(str(one.model_fields["kind"].default) for one in get_args(Inbound))
"""The name of each kind."""

_adapter: TypeAdapter[Inbound] = TypeAdapter(Annotated[Inbound, Field(discriminator="kind")])


def to_json(inbound: Inbound) -> str:
    """Return the stored form."""
    try:
        return inbound.model_dump_json(exclude_defaults=False)
    except PydanticSerializationError:  # a lone surrogate in a form: JSON can write it, UTF-8 can't
        return json.dumps(inbound.model_dump(), ensure_ascii=False).encode(errors="replace").decode()


def from_json(text: str) -> Inbound:
    """Read a stored form. Raises `RecordNotUnderstood`."""
    try:
        return _adapter.validate_json(text)
    except ValidationError as exc:
        raise RecordNotUnderstood("inbound") from exc
