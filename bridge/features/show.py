"""Show the outcome of a turn in Slack, exactly once as far as that can be done.

`chat.postMessage` has no idempotency key. A post that Slack surely did not take is made again; an ambiguous one is
settled by looking for its mark in the thread; so is one that an earlier worker may have made. Where nobody can look
(no permission to read, a response_url) it is not made again: people are told so, and a button shows it.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from bridge.errors import SlackAmbiguous, SlackError, SlackRefused, SlackTokenRefused, SlackUnreachable
from bridge.features.conversations import notices
from bridge.features.outcome import Outcome
from bridge.ids import TurnId, aside
from bridge.inbound import (
    Click,
    HomeOpened,
    Inbound,
    InboundMessage,
    MessagesTabOpened,
    Notice,
    Report,
    Shortcut,
    SlashCommand,
    StopRequest,
    Submission,
)
from bridge.queue.journal import Journal
from bridge.queue.lanes import Taken
from bridge.queue.lease import SLACK_TIMEOUT, Lease
from bridge.queue.patience import Patience
from bridge.queue.watching import Watches
from bridge.slack.api import RESPONSE_URL
from bridge.slack.blockkit.reply import Audience, Reply
from bridge.slack.history import MessageTag, Place
from bridge.slack.post import ExistingParts, Recipient, Say, first_of

log = logging.getLogger(__name__)

_PAUSES = tuple(timedelta(seconds=s) for s in (1, 2, 4, 8, 15))
_CLOCK_SKEW = timedelta(minutes=5)
_MOST_DOUBTS = 3  # so often is it said that an answer is in doubt, where that is in doubt each time
_NOT_A_MEMBER = frozenset({"not_in_channel", "channel_not_found"})

MOST_HANDS = 8
"""A turn that so many had, and none finished or gave back, is buried; so is one with as many attempts to show it that
held the process up until its lease was over. Such a process takes its own lane over, which is not counted."""

RUN_MARK = "bridge_run"
MENU_MARK = "bridge_menu"


class NeverFinished(Exception):
    """A turn was begun again and again, and never came to its end."""


def place_of(body: Inbound, audience: Audience = Audience.CHANNEL) -> Place:
    """Where everybody sees the answer to *body*: the thread it is in, or else the channel.

    What is shown to the `Audience.THREAD` of a message that is in none begins one below it.
    """
    match body:
        case InboundMessage():
            return Place(body.channel, body.thread.root)
        case Click() if audience is Audience.THREAD and not body.is_ephemeral:
            return Place(body.channel, body.thread_ts or body.message_ts)
        case Click() | StopRequest() | Submission() | Notice():
            return Place(body.channel, body.thread_ts)
        case SlashCommand() | HomeOpened() | MessagesTabOpened() | Shortcut() | Report():
            return Place(body.channel)


def whom_of(body: Inbound) -> Recipient:
    """Whom alone the private answer to *body* reaches."""
    response_url = getattr(body, "response_url", "")
    if isinstance(body, Submission):  # where it was opened, not where what comes of it is shown
        return Recipient(body.opened_in or body.channel, body.user, "", response_url)
    thread_ts = body.thread_ts if isinstance(body, InboundMessage | Click | StopRequest | Notice) else ""
    return Recipient(body.channel, body.user, thread_ts, response_url)


def begun(taken: Taken) -> datetime:
    """Tell since when the messages of a turn can be in Slack."""
    return taken.turn.accepted_at - _CLOCK_SKEW


def is_public(reply: Reply, body: Inbound) -> bool:
    """Whether *reply* is for everybody; in the direct message with the bot, nothing needs hiding."""
    return reply.audience is not Audience.PRIVATE or (isinstance(body, InboundMessage) and body.is_direct)


class PostInDoubt(Exception):
    """Nobody can tell whether the outcome of a turn is in Slack, so it is not posted again."""


class Shower:
    """Shows outcomes by way of *say*, with all the *patience* that Slack may need."""

    def __init__(self, say: Say, patience: Patience, journal: Journal, watches: Watches) -> None:
        self._say = say
        self._patience = patience
        self._journal = journal
        self._watches = watches

    async def show(
        self, taken: Taken, outcome: Outcome, lease: Lease, *, may_be_there: bool, may_have_card: bool = False
    ) -> str:
        """Show *outcome*; returns the ``ts`` of its (first) message, ``""`` for a private one.

        *may_be_there*: an earlier worker may have posted it; *may_have_card*: or the card that it replaces. Raises
        `SlackRefused` where Slack will never take it, `PostInDoubt`, `NeverFinished`, `TurnStopped`, `LaneLost`, and
        `Draining`.
        """
        body, reply = taken.turn.body, outcome.reply
        # The card of a run becomes its result. A menu that was shown before the answer is a message of its own.
        has_card = bool(taken.turn.card) and outcome.mark == RUN_MARK
        existing = ExistingParts({"0": taken.turn.card} if has_card else {})
        is_new = is_public(reply, body) and not has_card and not _replaces(reply, body)
        look, has_waited = may_be_there or may_have_card, taken.turn.waits
        attempt, outlived, began = 0, 0, lease.now
        while True:
            try:
                if look and is_new:
                    existing = await self._find(taken, outcome, is_surely_new=not may_be_there)
                look = False
                if has_waited:
                    await self._patience.through_outages(lambda: self._journal.goes(taken))
                await self._patience.through_outages(lambda: lease.ensure(SLACK_TIMEOUT))
                began = lease.now
                return await self._once(taken, outcome, existing, lease)
            except SlackUnreachable as exc:
                trouble: SlackError = exc
            except SlackAmbiguous as exc:
                if exc.method == RESPONSE_URL and not reply.replaces_original:
                    raise PostInDoubt from exc
                trouble, look, may_be_there = exc, True, True
            attempt += 1
            outlived = outlived + 1 if lease.was_outlived(began) else 0
            if taken.turn.handed_out + outlived > MOST_HANDS:
                raise NeverFinished
            has_waited = True
            await self._wait(taken, trouble, attempt, has_begun=bool(existing))

    async def tell_of_doubt(self, taken: Taken, outcome: Outcome, lease: Lease, *, is_by_url: bool) -> None:
        """Say that nobody can tell whether *outcome* is in Slack, and offer to show it.

        In its place, or where the bot itself could not post that, in the person's direct message. To say it twice does
        no harm, so it is said again while that is in doubt, too, but not for ever. Raises what `show` raises, and
        `SlackAmbiguous`.
        """
        body = taken.turn.body
        is_elsewhere = is_by_url or not is_public(outcome.reply, body)
        place = Place(body.user) if is_elsewhere else place_of(body, outcome.reply.audience)
        notice = notices.in_doubt(taken.turn.id, body.channel if is_elsewhere else "")
        doubts = attempt = 0
        while True:
            if attempt or taken.turn.waits:
                await self._patience.through_outages(lambda: self._journal.goes(taken))
            await self._patience.through_outages(lambda: lease.ensure(SLACK_TIMEOUT))
            try:
                await self._say.post(
                    place, notice, MessageTag("bridge_notice", aside(taken.turn.id, "doubt")), ExistingParts()
                )
            except SlackUnreachable as exc:
                trouble: SlackError = exc
            except SlackAmbiguous as exc:
                trouble, doubts = exc, doubts + 1
                if doubts == _MOST_DOUBTS:
                    raise
            else:
                return
            attempt += 1
            await self._wait(taken, trouble, attempt, has_begun=True)

    async def _wait(self, taken: Taken, trouble: SlackError, attempt: int, *, has_begun: bool) -> None:
        """Wait before the next try: meanwhile a stop may end it."""
        await self._patience.through_outages(lambda: self._journal.waits(taken, has_begun=has_begun))
        log.warning("slack did not take an answer yet", extra={"attempt": attempt})
        async with self._watches.ends_when_stopped(taken.turn.id):
            if isinstance(trouble, SlackTokenRefused):  # what is recorded waits, however long that takes
                await self._patience.wait_for(self._say.token.until_accepted())
                return
            asked = trouble.retry_after if isinstance(trouble, SlackUnreachable) else None
            await self._patience.pause(asked or _PAUSES[min(attempt, len(_PAUSES)) - 1])

    async def _find(self, taken: Taken, outcome: Outcome, *, is_surely_new: bool) -> ExistingParts:
        """Look what is there. That Slack does not let us look says nothing about a post."""
        body = taken.turn.body
        try:
            return await self._say.find(place_of(body, outcome.reply.audience), _marked(taken, outcome), begun(taken))
        except SlackRefused as exc:
            is_stranger = exc.error in _NOT_A_MEMBER and whom_of(body).response_url  # then it cannot have posted here
            if is_surely_new or is_stranger or outcome.mark == MENU_MARK:  # a second menu does no harm
                return ExistingParts()
            raise PostInDoubt from exc

    async def _once(self, taken: Taken, outcome: Outcome, existing: ExistingParts, lease: Lease) -> str:
        body, reply = taken.turn.body, outcome.reply
        if not is_public(reply, body):
            whom = whom_of(body)
            if whom.response_url and not reply.replaces_original:
                await self._go_by_url(taken, lease)
            await self._say.whisper(whom, reply, existing)
            return ""
        tag = MessageTag(outcome.mark, _marked(taken, outcome), outcome.agent, outcome.session)
        if isinstance(body, Click) and _replaces(reply, body):
            await self._say.update(body.channel, body.message_ts, reply, tag)
            return body.message_ts
        if outcome.mark == RUN_MARK and existing:  # the card that was posted when the run began
            card = first_of(existing)
            await self._say.update(body.channel, card, reply, tag)
            return card
        try:
            return await self._say.post(place_of(body, reply.audience), reply, tag, existing)
        except SlackRefused as exc:
            url = whom_of(body).response_url
            if not url:
                raise
            log.info("the bot may not post here, answering by response_url", extra={"error": exc.error})
            await self._go_by_url(taken, lease)
            if outcome.starts is None:
                await self._say.respond(url, reply, existing)
            else:  # a root that the bot did not post has no thread in which an agent could answer
                await self._say.whisper(whom_of(body), notices.no_thread_here(), existing)
            return ""

    async def _go_by_url(self, taken: Taken, lease: Lease) -> None:
        """Mark what goes by response_url, where nobody can look for it. Raises `PostInDoubt` where it did before."""
        if not await self._patience.through_outages(lambda: self._journal.goes_by_url(taken)):
            raise PostInDoubt
        await self._patience.through_outages(lambda: lease.ensure(SLACK_TIMEOUT))


def _replaces(reply: Reply, body: Inbound) -> bool:
    """Whether *reply* takes the place of a message that everybody sees, which may be done again and again."""
    return reply.replaces_original and isinstance(body, Click) and not body.is_ephemeral


def _marked(taken: Taken, outcome: Outcome) -> TurnId:
    return aside(taken.turn.id, "menu") if outcome.mark == MENU_MARK else taken.turn.id
