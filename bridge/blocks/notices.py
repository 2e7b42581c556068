"""What the bridge itself has to say in a conversation: short lines, some with a button.

Those that are decided at the door carry a name in `bridge.inbound.Notice.what`; `told` finds their words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from bridge.blocks import kit
from bridge.blocks.conversations import is_muted
from bridge.blocks.failures import failure
from bridge.blocks.reply import Audience, Block, Reply
from bridge.blocks.reports import PAUSED as PAUSED_REPORT, told_paused
from bridge.errors import NotAllowed, TooOften
from bridge.inbound import WAITING_LIMIT

SEND_AGAIN: Final = "turn:again"
ASK_EDITED: Final = "turn:edited"
EDITED: Final = "edited:"  # what the name of such an offer begins with; the identity of the message follows


def told(what: str) -> Reply:
    """Find the words for a notice that was decided at the door; a later release may know more names than this one."""
    if what in _AT_THE_DOOR:
        return _AT_THE_DOOR[what]()
    if what.startswith(PAUSED_REPORT):
        return told_paused(what)
    if what.startswith(_PAUSED):
        return _paused(what.removeprefix(_PAUSED))
    if what.startswith(EDITED):
        return edited_too_late(what.removeprefix(EDITED))
    return failure(NotAllowed(what.removeprefix("not_allowed:")))


def mention_without_text() -> Reply:
    """Answer a mention that says nothing."""
    return kit.reply(
        "Hello!",
        kit.rich(
            kit.paragraph("Hello! Mention me with a question, and an agent of this project answers in a thread."),
            kit.bullets(
                [
                    kit.paragraph(
                        "Begin with an agent's name to choose it: ", kit.words("Support: how do I …?", code=True)
                    ),
                    kit.paragraph("In the thread just go on writing; no mention is needed there."),
                    kit.paragraph(kit.words("!help", code=True), " shows all commands."),
                ]
            ),
        ),
    )


def file_without_text() -> Reply:
    """Answer a file that comes alone."""
    return kit.reply("I can only read text. Please write what you need; files are left aside.")


def thread_full() -> Reply:
    """Refuse a message because too many wait before it."""
    return kit.reply(
        f"{WAITING_LIMIT} messages wait in this thread already, so this one was not taken. Please send it again later."
    )


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
    return kit.reply(
        "I cannot write in this channel, so nothing was sent to the agent. "
        "Invite me with /invite and try again, or write to me directly."
    )


def outcome_unknown(turn: str) -> Reply:
    """Tell that a message may have reached the agent, and offer to send it again."""
    return _offer(
        "It is not known whether the agent got this message, and no answer came back.",
        "Sending it again may make the agent do it twice.",
        kit.button("Send it again", SEND_AGAIN, turn),
    )


def too_old(turn: str, waited_for: timedelta) -> Reply:
    """Tell that a message waited too long to be sent without asking."""
    return _offer(
        f"This message waited for {kit.spoken(waited_for)}, so it was not sent to the agent.",
        "Is it still wanted?",
        kit.button("Send it now", SEND_AGAIN, turn),
    )


def sent_again() -> Reply:
    """Take the place of the offer after its button was pressed."""
    words = "Sent again: the message waits for its turn at the end of this thread."
    return kit.reply(words, kit.context(words), audience=Audience.THREAD, replaces_original=True)


def edited(message: str) -> str:
    """Name, for `told`, that the *message* of this identity was changed after an agent had got it."""
    return f"{EDITED}{message}"


def edited_too_late(message: str) -> Reply:
    """Offer to ask with the new text of a message."""
    words = "The agent got this message before you changed it. Shall it get the new text, too?"
    return kit.reply(words, kit.section(words), kit.actions(kit.button("Ask again", ASK_EDITED, message)))


def asked_edited() -> Reply:
    """Take the place of that offer after its button was pressed."""
    words = "The new text waits for its turn at the end of this thread."
    return kit.reply(words, kit.context(words), replaces_original=True)


def in_line(place: int) -> Reply:
    """Tell that a message waits behind others."""
    words = f"Your message is {_ordinal(place)} in line here. It will be answered in its turn."
    return kit.reply(words, kit.context(words))


def thanks(*, is_up: bool) -> Reply:
    """Thank for a vote on an answer."""
    words = "Thank you, this is noted."
    return kit.reply(words if is_up else f"{words} It helps to write in the thread what was missing.")


def _ordinal(number: int) -> str:
    is_teen = number // 10 % 10 == 1
    return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def message_gone() -> Reply:
    """Tell that what a button should send is no longer kept."""
    return kit.reply("This message is no longer kept. Please write it again.")


def service_down() -> Reply:
    """Tell that the service is down, and that nothing is lost."""
    words = "The service is down at the moment. Your message is kept and will be answered as soon as it is back."
    return kit.reply(words, kit.context(words), audience=Audience.THREAD)


def no_agents() -> Reply:
    """Tell that there is nobody to talk with."""
    return kit.reply("This project has no agents to talk with yet.", audience=Audience.THREAD)


SESSION_GONE: Final = "The earlier conversation is no longer known to the service, so this answer begins a new one."
"""A note for `bridge.blocks.answers.answer`."""


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
    words = "The next message begins a new conversation. What was said before is not remembered."
    return kit.reply(words, kit.context(words), audience=Audience.THREAD)


def help_lines(title: str, lines: Sequence[tuple[str, str]], note: str = "") -> Reply:
    """Show commands: for each a usage line and a sentence."""
    shown = [kit.paragraph(kit.words(usage, code=True), f" {words}") for usage, words in lines]
    notes = [kit.context(note)] if note else []
    text = "\n".join(f"{usage}: {words}" for usage, words in lines)
    return kit.reply(f"{title}\n{text}", kit.header(title), kit.rich(kit.bullets(shown)), *notes)


def _offer(words: str, warning: str, button: Block) -> Reply:
    small = [kit.context(warning)] if warning else []
    return kit.reply(words, kit.section(words), *small, kit.actions(button), audience=Audience.THREAD)


_PAUSED: Final = "paused:"
_AT_THE_DOOR: Final[dict[str, Callable[[], Reply]]] = {
    "mention_without_text": mention_without_text,
    "file_without_text": file_without_text,
    "thread_full": thread_full,
    "not_taken": not_taken,
    "muted": is_muted,
}
