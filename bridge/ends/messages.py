"""What happens to a message: each decision on its arrival, each wait, and each end of a turn.

A test derives decisions and ends from the source, and fails for one without a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum, StrEnum
from typing import Final, Literal, Self

from bridge.ends import End
from bridge.ends.failures import AGAIN, DELETED, FAILURES
from bridge.ends.refusals import ASK, FULL, MISSED, MUTED, TOO_FAST
from bridge.slack.blockkit import kit

NOT_YET: Final = "not yet: "
"""The prefix of a reason if the message may still become a turn, when Slack resends it."""

Decision = Literal[
    "queued", "duplicate", "ignored", "refused", "full", "paused", "unbound", "muted", "early", "deferred",
    "edited", "asked", "known", "late", "unknown", "withdrawn", "stopped", "missed", "outdated",
]  # fmt: skip

NEW_REQUEST: Final = "Ask again to get a new approval."
_MENTION: Final = "Mention me when a reply is for the agent."
_NOTHING_TO_DO: Final = "There's nothing to do."
OTHERS: Final = End(
    "Others are writing in this thread, too, so this reply wasn't sent to the agent.", _MENTION, "send",
    said="Your reply wasn't sent to the agent, because others are writing in this thread, too.",
)  # fmt: skip
_NO_CONVERSATION: Final = End("This thread has no conversation with an agent.", "Mention me in it to start one.")
_NO_RULE: Final = End(
    "This channel has no rule for the app that posted this.",
    f"Add one with {kit.command('/agents channel ask')} or {kit.command('/agents channel run')}.",
)
_RULE_PAUSED: Final = End(
    "This channel's rule for this app is paused, because its owner may no longer do that here.",
    f"Set it up again with {kit.command('/agents channel')}.",
)
_RESENT: Final = End(
    "This message arrived before one that it depends on, so it's waiting for that.",
    "Slack sends both again within ten minutes, so there's nothing to do.",
)
_STOPPED: Final = End(
    "Someone stopped this message, so no answer is shown.", "Send it again to get one.", "again",
)  # fmt: skip
_WITHDRAWN: Final = End(
    "This message was withdrawn while it was waiting, so it wasn't sent to the agent.", AGAIN, "again"
)
UNKNOWN: Final = End(
    "I can't tell whether the agent received this message{cause}.", "Sending it again may repeat the work.", "again",
    word="outcome unknown", said="{happened}, and I can't tell whether the agent {did}.",
)  # fmt: skip
_WITH_NEW_TEXT: Final = End(
    "The agent received this message before it was edited, and didn't get the new text.",
    "Send the new text if it needs that, too.", "new text", is_public=False, word="asked whether to send the new text",
    said="The agent received this message before you edited it. Send the new text too?",
)  # fmt: skip
_NEXT: Final = End("This message is next in line.", "I'll send it to the agent in a moment.")
REPLIED: Final = End("I replied to this message.", "Open my reply to read it.")
ANSWERED: Final = End("The agent replied to this message.", "Open its reply to read it.")
USED_UP: Final = End(
    "A limit was used up, so nothing was sent{cause}.", "Try again later, or ask your admin.",
    is_public=False, word="limit used up",
)  # fmt: skip
_OF_A_CHANGE: Final = End(
    "An edit or a deletion of this message changed nothing, because it was older than what I know.", _NOTHING_TO_DO
)
_NOT_A_MESSAGE: Final = End(
    "This isn't a message that someone wrote, so it's not for an agent.", "Use this on a message that someone wrote."
)
_NOTHING_SHOWN: Final = End("There was nothing to show.", _NOTHING_TO_DO)

DECISIONS: Final[Mapping[Decision, End]] = {
    "queued": _NEXT,
    "duplicate": End("Slack delivered this message again, and I handled it once.", _NOTHING_TO_DO),
    "ignored": End("This message isn't for an agent.", _MENTION),
    "refused": End("The author of this message doesn't have access here.", ASK),
    "full": FULL,
    "paused": TOO_FAST,
    "unbound": _NO_CONVERSATION,
    "muted": MUTED,
    "early": _RESENT,
    "deferred": _RESENT,
    "edited": End("This message was edited while it was waiting, and its new text will be sent.", _NOTHING_TO_DO),
    "asked": _WITH_NEW_TEXT,
    "known": _OF_A_CHANGE,
    "late": _OF_A_CHANGE,
    "unknown": End("I don't know the message that was changed.", AGAIN),
    "withdrawn": _WITHDRAWN,
    "stopped": DELETED,
    "missed": MISSED,
    "outdated": End("This message was edited while I was offline, so I'm reading its new text.", _NOTHING_TO_DO),
}
"""Each decision about a message or its change."""


class Reason(StrEnum):
    """Why a message didn't become a turn, and what that means for people.

    The text is stored, and shown by `bridge trace`; ``{}`` is a fact.
    """

    meaning: End

    def __new__(cls, text: str, meaning: End) -> Self:
        """Make the stored *text*, with what it means for people."""
        reason = str.__new__(cls, text)
        reason._value_, reason.meaning = text, meaning
        return reason

    ABOUT_SOMETHING = "a message about something", _NOT_A_MESSAGE
    OWN = (
        "written by the bot itself",
        End("This is one of my own messages.", "Use this on the message that you want to know about."),
    )
    OF_SLACK = (
        "written by Slack itself",
        End("Slack itself wrote this message, and I only answer people.", "Mention me yourself."),
    )
    HIDDEN = "hidden", _NOT_A_MESSAGE
    OF_NOBODY = "not a message that a person wrote", _NOT_A_MESSAGE
    NO_DELETION = "not the deletion of a message", _NOT_A_MESSAGE
    SAME_TEXT = "changed, but not in its text", _OF_A_CHANGE
    CHANGED_BY_SLACK = "changed, but not by its person", _OF_A_CHANGE
    NO_TEXT = "no text", End("This message has no text that I could send.", "Say in words what you need.")
    NOT_ADDRESSED = (
        "not addressed to the bot",
        End("This message doesn't mention me, so I didn't send it to an agent.", "Mention me in it, or in a reply."),
    )
    FOR_OTHERS = (
        "starts by mentioning someone else",
        End("This message starts by mentioning someone else, so I didn't send it to the agent.", _MENTION, "send"),
    )
    NEEDS_MENTION = (
        "replies need a mention here",
        End("Replies need a mention in this channel, so this one wasn't sent to the agent.", _MENTION, "send"),
    )
    OTHERS_WRITE = "others are writing in this thread, so the reply needs a mention", OTHERS
    OF_OTHER_BOT = (
        "posted by another app's bot",
        End(
            "Another app posted this message, and I only answer people.",
            f"Mention me yourself, or add a rule for the app with {kit.command('/agents channel ask')}.",
        ),
    )
    NO_ACCESS = "its author doesn't have access: {}", DECISIONS["refused"]
    MUTED = "its thread is muted", MUTED
    NO_CONVERSATION = "its thread has no conversation", _NO_CONVERSATION
    DELETED = (
        "it was deleted before Slack delivered it",
        End("This message was deleted before Slack delivered it.", "Write it again if you need one."),
    )
    EDITED_AWAY = (
        "it was edited before Slack delivered it, and its new text isn't for an agent",
        End(
            "This message was edited before Slack delivered it, and its new text isn't for an agent.",
            "Mention me in it.",
        ),
    )
    EDITED_LATE = (
        "edited more than seven days after it was written",
        End("This message was edited more than seven days after it was written.", "Send it as a new message."),
    )
    SETTLED = (
        "it was delivered before, and wasn't for an agent then",
        End(
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
        End(
            "This channel's rule is for another name that this app posts under.",
            f"Add one for this name with {kit.command('/agents channel ask')} or {kit.command('/agents channel run')}.",
        ),
    )
    APP_IN_THREAD = (
        "posted by an app in a thread",
        End("An app posted this in a thread, and I only answer people there.", "Mention me yourself."),
    )
    APP_FROM_ELSEWHERE = (
        "posted by an app from another workspace",
        End("An app of another workspace posted this.", "Mention me yourself."),
    )
    RULE_PAUSED = "the rule for its app is paused ({})", _RULE_PAUSED
    APP_TOO_FAST = (
        "its app, {}, is posting too fast",
        End(
            "This app was posting too fast, so I ignored this post.",
            "Mention me yourself.",
            said="{app} is posting too fast. I'll ignore its posts for the rest of this minute.",
        ),
    )
    TOO_LATE_TO_RUN = (
        "found too late to run a workflow",
        End(
            "I was offline when this was posted, so I didn't run the channel's workflow on it.",
            f"Run it with {kit.command('/workflows run')}.",
        ),
    )

    def about(self, fact: object) -> str:
        """Return what's stored: the text, with *fact* for its ``{}``."""
        return self.value.replace("{}", str(fact))

    @classmethod
    def of(cls, text: str) -> Reason | None:
        """Return the reason that was stored, perhaps with a fact; None for one from another version."""
        for reason in cls:
            begins, has_fact, _ = reason.partition("{}")
            if text == reason or (has_fact and text.startswith(begins)):
                return reason
        return None


REQUESTS: Final[Mapping[str, End]] = {
    "draft": End("The run that this message asks for needs approval.", "Say why it's needed, in the form I offered."),
    "waiting": End(
        "The run that this message asks for waits for approval.", "Ask one of the people whom its card names."
    ),
    "approved": End("The run that this message asks for was approved.", "Its own card shows how it ended."),
    "denied": End("The run that this message asks for was denied.", "Its card says by whom and why."),
    "withdrawn": End("The request for approval was withdrawn, so nothing ran.", NEW_REQUEST),
    "expired": End("The run that this message asks for wasn't approved in time.", NEW_REQUEST),
    "changed": End(
        "The rules, the workflow or someone's access changed before the run that this message asks for could start.",
        NEW_REQUEST,
    ),
}
"""Each state of a request for approval that a message has made."""

ENDS: Final[Mapping[str, End]] = {
    "answered": ANSWERED,
    "not read": End(
        "Nothing in this message could be read, so it wasn't sent to the agent.", "Say in words what you need.",
        word="listed attachments that can't be read",
    ),
    **dict.fromkeys(("ran", "shown", "menu", "form opened", "form offered", "form not opened"), REPLIED),
    "mention_without_text": REPLIED.called("asked for a question"),
    "app_paused": REPLIED.called("too many messages from an app"),
    "not_posted": REPLIED.called("notified: Slack rejected the post"),
    "not_queued": REPLIED.called("not queued"),
    "unfinished": REPLIED.called("notified: it couldn't be finished"),
    "not_read": REPLIED.called("listed attachments that can't be read"),
    "not_used": REPLIED.called("said that a command takes words only"),
    "edited": REPLIED.called("asked whether to send the new text"),
    "gone": REPLIED.called("expired"),
    "full": FULL,
    "slip": End(
        "This looked like a mistyped command or project, so nothing was sent to the agent.",
        "Choose below my question what you meant.",
        is_public=False, word="looked mistyped; asked what was meant",
    ),
    "unknown": UNKNOWN,
    "too old": End(
        "This message waited too long, so I didn't send it to the agent.", AGAIN, "now",
        said="This message waited for {time}, so I didn't send it to the agent.",
    ),
    "discarded": End(
        "This message wasn't sent to the agent, because nobody decided about it in time, or its thread was deleted.",
        AGAIN,
    ),
    "stopped": _STOPPED,
    "withdrawn": _WITHDRAWN,
    "deleted": DELETED,
    "post in doubt": End(
        "Slack didn't confirm my reply, so it may be missing.", "If you can't see it, press Show it in my notice.",
        said="Slack didn't confirm my last message, so it may be missing here.",
    ),
    "not sent": MUTED,
    "its thread is muted": MUTED,
    "its app no longer has a rule here": _NO_RULE,
    "its app's rule is paused": _RULE_PAUSED,
    "its thread has no conversation": _NO_CONVERSATION,
    "others are writing in its thread, so it needs a mention": replace(OTHERS, button=""),
    **dict.fromkeys((
        "the service is down", "prompts", "home shown", "home is newer", "home refused", "home not shown",
        "a newer version wrote this schedule",
        "the schedule was deleted", "the schedule is paused", "the schedule was paused",
        "its schedule was deleted", "its schedule is paused", "its schedule was paused",  # as an earlier release said
        "it's too late for this slot", "it isn't a report", "it isn't a question or a run",
        "skipped: the one before is still running", "skipped", "its run is queued", "its project was removed",
        "no handle was changed by people", "the handles were looked at",
    ), _NOTHING_SHOWN),
    "waits for approval": REQUESTS["waiting"].called("waits for approval"),
    "not shown": _NOTHING_SHOWN,
    "notified in a direct message": REPLIED,
    **FAILURES,
}  # fmt: skip
"""Each end of a turn that isn't simply a reply, by its stored word, without the fact after a colon."""

DEATHS: Final[Mapping[str, End]] = {
    "Slack: unknown whether it was posted": ENDS["post in doubt"],
    "Slack": End(
        "Slack refused my reply: {refused}.", "It's saved, and your admin can post it once that's fixed.",
        said="I couldn't post my answer: {refused}.",
    ),
    "started several times, never finished": End(
        "I couldn't finish this message, even after several attempts.", AGAIN, "again",
        said="I couldn't handle {what}, even after several attempts",
    ),
    "written by another version of the bridge": End(
        "Another version of the bridge saved this message, and I can't read it.", AGAIN,
        said="Another version of the bridge saved {what}, and I can't read it",
    ),
}  # fmt: skip
"""Each reason for which a turn is given up; what's *said* goes on with what that means for it."""

GIVEN_UP: Final[Mapping[str, End]] = {
    "report": End(
        "I couldn't finish posting a scheduled report, so it may be missing.",
        f"To post it again, open {kit.command('/stats reports')}."
    ),
    "alert": End(
        "I couldn't finish posting an alert, so it may be missing.",
        f"To see which ones are on, open {kit.command('/stats alerts')}."
    ),
    "menu": End(
        "Slack refused my reply: {refused}.", "Send it again once that's fixed.", "again",
        said="I couldn't ask which agent should answer: {refused}",
    ),
    "unreadable": End(
        "I have an answer, but another version of the bridge saved it, and I can't show it.",
        "Ask again to get a new one.",
    ),
}  # fmt: skip
"""What was to be posted when a turn was given up."""


class MessageState(Enum):
    """What is true of a message that isn't over, or of which nothing is recorded."""

    BEHIND = End(
        "This message is waiting for {count} in this thread.", "I'll send it to the agent once they're answered."
    )
    NEXT = _NEXT
    MENU = End("This message is waiting for someone to pick an agent.", "Pick one from the menu.")
    HELD = End(
        "This thread was stopped while this message was waiting.",
        "Write another message to send it, or press Discard in the thread.",
    )
    UNREAD = End(
        "I'm still reading what was written in this thread while I was offline, and this message waits for that.",
        "It takes ten minutes at most.",
    )
    DOWN = End(
        "The project service has been unavailable since {since}, so this message is waiting.",
        "I'll send it to the agent once the service is back.",
        said="The project service is unavailable. Your message is queued and will be answered once it's back.",
    )
    NOT_ACCEPTED = End(
        "The project service isn't accepting this message right now, so it's waiting.", "I try again every few seconds."
    )
    TRIED_LATER = End(
        "I'll send this message again at {since}, because the project service isn't accepting it right now.",
        "Type !stop in the thread to stop waiting.",
        said="The project service {why}, so your message is waiting.",
    )
    WORKING = End(
        "This message was sent to the project service at {since}, and there's no answer yet.",
        "Type !stop in the thread to stop waiting.",
    )
    POSTING = End("There's an answer, but Slack hasn't accepted it yet.", "I'll keep trying.")
    EDITED = _WITH_NEW_TEXT
    REPLIED = REPLIED
    REPLIED_PRIVATELY = End(
        "I replied to this message in private.",
        "Such a reply disappears after a while; send the message again to get a new one.",
        is_public=False,
    )
    DISCARDED_BY_ADMIN = End("This message couldn't be finished, and your admin discarded it.", AGAIN)
    NOT_A_MEMBER = End(
        "I'm not in this channel, so this message didn't reach me.",
        "Invite me with /invite, and mention me again.",
        said="I can't post in this channel, so nothing was sent to the agent. Invite me with /invite and try again, or "
        "send me a direct message.",
    )
    BEFORE_RECORDS = End("This message is older than my records, which begin at {since}.", AGAIN)
    TOO_OLD_FOR_RECORDS = End("This message is older than seven days, and I have no older records.", AGAIN)
    CATCHING_UP = End(
        "I'm still reading what was written while I was offline, and haven't reached this message.",
        "I'll handle it once I have, so there's nothing to do.",
    )
    NEVER_ARRIVED = End(
        "Slack hasn't delivered this message to me.", "Send it again, and tell your admin if that doesn't help."
    )
    NEVER_ARRIVED_ADMIN = End(
        "Slack hasn't delivered this message to me.",
        "Send it again; if that doesn't help, run bridge check and look at Event Subscriptions on the app's page.",
    )
    RUN_UNKNOWN = End(
        "I can't tell whether the workflow ran{cause}.", "Running it again may repeat the work.",
        word="outcome unknown", said="No result came back, and I can't tell whether this ran.",
    )  # fmt: skip
    OF_SOMEONE_ELSE = End(
        "Only its author can see what happened to this message.", "They can use Why no answer? on it."
    )
    NOT_FOUND = End(
        "I can't see which message you mean.", "Use Why no answer? on a message, or type !why and its link."
    )
