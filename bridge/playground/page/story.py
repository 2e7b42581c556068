"""Finds what belongs to one message, by what each side recorded.

- The bridge's `StoredTrace` of the message has the IDs of its turns, and of the deliveries that led to them. A message
  of the app's names its turn, or the message that it answers, in its metadata.
- A delivery has its ID in its payload: ``event_id``, or the ``trigger_id`` of a command or click.
- A chat or a run names its turn in ``Idempotency-Key``, as this bridge is told to; a post does in its metadata. A
  response goes to the URL of its command or click.
- What names nothing, such as a status or a read, is shown if it happened in the thread, or for a command, meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bridge.playground.emulator import ApiCall, AppDelivery, EmulatedSlack
from bridge.playground.emulator.entities import Json, Message
from bridge.playground.page.supervisor import StoredTrace
from bridge.playground.page.viewer import Viewer
from bridge.playground.sample_project import ProjectCall

_CLOCKS: Final = 0.25  # seconds of clock skew between two processes
_AFTERWARDS: Final = 2.0  # seconds for what follows the last step: clearing a status, updating a card


@dataclass(frozen=True)
class Story:
    """What happened from *start* until *end* because of *message*, or of the *deliveries* that led to it.

    Its *turns* posted *posts*, which are ``ts`` in its channel; it's in the *thread* of these.
    """

    message: Message
    turns: frozenset[str]
    deliveries: Sequence[AppDelivery]
    posts: frozenset[str]
    thread: frozenset[str]
    start: float
    end: float

    def has(self, at: float) -> bool:
        return self.start - _CLOCKS <= at <= self.end


def told_by(viewer: Viewer, message: Message) -> Message:
    """The message whose record tells about *message*: the one that it answers, else the first one of its turn."""
    thread = viewer.thread(message.channel, message.thread_ts or message.ts)
    answered, turn = _tag(message).get("message"), _tag(message).get("turn")
    for other in thread:
        if other.ts == answered or (turn and not answered and _tag(other).get("turn") == turn):
            return other
    return message


def story_of(slack: EmulatedSlack, viewer: Viewer, message: Message, record: StoredTrace) -> Story:
    """The story of *message*, `told_by` another, as far as the person sees it."""
    root = message.thread_ts or message.ts
    thread = {root: message, **{other.ts: other for other in viewer.thread(message.channel, root)}}
    posts = {ts for ts, other in thread.items() if _tag(other).get("turn") in record.turns} | {message.ts}
    responded = {call.ticket for call in slack.calls if call.posted == message.ts} - {""}
    written = float(message.ts)
    end = max((float(step["at"]) for step in record.steps), default=written) + _AFTERWARDS
    deliveries = [
        delivery
        for delivery in slack.deliveries
        if _id_of(delivery) in record.events
        or _is_about(delivery, message, posts)
        or _ticket_of(delivery) in responded
        or delivery.posted == message.ts
        or (_stops(delivery) == (message.channel, root) and written <= delivery.at <= end)
    ]
    start = min([written, *(delivery.at for delivery in deliveries)])
    return Story(message, record.turns, deliveries, frozenset(posts), frozenset(thread), start, end)


def _id_of(delivery: AppDelivery) -> str:
    """Its ID as the bridge records it."""
    payload = delivery.payload
    return str(payload.get("event_id") or f"trigger:{payload.get('trigger_id')}")


def _ticket_of(delivery: AppDelivery) -> str:
    return str(delivery.payload.get("response_url", "")).rpartition("/")[2]


def _stops(delivery: AppDelivery) -> tuple[str, str] | None:
    """The channel and root of the thread that it stops, if it does."""
    event = delivery.payload.get("event", {})
    return (event["channel"], event["thread_ts"]) if event.get("type") == "agent_session_stopped" else None


def _is_about(delivery: AppDelivery, message: Message, posts: set[str]) -> bool:
    """Whether it's an event of *message*, with its edits, or a click on one of the *posts*."""
    if delivery.kind == "interaction":
        container = delivery.payload.get("container", {})
        return container.get("channel_id") == message.channel and container.get("message_ts") in posts
    event = delivery.payload.get("event", {}) if delivery.kind == "event" else {}
    inside = event.get("message")
    changed = inside.get("ts") if isinstance(inside, dict) else event.get("deleted_ts")
    return event.get("channel") == message.channel and message.ts in {event.get("ts"), changed}


def api_calls_of(slack: EmulatedSlack, story: Story) -> Iterator[ApiCall]:
    """The bridge's Web API calls about the story's messages and files, or in its thread, and its responses."""
    files = {str(file.get("id")) for file in story.message.all_files}
    tickets = {_ticket_of(delivery) for delivery in story.deliveries} - {""}
    for call in slack.calls:
        args = call.args
        if (args.get("channel") or args.get("channel_id")) == story.message.channel:
            turn = _payload(args.get("metadata")).get("turn")
            about = {str(args.get(name)) for name in ("ts", "message_ts", "timestamp")} | {call.posted}
            is_there = str(args.get("thread_ts")) in story.thread or not about.isdisjoint(story.thread)
            is_own = not about.isdisjoint(story.posts) and not call.method.startswith("conversations.")
            if turn in story.turns if turn else is_own or (is_there and story.has(call.at)):
                yield call
        elif call.ticket in tickets or args.get("file") in files:
            yield call


def service_calls_of(calls: Sequence[ProjectCall], story: Story) -> list[ProjectCall]:
    """The bridge's calls of the project service for the story: its own, and what a command or click may have read."""
    may_read = not any(delivery.kind == "event" for delivery in story.deliveries)
    return [
        call
        for call in calls
        if call.idempotency_key.partition(".")[0] in story.turns
        or (may_read and not call.idempotency_key and story.has(call.at))
    ]


def _tag(message: Message) -> Json:
    """What the bridge wrote about its *message* for itself: its turn, and the ``ts`` of the message it answers."""
    return _payload(message.metadata)


def _payload(metadata: object) -> Json:
    return dict(metadata.get("event_payload", {})) if isinstance(metadata, dict) else {}
