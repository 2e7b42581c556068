"""Finds the requests that belong to one message. Few say so themselves, hence these rules.

- The story of a message starts when a person writes it. For the app's message that is the one that its metadata name,
  else the last message of a person in the thread, or the last command or click in the channel before the bridge
  received one, as it recorded.
- It ends with the last step that the bridge recorded, else with the person's next message in the thread.
- Its Web API calls are those in the thread, those about the message's files, and responses by the response URLs that
  its commands and clicks came with.
- Its project service calls are the chats in the thread's session, which the answers' metadata name, and those that got
  no session, between "sent" and "answered" (or "unknown") if the bridge recorded those; for a command or click, every
  call until its result was shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bridge.playground.emulator import ApiCall, AppDelivery, EmulatedSlack
from bridge.playground.emulator.entities import Json, Message
from bridge.playground.page.viewer import Viewer
from bridge.playground.sample_project import ProjectCall

_CLOCKS: Final = 0.25  # seconds of clock skew between two processes
_AFTERWARDS: Final = 2.0  # seconds for what follows the last step: clearing a status, updating a card
ROUNDED: Final = 0.001
"""How much earlier than it happened a step of the bridge may seem to be, in seconds: it records milliseconds."""

_LED_TO: Final = 900.0  # seconds; no run takes longer


@dataclass(frozen=True)
class Story:
    """What happened from *start* until *end* in the thread at *root* because of *user*.

    They wrote *message*; or a command or click, *cause*, led to it.
    """

    message: Message
    user: str
    root: str
    start: float
    end: float = float("inf")
    cause: AppDelivery | None = None

    def has(self, at: float) -> bool:
        return self.start - _CLOCKS <= at <= self.end


def told_by(viewer: Viewer, message: Message) -> Message:
    """The message that the story of *message* is about: a person's, or *message* itself."""
    thread = viewer.thread(message.channel, message.thread_ts) if message.is_reply else [message]
    until = str(_tag(message).get("message", message.ts))
    before = [said for said in _said(thread) if said.ts <= until]
    return before[-1] if before else message


def story_of(slack: EmulatedSlack, viewer: Viewer, message: Message, steps: Sequence[Json]) -> Story:
    """The story of *message*, `told_by` another, as far as the person sees it; the bridge recorded its *steps*."""
    root = message.thread_ts or message.ts
    story = Story(message, message.to, root, float(message.ts))
    if said := _said([message]):
        said = _said(viewer.thread(message.channel, root))
        following = [float(later.ts) for later in said if later.ts > message.ts]
        story = replace(story, user=said[0].user, end=min(following, default=story.end))
    else:
        received = [float(step["at"]) + ROUNDED for step in steps if step.get("what") == "received"]
        before = min(received, default=story.start)
        for delivery in reversed(slack.deliveries):
            user = _user_of(delivery, message.channel)
            if user and user == (message.to or user) and before - _LED_TO <= delivery.at <= before:
                story = replace(story, user=user, start=delivery.at, cause=delivery)
                break
    last = max((float(step["at"]) for step in steps), default=story.end)
    return replace(story, end=last + _AFTERWARDS)


def _said(messages: Sequence[Message]) -> list[Message]:
    """Those that people wrote."""
    return [message for message in messages if not message.bot_id and not message.to]


def _user_of(delivery: AppDelivery, channel: str) -> str:
    """The user of a command or click in that channel, else empty."""
    payload = delivery.payload
    if delivery.kind == "command":
        return str(payload["user_id"]) if payload["channel_id"] == channel else ""
    if delivery.kind == "interaction" and delivery.name != "block_suggestion":
        where = payload.get("channel", {}).get("id", channel)  # a form has no channel
        return str(payload["user"]["id"]) if where == channel else ""
    return ""


def deliveries_of(slack: EmulatedSlack, story: Story) -> Iterator[AppDelivery]:
    """Deliveries to the bridge: the message's events with their retries, and clicks in the thread."""
    for delivery in slack.deliveries:
        if delivery is story.cause or (delivery.kind == "event" and _is_about(delivery.payload["event"], story)):
            yield delivery
        elif delivery.kind == "interaction" and story.has(delivery.at):
            container = delivery.payload.get("container", {})
            place = container.get("thread_ts") or container.get("message_ts")
            if (container.get("channel_id"), place) == (story.message.channel, story.root):
                yield delivery


def _is_about(event: Json, story: Story) -> bool:
    if event.get("channel") != story.message.channel:
        return False
    if event["type"] == "agent_session_stopped":
        return event.get("thread_ts") == story.root and story.has(float(event["event_ts"]))
    inside = event.get("message")
    changed = inside.get("ts") if isinstance(inside, dict) else event.get("deleted_ts")
    return story.message.ts in {event.get("ts"), changed}


def api_calls_of(
    slack: EmulatedSlack, viewer: Viewer, story: Story, deliveries: Sequence[AppDelivery]
) -> Iterator[ApiCall]:
    """The bridge's Web API calls in the thread, and its responses to the *deliveries*."""
    files = {str(file.get("id")) for file in story.message.all_files}
    thread = {story.root, *(message.ts for message in viewer.thread(story.message.channel, story.root))}
    tickets = {str(delivery.payload.get("response_url", "")).rpartition("/")[2] for delivery in deliveries} - {""}
    for call in slack.calls:
        args, made = call.args, call.answer.get("ts") if isinstance(call.answer, dict) else None
        is_here = (args.get("channel") or args.get("channel_id")) == story.message.channel
        places = {str(args[name]) for name in ("thread_ts", "ts", "message_ts") if args.get(name)}
        is_in_thread = is_here and (places & thread or made == story.message.ts)
        if story.has(call.at) and (is_in_thread or call.ticket in tickets or args.get("file") in files):
            yield call


def service_calls_of(
    calls: Sequence[ProjectCall], viewer: Viewer, story: Story, steps: Sequence[Json]
) -> list[ProjectCall]:
    """The bridge's calls of the project service for the story."""
    if story.cause is not None:
        shown = float((story.message.edited or {}).get("ts") or story.message.ts)
        return [call for call in calls if story.start <= call.at <= shown]
    asked = [float(step["at"]) for step in steps if step.get("what") == "sent"]
    answered = [float(step["at"]) for step in steps if step.get("what") in {"answered", "unknown"}]
    start = min(asked, default=story.start) - _CLOCKS
    end = max(answered, default=story.end) + _CLOCKS
    tags = map(_tag, viewer.thread(story.message.channel, story.root))
    sessions = {str(tag["session"]) for tag in tags if "session" in tag}
    if not (asked or sessions):  # as far as anyone knows, it went to no agent
        return []
    own = sessions | {""} if sessions else None  # None: the first answer isn't there yet
    chats = [call for call in calls if call.path.endswith("/chat") and start <= call.at <= end]
    return [call for call in chats if own is None or call.session in own]


def _tag(message: Message) -> Json:
    """What the bridge wrote about its *message* for itself: the session, and the ``ts`` of the message it answers."""
    return dict((message.metadata or {}).get("event_payload", {}))
