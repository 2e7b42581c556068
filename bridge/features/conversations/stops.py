"""What a stop says it did, and what is asked about the messages that wait behind it."""

from __future__ import annotations

from typing import Final

from bridge.features.notices import SEND_AGAIN, SEND_IT_AGAIN, SEND_IT_NOW
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Block, Reply

SHOW: Final = "stopped:show"
GO_ON: Final = "held:go-on"
DROP: Final = "held:drop"


def stopped_unsent(turn: str, waiting: int) -> Reply:
    """Tell that a message was stopped before it went out."""
    return _told("Stopped. The message was not sent to the agent.", waiting, kit.button(SEND_IT_NOW, SEND_AGAIN, turn))


def stopped_at_work(turn: str, waiting: int) -> Reply:
    """Tell that an answer will not be shown; nobody can take the message back from the agent."""
    text = "Stopped. The agent may have the message already, but no answer to it will be shown."
    return _told(text, waiting, kit.button(SEND_IT_AGAIN, SEND_AGAIN, turn))


def stopped_answered(turn: str, waiting: int) -> Reply:
    """Tell that an answer that waited for Slack will not be posted; it is kept for a button."""
    text = "Stopped. The agent had already answered; whatever isn't here yet won't be posted."
    return _told(text, waiting, kit.button("Show the answer", SHOW, turn))


def answered_already() -> Reply:
    """Tell that the answer can't be held back any more."""
    return kit.reply("The agent has already answered, and its answer is being posted.")


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
    text = f"{kit.counted(count, 'message')} {'goes' if count == 1 else 'go'} on."
    return kit.note(text, audience=Audience.THREAD, replaces_original=True)


def dropped(count: int) -> Reply:
    """Take the place of the question: what waited is taken back."""
    text = f"{kit.counted(count, 'message')} {'was' if count == 1 else 'were'} dropped."
    return kit.note(text, audience=Audience.THREAD, replaces_original=True)


def nothing_is_held() -> Reply:
    """Tell that there is nothing to decide any more."""
    return kit.reply("Nothing waits for this any more: the thread went on already.")


def _told(text: str, waiting: int, *buttons: Block) -> Reply:
    """Tell what a stop did, and ask about what waits behind it."""
    if not waiting:
        return kit.ask(text, *buttons, audience=Audience.THREAD)
    count = kit.counted(waiting, "message")
    go_on = kit.button(f"Go on with {count}", GO_ON, "held")
    drop = kit.button("Drop them" if waiting > 1 else "Drop it", DROP, "held")
    small = f"{count} {'waits' if waiting == 1 else 'wait'}. Choose what becomes of that, or write on."
    return kit.ask(text, go_on, drop, *buttons, small=small, audience=Audience.THREAD)
