"""Messages: mentions, direct messages, replies in threads, and what is edited or deleted while it waits.

Slack delivers a mention twice, as ``app_mention`` and as ``message``, in either order, and repeats what it thinks
undelivered, sometimes hours later. https://docs.slack.dev/reference/events/message
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_bolt.async_app import AsyncApp

from bridge.errors import SlackError, StoreUnavailable
from bridge.features.conversations.receive import Received, Receiver
from bridge.ids import MessageKey
from bridge.inbound import SLACK_ITSELF, InboundMessage
from bridge.listeners.door import IN_TIME, Body, NotTaken
from bridge.logs import facts
from bridge.metrics import Metrics
from bridge.slack.api import Identity
from bridge.slack.payloads import mapping, retry_of, text

log = logging.getLogger(__name__)

ORDINARY = frozenset({"", "file_share", "thread_broadcast", "me_message"})
"""Subtypes of messages that a person wrote. Every other one is a message about something: joins, topics, bots."""

_ABOUT_ANOTHER = frozenset({"message_changed", "message_deleted"})


@dataclass(frozen=True, slots=True)
class Ignored:
    """A message that is not for us, whatever its thread: *reason* says why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Edited:
    """A message has a new text. *is_mention*: Slack says so by another ``app_mention`` of it."""

    message: InboundMessage
    is_mention: bool = False


@dataclass(frozen=True, slots=True)
class Deleted:
    """A message is gone, since *at*, which is a ``ts``."""

    message: MessageKey
    at: str


Parsed = InboundMessage | Edited | Deleted | Ignored


def parse(body: Mapping[str, Any], identity: Identity) -> Parsed:
    """Make one of a closed set of values of an ``event_callback``. Never raises: odd payloads are `Ignored`."""
    event = mapping(body.get("event"))
    match event.get("subtype"):
        case "message_changed":
            return _parse_edit(body, event, identity)
        case "message_deleted":
            return _parse_deletion(event, text(event, "deleted_ts"), identity)
    if not _is_ordinary(event):
        return Ignored("a message about something")
    parsed = _parse_message(body, event, event, identity)
    # Any edit that adds or keeps a mention brings another ``app_mention``, with the old ts: slackapi/bolt-js#960.
    if event.get("type") == "app_mention" and isinstance(parsed, InboundMessage) and parsed.edited_ts:
        return Edited(parsed, is_mention=True)
    return parsed


def _parse_deletion(event: Mapping[str, Any], ts: str, identity: Identity) -> Deleted | Ignored:
    if not _is_ts(ts):
        return Ignored("not the deletion of a message")
    at = text(event, "event_ts") or text(event, "ts")
    return Deleted(MessageKey(identity.team, text(event, "channel"), ts), at if _is_ts(at) else ts)


def _parse_edit(body: Mapping[str, Any], event: Mapping[str, Any], identity: Identity) -> Parsed:
    message, previous = mapping(event.get("message")), mapping(event.get("previous_message"))
    if message.get("subtype") == "tombstone":  # a root that was deleted, and whose replies stay
        return _parse_deletion(event, text(message, "ts"), identity)
    if not _is_ordinary(message):
        return Ignored("a message about something was changed")
    if message.get("text") == previous.get("text"):
        return Ignored("changed, but not in its text")  # a link was unfurled, a thread got its first reply
    parsed = _parse_message(body, event, message, identity)
    if not isinstance(parsed, InboundMessage):
        return parsed
    at = text(event, "event_ts") or text(event, "ts")
    return Edited(parsed if parsed.edited_ts or not _is_ts(at) else parsed.model_copy(update={"edited_ts": at}))


def _parse_message(
    body: Mapping[str, Any], event: Mapping[str, Any], message: Mapping[str, Any], identity: Identity
) -> InboundMessage | Ignored:
    user, channel, ts = text(message, "user"), text(event, "channel"), text(message, "ts")
    words = text(message, "text")
    if message.get("bot_id") or message.get("app_id") or user == identity.bot_user:
        return Ignored("written by a bot")
    if user in SLACK_ITSELF:
        return Ignored("written by Slack itself")
    if message.get("hidden"):
        return Ignored("hidden")
    if not (user and channel and _is_ts(ts)):
        return Ignored("not a message that a person wrote")
    thread_ts, edited_ts = text(message, "thread_ts"), text(mapping(message.get("edited")), "ts")
    return InboundMessage(
        team=identity.team,
        channel=channel,
        user=user,
        user_team=text(message, "user_team") or text(message, "source_team") or text(message, "team"),
        is_shared=body.get("is_ext_shared_channel") is not False,  # where Slack does not say, it may be
        text=words,
        ts=ts,
        thread_ts=thread_ts if _is_ts(thread_ts) else "",
        event_id=text(body, "event_id"),
        retry=retry_of(body),
        is_mention=event.get("type") == "app_mention" or mentions(words, identity.bot_user),
        is_direct=event.get("channel_type") == "im" or channel.startswith("D"),
        has_files=bool(message.get("files")),
        edited_ts=edited_ts if _is_ts(edited_ts) else "",
        is_typed=bool(message.get("client_msg_id")),
    )


def mentions(words: str, bot_user: str) -> bool:
    """Whether *words*, with Slack's escapes, mentions the bot."""
    return f"<@{bot_user}" in words and re.search(rf"<@{re.escape(bot_user)}(?:\|[^<>]*)?>", words) is not None


class Messages:
    """The surface: parse, let the receiver decide and keep, and only then tell Slack."""

    def __init__(self, receiver: Receiver, identity: Identity, metrics: Metrics) -> None:
        self._receiver = receiver
        self._identity = identity
        self._metrics = metrics

    def register(self, app: AsyncApp) -> None:
        """Listen to messages of all kinds, and to what Slack sends beside them for a mention."""
        app.event("message")(self.on_message)
        app.event("app_mention")(self.on_message)

    async def on_message(self, body: Body) -> None:
        """Take one event in. Raises `NotTaken`."""
        kind = str(mapping(body.get("event")).get("type", "message"))
        parsed = parse(body, self._identity)
        try:
            async with asyncio.timeout(IN_TIME.total_seconds()):
                received = await self._take(body, parsed)
        except (StoreUnavailable, SlackError, TimeoutError) as exc:
            log.warning("an event could not be taken in, slack will repeat it", extra={"why": type(exc).__name__})
            self._note_refusal(parsed)
            self._metrics.event(kind, "not taken")
            raise NotTaken from exc
        self._metrics.event(kind, received.decision)
        if received.decision == "early":
            raise NotTaken

    async def take_again(self, body: Body) -> None:
        """Take in a message that was read in Slack's history. Raises `StoreUnavailable` and `SlackError`."""
        await self._take(body, parse(body, self._identity))

    async def _take(self, body: Body, parsed: Parsed) -> Received:
        match parsed:
            case Ignored(reason):
                log.debug("message ignored", extra={"reason": reason})
                received = Received("ignored", reason)
            case Edited(message, is_mention):
                await self._receiver.inbox.refusals.write()
                with facts(thread=str(message.thread)):
                    received = await self._receiver.edited(message, is_mention=is_mention)
                    log.info("edit received", extra={"decision": received.decision, "reason": received.reason})
            case Deleted(key, at):
                await self._receiver.inbox.refusals.write()
                received = await self._receiver.deleted(key, at)
            case InboundMessage() as message:
                await self._receiver.inbox.refusals.write()  # what is to be decided may hang on it
                with facts(thread=str(message.thread)):
                    received = await self._receiver.receive(message)
                    log.info("message received", extra={"decision": received.decision, "reason": received.reason})
        if received.is_passed_over:
            self._pass_over(body, received.reason)
        return received

    def _note_refusal(self, parsed: Parsed) -> None:
        refusals = self._receiver.inbox.refusals
        match parsed:
            case InboundMessage():
                refusals.message(parsed.ts, is_repeated=parsed.retry > 0)
            case Edited(message) if message.edited_ts:
                refusals.edited(message.key, message.edited_ts)
            case Deleted(key):
                refusals.deleted(key)

    def _pass_over(self, body: Body, why: str) -> None:
        """Let the trace know of a message that is not for the bot; the bot's own are known from their turns."""
        event = mapping(body.get("event"))
        key = MessageKey(self._identity.team, text(event, "channel"), text(event, "ts"))
        if text(event, "subtype") in _ABOUT_ANOTHER or self._identity.wrote(event) or not _is_ts(key.ts):
            return
        self._receiver.inbox.pass_over(key, event=text(body, "event_id"), retry=retry_of(body), why=why)


def _is_ordinary(message: Mapping[str, Any]) -> bool:
    subtype = message.get("subtype")
    return subtype is None or (isinstance(subtype, str) and subtype in ORDINARY)


def _is_ts(value: str) -> bool:
    return re.fullmatch(r"\d{1,12}\.\d{1,9}", value) is not None
