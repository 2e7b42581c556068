"""Replies that report a stop, and ask about the messages waiting after the stopped one.

The value of the question's buttons is ``<action> <turn>`` of the button that stays once it's answered, or ``held``.
"""

from __future__ import annotations

from typing import Final

from bridge.ends.notices import SEND_AGAIN
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Block, Reply

RETRY: Final = "Retry stopped message"
SHOW: Final = "stopped:show"
SEND_WAITING: Final = "held:go-on"
DISCARD: Final = "held:drop"


_STOPPED: Final = {
    "queued": ("Stopped. Your message wasn't sent to the agent.", SEND_AGAIN),
    "sent": (
        "Stopped. The agent may still be working on the message, but I won't post its answer.", SEND_AGAIN
    ),
    "posting": (
        "Stopped. The agent had already answered, and the rest of its answer won't be posted.", SHOW
    ),
}  # fmt: skip
"""What is said of a stopped turn, by `bridge.queue.stops.StopResult`, and the button for it that stays."""

_NOT_STOPPED: Final = {
    "late": "Too late to stop: the agent has answered, and its answer is being posted.",
    "withdrawn": "Your message was still waiting. It won't be sent.",
}
NOTHING_HELD: Final = kit.reply("Nothing is waiting here: the thread has moved on.")


def stop_shown(result: str, turn: str, waiting: int) -> Reply:
    """Say what a stop did, and ask about the messages that are waiting after it."""
    if result in _STOPPED:
        text, action = _STOPPED[result]
        return _stopped_reply(text, waiting, f"{action} {turn}")
    if result == "nothing" and waiting:
        return _stopped_reply("The agent isn't working on anything here.", waiting)
    return kit.reply(_NOT_STOPPED.get(result, "The agent isn't working on anything here."))


def decided(count: int, value: str, *, is_dropped: bool) -> Reply:
    """Replace the question: *count* messages were sent, or discarded. *value* is the pressed button's."""
    messages = kit.counted(count, "message")
    text = f"{messages} discarded." if is_dropped else f"Sending {messages}."
    reply = kit.ask(text, *_staying(value), audience=Audience.THREAD)
    return reply.model_copy(update={"replaces_original": True})


def _stopped_reply(text: str, waiting: int, value: str = "held") -> Reply:
    """Say what a stop did, and ask about the waiting messages."""
    if not waiting:
        return kit.ask(text, *_staying(value), audience=Audience.THREAD)
    count = kit.counted(waiting, "message")
    verb, them = ("is", "it") if waiting == 1 else ("are", "them")
    label = "Send waiting message" if waiting == 1 else f"Send {waiting} waiting messages"
    send, discard = kit.button(label, SEND_WAITING, value), kit.button(f"Discard {them}", DISCARD, value)
    small = f"{count} {verb} waiting. Send {them}, discard {them}, or just keep typing."
    return kit.ask(text, send, discard, *_staying(value), small=small, audience=Audience.THREAD)


def _staying(value: str) -> list[Block]:
    """Return the button that *value* names, which stays once the question is answered, or none."""
    action, _, turn = value.partition(" ")
    labels = {SEND_AGAIN: RETRY, SHOW: "Show answer"}
    return [kit.button(labels[action], action, turn)] if turn and action in labels else []
