"""Post the outcome of a turn in Slack, exactly once as far as possible.

`chat.postMessage` has no idempotency key. A post that Slack certainly didn't accept is retried. If Slack's answer was
ambiguous, or an earlier worker may have posted, the post is looked for where it went, by its metadata. That place
depends on nothing but the turn's record, so it's the same for every attempt of every worker. Where looking is
impossible (no permission to read, a response_url), it isn't retried: a notice with a button offers to show it.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from functools import partial

from bridge.ends import notices
from bridge.engine.places import MENU_MARK, RUN_MARK, is_posted_publicly, place_of, recipient_of
from bridge.engine.results import NewThread, Outcome
from bridge.engine.turn import Turn
from bridge.errors import SlackAmbiguous, SlackError, SlackRefused, SlackTokenRefused, SlackUnreachable, ThreadGone
from bridge.ids import side_id
from bridge.inbound import Click, InboundMessage
from bridge.queue.patience import Draining, Patience
from bridge.queue.turn import SLACK_TIMEOUT, Journal, Watches
from bridge.slack.api import RESPONSE_URL, Guard
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Speaker
from bridge.slack.in_project import mark_reply
from bridge.slack.indicators import Indicators
from bridge.slack.parts import MessageTag, Place
from bridge.slack.post import THREAD_GONE, ExistingParts, Poster, Recipient, first_of

log = logging.getLogger(__name__)

_PAUSES = tuple(timedelta(seconds=s) for s in (1, 2, 4, 8, 15))
CLOCK_SKEW = timedelta(minutes=5)
_FRESH = 1.0  # seconds
_ANEW = "anew"  # a message posted because another can't be edited
_MOST_DOUBTS = 3  # notices of a post in doubt that are themselves in doubt
_NOT_A_MEMBER = frozenset({"not_in_channel", "channel_not_found"})

MAX_DELIVERIES = 8
"""A turn that this many workers took without finishing or releasing it becomes a dead letter. So does one whose post
blocked its process beyond the lease this often: a process that takes over its own lane isn't counted otherwise."""


class NeverFinished(Exception):
    """A turn was started too often without ever finishing."""


class PostInDoubt(Exception):
    """Whether a turn's outcome is in Slack is unknown, so it isn't posted again."""


def _mark_of(turn: Turn, outcome: Outcome) -> MessageTag:
    """Return the tag of the messages that show *outcome*."""
    if outcome.mark == MENU_MARK:
        return MessageTag(outcome.mark, side_id(turn.id, "menu"), outcome.agent, outcome.session)
    said = turn.body.ts if isinstance(turn.body, InboundMessage) else ""
    return MessageTag(outcome.mark, turn.id, outcome.agent, outcome.session, said, outcome.project or "")


class ReplyPoster:
    """Posts outcomes with *slack*, with as much *patience* as Slack needs.

    *indicators* say that a post waits for Slack.
    """

    def __init__(
        self,
        slack: Poster,
        patience: Patience,
        journal: Journal,
        watches: Watches,
        *,
        indicators: Indicators,
    ) -> None:
        self._slack = slack
        self._indicators = indicators
        self._patience = patience
        self._journal = journal
        self._watches = watches

    async def post(self, turn: Turn, outcome: Outcome, *, may_be_posted: bool) -> str:
        """Post *outcome*, and return the ``ts`` of its first message, or ``""`` if it's private.

        *may_be_posted*: an earlier worker may have posted it. Raises `SlackRefused` if Slack rejects it for good,
        `PostInDoubt`, `NeverFinished`, `TurnStopped`, `DeletedMeanwhile`, `ThreadGone`, `LaneLost`, and `Draining`.
        """
        body, reply = turn.body, outcome.reply
        is_public = is_posted_publicly(body, reply.audience) and not outcome.is_outside
        mark, place = _mark_of(turn, outcome), place_of(body, reply.audience)
        # A run's card becomes its result. A menu shown before the answer stays a separate message.
        card = turn.card if outcome.mark == RUN_MARK else ""
        if reply.replaces_original and isinstance(body, Click) and not body.is_ephemeral:
            card = body.message_ts
        # What all attempts have posted, as far as this process knows, and what is asked before each call.
        existing, guard = ExistingParts(), turn.lease.ensure if outcome.is_outside else self._guard(turn)
        look = is_public and (may_be_posted or turn.is_card_in_doubt)
        has_waited, attempt, leases_outlived = turn.record.waits, 0, 0
        over_at = 0.0  # when Slack can no longer be at a call whose answer got lost
        while True:
            began = turn.lease.monotonic()
            try:
                if look and not card:
                    existing |= await self._find(
                        turn, outcome, mark, place, is_surely_new=not may_be_posted, known=existing, over_at=over_at
                    )
                    look = False
                if has_waited and not outcome.is_outside:
                    await self._journal.post_starts(turn.taken)
                await turn.lease.ensure(SLACK_TIMEOUT)
                began = turn.lease.monotonic()
                if not is_public:
                    await self._report(turn, outcome, existing, guard)
                    return ""
                if existing and outcome.mark == RUN_MARK and not card:
                    card = first_of(existing)
                if card and await self._edit(turn, card, outcome, mark, guard):
                    existing["0"] = card
                    if look and reply.files:
                        existing |= await self._find(turn, outcome, mark, place, is_surely_new=not may_be_posted)
                    await self._slack.attach(place, reply, mark, existing, guard)
                    return card
                if card:  # Another has a tag of its own, so that no attempt takes the old one for it.
                    mark, card, existing = replace(mark, turn=side_id(turn.id, _ANEW)), "", ExistingParts()
                    look = may_be_posted
                    continue
                if turn.response_url:
                    return await self._post_or_respond(turn, outcome, mark, place, existing=existing, guard=guard)
                return await self._slack.post(place, reply, mark, existing, guard)
            except SlackUnreachable as exc:
                trouble: SlackError = exc
            except SlackAmbiguous as exc:
                if exc.method == RESPONSE_URL and not reply.replaces_original:
                    raise PostInDoubt from exc
                trouble, may_be_posted, look = exc, True, is_public
                over_at = turn.lease.monotonic() + exc.under_way.total_seconds()
            attempt, has_waited = attempt + 1, True
            # An attempt longer than a lease blocked the process for too long.
            leases_outlived += turn.lease.has_passed_since(began)
            if turn.record.times_delivered + leases_outlived > MAX_DELIVERIES:
                raise NeverFinished
            await self._wait(
                turn,
                trouble,
                attempt,
                is_partly_posted=bool(existing),
                place=place if is_public else None,
                speaker=reply.speaker,
            )

    async def _post_or_respond(
        self, turn: Turn, outcome: Outcome, mark: MessageTag, place: Place, *, existing: ExistingParts, guard: Guard
    ) -> str:
        """Post *outcome* in *place* or, if the bot can't post there, by response_url: then return ``""``."""
        try:
            return await self._slack.post(place, outcome.reply, mark, existing, guard)
        except SlackRefused as exc:
            log.info("the bot can't post here, using response_url", extra={"error": exc.error})
        await self._go_by_url(turn)
        if any(isinstance(after, NewThread) for after in outcome.after):
            # Without the bot's own root, there's no thread for the agent's answer.
            await self._slack.whisper(recipient_of(turn.body), notices.NO_THREAD_HERE, existing, guard)
        else:
            await self._slack.respond(turn.response_url, outcome.reply, existing, guard)
        return ""

    async def _edit(self, turn: Turn, card: str, outcome: Outcome, mark: MessageTag, guard: Guard) -> bool:
        """Replace *card*. False if it's gone or may no longer be edited, and so is removed. Raises `SlackError`."""
        try:
            await self._slack.update(turn.channel, card, outcome.reply, mark, guard)
        except SlackRefused as exc:
            if mark.turn != _mark_of(turn, outcome).turn:
                raise
            log.info("a message can't be edited, posting another", extra={"error": exc.error})
            await self._slack.delete(turn.channel, card)
            return False
        return True

    async def notify_of_doubt(self, turn: Turn, outcome: Outcome, *, is_by_url: bool) -> None:
        """Say that *outcome* may be missing in Slack, and offer to show it.

        The notice is posted in the outcome's place or, if the bot can't post there or the outcome is private, in the
        person's direct message. A second notice does no harm, so a notice in doubt itself is posted again, a few times.
        Raises what `post` raises, and `SlackAmbiguous`.
        """
        body, audience = turn.body, outcome.reply.audience
        is_private = not is_posted_publicly(body, audience)
        is_elsewhere = is_by_url or is_private
        place = Place(body.user) if is_elsewhere else place_of(body, audience)
        notice = mark_reply(notices.in_doubt(turn.id, body.channel if is_elsewhere else ""), outcome.project or "")
        doubts = attempt = 0
        while True:
            if attempt or turn.record.waits:
                await self._journal.post_starts(turn.taken)
            await turn.lease.ensure(SLACK_TIMEOUT)
            try:
                await self._slack.post(
                    place,
                    notice,
                    MessageTag("bridge_notice", side_id(turn.id, "doubt")),
                    ExistingParts(),
                    self._guard(turn),
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
            await self._wait(turn, trouble, attempt, is_partly_posted=True)

    async def _wait(
        self,
        turn: Turn,
        trouble: SlackError,
        attempt: int,
        *,
        is_partly_posted: bool,
        place: Place | None = None,
        speaker: Speaker | None = None,
    ) -> None:
        """Wait before the next attempt, unless a stop ends it; say so in the status of *place*, if it has words.

        The post clears the status.
        """
        await self._journal.post_waits(turn.taken, is_partly_posted=is_partly_posted)
        log.warning("Slack hasn't accepted an answer yet", extra={"attempt": attempt})
        async with self._watches.ends_when_stopped(turn.id):
            if isinstance(trouble, SlackTokenRefused):  # a recorded outcome waits until the token is accepted
                await self._patience.wait_for(self._slack.token.accepted.wait())
                return
            if trouble.retry_after and place and self._indicators.shows_words(place):
                limited = f"Slack limits us, posting in {kit.spoken(trouble.retry_after)}"
                await self._indicators.show_working(
                    place, f"has to wait: {limited}", speaker=speaker, rotating=[limited]
                )
            try:
                await self._patience.pause(trouble.retry_after or _PAUSES[min(attempt, len(_PAUSES)) - 1])
            except Draining:
                if isinstance(trouble, SlackAmbiguous):
                    await self._patience.wait_out(trouble.under_way.total_seconds())
                raise

    async def _find(
        self,
        turn: Turn,
        outcome: Outcome,
        mark: MessageTag,
        place: Place,
        *,
        is_surely_new: bool,
        known: ExistingParts | None = None,
        over_at: float = 0.0,
    ) -> ExistingParts:
        """Look for the post in Slack. Raises `PostInDoubt` if it may be there and Slack doesn't let the bot look.

        If nothing is there besides what's *known*, Slack may be at it until *over_at*: only then that's certain.
        """
        look = partial(self._slack.history().find, place, mark.turn, turn.record.accepted_at - CLOCK_SKEW)
        try:
            found = await look()
            if not found.keys() - (known or {}).keys() and (left := over_at - turn.lease.monotonic()) > 0:
                await self._patience.wait_out(left)
                found = await look()
        except SlackRefused as exc:
            if place.thread_ts and exc.error == THREAD_GONE:
                await self.remove(turn)
                raise ThreadGone(exc.method, exc.error) from exc
            is_stranger = exc.error in _NOT_A_MEMBER and turn.response_url  # then it can't have posted here
            if is_surely_new or is_stranger or outcome.mark == MENU_MARK:  # a second menu does no harm
                return ExistingParts()
            raise PostInDoubt from exc
        return found

    def _guard(self, turn: Turn) -> Guard:
        """Return what is asked before each call: whether this process still has the lane, and the turn isn't stopped.

        A step just before the first call has asked Redis. It's asked again before each later one, and before the first
        if that had to wait.
        """
        asked_at = turn.lease.monotonic()
        is_first = True

        async def guard(needs: timedelta) -> None:
            nonlocal is_first
            if not is_first or turn.lease.monotonic() - asked_at > _FRESH:
                await self._journal.post_starts(turn.taken)
            is_first = False
            self._watches.check(turn.id)
            await turn.lease.ensure(needs)

        return guard

    async def remove(self, turn: Turn) -> None:
        """Delete what was posted for a message that was deleted meanwhile, as far as Slack lets the bot look for it."""
        place = place_of(turn.body)
        for where in (place, Place(place.channel)):  # where the thread is gone, Slack shows replies outside
            try:
                found = await self._slack.history().find(where, turn.id, turn.record.accepted_at - CLOCK_SKEW)
            except SlackError as exc:
                log.info("can't look for posts to delete", extra={"detail": exc.detail})
                continue
            for ts in filter(None, found.values()):
                await self._slack.delete(place.channel, ts)
            return

    async def _report(self, turn: Turn, outcome: Outcome, existing: ExistingParts, guard: Guard) -> None:
        """Show *outcome* only to its person."""
        if outcome.is_outside:
            recipient = Recipient(turn.body.channel, turn.body.user, "", turn.response_url)
            return await self._slack.whisper(recipient, outcome.reply, existing, guard)
        if turn.response_url and not outcome.reply.replaces_original:
            await self._go_by_url(turn)
        return await self._slack.whisper(recipient_of(turn.body), outcome.reply, existing, guard)

    async def _go_by_url(self, turn: Turn) -> None:
        """Record that response_url is used, whose posts can't be looked up. Raises `PostInDoubt` on a second use."""
        if not await self._journal.post_starts_by_url(turn.taken):
            raise PostInDoubt
        await turn.lease.ensure(SLACK_TIMEOUT)
