"""What a stop says it did, and what is asked about the messages that wait behind it."""

from __future__ import annotations

from typing import Final

from bridge.features.notices import SEND_AGAIN
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Block, Reply

RETRY: Final = "Retry stopped message"
SHOW: Final = "stopped:show"
GO_ON: Final = "held:go-on"
DROP: Final = "held:drop"


def stopped_unsent(turn: str, waiting: int) -> Reply:
    """Tell that a message was stopped before it went out."""
    return _told("Stopped. Your message wasn't sent to the agent.", waiting, kit.button(RETRY, SEND_AGAIN, turn))


def stopped_at_work(turn: str, waiting: int) -> Reply:
    """Tell that an answer will not be shown; nobody can take the message back from the agent."""
    text = "Stopped. The agent may already be working on it, but its answer won't be shown."
    return _told(text, waiting, kit.button(RETRY, SEND_AGAIN, turn))


def stopped_answered(turn: str, waiting: int) -> Reply:
    """Tell that an answer that waited for Slack will not be posted; it is kept for a button."""
    text = "Stopped. The agent had already answered, and the rest of its answer won't be posted."
    return _told(text, waiting, kit.button("Show answer", SHOW, turn))


def answered_already() -> Reply:
    """Tell that the answer can't be held back any more."""
    return kit.reply("Too late to stop: the agent has answered, and its answer is being posted.")


def taken_back() -> Reply:
    """Tell that a message that waited will not be sent."""
    return kit.reply("Your message was still waiting. It won't be sent.")


def nothing_to_stop(waiting: int) -> Reply:
    """Tell that nothing was in work; what an earlier stop holds is offered again."""
    if waiting:
        return _told("The agent isn't working on anything here.", waiting)
    return kit.reply("The agent isn't working on anything here.")


def gone_on(count: int) -> Reply:
    """Take the place of the question: what waited goes on."""
    text = f"Sending {kit.counted(count, 'message')}."
    return kit.note(text, audience=Audience.THREAD, replaces_original=True)


def dropped(count: int) -> Reply:
    """Take the place of the question: what waited is taken back."""
    text = f"{kit.counted(count, 'message')} discarded."
    return kit.note(text, audience=Audience.THREAD, replaces_original=True)


def nothing_is_held() -> Reply:
    """Tell that there is nothing to decide any more."""
    return kit.reply("Nothing is waiting here: the thread has moved on.")


def _told(text: str, waiting: int, *buttons: Block) -> Reply:
    """Tell what a stop did, and ask about what waits behind it."""
    if not waiting:
        return kit.ask(text, *buttons, audience=Audience.THREAD)
    count = kit.counted(waiting, "message")
    verb, them = ("is", "it") if waiting == 1 else ("are", "them")
    go_on = kit.button("Send waiting message" if waiting == 1 else f"Send {waiting} waiting messages", GO_ON, "held")
    drop = kit.button(f"Discard {them}", DROP, "held")
    small = f"{count} {verb} waiting. Send {them}, discard {them}, or just keep typing."
    return kit.ask(text, go_on, drop, *buttons, small=small, audience=Audience.THREAD)
