"""Show the outcome of a turn in Slack, exactly once as far as that can be done.

`chat.postMessage` has no idempotency key. A post that Slack surely did not take is made again; an ambiguous one is
settled by looking for its mark in the thread; so is one that an earlier worker may have made.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from bridge.blocks import notices
from bridge.blocks.reply import Audience, Reply
from bridge.errors import SlackAmbiguous, SlackRefused, SlackTokenRefused, SlackUnreachable
from bridge.ids import TurnId, aside
from bridge.inbound import (
    Click,
    HomeOpened,
    Inbound,
    InboundMessage,
    Notice,
    Report,
    Shortcut,
    SlashCommand,
    Submission,
)
from bridge.store.lanes import Taken
from bridge.turns.lease import SLACK_TIMEOUT, Lease
from bridge.turns.outcome import Outcome
from bridge.turns.patience import Patience
from bridge.turns.ports import Found, Mark, Place, Say, Whom

log = logging.getLogger(__name__)

_PAUSES = tuple(timedelta(seconds=s) for s in (1, 2, 4, 8, 15))
_CLOCK_SKEW = timedelta(minutes=5)

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
        case Click() | Notice():
            return Place(body.channel, body.thread_ts)
        case Submission():
            return Place(body.channel, body.thread_ts)
        case SlashCommand() | HomeOpened() | Shortcut() | Report():
            return Place(body.channel)


def whom_of(body: Inbound) -> Whom:
    """Whom alone the private answer to *body* reaches."""
    response_url = getattr(body, "response_url", "")
    if isinstance(body, Submission):  # where it was opened, not where what comes of it is shown
        return Whom(body.opened_in or body.channel, body.user, "", response_url)
    thread_ts = body.thread_ts if isinstance(body, InboundMessage | Click | Notice) else ""
    return Whom(body.channel, body.user, thread_ts, response_url)


def begun(taken: Taken) -> datetime:
    """Tell since when the messages of a turn can be in Slack."""
    return taken.turn.accepted_at - _CLOCK_SKEW


def is_public(reply: Reply, body: Inbound) -> bool:
    """Whether *reply* is for everybody; in the direct message with the bot, nothing needs hiding."""
    return reply.audience is not Audience.PRIVATE or (isinstance(body, InboundMessage) and body.is_direct)


class Shower:
    """Shows outcomes by way of *say*, with all the *patience* that Slack may need."""

    def __init__(self, say: Say, patience: Patience) -> None:
        self._say = say
        self._patience = patience

    async def show(self, taken: Taken, outcome: Outcome, lease: Lease, *, may_be_there: bool) -> str:
        """Show *outcome*; returns the ``ts`` of its (first) message, ``""`` for a private one.

        *may_be_there*: an earlier worker may have posted it. Raises `SlackRefused` where Slack will never take
        it, `NeverFinished`, `LaneLost`, and `Draining`.
        """
        # The card of a run becomes its result. A menu that was shown before the answer is a message of its own.
        has_card = bool(taken.turn.card) and outcome.mark == RUN_MARK
        there = Found({0: taken.turn.card} if has_card else {})
        look = may_be_there
        attempt, outlived, began = 0, 0, lease.now
        while True:
            try:
                if look and is_public(outcome.reply, taken.turn.body) and not has_card:
                    there = await self._find(taken, outcome, place_of(taken.turn.body, outcome.reply.audience))
                look = False
                await self._patience.through_outages(lambda: lease.ensure(SLACK_TIMEOUT))
                began = lease.now
                return await self._once(taken, outcome, there)
            except SlackTokenRefused:  # what is recorded waits, however long that takes
                await self._patience.wait_for(self._say.until_accepted())
                continue
            except SlackUnreachable as exc:
                pause = exc.retry_after or _PAUSES[min(attempt, len(_PAUSES) - 1)]
            except SlackAmbiguous:
                look, pause = True, _PAUSES[min(attempt, len(_PAUSES) - 1)]
            attempt += 1
            outlived = outlived + 1 if lease.was_outlived(began) else 0
            if taken.turn.handed_out + outlived > MOST_HANDS:
                raise NeverFinished
            log.warning("slack did not take an answer yet", extra={"attempt": attempt})
            await self._patience.pause(pause)

    async def _find(self, taken: Taken, outcome: Outcome, place: Place) -> Found:
        try:
            return await self._say.find(place, _marked(taken, outcome), begun(taken))
        except SlackRefused:
            if whom_of(taken.turn.body).response_url:  # the bot may not read, nor then post, here: nothing to find
                return Found({})
            raise

    async def _once(self, taken: Taken, outcome: Outcome, there: Found) -> str:
        body, reply = taken.turn.body, outcome.reply
        if not is_public(reply, body):
            await self._say.whisper(whom_of(body), reply)
            return ""
        mark = Mark(outcome.mark, _marked(taken, outcome), outcome.agent, outcome.session)
        if reply.replaces_original and isinstance(body, Click) and not body.is_ephemeral:
            await self._say.update(body.channel, body.message_ts, reply, mark)
            return body.message_ts
        if outcome.mark == RUN_MARK and there.parts:  # the card that was posted when the run began
            card = there.parts[min(there.parts)]
            await self._say.update(body.channel, card, reply, mark)
            return card
        try:
            return await self._say.post(place_of(body, reply.audience), reply, mark, there)
        except SlackRefused as exc:
            url = whom_of(body).response_url
            if not url:
                raise
            log.info("the bot may not post here, answering by response_url", extra={"error": exc.error})
            if outcome.starts is None:
                await self._say.respond(url, reply)
            else:  # a root that the bot did not post has no thread in which an agent could answer
                await self._say.whisper(whom_of(body), notices.no_thread_here())
            return ""


def _marked(taken: Taken, outcome: Outcome) -> TurnId:
    return aside(taken.turn.id, "menu") if outcome.mark == MENU_MARK else taken.turn.id
