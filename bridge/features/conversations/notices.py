"""What the bridge itself has to say in a conversation: short lines, some with a button.

Those that are decided at the door carry a name in `bridge.inbound.Notice.what`; `told` finds their words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from bridge.errors import NotAllowed, TooOften
from bridge.features.agents.layout import CHANGED, told_of_change
from bridge.features.conversations.layout import is_muted
from bridge.features.reports.layout import PAUSED as PAUSED_REPORT, told_paused
from bridge.inbound import WAITING_LIMIT
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.failures import failure
from bridge.slack.blockkit.reply import Audience, Block, Reply

_DID_YOU_MEAN: Final = "Did you mean {command}? Nothing was sent to the agent."
_RUN_COMMAND: Final = "Use {command}"
_GIVEN_COMMAND: Final = "Taken as {command}."
_THREAD_FULL: Final = (
    "{limit} messages wait in this thread already, so this one was not taken. Please send it again later."
)
_NO_THREAD_HERE: Final = (
    "I cannot write in this channel, so nothing was sent to the agent. "
    "Invite me with /invite and try again, or write to me directly."
)
SEND_IT_AGAIN: Final = "Send it again"
_SHOWN_AFTER_ALL: Final = "Shown on request."
SEND_IT_NOW: Final = "Send it now"
_SENT_AGAIN: Final = "Sent again: the message waits for its turn at the end of this thread."
_EDITED_TOO_LATE: Final = "The agent got this message before you changed it. Shall it get the new text, too?"
_ASKED_EDITED: Final = "The new text waits for its turn at the end of this thread."
_KEPT_WHILE_DOWN: Final = (
    "The service is down at the moment. Your message is kept and will be answered as soon as it is back."
)
_BEGINS_ANEW: Final = "The next message begins a new conversation. What was said before is not remembered."
_CANT_POST: Final = "I couldn't post my answer: {why}. It's saved, and your admin can post it once that's fixed."
_WHY_NOT_POSTED: Final = {
    "channel_not_found": "I'm not in the channel, or it no longer exists",
    "ekm_access_denied": "your organization's admins have suspended posting",
    "is_archived": "the channel is archived",
    "missing_scope": "the app needs another permission",
    "not_in_channel": "I'm not in the channel",
    "restricted_action": "I'm not allowed to post in the channel",
    "restricted_action_non_threadable_channel": "the channel doesn't allow replies in threads",
    "restricted_action_read_only_channel": "the channel is read-only",
    "restricted_action_thread_locked": "the thread is locked",
    "restricted_action_thread_only_channel": "the channel only allows replies in threads",
}

SEND_AGAIN: Final = "turn:again"
SHOW: Final = "turn:show"
ASK_EDITED: Final = "turn:edited"
_NOT_POSTED: Final = "not_posted:"
SLIP_COMMAND: Final = "slip:command"
SLIP_TEXT: Final = "slip:text"
EDITED: Final = "edited:"  # what the name of such an offer begins with; the identity of the message follows


def told(what: str) -> Reply:
    """Find the words for a notice that was decided at the door; a later release may know more names than this one."""
    if what in _AT_THE_DOOR:
        return _AT_THE_DOOR[what]()
    if what.startswith(PAUSED_REPORT):
        return told_paused(what)
    if what.startswith(CHANGED):
        return told_of_change(what)
    if what.startswith(_PAUSED):
        return _paused(what.removeprefix(_PAUSED))
    if what.startswith(_NOT_POSTED):
        return _not_posted(what.removeprefix(_NOT_POSTED))
    if what.startswith(EDITED):
        return edited_too_late(what.removeprefix(EDITED))
    return failure(NotAllowed(what))


def not_posted(channel: str, error: str) -> str:
    """Name, for `told`, that Slack refuses an answer for good, by its word *error*."""
    return f"{_NOT_POSTED}{error}:{channel}"


def _not_posted(what: str) -> Reply:
    """Tell who asked, in a direct message: where the answer belongs, Slack would not take this either."""
    error, _, channel = what.partition(":")
    base = "restricted_action" if error.startswith("restricted_action") else error
    named = f"Slack does not allow it ({kit.one_line(error, 60)})"
    text = _CANT_POST.format(why=_WHY_NOT_POSTED.get(error) or _WHY_NOT_POSTED.get(base, named))
    where: Block = {"type": "channel", "channel_id": channel}
    was_for = [kit.paragraph(*kit.filled("It was for {channel}", channel=where))] if channel[:1] in {"C", "G"} else []
    return kit.reply(text, kit.rich(kit.paragraph(text), *was_for), audience=Audience.CHANNEL)


def mention_without_text() -> Reply:
    """Answer a mention that says nothing."""
    return kit.reply(
        "Hello!",
        kit.rich(
            kit.paragraph("Hello! Mention me with a question, and an agent of this project answers in a thread."),
            kit.bullets(
                [
                    kit.paragraph(
                        *kit.filled(
                            "Begin with an agent's name to choose it: {example}",
                            example=kit.words("Support: how do I …?", code=True),
                        )
                    ),
                    kit.paragraph("In the thread just go on writing; no mention is needed there."),
                    kit.paragraph(*kit.filled("{help} shows all commands.", help=kit.words("!help", code=True))),
                ]
            ),
        ),
    )


def file_without_text() -> Reply:
    """Answer a file that comes alone."""
    return kit.reply("I can only read text. Please write what you need; files are left aside.")


class Slip(BaseModel):
    """What a button below `did_you_mean` carries: the *word* that was typed, the *command* that is near it, and where.

    *m* and *t* are the ``ts`` of the message and of its thread; *a*: it mentions the bot.
    """

    model_config = ConfigDict(frozen=True)

    word: str
    command: str
    m: str
    t: str = ""
    a: bool = False

    @classmethod
    def parse(cls, value: str) -> Slip | None:
        """Read a button's value; None where it is of another release."""
        try:
            return cls.model_validate_json(value)
        except ValidationError:
            return None


def did_you_mean(command: str, slip: str) -> Reply:
    """Ask whether one word was meant as a *command*; meanwhile it is sent nowhere. A button's value is the *slip*."""
    text = _DID_YOU_MEAN.format(command=f"!{kit.one_line(command, 20)}")
    run = kit.button(_RUN_COMMAND.format(command=f"!{kit.one_line(command, 20)}"), SLIP_COMMAND, slip)
    return kit.reply(text, kit.section(text), kit.actions(run, kit.button("Send as text", SLIP_TEXT, slip)))


def slip_settled(command: str) -> Reply:
    """Take the question's place: *command* was given, or (``""``) the word was sent as text."""
    text = _GIVEN_COMMAND.format(command=f"!{kit.one_line(command, 20)}") if command else "Sent to the agent as text."
    return kit.reply(text, kit.context(text), replaces_original=True)


def thread_full() -> Reply:
    """Refuse a message because too many wait before it."""
    return kit.reply(_THREAD_FULL.format(limit=WAITING_LIMIT))


def paused(limited: str, wait: timedelta, *, is_first: bool) -> str:
    """Name, for `told`, that a limit is used up. The first in a thread is told to everybody there."""
    audience = Audience.THREAD if is_first and limited == "thread" else Audience.PRIVATE
    return f"{_PAUSED}{limited}:{audience}:{math.ceil(wait.total_seconds())}"


def _paused(facts: str) -> Reply:
    """Tell that a limit is used up, and until when."""
    limited, audience, seconds = (*facts.split(":"), "", "")[:3]
    wait = timedelta(seconds=int(seconds) if seconds.isdecimal() else 60)
    shown_to = Audience.THREAD if audience == Audience.THREAD else Audience.PRIVATE
    return failure(TooOften(limited, wait), audience=shown_to)


def not_taken() -> Reply:
    """Tell that a command or click could not even be kept."""
    return kit.reply("This could not be taken just now, and nothing was done. Please try again in a minute.")


def no_thread_here() -> Reply:
    """Tell that a conversation cannot begin where the bot may not post."""
    return kit.reply(_NO_THREAD_HERE)


def outcome_unknown(turn: str) -> Reply:
    """Tell that a message may have reached the agent, and offer to send it again."""
    again = kit.button(SEND_IT_AGAIN, SEND_AGAIN, turn)
    return _offer(
        "It is not known whether the agent got this message, and no answer came back.",
        "Sending it again may make the agent do it twice.",
        again,
    )


def in_doubt(turn: str, channel: str = "") -> Reply:
    """Tell that nobody knows whether something was posted, and offer to show it.

    What is missing may be here, or in the *channel* that is named, where nobody but one person is told.
    """
    show = kit.actions(kit.button("Show it", SHOW, turn))
    if not channel:
        text, where = "Slack didn't confirm my last message, so it may be missing here.", []
    else:
        element: Block = {"type": "channel", "channel_id": channel}
        text = "Slack didn't confirm my last answer to you, so it may be missing."
        where = (
            [kit.paragraph(*kit.filled("It was for {channel}.", channel=element))] if channel[:1] in {"C", "G"} else []
        )
    shown = kit.rich(kit.paragraph(text), *where)
    return kit.reply(
        text, shown, kit.context("If you can see it, there's nothing to do."), show, audience=Audience.CHANNEL
    )


def shown_after_all() -> Reply:
    """Take the place of that offer after its button was pressed."""
    return kit.reply(_SHOWN_AFTER_ALL, kit.context(_SHOWN_AFTER_ALL), audience=Audience.THREAD)


def shown_already() -> Reply:
    """Tell that somebody else has pressed it."""
    return kit.reply("Someone has already asked for this.")


def answer_gone() -> Reply:
    """Tell that what was recorded is no longer kept."""
    return kit.reply("This answer is no longer available.")


def too_old(turn: str, waited_for: timedelta) -> Reply:
    """Tell that a message waited too long to be sent without asking."""
    waited = f"This message waited for {kit.spoken(waited_for)}, so it was not sent to the agent."
    return _offer(waited, "Is it still wanted?", kit.button(SEND_IT_NOW, SEND_AGAIN, turn))


def sent_again() -> Reply:
    """Take the place of the offer after its button was pressed."""
    return kit.reply(_SENT_AGAIN, kit.context(_SENT_AGAIN), audience=Audience.THREAD, replaces_original=True)


def edited(message: str) -> str:
    """Name, for `told`, that the *message* of this identity was changed after an agent had got it."""
    return f"{EDITED}{message}"


def edited_too_late(message: str) -> Reply:
    """Offer to ask with the new text of a message."""
    again = kit.button("Ask again", ASK_EDITED, message)
    return kit.reply(_EDITED_TOO_LATE, kit.section(_EDITED_TOO_LATE), kit.actions(again))


def asked_edited() -> Reply:
    """Take the place of that offer after its button was pressed."""
    return kit.reply(_ASKED_EDITED, kit.context(_ASKED_EDITED), replaces_original=True)


def in_line(place: int) -> Reply:
    """Tell that a message waits behind others."""
    is_teen = place // 10 % 10 == 1
    ending = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    text = f"Your message is {place}{ending} in line here. It will be answered in its turn."
    return kit.reply(text, kit.context(text))


def thanks(*, is_up: bool) -> Reply:
    """Thank for a vote on an answer."""
    return kit.reply(
        "Thank you, this is noted."
        if is_up
        else "Thank you, this is noted. It helps to write in the thread what was missing."
    )


def message_gone() -> Reply:
    """Tell that what a button should send is no longer kept."""
    return kit.reply("This message is no longer kept. Please write it again.")


def service_down() -> Reply:
    """Tell that the service is down, and that nothing is lost."""
    return kit.reply(_KEPT_WHILE_DOWN, kit.context(_KEPT_WHILE_DOWN), audience=Audience.THREAD)


def no_agents() -> Reply:
    """Tell that there is nobody to talk with."""
    return kit.reply("This project has no agents to talk with yet.", audience=Audience.THREAD)


def session_info(agent_name: str, session: int | None) -> Reply:
    """Tell which conversation a thread is."""
    name = kit.named(agent_name, 100)
    if session is None:
        return kit.reply(f"{name} answers here. The session begins with the next answer.")
    return kit.reply(f"{name} answers here, in session {session}.")


def no_conversation() -> Reply:
    """Tell that a command needs a thread with a conversation."""
    return kit.reply("There is no conversation here yet. Mention me with a question to begin one.")


def conversation_begins_anew() -> Reply:
    """Tell that the session was dropped."""
    return kit.reply(_BEGINS_ANEW, kit.context(_BEGINS_ANEW), audience=Audience.THREAD)


def help_lines(title: str, lines: Sequence[tuple[str, str]], note: str = "") -> Reply:
    """Show commands: for each a usage line and a sentence."""
    shown = [kit.paragraph(kit.words(usage, code=True), f" {sentence}") for usage, sentence in lines]
    notes = [kit.context(note)] if note else []
    text = "\n".join(f"{usage}: {sentence}" for usage, sentence in lines)
    return kit.reply(f"{title}\n{text}", kit.header(title), kit.rich(kit.bullets(shown)), *notes)


def _offer(text: str, warning: str, button: Block) -> Reply:
    small = [kit.context(warning)] if warning else []
    return kit.reply(text, kit.section(text), *small, kit.actions(button), audience=Audience.THREAD)


_PAUSED: Final = "paused:"
_AT_THE_DOOR: Final[dict[str, Callable[[], Reply]]] = {
    "mention_without_text": mention_without_text,
    "file_without_text": file_without_text,
    "thread_full": thread_full,
    "not_taken": not_taken,
    "muted": is_muted,
}
