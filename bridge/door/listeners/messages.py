"""Messages: mentions, direct messages, replies in threads, edits and deletions.

Slack delivers a mention twice, as ``app_mention`` and as ``message``, in either order, and resends events that it
considers undelivered, sometimes hours later. https://docs.slack.dev/reference/events/message
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from slack_bolt.async_app import AsyncApp

from bridge.door.listeners.app import NotStored, in_time
from bridge.ends.decisions import Received, not_written
from bridge.ends.messages import Reason
from bridge.ids import MessageKey, ThreadKey
from bridge.inbound import InboundMessage
from bridge.json_reader import Json
from bridge.metrics import Metrics
from bridge.queue.inbox import Inbox
from bridge.slack import contents
from bridge.slack.api import Identity
from bridge.slack.blockkit.mrkdwn import mention_of
from bridge.slack.payloads import ABOUT_ANOTHER, RETRY, items, mapping, text, timestamp
from bridge.slack.senders import Sender

log = logging.getLogger(__name__)

_PASSED_OVER: Final = ("ignored", "unbound", "early", "deferred")  # no turn, so a trace shows them from a list
_IN_A_CANVAS: Final = "document_mention"


@dataclass(frozen=True, slots=True)
class Ignored:
    """A message that isn't for the bot in any thread, with the *reason*."""

    reason: str


@dataclass(frozen=True, slots=True)
class Edited:
    """An edited message. *may_be_new*: it may be for the bot only now, at whatever age it was edited."""

    message: InboundMessage
    may_be_new: bool = False


@dataclass(frozen=True, slots=True)
class Deleted:
    """A *message* that was deleted *at* a Slack ts; *thread* is its thread if it's known to be a reply."""

    message: MessageKey
    at: str
    thread: ThreadKey | None = None


@dataclass(frozen=True, slots=True)
class CanvasMention:
    """A mention in a canvas, where the bot can't write; *message* has its author and channel.

    https://docs.slack.dev/reference/events/message/document_mention (a mention in a comment is an ordinary message)
    """

    message: InboundMessage


Parsed = InboundMessage | Edited | Deleted | CanvasMention | Ignored


def parse(body: Mapping[str, Any], identity: Identity) -> Parsed:
    """Parse an ``event_callback``. Malformed ones are `Ignored`."""
    event = mapping(body.get("event"))
    match event.get("subtype"):
        case "message_changed":
            message, previous = mapping(event.get("message")), mapping(event.get("previous_message"))
            if message.get("subtype") == "tombstone":  # a deleted root whose replies remain
                return _parse_deletion(event, timestamp(message, "ts"), identity)
            if contents.read(message) == contents.read(previous):
                return Ignored(Reason.SAME_TEXT)  # a link was unfurled, a thread got its first reply
            is_same = message.get("text") == previous.get("text") and message.get("edited") == previous.get("edited")
            if is_same and not (message.get("bot_id") and contents.shown(message) != contents.shown(previous)):
                return Ignored(Reason.CHANGED_BY_SLACK)  # Slack transcribed a clip, or added a link preview
            parsed = _parse_message(body, event, message, identity)
            if not isinstance(parsed, InboundMessage):
                return parsed
            at = timestamp(event, "event_ts") or timestamp(event, "ts")
            return Edited(parsed if parsed.edited_ts else parsed.model_copy(update={"edited_ts": at}))
        case "message_deleted":
            return _parse_deletion(event, timestamp(event, "deleted_ts"), identity)
    if event.get("subtype") == _IN_A_CANVAS:
        mention = _parse_message(body, event, {**event, "subtype": None}, identity)
        return mention if isinstance(mention, Ignored) else CanvasMention(mention)
    parsed = _parse_message(body, event, event, identity)
    # After any edit that adds or retains a mention, Slack sends another ``app_mention``, with the old ts:
    # https://github.com/slackapi/bolt-js/issues/960
    if event.get("type") == "app_mention" and isinstance(parsed, InboundMessage) and parsed.edited_ts:
        return Edited(parsed, may_be_new=True)
    return parsed


def _parse_deletion(event: Mapping[str, Any], ts: str, identity: Identity) -> Deleted | Ignored:
    if not ts:
        return Ignored(Reason.NO_DELETION)
    at = timestamp(event, "event_ts") or timestamp(event, "ts") or ts
    channel, root = text(event, "channel"), timestamp(mapping(event.get("previous_message")), "thread_ts")
    thread = ThreadKey(identity.team, channel, root) if root and root != ts else None
    return Deleted(MessageKey(identity.team, channel, ts), at, thread)


def _parse_message(
    body: Mapping[str, Any], event: Mapping[str, Any], message: Mapping[str, Any], identity: Identity
) -> InboundMessage | Ignored:
    user, channel, ts = text(message, "user"), text(event, "channel"), timestamp(message, "ts")
    bot, sender = text(message, "bot_id"), Sender.of(message)
    app = sender.id
    reason = not_written(message)
    if reason is Reason.ABOUT_SOMETHING:
        return Ignored(reason)
    if (
        user == identity.bot_user
        or (app and app in {identity.app_id, text(body, "api_app_id")})
        or (bot and bot == identity.bot_id)
    ):
        return Ignored(Reason.OWN)
    if reason is not None:
        return Ignored(reason)
    if not (channel and ts):
        return Ignored(Reason.OF_NOBODY)
    words, parts = contents.read(message)
    whole = f"{words} {text(message, 'text')}" if parts else words  # a mention may be below a table
    is_mentioned = "<@" in whole and mention_of(identity.bot_user).search(whole) is not None
    return InboundMessage(
        team=identity.team,
        channel=channel,
        user=bot if message.get("subtype") == "bot_message" else user or bot,
        user_team=text(message, "user_team")
        or text(message, "source_team")
        or text(message, "team")
        or text(mapping(message.get("bot_profile")), "team_id"),
        is_shared=body.get("is_ext_shared_channel") is not False,  # if Slack doesn't say, it may be
        text=words,
        ts=ts,
        thread_ts=timestamp(message, "thread_ts"),
        event_id=text(body, "event_id"),
        retry=body.get(RETRY, 0),
        is_mention=event.get("type") == "app_mention" or is_mentioned,
        is_direct=event.get("channel_type") == "im" or channel.startswith("D"),
        parts=parts,
        edited_ts=timestamp(mapping(message.get("edited")), "ts"),
        is_typed=bool(message.get("client_msg_id")),
        source="app" if app else "typed",
        app=app,
        app_name=sender.name if app else "",
        bot=bot if app else "",
        looks_at=_seen_channel(message) if "app_context" in message else "",
    )


def _seen_channel(message: Mapping[str, Any]) -> str:
    """Return the channel that the person has open beside the bot's direct message; Slack lists the most relevant first.

    https://docs.slack.dev/tools/node-slack-sdk/reference/web-api/interfaces/GenericMessageEvent#app_context
    """
    for entity in map(mapping, items(mapping(message.get("app_context")).get("entities"))):
        match entity:
            case {"type": "slack#/types/channel_id", "value": str() as channel}:
                pass
            case {"type": "slack#/types/message_context", "value": {"channel_id": str() as channel}}:
                pass
            case _:
                continue
        if channel.startswith(("C", "G")):
            return channel
    return ""


class MessageReceiver(Protocol):
    """Decides about messages, and queues those for an agent.

    Methods may raise `StoreUnavailable`, `SlackError` and `ProjectError`.
    """

    async def receive(self, message: InboundMessage) -> Received:
        """Decide about a message."""
        ...

    async def found(self, message: InboundMessage) -> Received:
        """Decide about a message from Slack's history."""
        ...

    async def edited(self, message: InboundMessage, *, may_be_new: bool = False) -> Received:
        """Handle an edit; *may_be_new*: it may be for the bot only now."""
        ...

    async def deleted(self, message: MessageKey, at: str, thread: ThreadKey | None) -> Received:
        """Handle a deletion *at* a Slack ts, in a *thread* if it was a reply."""
        ...

    async def mentioned_in_canvas(self, message: InboundMessage) -> Received:
        """Handle a mention in a canvas."""
        ...


@dataclass(frozen=True, slots=True)
class MessageListeners:
    """Listeners for messages: they parse, let the *receiver* decide and store, then acknowledge."""

    receiver: MessageReceiver
    inbox: Inbox
    identity: Identity
    metrics: Metrics

    def register(self, app: AsyncApp) -> None:
        """Add the listeners for messages, and for a mention's second event, to *app*."""
        app.event("message")(self.on_message)
        app.event("app_mention")(self.on_message)

    async def on_message(self, body: Json) -> None:
        """Handle a live event. Raises `NotStored`."""
        event, parsed = mapping(body.get("event")), parse(body, self.identity)
        refused = self.inbox.refused_messages
        kind = text(event, "type")
        try:
            async with in_time(kind, self.metrics):
                message = parsed.message if isinstance(parsed, Edited) else parsed
                is_of_app = isinstance(message, InboundMessage) and message.app != "" and not message.may_be_a_persons
                if refused.writer and not (is_of_app or isinstance(parsed, Ignored)):
                    await refused.write()  # the decision may depend on them
                match parsed:
                    case InboundMessage():
                        received = await self.receiver.receive(parsed)
                    case Edited(message, may_be_new):
                        received = await self.receiver.edited(message, may_be_new=may_be_new)
                    case Deleted(key, at, thread):
                        received = await self.receiver.deleted(key, at, thread)
                    case CanvasMention(message):
                        received = await self.receiver.mentioned_in_canvas(message)
                    case Ignored(reason):
                        received = Received("ignored", reason)
        except NotStored:
            match parsed:
                case InboundMessage() as message:
                    refused.message(message)
                case Edited(message) if message.edited_ts:
                    refused.edited(message)
                case Deleted(key):
                    refused.deleted(key)
            raise
        channel, ts = text(event, "channel"), timestamp(event, "ts")
        log.debug(
            "message received",
            extra={"channel": channel, "ts": ts, "decision": received.decision, "reason": received.reason},
        )
        is_about_another = event.get("subtype") in ABOUT_ANOTHER
        if received.decision in _PASSED_OVER and ts and not is_about_another and not self.identity.wrote(event):
            # For the trace, which knows the bot's own messages from their turns.
            key = MessageKey(self.identity.team, channel, ts)
            self.inbox.pass_over(key, event=text(body, "event_id"), retry=body.get(RETRY, 0), why=received.reason)
        self.metrics.event(kind, received.decision)
        if received.decision == "early":
            raise NotStored

    async def found(self, message: Json, channel: str) -> str:
        """Handle a message from *channel*'s history, and return the decision.

        Raises `StoreUnavailable`, `SlackError` and `ProjectError`.
        """
        body: Json = {"type": "event_callback", "event": {"type": "message", **message, "channel": channel}}
        parsed = parse(body, self.identity)
        received = await self.receiver.found(parsed) if isinstance(parsed, InboundMessage) else Received("ignored")
        return received.decision
