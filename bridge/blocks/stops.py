"""What a stop says it did, and what is asked about the messages that wait behind it."""

from __future__ import annotations

from typing import Final

from bridge.blocks import kit
from bridge.blocks.notices import SEND_AGAIN
from bridge.blocks.reply import Audience, Block, Reply

STOP: Final = "turn:stop"
"""What asks for a stop other than by a command: Slack's own Stop, and a reaction. Its value is the ts of that."""

GO_ON: Final = "held:go-on"
DROP: Final = "held:drop"


def stopped_unsent(turn: str, waiting: int) -> Reply:
    """Tell that a message was stopped before it went out."""
    words = "Stopped. The message was not sent to the agent."
    return _told(words, waiting, kit.button("Send it now", SEND_AGAIN, turn))


def stopped_at_work(turn: str, waiting: int) -> Reply:
    """Tell that an answer will not be shown; nobody can take the message back from the agent."""
    words = "Stopped. The agent may have the message already, but no answer to it will be shown."
    return _told(words, waiting, kit.button("Send it again", SEND_AGAIN, turn))


def taken_back() -> Reply:
    """Tell that a message that waited will not be sent."""
    return kit.reply("This message waited for its turn, and was taken back. It will not be sent.")


def nothing_to_stop(waiting: int) -> Reply:
    """Tell that nothing was in work; what an earlier stop holds is offered again."""
    if waiting:
        return _told("Nothing is in work here.", waiting)
    return kit.reply("Nothing is in work here, so there was nothing to stop.")


def gone_on(count: int) -> Reply:
    """Take the place of the question: what waited goes on."""
    return _decided(f"{_messages(count)} {'goes' if count == 1 else 'go'} on.")


def dropped(count: int) -> Reply:
    """Take the place of the question: what waited is taken back."""
    return _decided(f"{_messages(count)} {'was' if count == 1 else 'were'} dropped.")


def nothing_is_held() -> Reply:
    """Tell that there is nothing to decide any more."""
    return kit.reply("Nothing waits for this any more: the thread went on already.")


def _told(words: str, waiting: int, *buttons: Block) -> Reply:
    if waiting:
        buttons = (
            kit.button(f"Go on with {_messages(waiting)}", GO_ON, "held"),
            kit.button("Drop them" if waiting > 1 else "Drop it", DROP, "held"),
            *buttons,
        )
    asks = f"{_messages(waiting)} {'waits' if waiting == 1 else 'wait'}. Choose what becomes of that, or write on."
    small = [kit.context(asks)] if waiting else []
    shown = [kit.section(words), *small, *([kit.actions(*buttons)] if buttons else [])]
    return kit.reply(words, *shown, audience=Audience.THREAD)


def _decided(words: str) -> Reply:
    return kit.reply(words, kit.context(words), audience=Audience.THREAD, replaces_original=True)


def _messages(count: int) -> str:
    return kit.counted(count, "message")
