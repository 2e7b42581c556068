"""What a stop did, and the question about the messages waiting behind it."""

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
    """Say that a message was stopped before it was sent."""
    return _told("Stopped. Your message wasn't sent to the agent.", waiting, kit.button(RETRY, SEND_AGAIN, turn))


def stopped_at_work(turn: str, waiting: int) -> Reply:
    """Say that the answer won't be shown; the agent has already received the message."""
    text = "Stopped. The agent may already be working on it, but its answer won't be shown."
    return _told(text, waiting, kit.button(RETRY, SEND_AGAIN, turn))


def stopped_answered(turn: str, waiting: int) -> Reply:
    """Say that an answer waiting for Slack won't be posted; a button shows it."""
    text = "Stopped. The agent had already answered, and the rest of its answer won't be posted."
    return _told(text, waiting, kit.button("Show answer", SHOW, turn))


def answered_already() -> Reply:
    """Say that it's too late to hold the answer back."""
    return kit.reply("Too late to stop: the agent has answered, and its answer is being posted.")


def taken_back() -> Reply:
    """Say that a waiting message won't be sent."""
    return kit.reply("Your message was still waiting. It won't be sent.")


def nothing_to_stop(waiting: int) -> Reply:
    """Say that nothing was running, and ask again about held messages."""
    if waiting:
        return _told("The agent isn't working on anything here.", waiting)
    return kit.reply("The agent isn't working on anything here.")


def gone_on(count: int) -> Reply:
    """Replace the question: the waiting messages are sent."""
    text = f"Sending {kit.counted(count, 'message')}."
    return kit.note(text, audience=Audience.THREAD, replaces_original=True)


def dropped(count: int) -> Reply:
    """Replace the question: the waiting messages were discarded."""
    text = f"{kit.counted(count, 'message')} discarded."
    return kit.note(text, audience=Audience.THREAD, replaces_original=True)


def nothing_is_held() -> Reply:
    """Say that nothing is left to decide."""
    return kit.reply("Nothing is waiting here: the thread has moved on.")


def _told(text: str, waiting: int, *buttons: Block) -> Reply:
    """Say what a stop did, and ask about the waiting messages."""
    if not waiting:
        return kit.ask(text, *buttons, audience=Audience.THREAD)
    count = kit.counted(waiting, "message")
    verb, them = ("is", "it") if waiting == 1 else ("are", "them")
    go_on = kit.button("Send waiting message" if waiting == 1 else f"Send {waiting} waiting messages", GO_ON, "held")
    drop = kit.button(f"Discard {them}", DROP, "held")
    small = f"{count} {verb} waiting. Send {them}, discard {them}, or just keep typing."
    return kit.ask(text, go_on, drop, *buttons, small=small, audience=Audience.THREAD)
