"""What the bridge itself has to say in a conversation: short lines, some with a button.

Those that are decided at the door carry a name in `bridge.inbound.Notice.what`; `told` finds their words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from bridge import words
from bridge.errors import NotAllowed, TooOften
from bridge.features.agents.layout import CHANGED, told_of_change
from bridge.features.conversations.layout import is_muted
from bridge.features.reports.layout import PAUSED as PAUSED_REPORT, told_paused
from bridge.inbound import WAITING_LIMIT
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.failures import failure
from bridge.slack.blockkit.reply import Audience, Block, Reply

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
    named = words.NOT_ALLOWED_BY_SLACK_NAMED.format(error=kit.one_line(error, 60))
    text = words.NOT_POSTED.format(why=words.WHY_NOT_POSTED.get(error) or words.WHY_NOT_POSTED.get(base, named))
    where: Block = {"type": "channel", "channel_id": channel}
    was_for = [kit.paragraph(*kit.filled(words.REPORT_WAS_FOR, channel=where))] if channel[:1] in {"C", "G"} else []
    return kit.reply(text, kit.rich(kit.paragraph(text), *was_for), audience=Audience.CHANNEL)


def mention_without_text() -> Reply:
    """Answer a mention that says nothing."""
    return kit.reply(
        words.HELLO,
        kit.rich(
            kit.paragraph(words.HELLO_MENTION_ME),
            kit.bullets(
                [
                    kit.paragraph(*kit.filled(words.HELLO_CHOOSE, example=kit.words(words.HELLO_EXAMPLE, code=True))),
                    kit.paragraph(words.HELLO_GO_ON),
                    kit.paragraph(*kit.filled(words.HELLO_HELP, help=kit.words("!help", code=True))),
                ]
            ),
        ),
    )


def file_without_text() -> Reply:
    """Answer a file that comes alone."""
    return kit.reply(words.ONLY_TEXT)


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
    text = words.DID_YOU_MEAN.format(command=f"!{kit.one_line(command, 20)}")
    run = kit.button(words.RUN_COMMAND.format(command=f"!{kit.one_line(command, 20)}"), SLIP_COMMAND, slip)
    return kit.reply(text, kit.section(text), kit.actions(run, kit.button(words.SEND_AS_TEXT, SLIP_TEXT, slip)))


def slip_settled(command: str) -> Reply:
    """Take the question's place: *command* was given, or (``""``) the word was sent as text."""
    text = words.GIVEN_COMMAND.format(command=f"!{kit.one_line(command, 20)}") if command else words.SENT_AS_TEXT
    return kit.reply(text, kit.context(text), replaces_original=True)


def thread_full() -> Reply:
    """Refuse a message because too many wait before it."""
    return kit.reply(words.THREAD_FULL.format(limit=WAITING_LIMIT))


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
    return kit.reply(words.NOT_TAKEN)


def no_thread_here() -> Reply:
    """Tell that a conversation cannot begin where the bot may not post."""
    return kit.reply(words.NO_THREAD_HERE)


def outcome_unknown(turn: str) -> Reply:
    """Tell that a message may have reached the agent, and offer to send it again."""
    again = kit.button(words.SEND_IT_AGAIN, SEND_AGAIN, turn)
    return _offer(words.MAY_HAVE_ARRIVED, words.MAY_DO_IT_TWICE, again)


def in_doubt(turn: str, channel: str = "") -> Reply:
    """Tell that nobody knows whether something was posted, and offer to show it.

    What is missing may be here, or in the *channel* that is named, where nobody but one person is told.
    """
    show = kit.actions(kit.button(words.SHOW_IT, SHOW, turn))
    if not channel:
        text, where = words.POST_IN_DOUBT, []
    else:
        element: Block = {"type": "channel", "channel_id": channel}
        text = words.POST_IN_DOUBT_ELSEWHERE
        where = [kit.paragraph(*kit.filled(words.POST_WAS_FOR, channel=element))] if channel[:1] in {"C", "G"} else []
    shown = kit.rich(kit.paragraph(text), *where)
    return kit.reply(text, shown, kit.context(words.POST_MAY_BE_THERE), show, audience=Audience.CHANNEL)


def shown_after_all() -> Reply:
    """Take the place of that offer after its button was pressed."""
    return kit.reply(words.SHOWN_AFTER_ALL, kit.context(words.SHOWN_AFTER_ALL), audience=Audience.THREAD)


def shown_already() -> Reply:
    """Tell that somebody else has pressed it."""
    return kit.reply(words.SHOWN_ALREADY)


def answer_gone() -> Reply:
    """Tell that what was recorded is no longer kept."""
    return kit.reply(words.ANSWER_GONE)


def too_old(turn: str, waited_for: timedelta) -> Reply:
    """Tell that a message waited too long to be sent without asking."""
    waited = words.WAITED_TOO_LONG.format(duration=kit.spoken(waited_for))
    return _offer(waited, words.STILL_WANTED, kit.button(words.SEND_IT_NOW, SEND_AGAIN, turn))


def sent_again() -> Reply:
    """Take the place of the offer after its button was pressed."""
    return kit.reply(words.SENT_AGAIN, kit.context(words.SENT_AGAIN), audience=Audience.THREAD, replaces_original=True)


def edited(message: str) -> str:
    """Name, for `told`, that the *message* of this identity was changed after an agent had got it."""
    return f"{EDITED}{message}"


def edited_too_late(message: str) -> Reply:
    """Offer to ask with the new text of a message."""
    again = kit.button(words.ASK_AGAIN, ASK_EDITED, message)
    return kit.reply(words.EDITED_TOO_LATE, kit.section(words.EDITED_TOO_LATE), kit.actions(again))


def asked_edited() -> Reply:
    """Take the place of that offer after its button was pressed."""
    return kit.reply(words.ASKED_EDITED, kit.context(words.ASKED_EDITED), replaces_original=True)


def in_line(place: int) -> Reply:
    """Tell that a message waits behind others."""
    text = words.IN_LINE.format(place=words.ordinal(place))
    return kit.reply(text, kit.context(text))


def thanks(*, is_up: bool) -> Reply:
    """Thank for a vote on an answer."""
    return kit.reply(words.THANKS if is_up else words.THANKS_AND_TELL)


def message_gone() -> Reply:
    """Tell that what a button should send is no longer kept."""
    return kit.reply(words.MESSAGE_GONE)


def service_down() -> Reply:
    """Tell that the service is down, and that nothing is lost."""
    return kit.reply(words.KEPT_WHILE_DOWN, kit.context(words.KEPT_WHILE_DOWN), audience=Audience.THREAD)


def no_agents() -> Reply:
    """Tell that there is nobody to talk with."""
    return kit.reply(words.NO_AGENTS_TO_TALK_WITH, audience=Audience.THREAD)


def session_info(agent_name: str, session: int | None) -> Reply:
    """Tell which conversation a thread is."""
    name = kit.named(agent_name, 100)
    if session is None:
        return kit.reply(words.SESSION_BEGINS.format(agent=name))
    return kit.reply(words.ANSWERS_IN_SESSION.format(agent=name, session=session))


def no_conversation() -> Reply:
    """Tell that a command needs a thread with a conversation."""
    return kit.reply(words.NO_CONVERSATION)


def conversation_begins_anew() -> Reply:
    """Tell that the session was dropped."""
    return kit.reply(words.BEGINS_ANEW, kit.context(words.BEGINS_ANEW), audience=Audience.THREAD)


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
