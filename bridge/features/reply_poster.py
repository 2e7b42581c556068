"""Post the outcome of a turn in Slack, exactly once as far as possible.

`chat.postMessage` has no idempotency key. A post that Slack certainly didn't accept is retried. An ambiguous one, or
one an earlier worker may have made, is looked for in the thread by its mark. Where that's impossible (no permission to
read, a response_url), it isn't retried: a notice with a button offers to show it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

from bridge.errors import SlackAmbiguous, SlackError, SlackRefused, SlackTokenRefused, SlackUnreachable
from bridge.features import notices
from bridge.features.results import NewThread, Outcome
from bridge.ids import aside
from bridge.inbound import Click, Inbound, InboundMessage, Notice, StopRequest, Submission, TriggeredRun
from bridge.queue.patience import Patience
from bridge.queue.turn import SLACK_TIMEOUT, Journal, Turn, Watches
from bridge.slack.api import RESPONSE_URL
from bridge.slack.blockkit.reply import Audience
from bridge.slack.parts import MessageTag, Place
from bridge.slack.post import ExistingParts, Recipient, Say, first_of

log = logging.getLogger(__name__)

_PAUSES = tuple(timedelta(seconds=s) for s in (1, 2, 4, 8, 15))
CLOCK_SKEW = timedelta(minutes=5)
_MOST_DOUBTS = 3  # notices about an answer in doubt, if each is in doubt itself
_NOT_A_MEMBER = frozenset({"not_in_channel", "channel_not_found"})

MOST_HANDS = 8
"""A turn that so many workers had, and none finished or gave back, becomes a dead letter. So does one whose post
blocked its process beyond the lease as often; such a process takes its own lane over, which isn't counted."""

RUN_MARK = "bridge_run"
MENU_MARK = "bridge_menu"


class NeverFinished(Exception):
    """A turn was started too often without ever finishing."""


class PostInDoubt(Exception):
    """Whether a turn's outcome is in Slack is unknown, so it isn't posted again."""


def place_of(body: Inbound, audience: Audience = Audience.CHANNEL) -> Place:
    """Return where everyone sees the answer to *body*: its thread, or else the channel.

    For `Audience.THREAD`, a message outside of a thread starts one.
    """
    match body:
        case InboundMessage():
            return Place(body.channel, body.thread_ts or body.ts)
        case Click() if audience is Audience.THREAD and not body.is_ephemeral:
            return Place(body.channel, body.thread_ts or body.message_ts)
        case Click() | StopRequest() | Submission() | Notice() | TriggeredRun():
            return Place(body.channel, body.thread_ts)
        case _:
            return Place(body.channel)


def is_open(body: Inbound, audience: Audience) -> bool:
    """Whether everyone there sees the answer to *body*: in a direct message, or if an app is answered."""
    has_no_one_else = isinstance(body, InboundMessage) and (body.is_direct or bool(body.app))
    return audience is not Audience.PRIVATE or has_no_one_else or isinstance(body, TriggeredRun)


def whom_of(body: Inbound) -> Recipient:
    """Return who alone sees the private answer to *body*."""
    response_url = getattr(body, "response_url", "")
    if isinstance(body, Submission):  # where it was opened, not where its result is shown
        return Recipient(body.opened_in or body.channel, body.user, "", response_url)
    thread_ts = body.thread_ts if isinstance(body, InboundMessage | Click | StopRequest | Notice) else ""
    return Recipient(body.channel, body.user, thread_ts, response_url)


class ReplyPoster:
    """Posts outcomes with *say*, with as much *patience* as Slack needs; *reporters* are from `Feature.reports`."""

    def __init__(
        self,
        say: Say,
        patience: Patience,
        journal: Journal,
        watches: Watches,
        reporters: Mapping[type[Inbound], Callable[..., Awaitable[None]]],
    ) -> None:
        self._say = say
        self._patience = patience
        self._journal = journal
        self._watches = watches
        self._reporters = reporters

    async def post(self, turn: Turn, outcome: Outcome, *, may_be_there: bool) -> str:
        """Post *outcome*; returns the ``ts`` of its first message, ``""`` if it's private.

        *may_be_there*: an earlier worker may have posted it. Raises `SlackRefused` if Slack rejects it for good,
        `PostInDoubt`, `NeverFinished`, `TurnStopped`, `LaneLost`, and `Draining`.
        """
        body, reply = turn.body, outcome.reply
        is_public = type(body) not in self._reporters and is_open(body, reply.audience)
        replaces = reply.replaces_original and isinstance(body, Click) and not body.is_ephemeral
        # A run's card becomes its result. A menu shown before the answer stays a separate message.
        card = turn.card if outcome.mark == RUN_MARK else ""
        tag = aside(turn.id, "menu") if outcome.mark == MENU_MARK else turn.id
        said = body.ts if isinstance(body, InboundMessage) and outcome.mark != MENU_MARK else ""
        mark = MessageTag(outcome.mark, tag, outcome.agent, outcome.session, said)
        place = place_of(body, reply.audience)
        existing = ExistingParts()
        look = is_public and not card and not replaces and (may_be_there or turn.is_card_in_doubt)
        has_waited, attempt, outlived = turn.record.waits, 0, 0
        while True:
            began = turn.lease.monotonic()
            try:
                if look:
                    existing = await self._find(turn, outcome, mark, place, is_surely_new=not may_be_there)
                    look = False
                if has_waited:
                    await self._journal.goes(turn.taken)
                await turn.lease.ensure(SLACK_TIMEOUT)
                began = turn.lease.monotonic()
                if not is_public:
                    await self._report(turn, outcome, existing)
                    return ""
                if replaces and isinstance(body, Click):
                    card = body.message_ts
                elif outcome.mark == RUN_MARK and existing:
                    card = first_of(existing)
                if card:
                    await self._say.update(body.channel, card, reply, mark)
                    return card
                try:
                    return await self._say.post(place, reply, mark, existing)
                except SlackRefused as exc:
                    if not turn.response_url:
                        raise
                    log.info("the bot can't post here, using response_url", extra={"error": exc.error})
                    await self._respond(turn, outcome, existing)
                    return ""
            except SlackUnreachable as exc:
                trouble: SlackError = exc
            except SlackAmbiguous as exc:
                if exc.method == RESPONSE_URL and not reply.replaces_original:
                    raise PostInDoubt from exc
                trouble, may_be_there, look = exc, True, is_public and not card and not replaces
            attempt, has_waited = attempt + 1, True
            # An attempt longer than a lease blocked the process for too long.
            outlived += turn.lease.was_outlived(began)
            if turn.record.handed_out + outlived > MOST_HANDS:
                raise NeverFinished
            await self._wait(turn, trouble, attempt, has_begun=bool(existing))

    async def notify_of_doubt(self, turn: Turn, outcome: Outcome, *, is_by_url: bool) -> None:
        """Say that *outcome* may be missing in Slack, and offer to show it.

        In its place or, if the bot can't post there, in the person's direct message. A second notice does no harm, so
        it's repeated a few times while in doubt itself. Raises what `post` raises, and `SlackAmbiguous`.
        """
        body, audience = turn.body, outcome.reply.audience
        is_private = not is_open(body, audience)
        is_elsewhere = is_by_url or is_private
        place = Place(body.user) if is_elsewhere else place_of(body, audience)
        notice = notices.in_doubt(turn.id, body.channel if is_elsewhere else "")
        doubts = attempt = 0
        while True:
            if attempt or turn.record.waits:
                await self._journal.goes(turn.taken)
            await turn.lease.ensure(SLACK_TIMEOUT)
            try:
                await self._say.post(
                    place, notice, MessageTag("bridge_notice", aside(turn.id, "doubt")), ExistingParts()
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
            await self._wait(turn, trouble, attempt, has_begun=True)

    async def _wait(self, turn: Turn, trouble: SlackError, attempt: int, *, has_begun: bool) -> None:
        """Wait before the next attempt, unless a stop ends it."""
        await self._journal.waits(turn.taken, has_begun=has_begun)
        log.warning("Slack hasn't accepted an answer yet", extra={"attempt": attempt})
        async with self._watches.ends_when_stopped(turn.id):
            if isinstance(trouble, SlackTokenRefused):  # a recorded outcome waits as long as it takes
                await self._patience.wait_for(self._say.token.accepted.wait())
                return
            await self._patience.pause(trouble.retry_after or _PAUSES[min(attempt, len(_PAUSES)) - 1])

    async def _find(
        self, turn: Turn, outcome: Outcome, mark: MessageTag, place: Place, *, is_surely_new: bool
    ) -> ExistingParts:
        """Look for the post. If Slack doesn't let us look, that says nothing about it."""
        try:
            return await self._say.history().find(place, mark.turn, turn.record.accepted_at - CLOCK_SKEW)
        except SlackRefused as exc:
            is_stranger = exc.error in _NOT_A_MEMBER and turn.response_url  # then it can't have posted here
            if is_surely_new or is_stranger or outcome.mark == MENU_MARK:  # a second menu does no harm
                return ExistingParts()
            raise PostInDoubt from exc

    async def _report(self, turn: Turn, outcome: Outcome, existing: ExistingParts) -> None:
        """Show *outcome* to its person alone, or report it as its feature does."""
        if report := self._reporters.get(type(turn.body)):
            return await report(self._say, turn.body, outcome)
        if turn.response_url and not outcome.reply.replaces_original:
            await self._go_by_url(turn)
        return await self._say.whisper(whom_of(turn.body), outcome.reply, existing)

    async def _respond(self, turn: Turn, outcome: Outcome, existing: ExistingParts) -> None:
        """Answer through response_url if the bot can't post."""
        await self._go_by_url(turn)
        if any(isinstance(after, NewThread) for after in outcome.after):
            # Without the bot's own root, there's no thread for the agent's answer.
            await self._say.whisper(whom_of(turn.body), notices.no_thread_here(), existing)
        else:
            await self._say.respond(turn.response_url, outcome.reply, existing)

    async def _go_by_url(self, turn: Turn) -> None:
        """Mark that response_url is used, where nothing can be looked up. Raises `PostInDoubt` on a second use."""
        if not await self._journal.goes_by_url(turn.taken):
            raise PostInDoubt
        await turn.lease.ensure(SLACK_TIMEOUT)
