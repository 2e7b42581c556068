"""What is queued: inputs from Slack, parsed on arrival; a `Notice`; and a `Job`, which a feature queues itself.

The inbox stores inputs until they're handled, so each has a JSON form. From 1.0.0 on, a new field needs a default, so
that inputs queued by an earlier version stay readable.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import BaseModel, Field, computed_field, model_validator
from pydantic_core import PydanticSerializationError

from bridge.errors import RecordNotUnderstood
from bridge.ids import MessageKey, ThreadKey
from bridge.unseen import is_blank

SLACK_ITSELF = frozenset({"USLACK", "USLACKBOT"})
"""Slack's own users. They write without a ``bot_id``, and ``users.info`` says that they aren't bots."""

LAST_RETRY = 3  # https://docs.slack.dev/apis/events-api/#retries; Socket Mode retries as often
Starter = Literal["person", "app", "schedule", "alert"]
WAITING_LIMIT = 50
"""How many messages may wait in one thread."""

TABLE_MARK: Final = "\ufffc"
"""Where a table is in a text: Unicode's object replacement character."""


FileKind = Literal["text", "mail", "document", "clip", "image", "video", "link", "gone", "other", "unknown"]
"""How a file is read. ``link``: it's stored outside Slack; ``gone``: Slack no longer shows it; ``unknown``: Slack
describes it only in ``files.info``, like all files of other companies."""


class _Part(BaseModel, frozen=True, defer_build=True):  # here and in other bases: 3 MB and 60 ms of a start
    """A part of a message: the text that people see, with Slack's escapes, and references to files, never bytes.

    *is_cut*: it was larger than the part of a message that's stored.
    """

    is_cut: bool = False


class Table(_Part):
    """A table, row by row; the first row is its header."""

    part: Literal["table"] = "table"
    rows: tuple[tuple[str, ...], ...]


class MessageFile(_Part):
    """A file, as Slack describes it.

    *format* is the format of a document (``pdf``), *type* Slack's name for the type of any file (``PDF``), *size* its
    number of bytes. *url* has the content or, for a clip, the transcript. *words* is the text that came with the
    description (of a short snippet, an email, or a clip's transcript); if it *is_whole*, it's the complete text. A clip
    that *is_pending* will get a transcript.
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
    """A forwarded message: its author and channel, as far as Slack says, and its content.

    *text* has a `TABLE_MARK` for each of the *tables*, or none if they are below it.
    """

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
    """Content that an app shows with a message's text, or instead of it.

    If it *is_own*, it's the rest of the author's own text, below a table.
    """

    part: Literal["alert"] = "alert"
    text: str
    is_own: bool = False


class LeftOut(_Part):
    """The *count* of further parts of a message, which aren't stored; *is_unknown*: they have no known words."""

    part: Literal["left_out"] = "left_out"
    count: int
    is_unknown: bool = False


MessagePart = Annotated[Quotation | Table | Alert | MessageFile | LeftOut, Field(discriminator="part")]
"""The parts of a message besides its text: a closed set, parsed by `bridge.slack.contents`."""


KINDS: Final[dict[str, type[_Inbound]]] = {}
"""Each kind by its name, those of features once their modules are imported."""


class _Inbound(BaseModel, frozen=True, defer_build=True):
    """An input. *project* is the project it's about (`bridge.engine.projects`); *names_project*: it says so itself.

    The facts of its kind, by which the engine treats it, are variables of its class.
    """

    team: str
    channel: str  # "" if there is none: a form opened from Home
    user: str
    user_team: str = ""  # the person's workspace or organization, if Slack says it
    is_shared: bool = False  # the channel is shared with another workspace (Slack Connect)
    project: str = ""
    names_project: bool = False
    version: ClassVar[int] = 1  # of the records of its turns: older releases leave a later one to newer ones
    is_greeting: ClassVar[bool] = False  # Slack needn't retry it, and without access there's no notice
    is_request: ClassVar[bool] = False  # of a person, whose access is checked again when it's acted on
    is_unrequested: ClassVar[bool] = False  # nothing is lost, and nobody is notified, if it can't be finished
    is_of_owner: ClassVar[bool] = False  # its *user* set it up, and may not be in its channel: they get direct messages
    tells_owner: ClassVar[bool] = False  # if Slack refuses its post for good, its feature notifies them
    is_public: ClassVar[bool] = False  # its answers are posted publicly, private ones too
    is_placed: ClassVar[bool] = (
        False  # unless it names a project, it's about that of its channel, or else of its person
    )
    named: ClassVar[str] = ""  # for the audit, if not by its kind
    starts_by: ClassVar[Starter] = "person"  # what starts a message that it has sent to an agent
    in_words: ClassVar[str] = ""  # what it is, for people (`kind_in_words`)
    is_about_failures: ClassVar[bool] = False  # if it can't be posted, a dead letter would be the next one

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Register a kind, so that it's read again."""
        if (kind := cls.model_fields.get("kind")) and kind.default:
            KINDS[kind.default] = cls

    @property
    def place(self) -> str:
        """The channel it was sent in; ``""`` if *channel* only says where notices about it go."""
        return self.channel

    @property
    def did(self) -> str:
        """Its name for the audit, unless `bridge.engine.finished_turns.action_name` knows a better one."""
        return self.named or str(getattr(self, "kind", ""))

    @property
    def as_message(self) -> InboundMessage | None:
        """The message that it is or starts with. Slack may send it again, and it waits for the project service."""
        return None

    @property
    def starters(self) -> tuple[tuple[str, Starter, str], ...]:
        """Those for whom what it starts is judged, each with what starts it, and the app's ID."""
        return ((self.user, "person", ""),)


def kind_in_words(kind: str) -> str:
    """Say what an input of a stored *kind*, perhaps a later version's, is: ``a slash command``."""
    known = KINDS.get(kind)
    return (known and known.in_words) or f"a {kind.replace('_', ' ')}"


class Job(_Inbound):
    """What a feature queues itself, and handles by its class (`bridge.engine.feature.Feature.kind`)."""

    kind: str = ""


class Respondable(_Inbound):
    """An input that can be answered in private through Slack's *response_url*, for half an hour; ``""``: it can't."""

    response_url: str = ""


class Interaction(Respondable):
    """A person's use of one of the bridge's commands or controls; for 3 s, *trigger_id* opens a form."""

    is_request: ClassVar[bool] = True
    trigger_id: str = ""


NO_COMMAND: Final = "-"
"""The *line* of a message that isn't a command."""


class InboundMessage(_Inbound):
    """A message.

    *source* says where the *text* comes from, which has Slack's escapes: only a text that the person ``typed`` as a
    message may be a command. In the others, of a ``form`` (or a slash command), an ``app``, or a ``word`` that they
    chose to send as it is, a stranger's words may be quoted. *parts* are the rest of the message. *thread_ts* is ``""``
    outside of a thread. *is_mention*: it mentions the bot; *is_direct*: it's in the direct message with the bot;
    *is_typed*: it was written in one of Slack's own clients, which only people use. An app's post has that *app*'s ID
    (``A…``, or only its bot's, ``B…``), its *app_name*, and the *owner* of the rule that answers it, the only person
    who can be notified in private; *bot* is its bot's ID (``B…``), and *rule* the key of that rule
    (`bridge.slack.senders`). A person's message that an app posted with their own token has that app's ID
    in *via*. *meant* is the ID of the project whose name its first word seems to misspell. *line* is the command line
    that the door found it to be, or `NO_COMMAND`; ``""`` until it's decided, as for an edited text.
    """

    is_request: ClassVar[bool] = True
    is_placed: ClassVar[bool] = True
    kind: Literal["message"] = "message"
    in_words: ClassVar[str] = "a message"
    source: Literal["typed", "form", "app", "word"]
    text: str
    ts: str
    thread_ts: str = ""
    event_id: str = ""
    retry: int = 0  # the number of Slack's retry, 0 for the first delivery
    is_mention: bool = False
    is_direct: bool = False
    is_typed: bool = True
    edited_ts: str = ""  # when its text was edited, or ""
    looks_at: str = ""  # the channel that the person has open beside the bot's direct message
    meant: str = ""
    line: str = ""
    calls_in: bool = False  # it was sent by a form into someone else's thread
    parts: tuple[MessagePart, ...] = ()
    app: str = ""
    app_name: str = ""
    bot: str = ""
    rule: str = ""
    via: str = ""
    owner: str = ""
    caused_by: Starter = "person"
    was_found: bool = False  # it was found in Slack's history after an outage
    is_late: bool = False  # long after it was written

    @model_validator(mode="before")
    @classmethod
    def _of_older_release(cls, fields: Any) -> Any:
        """Read a record with only ``is_text``."""
        if isinstance(fields, dict) and "source" not in fields:
            return {**fields, "source": "word" if fields.get("is_text") else "typed"}
        return fields

    @computed_field  # type: ignore[prop-decorator] # pydantic's documented form
    @property
    def is_text(self) -> bool:
        """Whether it's not a command, whatever it starts with; stored for older releases."""
        return self.source != "typed"

    @property
    def as_message(self) -> InboundMessage:
        """Itself."""
        return self

    @property
    def starters(self) -> tuple[tuple[str, Starter, str], ...]:
        """Its author, or the owner of the rule for its app."""
        return ((self.owner, "app", self.app),) if self.app else super().starters

    @property
    def key(self) -> MessageKey:
        """The identity that both events of a mention share."""
        return MessageKey(self.team, self.channel, self.ts)

    @property
    def thread(self) -> ThreadKey:
        """The thread this message is in, or starts."""
        return ThreadKey(self.team, self.channel, self.thread_ts or self.ts)

    @property
    def may_be_a_persons(self) -> bool:
        """Whether its app may have posted it with a person's own token: then it's shown as that person's.

        It has that person's ID beside the app's and a bot's, as the posts of an app's own bot user have that user's.
        """
        return self.app != "" and self.user.startswith(("U", "W"))

    @property
    def is_last(self) -> bool:
        """Whether Slack won't send it again: it's the last retry, or an edit, which is accepted in any case."""
        return self.retry >= LAST_RETRY or bool(self.edited_ts)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it can be seen."""
        return is_blank(self.text) and not self.parts

    @property
    def is_root(self) -> bool:
        """Whether the message is at the top level of its channel."""
        return self.thread_ts in {"", self.ts}


class SlashCommand(Interaction):
    """A slash command as typed: *command* (``/workflows``, without the configured prefix) and *text*."""

    is_placed: ClassVar[bool] = True
    kind: Literal["command"] = "command"
    in_words: ClassVar[str] = "a slash command"
    command: str
    text: str = ""


class Click(Interaction):
    """A click on a button, or a choice in a menu: *action_id* and *value* are from the bridge's block.

    *message_ts* is the block's message, *thread_ts* its thread, or ``""``. Only one person sees a message that
    *is_ephemeral*. It *is_sure*: its person was asked whether they meant it.
    """

    kind: Literal["click"] = "click"
    in_words: ClassVar[str] = "a click"
    action_id: str
    value: str = ""
    message_ts: str = ""
    thread_ts: str = ""
    is_ephemeral: bool = False
    is_sure: bool = False
    view: str = ""  # "home" or "modal", with *channel* in its private_metadata; "" in a message
    view_hash: str = ""
    private_metadata: str = ""

    @property
    def place(self) -> str:
        """The channel, unless it's a click in the Home tab or in a form."""
        return "" if self.view else self.channel


class StopRequest(_Inbound):
    """A stop that isn't a message: Slack's Stop button, or a ❌ on one's own message.

    *given* is its time as a Slack ts. *message_ts* is the message with the ❌, or ``""`` to stop the running turn of
    *thread_ts*. The thread of a message with a ❌ is known once its turn is found.
    """

    kind: Literal["stop"] = "stop"
    in_words: ClassVar[str] = "a request to stop"
    given: str
    thread_ts: str = ""
    message_ts: str = ""

    @property
    def thread(self) -> ThreadKey:
        """The thread to stop or, if it isn't known yet, the one that the message would start."""
        return ThreadKey(self.team, self.channel, self.thread_ts or self.message_ts)


class Submission(Interaction):
    """A submitted form that is valid: *form* is its callback_id, *values* are by input name.

    *private_metadata* is the bridge's own data. The result is shown in *channel*, or in its thread *thread_ts*; private
    notices go to *opened_in*.
    """

    kind: Literal["submission"] = "submission"
    in_words: ClassVar[str] = "a submitted form"
    form: str
    values: dict[str, Any] = Field(default_factory=dict)
    private_metadata: str = ""
    thread_ts: str = ""
    opened_in: str = ""


class Notice(Respondable):
    """A rendered reply on its way to one person: *what* names it, in the audit, and *reply* is its stored form.

    *of* is the person's action, named as in `bridge.engine.finished_turns.action_name`. *is_offer*: nothing was
    refused. In those of an earlier release, *what* has facts after a colon, and there's no *reply*.
    """

    version: ClassVar[int] = 2
    kind: Literal["notice"] = "notice"
    in_words: ClassVar[str] = "a notice"
    what: str
    reply: dict[str, Any] = {}
    of: str = ""
    is_offer: bool = False
    ts: str = ""
    thread_ts: str = ""

    @classmethod
    def about(
        cls, inbound: _Inbound, what: str, reply: dict[str, Any], *, of: str = "", is_offer: bool = False
    ) -> Self:
        """Return a notice where its person sees what becomes of *inbound*; *what* may have facts after a colon."""
        channel = getattr(inbound, "opened_in", "") or inbound.channel
        place = {name: getattr(inbound, name, "") for name in ("ts", "thread_ts", "response_url")}
        return cls(
            team=inbound.team, channel=channel, user=inbound.user, what=what.partition(":")[0], reply=reply, of=of,
            is_offer=is_offer, **place,
        )  # fmt: skip

    @classmethod
    def direct(cls, team: str, user: str, what: str, reply: dict[str, Any], *, of: str = "notice") -> Self:
        """Return a notice in a person's direct message with the bot, for which nothing was refused."""
        return cls(team=team, channel=user, user=user, what=what, reply=reply, of=of, is_offer=True)


class HomeOpened(_Inbound):
    """Someone opened the Home tab, or its content changed; *channel* is their direct message with the bot.

    *view_hash* is the hash of the view they see, or ``""``. *refusal*: they may see only this reason.
    """

    is_unrequested: ClassVar[bool] = True
    is_placed: ClassVar[bool] = True
    kind: Literal["home"] = "home"
    in_words: ClassVar[str] = "the Home tab was opened"
    view_hash: str = ""
    refusal: str = ""

    @property
    def place(self) -> str:
        """Outside of any channel."""
        return ""


class UserGroupChanged(_Inbound):
    """A user *group*, which has this *handle* now, was created, changed, disabled or enabled *by* someone.

    *user* is ``""``: nobody's access counts.
    """

    is_unrequested: ClassVar[bool] = True
    kind: Literal["user_group"] = "user_group"
    group: str
    handle: str = ""
    by: str = ""


class MessagesTabOpened(_Inbound):
    """Someone opened the bot's Messages tab; *channel* is that direct message."""

    is_greeting: ClassVar[bool] = True
    is_unrequested: ClassVar[bool] = True
    is_placed: ClassVar[bool] = True
    kind: Literal["messages_opened"] = "messages_opened"
    in_words: ClassVar[str] = "the Messages tab was opened"


class Shortcut(Interaction):
    """A used shortcut: *name* is its callback_id. A message shortcut has the message's *text*, *parts* and *author*.

    *not_written* is the reason why nobody wrote that message (`bridge.ends.messages`). *text* has Slack's escapes. A
    global shortcut has no channel, so it can only show a form. *refusal* is the reason if the person may not use it.
    """

    is_placed: ClassVar[bool] = True
    kind: Literal["shortcut"] = "shortcut"
    in_words: ClassVar[str] = "a shortcut"
    name: str
    text: str = ""
    author: str = ""
    message_ts: str = ""
    thread_ts: str = ""
    refusal: str = ""
    not_written: str = ""
    parts: tuple[MessagePart, ...] = ()


Inbound = (
    InboundMessage
    | SlashCommand
    | Click
    | StopRequest
    | Submission
    | Notice
    | HomeOpened
    | UserGroupChanged
    | MessagesTabOpened
    | Shortcut
    | Job
)


def starters_of(body: Inbound | None, causer: str) -> list[tuple[str, Starter, str]]:
    """Return those for whom something that *body* starts is judged, each with what starts it, and the app's ID.

    That's the owner of what starts it by itself, or the author of a message, and last the person who causes it now.
    """
    starters = [*body.starters] if body else []
    return starters if any(person == causer for person, _, _ in starters) else [*starters, (causer, "person", "")]


def to_json(inbound: Inbound) -> str:
    """Return the stored form."""
    try:
        return inbound.model_dump_json(exclude_defaults=False)
    except PydanticSerializationError:  # a lone surrogate in a form: JSON has it, UTF-8 doesn't
        return json.dumps(inbound.model_dump(), ensure_ascii=False).encode(errors="replace").decode()


def from_json(text: str) -> Inbound:
    """Parse the stored form. Raises `RecordNotUnderstood`."""
    try:
        inbound: Any = KINDS[json.loads(text)["kind"]].model_validate_json(text)
    except (KeyError, TypeError, ValueError) as exc:  # pydantic's are ValueErrors, too
        raise RecordNotUnderstood("inbound") from exc
    return inbound  # type: ignore[no-any-return]
