"""Post the outcome of a turn in Slack, exactly once as far as possible.

`chat.postMessage` has no idempotency key. A post that Slack certainly didn't accept is retried. If Slack's answer was
ambiguous, or an earlier worker may have posted, the post is looked for where it went, by its metadata. That place
depends on nothing but the turn's record, so it's the same for every attempt of every worker. Where looking is
impossible (no permission to read, a response_url), it isn't retried: a notice with a button offers to show it.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Final, Literal

from bridge.ends import notices
from bridge.engine.destination import Destination
from bridge.engine.results import MENU_MARK, NOTICE_MARK, RUN_MARK, NewThread, Outcome
from bridge.engine.turn import Turn
from bridge.errors import SlackAmbiguous, SlackError, SlackRefused, SlackTokenRefused, SlackUnreachable, ThreadGone
from bridge.ids import side_id
from bridge.inbound import InboundMessage
from bridge.queue.journal import SLACK_TIMEOUT, DeletedMeanwhile, Journal
from bridge.queue.patience import Draining, Patience
from bridge.queue.watches import Watches
from bridge.slack.api import RESPONSE_URL
from bridge.slack.blockkit import kit
from bridge.slack.in_project import mark_reply
from bridge.slack.indicators import Indicators
from bridge.slack.pace import EffectCheck
from bridge.slack.parts import MessageTag, Place
from bridge.slack.post import CLOCK_SKEW, THREAD_GONE, ExistingParts, Poster, Recipient, first_of

log = logging.getLogger(__name__)

_PAUSES = tuple(timedelta(seconds=s) for s in (1, 2, 4, 8, 15))
_FRESH = 1.0  # seconds
_ANEW = "anew"  # a message posted because another can't be edited
_MOST_DOUBTS = 3  # notices of a post in doubt that are themselves in doubt
_NOT_A_MEMBER = frozenset({"not_in_channel", "channel_not_found"})

MAX_DELIVERIES = 8
"""A turn that this many workers took without finishing or releasing it becomes a dead letter. So does one whose post
blocked its process beyond the lease this often: a process that takes over its own lane isn't counted otherwise."""


@dataclass(frozen=True, slots=True)
class NotPosted:
    """Why an outcome isn't in Slack, or may not be.

    The message that started its run was ``deleted``, or the first one of its thread (``thread gone``). Whether it's
    there is unknown, so it isn't posted again (``in doubt``). Slack ``refused`` it for good, with *error*. Or too many
    attempts took too long (``never finished``).
    """

    why: Literal["deleted", "thread gone", "in doubt", "refused", "never finished"]
    error: str = ""


_IN_DOUBT: Final = NotPosted("in doubt")


@dataclass(slots=True)
class _Posting:
    """An outcome on its way *to* where it's shown.

    *guard* is asked before each call, and asked Redis at *asked_at*. *card* is the message that it replaces. Slack may
    have it from an earlier attempt (*may_be_posted*), which *looks* for it first; if the answer to a call got lost,
    Slack can't be at it any more after *over_at*. *existing* is what all attempts have posted, as far as it's known.
    """

    turn: Turn
    outcome: Outcome
    to: Destination
    mark: MessageTag
    card: str
    may_be_posted: bool
    looks: bool
    has_waited: bool
    asked_at: float
    guard: EffectCheck = field(init=False)
    began: float = 0.0
    over_at: float = 0.0
    existing: ExistingParts = field(default_factory=dict)


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

    async def post(self, turn: Turn, outcome: Outcome, to: Destination, *, may_be_posted: bool) -> str | NotPosted:
        """Post *outcome*, and return the ``ts`` of its first message, or ``""`` if it's private.

        *may_be_posted*: an earlier worker may have posted it. Raises `TurnStopped`, `TurnChanged`, `LaneLost` and
        `Draining`.
        """
        body, is_notice = turn.body, outcome.mark == NOTICE_MARK  # a second one does no harm
        if side := {MENU_MARK: "menu", NOTICE_MARK: "doubt"}.get(outcome.mark):
            mark = MessageTag(outcome.mark, side_id(turn.id, side))
        else:
            ts = body.ts if isinstance(body, InboundMessage) else ""
            mark = MessageTag(outcome.mark, turn.id, outcome.agent, outcome.session, ts, outcome.project or "")
        # A run's card becomes its result. A menu shown before the answer stays a separate message.
        card = to.edits or (turn.card if outcome.mark == RUN_MARK else "")
        looks = to.is_public and not is_notice and (may_be_posted or turn.is_card_in_doubt)
        now, has_waited = turn.lease.monotonic(), turn.record.waits
        posting = _Posting(turn, outcome, to, mark, card, may_be_posted, looks, has_waited, asked_at=now)
        posting.guard = turn.lease.ensure if to.is_aside else partial(self._ensure, posting)
        attempt = doubts = leases_outlived = 0
        while True:
            try:
                return await self._attempt(posting)
            except DeletedMeanwhile:
                return NotPosted("deleted")
            except ThreadGone:
                return NotPosted("thread gone")
            except SlackRefused as exc:
                return NotPosted("refused", exc.error or "unknown_error")
            except SlackUnreachable as exc:
                trouble: SlackError = exc
            except SlackAmbiguous as exc:
                trouble, doubts = exc, doubts + 1
                is_by_url = exc.method == RESPONSE_URL and not outcome.reply.replaces_original
                if is_by_url or (is_notice and doubts == _MOST_DOUBTS):
                    return _IN_DOUBT
                posting.may_be_posted, posting.looks = True, to.is_public and not is_notice
                posting.over_at = turn.lease.monotonic() + exc.under_way.total_seconds()
            attempt, posting.has_waited = attempt + 1, True
            # An attempt longer than a lease blocked the process for too long.
            leases_outlived += turn.lease.has_passed_since(posting.began)
            if turn.record.times_delivered + leases_outlived > MAX_DELIVERIES:
                return NotPosted("never finished")
            await self._wait(posting, trouble, attempt, is_partly_posted=is_notice or bool(posting.existing))

    async def _attempt(self, posting: _Posting) -> str | NotPosted:
        """Post what's still missing. Raises `SlackError`, and what `post` raises."""
        turn, to, reply, existing = posting.turn, posting.to, posting.outcome.reply, posting.existing
        posting.began = turn.lease.monotonic()
        if posting.looks and not posting.card:
            if missed := await self._find(posting):
                return missed
            posting.looks = False
        if posting.has_waited and not to.is_aside:
            await self._journal.post_starts(turn.taken)
        await turn.lease.ensure(SLACK_TIMEOUT)
        posting.began = turn.lease.monotonic()
        if not to.is_public:
            is_marked = to.recipient.response_url and not (reply.replaces_original or to.is_aside)
            if is_marked and not await self._may_go_by_url(turn):
                return _IN_DOUBT
            await self._slack.whisper(to.recipient, reply, existing, posting.guard)
            return ""
        if existing and posting.outcome.mark == RUN_MARK and not posting.card:
            posting.card = first_of(existing)
        if posting.card and await self._edit(posting):
            existing["0"] = posting.card
            if posting.looks and reply.files and (missed := await self._find(posting)):
                return missed
            await self._slack.attach(to.place, reply, posting.mark, existing, posting.guard)
            return posting.card
        if posting.card:  # Another has a tag of its own, so that no attempt takes the old one for it.
            posting.mark, posting.card = replace(posting.mark, turn=side_id(turn.id, _ANEW)), ""
            posting.looks = posting.may_be_posted
            existing.clear()
            return await self._attempt(posting)
        try:
            return await self._slack.post(to.place, reply, posting.mark, existing, posting.guard)
        except SlackRefused as exc:
            if not to.recipient.response_url:
                raise
            log.info("the bot can't post here, using response_url", extra={"error": exc.error})
        if not await self._may_go_by_url(turn):
            return _IN_DOUBT
        if any(isinstance(after, NewThread) for after in posting.outcome.after):
            # Without the bot's own root, there's no thread for the agent's answer.
            await self._slack.whisper(to.recipient, notices.NO_THREAD_HERE, existing, posting.guard)
        else:
            await self._slack.respond(to.recipient.response_url, reply, existing, posting.guard)
        return ""

    async def _edit(self, posting: _Posting) -> bool:
        """Replace its card. False if that's gone or may no longer be edited, and so is removed. Raises `SlackError`."""
        turn, card = posting.turn, posting.card
        try:
            await self._slack.update(turn.channel, card, posting.outcome.reply, posting.mark, posting.guard)
        except SlackRefused as exc:
            if posting.mark.turn == side_id(turn.id, _ANEW):
                raise
            log.info("a message can't be edited, posting another", extra={"error": exc.error})
            await self._slack.delete(turn.channel, card)
            return False
        return True

    async def notify_of_doubt(
        self, turn: Turn, outcome: Outcome, to: Destination, *, is_by_url: bool
    ) -> str | NotPosted:
        """Say that *outcome* may be missing in Slack, and offer to show it.

        The notice is posted in the outcome's place or, if the bot can't post there or the outcome is private, in the
        person's direct message. A second notice does no harm, so a notice in doubt itself is posted again, a few times.
        """
        is_elsewhere = is_by_url or not to.is_public
        reply = mark_reply(notices.in_doubt(turn.id, turn.channel if is_elsewhere else ""), outcome.project or "")
        there = Destination(Place(turn.user) if is_elsewhere else to.place, Recipient(turn.channel, turn.user))
        notice = Outcome(what="post in doubt", reply=reply, mark=NOTICE_MARK)
        return await self.post(turn, notice, there, may_be_posted=False)

    async def _wait(self, posting: _Posting, trouble: SlackError, attempt: int, *, is_partly_posted: bool) -> None:
        """Wait before the next attempt, unless a stop ends it; say so in the status, if it has words.

        The post clears the status.
        """
        turn, place = posting.turn, posting.to.place
        await self._journal.post_waits(turn.taken, is_partly_posted=is_partly_posted)
        log.warning("Slack hasn't accepted an answer yet", extra={"attempt": attempt})
        async with self._watches.ends_when_stopped(turn.id):
            if isinstance(trouble, SlackTokenRefused):  # a recorded outcome waits until the token is accepted
                await self._patience.wait_for(self._slack.token.accepted.wait())
                return
            if trouble.retry_after and posting.to.is_public and self._indicators.shows_words(place):
                limited = f"Slack limits us, posting in {kit.spoken(trouble.retry_after)}"
                await self._indicators.show_working(
                    place, f"has to wait: {limited}", speaker=posting.outcome.reply.speaker, rotating=[limited]
                )
            try:
                await self._patience.pause(trouble.retry_after or _PAUSES[min(attempt, len(_PAUSES)) - 1])
            except Draining:
                if isinstance(trouble, SlackAmbiguous):
                    await self._patience.wait_out(trouble.under_way.total_seconds())
                raise

    async def _find(self, posting: _Posting) -> NotPosted | None:
        """Look for what's posted; it's in doubt if Slack doesn't let the bot look, unless it can't be there.

        If nothing is there besides what's known, Slack may still be at it for a while: only then that's certain.
        """
        turn, place = posting.turn, posting.to.place
        look = partial(self._slack.history().find, place, posting.mark.turn, turn.record.accepted_at - CLOCK_SKEW)
        try:
            posted = await look()
            is_new = posted.keys() - posting.existing.keys()
            if not is_new and (left := posting.over_at - turn.lease.monotonic()) > 0:
                await self._patience.wait_out(left)
                posted = await look()
        except SlackRefused as exc:
            if place.thread_ts and exc.error == THREAD_GONE:
                await self.remove(turn)
                return NotPosted("thread gone")
            is_stranger = exc.error in _NOT_A_MEMBER and posting.to.recipient.response_url  # it can't have posted here
            if not posting.may_be_posted or is_stranger or posting.outcome.mark == MENU_MARK:  # a second does no harm
                return None
            return _IN_DOUBT
        posting.existing |= posted
        return None

    async def _ensure(self, posting: _Posting, needs: timedelta) -> None:
        """Ensure, before each call, that this process still has the lane, and that the turn isn't stopped.

        A step just before the first call has asked Redis. It's asked again before each later one, and before the first
        if that had to wait.
        """
        turn = posting.turn
        if turn.lease.monotonic() - posting.asked_at > _FRESH:
            await self._journal.post_starts(turn.taken)
        posting.asked_at = -math.inf
        self._watches.check(turn.id)
        await turn.lease.ensure(needs)

    async def remove(self, turn: Turn) -> None:
        """Delete what was posted for a message that was deleted meanwhile, as far as Slack lets the bot look for it."""
        place = turn.destination.place
        for where in (place, Place(place.channel)):  # where the thread is gone, Slack shows replies outside
            try:
                posted = await self._slack.history().find(where, turn.id, turn.record.accepted_at - CLOCK_SKEW)
            except SlackError as exc:
                log.info("can't look for posts to delete", extra={"detail": exc.detail})
                continue
            for ts in filter(None, posted.values()):
                await self._slack.delete(place.channel, ts)
            return

    async def _may_go_by_url(self, turn: Turn) -> bool:
        """Record that response_url is used, whose posts can't be looked up; False on a second use."""
        if not await self._journal.post_starts_by_url(turn.taken):
            return False
        await turn.lease.ensure(SLACK_TIMEOUT)
        return True
