"""The table of all that can happen to a message: each decision on its arrival, each wait, and each end of a turn.

Every entry has a sentence that says what happened and one that says what helps, for ``!why`` and `bridge trace`, which
share `explain`, and for the docs. A test derives decisions and ends from the source, and fails for one without both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, Final, Literal, Self

from bridge.engine.notices import why_not_posted
from bridge.errors import BridgeError, NotAllowed, TooOften
from bridge.inbound import SLACK_ITSELF
from bridge.queue.deliveries import NOT_YET
from bridge.queue.inbox import NotStored
from bridge.queue.trace import MessageTrace, TurnTrace
from bridge.slack.blockkit import kit
from bridge.slack.payloads import app_of, text

WRITTEN: Final = (None, "", "file_share", "thread_broadcast", "me_message")
"""Subtypes of messages that a person wrote. Others are about events such as joins and topics, or from bots."""

Decision = Literal[
    "queued", "duplicate", "ignored", "refused", "full", "paused", "unbound", "muted", "early", "deferred",
    "edited", "asked", "known", "late", "unknown", "withdrawn", "stopped", "missed", "outdated",
]  # fmt: skip


Cure = Literal["", "send", "again", "now", "new text"]
"""The button that helps: send a reply that needed a mention, send a message again or now, or send its edited text."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What *happened*, as a sentence with facts in braces, and the *cure*, as a sentence and perhaps a *button*.

    Both are about "this message". *word* is the same for operators, in the audit and the trace. Only its author sees
    what isn't *public*.
    """

    happened: str
    cure: str
    button: Cure = ""
    is_public: bool = True
    word: str = ""

    def called(self, word: str) -> Meaning:
        """Return the same with another *word* for operators."""
        return replace(self, word=word)


_AGAIN: Final = "Send it again if you still need an answer."
_NEW_REQUEST: Final = "Ask again to get a new approval."
_MENTION: Final = "Mention me when a reply is for the agent."
_NOTHING_TO_DO: Final = "There's nothing to do."
_MUTED: Final = Meaning(
    "This thread is muted, so this message wasn't sent to the agent.", "Type !unmute to change that.",
    word="thread is muted",
)  # fmt: skip
_OTHERS: Final = Meaning(
    "Others are writing in this thread, too, so this reply wasn't sent to the agent.", _MENTION, "send"
)
_NO_CONVERSATION: Final = Meaning("This thread has no conversation with an agent.", "Mention me in it to start one.")
_FULL: Final = Meaning(
    "Too many messages were already waiting in this thread, so this one wasn't queued.", "Send it again later.",
    word="queue full",
)  # fmt: skip
_TOO_FAST: Final = Meaning(
    "You were sending messages too fast, so this one wasn't queued.", "Wait a minute, and send it again.",
    is_public=False, word="rate limit",
)  # fmt: skip
_MISSED: Final = Meaning(
    "I was offline when this command was typed, so I didn't run it.", "Type it again if you still need it.",
    is_public=False, word="found too late, not run",
)  # fmt: skip
_NO_RULE: Final = Meaning(
    "This channel has no rule for the app that posted this.", "Add one with /agents channel ask or /agents channel run."
)
_RULE_PAUSED: Final = Meaning(
    "This channel's rule for this app is paused, because its owner may no longer do that here.",
    "Set it up again with /agents channel.",
)
_RESENT: Final = Meaning(
    "This message arrived before one that it depends on, so it's waiting for that.",
    "Slack sends both again within ten minutes, so there's nothing to do.",
)
_STOPPED: Final = Meaning(
    "Someone stopped this message, so no answer is shown.", "Send it again to get one.", "again",
)  # fmt: skip
_WITHDRAWN: Final = Meaning(
    "This message was withdrawn while it was waiting, so it wasn't sent to the agent.", _AGAIN, "again"
)
_DELETED: Final = Meaning("This message was deleted, so no answer is shown.", "Write it again if you need one.")
_UNKNOWN: Final = Meaning(
    "I can't tell whether the agent received this message{cause}.", "Sending it again may repeat the work.", "again",
    word="outcome unknown",
)  # fmt: skip
_WITH_NEW_TEXT: Final = Meaning(
    "The agent received this message before it was edited, and didn't get the new text.",
    "Send the new text if it needs that, too.", "new text", is_public=False, word="asked whether to send the new text",
)  # fmt: skip
_NEXT: Final = Meaning("This message is next in line.", "I'll send it to the agent in a moment.")
_REPLIED: Final = Meaning("I replied to this message.", "Open my reply to read it.")
_ANSWERED: Final = Meaning("The agent replied to this message.", "Open its reply to read it.")
_USED_UP: Final = Meaning(
    "A limit was used up, so nothing was sent{cause}.", "Try again later, or ask your admin.",
    is_public=False, word="limit used up",
)  # fmt: skip
_OF_A_CHANGE: Final = Meaning(
    "An edit or a deletion of this message changed nothing, because it was older than what I know.", _NOTHING_TO_DO
)
_NOT_A_MESSAGE: Final = Meaning(
    "This isn't a message that someone wrote, so it's not for an agent.", "Use this on a message that someone wrote."
)

DECISIONS: Final[Mapping[Decision, Meaning]] = {
    "queued": _NEXT,
    "duplicate": Meaning("Slack delivered this message again, and I handled it once.", _NOTHING_TO_DO),
    "ignored": Meaning("This message isn't for an agent.", _MENTION),
    "refused": Meaning("The author of this message doesn't have access here.", "Ask your admin for access."),
    "full": _FULL,
    "paused": _TOO_FAST,
    "unbound": _NO_CONVERSATION,
    "muted": _MUTED,
    "early": _RESENT,
    "deferred": _RESENT,
    "edited": Meaning("This message was edited while it was waiting, and its new text will be sent.", _NOTHING_TO_DO),
    "asked": _WITH_NEW_TEXT,
    "known": _OF_A_CHANGE,
    "late": _OF_A_CHANGE,
    "unknown": Meaning("I don't know the message that was changed.", _AGAIN),
    "withdrawn": _WITHDRAWN,
    "stopped": _DELETED,
    "missed": _MISSED,
    "outdated": Meaning("This message was edited while I was offline, so I'm reading its new text.", _NOTHING_TO_DO),
}
"""Each decision about a message or its change."""


class Reason(StrEnum):
    """Why a message didn't become a turn, and what that means for people.

    The text is stored, and shown by `bridge trace`; ``{}`` is a fact.
    """

    meaning: Meaning

    def __new__(cls, said: str, meaning: Meaning) -> Self:
        """Make a reason, which is the text."""
        reason = str.__new__(cls, said)
        reason._value_, reason.meaning = said, meaning
        return reason

    ABOUT_SOMETHING = "a message about something", _NOT_A_MESSAGE
    OWN = (
        "written by the bot itself",
        Meaning("This is one of my own messages.", "Use this on the message that you want to know about."),
    )
    OF_SLACK = (
        "written by Slack itself",
        Meaning("Slack itself wrote this message, and I only answer people.", "Mention me yourself."),
    )
    HIDDEN = "hidden", _NOT_A_MESSAGE
    OF_NOBODY = "not a message that a person wrote", _NOT_A_MESSAGE
    NO_DELETION = "not the deletion of a message", _NOT_A_MESSAGE
    SAME_TEXT = "changed, but not in its text", _OF_A_CHANGE
    CHANGED_BY_SLACK = "changed, but not by its person", _OF_A_CHANGE
    NO_TEXT = "no text", Meaning("This message has no text that I could send.", "Say in words what you need.")
    NOT_ADDRESSED = (
        "not addressed to the bot",
        Meaning(
            "This message doesn't mention me, so I didn't send it to an agent.", "Mention me in it, or in a reply."
        ),
    )
    FOR_OTHERS = (
        "starts by mentioning someone else",
        Meaning("This message starts by mentioning someone else, so I didn't send it to the agent.", _MENTION, "send"),
    )
    NEEDS_MENTION = (
        "replies need a mention here",
        Meaning("Replies need a mention in this channel, so this one wasn't sent to the agent.", _MENTION, "send"),
    )
    OTHERS_WRITE = "others are writing in this thread, so the reply needs a mention", _OTHERS
    OF_OTHER_BOT = (
        "posted by another app's bot",
        Meaning(
            "Another app posted this message, and I only answer people.",
            "Mention me yourself, or add a rule for the app with /agents channel ask.",
        ),
    )
    NO_ACCESS = "its author doesn't have access: {}", DECISIONS["refused"]
    MUTED = "its thread is muted", _MUTED
    NO_CONVERSATION = "its thread has no conversation", _NO_CONVERSATION
    DELETED = (
        "it was deleted before Slack delivered it",
        Meaning("This message was deleted before Slack delivered it.", "Write it again if you need one."),
    )
    EDITED_AWAY = (
        "it was edited before Slack delivered it, and its new text isn't for an agent",
        Meaning(
            "This message was edited before Slack delivered it, and its new text isn't for an agent.",
            "Mention me in it.",
        ),
    )
    EDITED_LATE = (
        "edited more than seven days after it was written",
        Meaning("This message was edited more than seven days after it was written.", "Send it as a new message."),
    )
    SETTLED = (
        "it was delivered before, and wasn't for an agent then",
        Meaning(
            "Slack delivered this message before, and it wasn't for an agent then.",
            "Send it again, with a mention, if it's for one now.",
        ),
    )
    NEW_TEXT_COMES = f"{NOT_YET}it was edited in the meantime, so Slack is asked to resend both", _RESENT
    ROOT_COMES = f"{NOT_YET}its thread's first message was refused, so Slack is asked to resend both", _RESENT
    READ_AGAIN = f"{NOT_YET}it's read again once its thread's first message arrives, within ten minutes", _RESENT
    NO_RULE = "posted by an app without a rule here ({})", _NO_RULE
    OTHER_NAME = (
        "posted under a name without a rule here, by an app with one ({})",
        Meaning(
            "This channel's rule is for another name that this app posts under.",
            "Add one for this name with /agents channel ask or /agents channel run.",
        ),
    )
    APP_IN_THREAD = (
        "posted by an app in a thread",
        Meaning("An app posted this in a thread, and I only answer people there.", "Mention me yourself."),
    )
    APP_FROM_ELSEWHERE = (
        "posted by an app from another workspace",
        Meaning("An app of another workspace posted this.", "Mention me yourself."),
    )
    RULE_PAUSED = "the rule for its app is paused ({})", _RULE_PAUSED
    APP_TOO_FAST = (
        "its app, {}, is posting too fast",
        Meaning("This app was posting too fast, so I ignored this post.", "Mention me yourself."),
    )
    TOO_LATE_TO_RUN = (
        "found too late to run a workflow",
        Meaning(
            "I was offline when this was posted, so I didn't run the channel's workflow on it.",
            "Run it with /workflows run.",
        ),
    )

    def about(self, fact: object) -> str:
        """Return the reason with its fact."""
        return self.value.replace("{}", str(fact))

    @classmethod
    def of(cls, said: str) -> Reason | None:
        """Return the reason that was stored, perhaps with a fact; None for one from another version."""
        for one in cls:
            begins, has_fact, _ = one.partition("{}")
            if said == one or (has_fact and said.startswith(begins)):
                return one
        return None


REFUSALS: Final[Mapping[str, Meaning]] = {
    "user": Meaning(
        "You aren't among the people who have access to the bridge.", "Ask your admin to add you.",
        is_public=False, word="not in BRIDGE_ALLOWED_USERS",
    ),
    "channel": Meaning(
        "The bridge isn't enabled in this channel.", "Ask your admin to enable it.",
        word="not in BRIDGE_ALLOWED_CHANNELS",
    ),
    "stranger": Meaning(
        "Only members of the bridge's own workspace can use it.", "Ask one of them to write to me.",
        is_public=False, word="from another workspace",
    ),
    "unknown": Meaning(
        "Slack couldn't confirm who you are, so I didn't send this message to an agent.", "Send it again in a minute.",
        is_public=False, word="Slack didn't say where they're from",
    ),
    "rule": Meaning(  # in its own words, if they're known: see `_refused`
        "The rules here don't allow this.", "Ask your admin for access.",
        is_public=False, word="refused by a rule",
    ),
    "canvas": Meaning(
        "I can't answer in a canvas.", "Mention me in a channel, or send me a direct message.", word="in a canvas"
    ),
    "command_missed": _MISSED,
    "thread_full": _FULL,
    "not_queued": Meaning(
        "I couldn't queue this message.", "Send it again in a minute.", is_public=False, word="message not queued"
    ),
    "muted": _MUTED,
    "paused": _TOO_FAST,
    "paused:thread": Meaning(
        "This thread was getting messages too fast, so this one wasn't queued.", "Wait a minute, and send it again.",
        word="rate limit",
    ),
}  # fmt: skip
"""Each refusal on arrival, by the name of the notice about it."""

_FAILED: Final = Meaning("The project service couldn't handle this message{cause}.", _AGAIN)
_ANSWERED_BADLY: Final = Meaning(
    "The agent or its service answered with an error{cause}.", "Change the message and try again, or ask your admin."
)
_DOWN: Final = Meaning("The project service was unavailable{cause}.", "Send it again in a minute.")
_SLACK: Final = Meaning("Slack couldn't do this{cause}.", "Try again in a moment, or ask your admin.")
_BROKEN: Final = Meaning("The bridge couldn't handle this message.", "Try again in a moment, or ask your admin.")
_TYPED: Final = Meaning("I couldn't carry out this command as it was typed.", "My reply says what to change.")
_NOT_ALLOWED: Final = Meaning("This message's author no longer has access here.", "Ask your admin for access.")
_NOTHING_SHOWN: Final = Meaning("There was nothing to show.", _NOTHING_TO_DO)

REQUESTS: Final[Mapping[str, Meaning]] = {
    "draft": Meaning(
        "The run that this message asks for needs approval.", "Say why it's needed, in the form I offered."
    ),
    "waiting": Meaning(
        "The run that this message asks for waits for approval.", "Ask one of the people whom its card names."
    ),
    "approved": Meaning("The run that this message asks for was approved.", "Its own card shows how it ended."),
    "denied": Meaning("The run that this message asks for was denied.", "Its card says by whom and why."),
    "withdrawn": Meaning("The request for approval was withdrawn, so nothing ran.", _NEW_REQUEST),
    "expired": Meaning("The run that this message asks for wasn't approved in time.", _NEW_REQUEST),
    "changed": Meaning(
        "The rules, the workflow or someone's access changed before the run that this message asks for could start.",
        _NEW_REQUEST,
    ),
}
"""Each state of a request for approval that a message has made."""

ENDS: Final[Mapping[str, Meaning]] = {
    "answered": _ANSWERED,
    "not read": Meaning(
        "Nothing in this message could be read, so it wasn't sent to the agent.", "Say in words what you need.",
        word="listed attachments that can't be read",
    ),
    **dict.fromkeys(("ran", "shown", "menu", "form opened", "form offered", "form not opened"), _REPLIED),
    "mention_without_text": _REPLIED.called("asked for a question"),
    "app_paused": _REPLIED.called("too many messages from an app"),
    "not_posted": _REPLIED.called("notified: Slack rejected the post"),
    "not_queued": _REPLIED.called("not queued"),
    "unfinished": _REPLIED.called("notified: it couldn't be finished"),
    "not_read": _REPLIED.called("listed attachments that can't be read"),
    "edited": _REPLIED.called("asked whether to send the new text"),
    "gone": _REPLIED.called("expired"),
    "full": _FULL,
    "slip": Meaning(
        "This looked like a mistyped command or project, so nothing was sent to the agent.",
        "Choose below my question what you meant.",
        is_public=False, word="looked mistyped; asked what was meant",
    ),
    "unknown": _UNKNOWN,
    "too old": Meaning("This message waited too long, so I didn't send it to the agent.", _AGAIN, "now"),
    "discarded": Meaning(
        "This message wasn't sent to the agent, because nobody decided about it in time, or its thread was deleted.",
        _AGAIN,
    ),
    "stopped": _STOPPED,
    "withdrawn": _WITHDRAWN,
    "deleted": _DELETED,
    "post in doubt": Meaning(
        "Slack didn't confirm my reply, so it may be missing.", "If you can't see it, press Show it in my notice."
    ),
    "its app no longer has a rule here": _NO_RULE,
    "its app's rule is paused": _RULE_PAUSED,
    "its thread has no conversation": _NO_CONVERSATION,
    "others are writing in its thread, so it needs a mention": replace(_OTHERS, button=""),
    **dict.fromkeys((
        "the service is down", "prompts", "home shown", "home is newer", "home refused", "home not shown",
        "a newer version wrote this schedule", "its schedule was deleted", "its schedule is paused",
        "it's too late for this slot", "its schedule was paused", "it isn't a report", "it isn't a question or a run",
        "skipped: the one before is still running", "skipped", "its run is queued", "its project was removed",
        "no handle was changed by people", "the handles were looked at",
    ), _NOTHING_SHOWN),
    "waits for approval": REQUESTS["waiting"].called("waits for approval"),
    "not shown": _NOTHING_SHOWN,
    "notified in a direct message": _REPLIED,
    "BridgeError": _BROKEN.called("failed"),
    "ConfigurationError": _BROKEN.called("settings are missing"),
    "ProjectError": _FAILED.called("the service failed"),
    "CannotConnect": _DOWN.called("the service is unreachable"),
    "CircuitOpen": _DOWN.called("the service is down"),
    "TimedOut": _FAILED.called("the service timed out"),
    "ConnectionLost": _FAILED.called("the connection to the service was lost"),
    "NotUnderstood": _ANSWERED_BADLY.called("the service sent an unreadable response"),
    "ServiceRefused": _ANSWERED_BADLY.called("the service refused it"),
    "Forbidden": Meaning(
        "The project service doesn't let the bridge do this{cause}.", "Let your admin know.",
        word="the service doesn't allow it",
    ),
    "NotSignedIn": Meaning(
        "The project service rejected the bridge's key{cause}.", "Let your admin know.",
        word="the service rejected the key",
    ),
    "NotFound": Meaning(
        "The project service no longer has the agent or workflow that this message was for{cause}.",
        "Pick another one, or ask your admin.",
        word="not found by the service",
    ),
    "Busy": Meaning("The project service was busy{cause}.", _AGAIN, word="the service is busy"),
    "Outage": _DOWN.called("the service is down"),
    "Moved": Meaning(
        "The project service's address leads elsewhere{cause}.", "Ask your admin to check it.",
        word="the service's address redirects",
    ),
    "SlackError": _SLACK.called("Slack failed"),
    "SlackRefused": _SLACK.called("Slack refused it"),
    "SlackTokenRefused": _SLACK.called("Slack rejected the token"),
    "SlackUnreachable": _SLACK.called("Slack is unreachable"),
    "SlackAmbiguous": _SLACK.called("unknown whether Slack received it"),
    "ThreadGone": _DELETED.called("the thread was deleted"),
    "SlackGone": _SLACK.called("the connection to Slack was lost"),
    "StoreError": _BROKEN.called("Redis failed"),
    "StoreUnavailable": _BROKEN.called("Redis is unreachable"),
    "StoreWiped": _BROKEN.called("Redis was wiped"),
    "NamespaceTaken": _BROKEN.called("the namespace belongs to another bot"),
    "LaneLost": _BROKEN.called("another process took over"),
    "RecordNotUnderstood": _BROKEN.called("written by another version"),
    "ControlNotUnderstood": _BROKEN.called("made by another version"),
    "ProjectRemoved": Meaning(
        "The project that this message was for was removed.", "Ask your admin which project to use.",
        word="the project was removed",
    ),
    "CommandError": _TYPED.called("not recognized"),
    "ProjectNotChosen": Meaning(
        "I asked which project this message is for.", "Choose one below my question.", word="asked which project"
    ),
    "UnknownCommand": _TYPED.called("no such command"),
    "UnknownOption": _TYPED.called("no such option"),
    "BadUsage": _TYPED.called("wrong usage"),
    "NoSuch": _TYPED.called("no match"),
    "SeveralFit": _TYPED.called("several matches"),
    "NotSure": _TYPED.called("asked which was meant"),
    "BadSchedule": _TYPED.called("schedule or time not accepted"),
    "BadAlert": _TYPED.called("alert not accepted"),
    "BadInput": _TYPED.called("input isn't valid JSON; asked what to do"),
    "NotAllowed": _NOT_ALLOWED.called("no permission"),
    "TooOften": _TOO_FAST,
    "TooManyRequests": Meaning(
        "Too many requests are waiting for approval, so I didn't ask for this one.",
        "Ask again when some of them are decided.", is_public=False, word="too many requests for approval",
    ),
}  # fmt: skip
"""Each end of a turn that isn't simply a reply, by its stored word, without the fact after a colon."""

DEATHS: Final[Mapping[str, Meaning]] = {
    "Slack: unknown whether it was posted": ENDS["post in doubt"],
    "Slack": Meaning("Slack refused my reply: {refused}.", "It's saved, and your admin can post it once that's fixed."),
    "started several times, never finished": Meaning(
        "I couldn't finish this message, even after several attempts.", _AGAIN, "again"
    ),
    "written by another version of the bridge": Meaning(
        "Another version of the bridge saved this message, and I can't read it.", _AGAIN
    ),
}
"""Each reason for which a turn is given up."""


class State(Enum):
    """What is true of a message that isn't over, or of which nothing is recorded."""

    BEHIND = Meaning(
        "This message is waiting for {count} in this thread.", "I'll send it to the agent once they're answered."
    )
    NEXT = _NEXT
    MENU = Meaning("This message is waiting for someone to pick an agent.", "Pick one from the menu.")
    HELD = Meaning(
        "This thread was stopped while this message was waiting.",
        "Write another message to send it, or press Discard in the thread.",
    )
    UNREAD = Meaning(
        "I'm still reading what was written in this thread while I was offline, and this message waits for that.",
        "It takes ten minutes at most.",
    )
    DOWN = Meaning(
        "The project service has been unavailable since {since}, so this message is waiting.",
        "I'll send it to the agent once the service is back.",
    )
    NOT_ACCEPTED = Meaning(
        "The project service isn't accepting this message right now, so it's waiting.", "I try again every few seconds."
    )
    TRIED_LATER = Meaning(
        "I'll send this message again at {since}, because the project service isn't accepting it right now.",
        "Type !stop in the thread to stop waiting.",
    )
    WORKING = Meaning(
        "This message was sent to the project service at {since}, and there's no answer yet.",
        "Type !stop in the thread to stop waiting.",
    )
    POSTING = Meaning("There's an answer, but Slack hasn't accepted it yet.", "I'll keep trying.")
    EDITED = _WITH_NEW_TEXT
    REPLIED = _REPLIED
    REPLIED_PRIVATELY = Meaning(
        "I replied to this message in private.",
        "Such a reply disappears after a while; send the message again to get a new one.",
        is_public=False,
    )
    DISCARDED_BY_ADMIN = Meaning("This message couldn't be finished, and your admin discarded it.", _AGAIN)
    NOT_A_MEMBER = Meaning(
        "I'm not in this channel, so this message didn't reach me.", "Invite me with /invite, and mention me again."
    )
    BEFORE_RECORDS = Meaning("This message is older than my records, which begin at {since}.", _AGAIN)
    TOO_OLD_FOR_RECORDS = Meaning("This message is older than seven days, and I have no older records.", _AGAIN)
    CATCHING_UP = Meaning(
        "I'm still reading what was written while I was offline, and haven't reached this message.",
        "I'll handle it once I have, so there's nothing to do.",
    )
    NEVER_ARRIVED = Meaning(
        "Slack hasn't delivered this message to me.", "Send it again, and tell your admin if that doesn't help."
    )
    NEVER_ARRIVED_ADMIN = Meaning(
        "Slack hasn't delivered this message to me.",
        "Send it again; if that doesn't help, run bridge check and look at Event Subscriptions on the app's page.",
    )
    RUN_UNKNOWN = Meaning(
        "I can't tell whether the workflow ran{cause}.", "Running it again may repeat the work.", word="outcome unknown"
    )
    OF_SOMEONE_ELSE = Meaning(
        "Only its author can see what happened to this message.", "They can use Why no answer? on it."
    )
    NOT_FOUND = Meaning(
        "I can't see which message you mean.", "Use Why no answer? on a message, or type !why and its link."
    )


def not_written(message: Mapping[str, Any]) -> Reason | None:
    """Return why a *message*, as Slack shows it, isn't one that a person or an app wrote; None if it is."""
    user, app = text(message, "user"), app_of(message)
    if message.get("subtype") not in (WRITTEN if not app else (*WRITTEN, "bot_message")):
        return Reason.ABOUT_SOMETHING
    if user in SLACK_ITSELF:
        return Reason.OF_SLACK
    if message.get("hidden"):
        return Reason.HIDDEN
    return None if user or app else Reason.OF_NOBODY


@dataclass(frozen=True, slots=True)
class Received:
    """The decision about a message, in a word for metrics and logs.

    Its *reason* is a `Reason`, perhaps with a fact, or of a refusal the name of the notice about it.
    """

    decision: Decision
    reason: str = ""


NOT_QUEUED: Final[Mapping[NotStored, Received]] = {
    "duplicate": Received("duplicate"),
    "full": Received("full"),
    "paused": Received("paused"),
    "muted": Received("ignored", Reason.MUTED),
    "unbound": Received("unbound", Reason.NO_CONVERSATION),
    "deleted": Received("ignored", Reason.DELETED),
    "edited": Received("ignored", Reason.EDITED_AWAY),
    "newer": Received("early", Reason.NEW_TEXT_COMES),
    "early": Received("early", Reason.ROOT_COMES),
    "deferred": Received("deferred", Reason.READ_AGAIN),
    "others": Received("ignored", Reason.OTHERS_WRITE),
}
"""The decision about a message that the inbox didn't store, by its end there; it's never ``stale`` or a ``menu``."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What happened to a message: its *meaning* in the table, its facts, and the latest *turn*, if it became one.

    *since* fills in ``{since}``. *refusal* is the name of the rule that refused it. *shown_at* is the ``ts`` of the
    bot's message about it, if everyone can see it.
    """

    meaning: Meaning
    facts: Mapping[str, str] = field(default_factory=dict)
    since: datetime | None = None
    turn: TurnTrace | None = None
    reason: Reason | None = None
    refusal: str = ""
    shown_at: str = ""

    def happened(self, since: str = "{since}") -> str:
        """Return what happened, in a sentence; *since* is the moment in words."""
        text = self.meaning.happened
        for name, value in {"cause": "", "count": "", "refused": "", **self.facts, "since": since}.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    @property
    def is_public(self) -> bool:
        """Whether everyone in its thread can see that."""
        return self.meaning.is_public or bool(self.shown_at)

    @property
    def button(self) -> Cure:
        """The button that helps, if what it would send is still stored; a reply that needs a mention never was."""
        needs_text = self.meaning.button in {"again", "now"}
        return "" if needs_text and not (self.turn and self.turn.has_text) else self.meaning.button


def explain(known: MessageTrace, down_since: datetime | None = None) -> Explanation | None:
    """Say what happened to a message; None if nothing is recorded. *down_since*: the service has been down."""
    if known.turns:
        return _of_turn(known.turns[-1], down_since)
    if not known.passed_over:
        return None
    why = known.passed_over[-1].why
    reason = Reason.of(why)
    if reason is Reason.NO_ACCESS:
        return _refused(why.partition(": ")[2])
    return Explanation(reason.meaning if reason else DECISIONS["ignored"], reason=reason)


def end_of(what: str) -> Meaning | None:
    """Return the meaning of the end of a turn; None if it was a reply of a command, a button or the like."""
    if what.startswith("refused: "):
        return _refused(what.partition(": ")[2]).meaning
    return ENDS.get(what) or ENDS.get(what.partition(":")[0])


def _refused(what: str, turn: TurnTrace | None = None) -> Explanation:
    """Explain a refusal by the name of its notice, with facts after a colon."""
    name, _, facts = what.partition(":")
    if name == "rule" and facts:  # in the words of the operator's file, whose last sentence says what helps
        happened, _, cure = facts.rpartition(". ")
        return Explanation(replace(REFUSALS["rule"], happened=f"{happened}.", cure=cure), turn=turn, refusal="rule")
    line = REFUSALS.get(f"{name}:{facts.partition(':')[0]}") or REFUSALS.get(name) or _NOT_ALLOWED
    return Explanation(line, {} if turn is None else _cause(turn), turn=turn, refusal=name)


def _of_turn(turn: TurnTrace, down_since: datetime | None) -> Explanation:
    if turn.kind == "notice" and turn.deliveries and turn.deliveries[0].why.startswith("refused: "):
        return _refused(turn.deliveries[0].why.partition(": ")[2], turn)
    if turn.step in {"queued", "sent", "posting"} and turn.ends_as:
        return Explanation(replace(ENDS[turn.ends_as], button=""), turn=turn)
    match turn.step:
        case "queued":
            return _waiting(turn, down_since)
        case "sent":
            return Explanation(State.WORKING.value, since=turn.sent_at, turn=turn)
        case "posting":
            return Explanation(State.POSTING.value, turn=turn)
        case "dead":
            return _dead(turn)
        case _:
            return _ended(turn)


def _waiting(turn: TurnTrace, down_since: datetime | None) -> Explanation:
    if turn.is_held:
        return Explanation(State.HELD.value, turn=turn)
    if turn.menu:
        return Explanation(State.MENU.value, turn=turn, shown_at=turn.menu)
    if turn.is_parked:
        return Explanation(State.MENU.value, turn=turn)
    if down_since:
        return Explanation(State.DOWN.value, since=down_since, turn=turn)
    if turn.ahead:
        return Explanation(State.BEHIND.value, {"count": kit.counted(turn.ahead, "other message")}, turn=turn)
    if turn.waits_for_reading:
        return Explanation(State.UNREAD.value, turn=turn)
    if turn.next_try:
        return Explanation(State.TRIED_LATER.value, since=turn.next_try, turn=turn)
    return Explanation((State.NOT_ACCEPTED if turn.unsent else State.NEXT).value, turn=turn)


def _dead(turn: TurnTrace) -> Explanation:
    reason = turn.deaths[-1][1] if turn.deaths else turn.what
    if turn.dropped_at:
        return Explanation(State.DISCARDED_BY_ADMIN.value, turn=turn)
    if turn.died == "sent":
        return Explanation(_unknown(turn), _cause(turn), turn=turn)
    name, _, error = reason.partition(": ")
    line = DEATHS.get(reason) or DEATHS.get(name) or DEATHS["started several times, never finished"]
    if name == "Slack" and turn.died == "queued":  # the menu that asks for an agent
        line = replace(line, cure="Send it again once that's fixed.", button="again")
    return Explanation(line, {"refused": why_not_posted(error)}, turn=turn)


def _ended(turn: TurnTrace) -> Explanation:
    what = turn.what
    line = _unknown(turn) if what == "unknown" else end_of(what)
    if turn.approval in REQUESTS:
        return Explanation(REQUESTS[turn.approval], turn=turn, shown_at=turn.posted)
    if what.startswith("refused: "):
        return _refused(what.partition(": ")[2], turn)
    if what == NotAllowed.__name__ and turn.cause:
        return _refused(f"rule:{_said(turn)}", turn)
    if what == TooOften.__name__ and turn.cause:
        return Explanation(_USED_UP, _cause(turn), turn=turn)
    if turn.has_new_text and line in {None, _REPLIED, _ANSWERED}:
        return Explanation(State.EDITED.value, turn=turn, shown_at="")
    if line is None or line.happened == _REPLIED.happened or (line is _ANSWERED and not turn.posted):
        line = (State.REPLIED if turn.posted else State.REPLIED_PRIVATELY).value
    elif turn.answered_at and not turn.posted and what not in {"stopped", "deleted"}:
        line = replace(line, is_public=False)  # its reply was private, too
    return Explanation(line, _cause(turn), turn=turn, shown_at=turn.posted)


def _unknown(turn: TurnTrace) -> Meaning:
    is_run = turn.kind != "message" or turn.concerns.startswith("workflow ")  # nothing else waits for an outcome
    return State.RUN_UNKNOWN.value if is_run else _UNKNOWN


def _said(turn: TurnTrace) -> str:
    """Return why a call of the service failed, or what refused it: a status or cause, and its own words."""
    cause = turn.cause.removeprefix(f"{turn.concerns}: ").rpartition(", after ")
    said = cause[0] or cause[2]
    name, _, rest = said.partition(": ")
    return rest if name in {one.__name__ for one in _kinds_of(BridgeError)} else said


def _cause(turn: TurnTrace) -> dict[str, str]:
    """Return that as a part of a sentence."""
    said = kit.one_line(_said(turn), 300)
    return {"cause": f" ({said})" if said else ""}


def _kinds_of(base: type[BridgeError]) -> set[type[BridgeError]]:
    return {base}.union(*map(_kinds_of, base.__subclasses__()))
