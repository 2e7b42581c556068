"""Slackbot's offer to invite an app that was mentioned in a channel it isn't in.

The app gets no event for the mention until it is invited: https://docs.slack.dev/reference/events/app_mention. The
text and the two buttons are recorded in https://github.com/slackapi/bolt-python/issues/229.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bridge.playground.emulator import sample
from bridge.playground.emulator.entities import Channel, Json, Member, Message

INVITE: Final = "invite_them"
DO_NOTHING: Final = "do_nothing"


def absent_apps(message: Message, channel: Channel, people: Iterable[Member]) -> list[str]:
    """The apps that *message* mentions but that aren't in its *channel*."""
    if channel.is_im:
        return []
    bots = [person.id for person in people if person.is_bot and not person.deleted]
    return [bot for bot in bots if bot not in channel.members and f"<@{bot}>" in message.text]


def offer(message: Message, channel: Channel, apps: list[str], ts: str) -> Message:
    """The offer, visible to the author of *message* only."""
    mentioned = " and ".join(f"<@{app}>" for app in apps)
    text = f"You mentioned {mentioned}, but they're not in this {'private ' if channel.is_private else ''}channel."
    value = " ".join([message.ts, *apps])
    buttons = [_button(INVITE, "Invite Them", value), _button(DO_NOTHING, "Do Nothing", value)]
    return Message(
        message.channel,
        ts,
        sample.SLACKBOT,
        text,
        sample.TEAM,
        blocks=[
            {"type": "section", "block_id": "offer", "text": {"type": "mrkdwn", "text": text}},
            {"type": "actions", "block_id": "answers", "elements": buttons},
        ],
        thread_ts=message.thread_ts if message.is_reply else "",
        to=message.user,
    )


def _button(action_id: str, words: str, value: str) -> Json:
    return {
        "type": "button",
        "action_id": action_id,
        "text": {"type": "plain_text", "text": words},
        "value": value,
    }
