"""What a stop says it did, and what is asked about the messages that wait behind it."""

from __future__ import annotations

from typing import Final

from bridge import words
from bridge.features.conversations.notices import SEND_AGAIN
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Block, Reply

SHOW: Final = "stopped:show"
GO_ON: Final = "held:go-on"
DROP: Final = "held:drop"


def stopped_unsent(turn: str, waiting: int) -> Reply:
    """Tell that a message was stopped before it went out."""
    return _told(words.STOPPED_UNSENT, waiting, kit.button(words.SEND_IT_NOW, SEND_AGAIN, turn))


def stopped_at_work(turn: str, waiting: int) -> Reply:
    """Tell that an answer will not be shown; nobody can take the message back from the agent."""
    return _told(words.STOPPED_AT_WORK, waiting, kit.button(words.SEND_IT_AGAIN, SEND_AGAIN, turn))


def stopped_answered(turn: str, waiting: int) -> Reply:
    """Tell that an answer that waited for Slack will not be posted; it is kept for a button."""
    return _told(words.STOPPED_ANSWERED, waiting, kit.button(words.SHOW_THE_ANSWER, SHOW, turn))


def answered_already() -> Reply:
    """Tell that the answer can't be held back any more."""
    return kit.reply(words.ANSWERED_ALREADY)


def taken_back() -> Reply:
    """Tell that a message that waited will not be sent."""
    return kit.reply(words.TAKEN_BACK)


def nothing_to_stop(waiting: int) -> Reply:
    """Tell that nothing was in work; what an earlier stop holds is offered again."""
    if waiting:
        return _told(words.NOTHING_IN_WORK, waiting)
    return kit.reply(words.NOTHING_TO_STOP)


def gone_on(count: int) -> Reply:
    """Take the place of the question: what waited goes on."""
    return _decided(words.gone_on(count))


def dropped(count: int) -> Reply:
    """Take the place of the question: what waited is taken back."""
    return _decided(words.dropped(count))


def nothing_is_held() -> Reply:
    """Tell that there is nothing to decide any more."""
    return kit.reply(words.NOTHING_IS_HELD)


def _told(text: str, waiting: int, *buttons: Block) -> Reply:
    if waiting:
        buttons = (
            kit.button(words.GO_ON_WITH.format(messages=words.messages(waiting)), GO_ON, "held"),
            kit.button(words.DROP_THEM if waiting > 1 else words.DROP_IT, DROP, "held"),
            *buttons,
        )
    small = [kit.context(words.waiting(waiting))] if waiting else []
    shown = [kit.section(text), *small, *([kit.actions(*buttons)] if buttons else [])]
    return kit.reply(text, *shown, audience=Audience.THREAD)


def _decided(text: str) -> Reply:
    return kit.reply(text, kit.context(text), audience=Audience.THREAD, replaces_original=True)
