"""*Why no answer?*: the shortcut of a message, and ``!why``.

Both explain one message in private, from the facts of `bridge trace`. They ask the project service for nothing, and
read Slack only to find the message and for what the store can't know.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple

from bridge.ends import End
from bridge.ends.decisions import Explanation, explain, not_written
from bridge.ends.messages import MessageState, Reason
from bridge.ends.refusals import NOT_ALLOWED, ON_ARRIVAL
from bridge.engine.feature import Feature
from bridge.engine.results import Outcome, Result, shown
from bridge.engine.turn import Turn
from bridge.errors import SlackError
from bridge.features.deps import Deps
from bridge.features.why import layout
from bridge.ids import LinkedMessage
from bridge.inbound import InboundMessage, Shortcut
from bridge.names.folding import fold
from bridge.queue.keys import TRACE
from bridge.queue.outages import Outages
from bridge.queue.records import Conversation
from bridge.queue.trace import trace_of
from bridge.slack import contents
from bridge.slack.parts import Place
from bridge.slack.payloads import text, timestamp

log = logging.getLogger(__name__)

why = Feature("why")
why.outcomes["explained"] = "explained what happened to a message"

_NAME: Final = "Why no answer?"
_COMMAND: Final = re.compile(r"\s*(?:<@[^>]*>[\s:,]*)*[*_~`]*!(?P<name>[a-z]+)")  # of folded text
_BEGINS_WITH_A_MENTION: Final = re.compile(r"\s*<(?:@|!subteam\^)")
_LONGEST: Final = 200  # characters of a message that may be a command


@why.shortcut(
    "why", _NAME, "Find out what happened to this message.", "message", label=f"shortcut: {_NAME}",
    not_stored=layout.NOT_STORED,
)  # fmt: skip
async def why_no_answer(deps: Deps, turn: Turn, shortcut: Shortcut) -> Result:
    """Explain the message that the shortcut was used on."""
    await deps.policy.require(turn.asked("trace"))
    if not timestamp({"ts": shortcut.message_ts}, "ts"):
        return _shown(deps, MessageState.NOT_FOUND.value)
    message = InboundMessage(
        team=shortcut.team, channel=shortcut.channel, user=shortcut.author, user_team=shortcut.user_team,
        text=shortcut.text, parts=shortcut.parts, ts=shortcut.message_ts, source="typed",
        thread_ts="" if shortcut.thread_ts == shortcut.message_ts else shortcut.thread_ts,
    )  # fmt: skip
    return await _explained(deps, turn, message, Reason.of(shortcut.not_written))


@why.command("!why [link]")
async def why_here(deps: Deps, turn: Turn, *, link: str = "") -> Result:
    """Say why a message got no answer: your last one here, or the one you link to."""
    await deps.policy.require(turn.asked("trace"))
    asked = turn.body
    linked = LinkedMessage.parse(link)
    if not isinstance(asked, InboundMessage) or (link and linked is None):
        return _shown(deps, MessageState.NOT_FOUND.value)
    found = await _linked(deps, turn, linked) if linked else await _latest(deps, turn, asked)
    return await _explained(deps, turn, *found) if found else _shown(deps, MessageState.NOT_FOUND.value)


class _Found(NamedTuple):
    """A *message*, and why it's *not_written* by a person or an app."""

    message: InboundMessage
    not_written: Reason | None = None


async def _latest(deps: Deps, turn: Turn, asked: InboundMessage) -> _Found | None:
    """Return the latest message before this: its person's own, or else anyone's; in its thread if it's in one.

    In a thread, a command such as ``!stop`` isn't meant, unless there's nothing else.
    """
    place = Place(asked.channel, "" if asked.is_root else asked.thread.root)

    def is_meant(posted: Mapping[str, Any], *, is_theirs: bool, is_command: bool) -> bool:
        is_earlier = float(timestamp(posted, "ts") or "inf") < float(asked.ts)
        by = text(posted, "user")
        is_of_app = bool(posted.get("bot_id")) and by != asked.user
        is_written = not_written(posted) is None and not is_of_app and by != deps.bot_user
        typed = _COMMAND.match(fold(text(posted, "text"), _LONGEST).text)
        is_other = typed is None or (is_command and typed["name"] != "why")
        return is_earlier and is_written and is_other and (not is_theirs or by == asked.user)

    kinds = (True,) if asked.is_root else (False, True)
    preferred = [partial(is_meant, is_theirs=theirs, is_command=kind) for kind in kinds for theirs in (True, False)]
    found = await _read(deps, turn, place, *preferred, latest=asked.ts)
    if found is not None or asked.is_root:
        return found
    conversation = await deps.sessions.thread(asked.thread)  # without the permission to read the thread
    lines = [line.split() for line in conversation.writers.splitlines()] if conversation else []
    own = [ts for ts, user, _ in lines if user == asked.user and float(ts) < float(asked.ts)]
    return _Found(asked.model_copy(update={"ts": own[-1], "text": "", "parts": ()})) if own else None


async def _linked(deps: Deps, turn: Turn, link: LinkedMessage) -> _Found | None:
    """Return the message that *link* leads to, if its person can see it; None also if the bot can't see it."""
    place = Place(link.channel, link.thread_ts or link.ts)
    at = float(link.ts)
    around = {"oldest": f"{at - 1e-6:.6f}", "latest": f"{at + 1e-6:.6f}"}
    found = await _read(deps, turn, place, lambda posted: timestamp(posted, "ts") == link.ts, **around)
    if found is None and link.channel == turn.channel:  # it was deleted, or the bot may not read the channel
        unseen = InboundMessage(
            team=turn.team, channel=link.channel, user="", text="", ts=link.ts, source="typed",
            thread_ts=link.thread_ts,
        )  # fmt: skip
        return _Found(unseen)
    if found is None or found.message.user == turn.user or link.channel == turn.channel:
        return found
    try:
        return found if await deps.directory.sees(turn.user, link.channel) else None
    except SlackError:
        return None


async def _read(
    deps: Deps, turn: Turn, place: Place, *wanted: Callable[[Mapping[str, Any]], bool], **between: str
) -> _Found | None:
    """Return the newest *wanted* message in *place*; None if there's none, or Slack doesn't show it."""
    history = deps.slack.history()
    try:
        posted = await history.newest(place, *wanted, **between)
    except SlackError as exc:
        log.info("can't read which message is meant", extra={"detail": exc.detail})
        return None
    if posted is None:
        return None
    (words, parts), ts, root = contents.read(posted), timestamp(posted, "ts"), timestamp(posted, "thread_ts")
    author = text(posted, "user")
    if text(posted, "bot_id") and author != turn.user and await deps.directory.is_bot(author):
        author = ""
    message = InboundMessage(
        team=turn.team, channel=place.channel, user=deps.bot_user if history.identity.wrote(posted) else author,
        user_team=turn.body.user_team, text=words, parts=parts, ts=ts, source="typed",
        thread_ts="" if root == ts else root,
    )  # fmt: skip
    return _Found(message, not_written(posted))


async def _explained(deps: Deps, turn: Turn, message: InboundMessage, unwritten: Reason | None = None) -> Result:
    """Say what happened to *message*, as far as its reader may know, or why it's *unwritten*."""
    conversation = await deps.sessions.thread(message.thread)
    project = deps.projects.get(conversation.project or "") if conversation else None
    down_for = project.client.down_for if project else None
    why = explain(await trace_of(deps.scripts, message.key), deps.now() - down_for if down_for is not None else None)
    if message.user == deps.bot_user:
        why = Explanation(Reason.OWN.meaning)
    elif unwritten is not None and why is None:
        why = Explanation(unwritten.meaning)
    elif why is None:
        why = await _unrecorded(deps, turn, message, conversation)
    is_own = message.user == turn.user
    if why.meaning is NOT_ALLOWED and (rule := deps.policy.rules.not_listed(message.user, message.channel)):
        why = replace(why, meaning=ON_ARRIVAL[rule], refusal=rule)
    reference = ""
    if await deps.policy.may(turn.asked("settings")):
        words = [f"ID {why.turn.id}"] if why.turn else []
        words += [why.meaning.word] if why.refusal and why.is_public | is_own else []
        reference = " · ".join(words)
    if not (is_own or why.is_public):
        return _shown(deps, MessageState.OF_SOMEONE_ELSE.value, reference=reference)
    button = why.button
    value = str(message.key)
    if button == "send":  # a reply that needed a mention, for its author
        is_possible = is_own and not (message.is_root or message.is_empty or why.turn)
        if is_possible and conversation is not None and not conversation.is_muted:
            await deps.inbox.write(*deps.inbox.drafts.keeps(message))
        else:
            button = ""
    elif button in {"again", "now"} and why.turn:
        value = why.turn.id
    shown_at = (message.channel, why.shown_at, message.thread.root)
    return _shown(deps, why, button=button, value=value, shown_at=shown_at, reference=reference)


async def _unrecorded(
    deps: Deps, turn: Turn, message: InboundMessage, conversation: Conversation | None
) -> Explanation:
    """Explain a message of which nothing is recorded: it didn't arrive, is too old, or wasn't for an agent.

    The last isn't always recorded (`bridge.queue.passed_over`).
    """
    is_direct, written = message.channel.startswith("D"), datetime.fromtimestamp(float(message.ts), UTC)
    if not is_direct and not await deps.directory.is_member(message.channel):
        return Explanation(MessageState.NOT_A_MEMBER.value)
    since = deps.store_since()
    if since is not None and written < since:
        return Explanation(MessageState.BEFORE_RECORDS.value, since=since)
    if deps.now() - written > TRACE:
        return Explanation(MessageState.TOO_OLD_FOR_RECORDS.value)
    is_unaddressed = not (message.is_empty or is_direct) and f"<@{deps.bot_user}" not in message.text
    if is_unaddressed and (reason := await _for_nobody(deps, message, conversation)):
        return Explanation(reason.meaning)
    outage = await Outages(deps.scripts).latest()
    if outage is not None and outage.done_at is None and outage.began <= written <= outage.ended:
        return Explanation(MessageState.CATCHING_UP.value)
    is_admin = await deps.policy.may(turn.asked("settings"))
    return Explanation((MessageState.NEVER_ARRIVED_ADMIN if is_admin else MessageState.NEVER_ARRIVED).value)


async def _for_nobody(deps: Deps, message: InboundMessage, conversation: Conversation | None) -> Reason | None:
    """Return why a channel's message without a mention isn't for an agent, as far as its settings say; else None."""
    settings = await deps.channels.get(message.team, message.channel, with_ids=False)
    if message.is_root:
        return None if settings.answers == "all" else Reason.NOT_ADDRESSED
    replies = settings.replies or deps.channels.replies
    if _BEGINS_WITH_A_MENTION.match(message.text):
        return Reason.FOR_OTHERS
    if conversation is None:
        return Reason.NO_CONVERSATION
    if replies == "mentions":
        return Reason.NEEDS_MENTION
    if conversation.is_muted:
        return Reason.MUTED
    is_theirs = replies == "all" or conversation.is_with(message.user, message.ts)
    return None if is_theirs else Reason.OTHERS_WRITE


def _shown(deps: Deps, why: Explanation | End, **more: Any) -> Outcome:
    if isinstance(why, End):
        why = Explanation(why)
    happened, cure = why.happened(), why.meaning.cure
    return shown(layout.explained(happened, cure, since=why.since, workspace=deps.workspace, **more), "explained")
