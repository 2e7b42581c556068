"""The inbox: messages are stored in Redis before Slack's request is acknowledged.

Each **lane** (a thread, or a single turn) is a list of turns; the head is the one being worked on. The invariant,
checked by a model (`tests/proof/model`): a lane with work has exactly one entry in the ``ready`` stream, undelivered or
pending for one consumer, or is parked. `put` marks an event as seen and queues its turn in one script, so a message is
never seen without being queued, and never queued twice. A consumer group hands out lanes; the entry's holder works on
the head. The script that finishes a turn also decides whether the lane is empty, so no wake-up is lost. Entries of dead
processes are claimed once their lease expires.

Slack retries refused messages, so they may arrive out of order. A late message goes before newer ones that no worker
has started on. A message that didn't become a turn, because it was deleted or edited, may leave a mark (`voids` in
``scripts/prelude.lua``). A message that depends on a refused one is refused too, or its thread is read from
Slack's history (``early``, ``deferred``); see `bridge.queue.refused_messages`.

If this process has a free worker, `put` and the following take are one step (`hand_to`). If Redis's answer to such a
put is lost, this process has the lane and doesn't know it. So the lease isn't renewed, and the lane is taken over when
that expires, within 16 seconds, as a dead process's is. Slack's retry of the message is a duplicate by then; if the put
runs later still, one of the two is.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from bridge.errors import StoreUnavailable, StoreWiped
from bridge.ids import Lane, MessageKey, ThreadKey, TurnId, new_turn_id, own_lane, thread_lane
from bridge.inbound import WAITING_LIMIT, Inbound, InboundMessage, Interaction, Job, Notice, to_json
from bridge.queue.drafts import Drafts
from bridge.queue.keys import GROUP, MARKED, RESENT_WITHIN, SEEN, TRACE, milliseconds
from bridge.queue.passed_over import PassedOver, passed_over
from bridge.queue.put import Put, Queued, not_queued
from bridge.queue.quotas import Quota, as_arguments
from bridge.queue.records import Head, Held, Offer, read_head
from bridge.queue.refused_messages import RefusedMessages
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.queue.stops import Stops
from bridge.queue.turn_log import Delivery
from bridge.queue.writes import Write

_BATCH = 64
_ANSWER_WITHOUT_LANE = 3  # the length of put's answer if no lane is handed over
_SEEN_MS = milliseconds(SEEN)
_MARKED_MS = milliseconds(MARKED)


class Condition(StrEnum):
    """What must be true of the thread to queue a turn."""

    NONE = "none"  # nothing; it may have no thread
    START = "start"  # nothing; bind it if it isn't bound yet
    BOUND = "bound"  # it's bound
    SEARCH = "search"  # it isn't bound, and wasn't searched for a lost binding yet


Edit = Literal["edited", "asked", "known", "late", "unknown"]
"""The results of an edit (`Inbox.edit`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What arrived, and how it becomes a turn: *inbound*, once per *message*, or without one once per *event*.

    The *message* is the one in Slack that *inbound* is, or that it's stored instead of.
    *condition* is about *thread*, which is also the turn's lane with *in_order*; otherwise the turn gets its own.
    *agent* binds the thread to that agent if it has none. After *within*, nothing is stored, not even by a Redis that
    runs the command late: the sender already got a notice. With *is_limited* it counts as a turn of its thread and its
    person, and is ``paused`` at their limit. With *is_auto* it counts only if the agent is talking with its author, or
    is for ``others``; a press, which has no *message*, counts though others wrote since. If it *may_choose* and the
    thread waits for a choice of its agent, that's the ``menu``. *why* is for the trace. *writes* are made in the same
    step if the turn is queued; if the first is an ``if`` that doesn't hold, it's ``stale``.
    """

    inbound: Inbound
    event: str = ""
    message: InboundMessage | None = None
    thread: ThreadKey | None = None
    in_order: bool = True
    condition: Condition = Condition.NONE
    agent: int | None = None
    within: timedelta | None = None
    is_limited: bool = False
    is_auto: bool = False
    may_choose: bool = False
    why: str = ""
    writes: Sequence[Write] = ()


class Inbox:
    """Stores turns, and hands out their lanes to the *consumer*, this process.

    *session_lifetime* is how long an idle thread stays bound; *now* is the clock, with aware datetimes; *limits*
    returns what an arrival counts for.
    """

    def __init__(
        self,
        scripts: Scripts,
        *,
        consumer: str,
        session_lifetime: timedelta,
        now: Callable[[], datetime],
        limits: Callable[[Arrival], Sequence[Quota]] = lambda _: (),
    ) -> None:
        self.consumer = consumer
        self._scripts = scripts
        self._ready = scripts.keys.ready()
        self._session_ms = milliseconds(session_lifetime)
        self._now = now
        self._limits = limits
        self._passed = PassedOver(scripts)
        self._make_offer: Callable[[], Offer | None] | None = None  # no worker here yet
        self.stops = Stops(scripts, now=now)
        self.drafts = Drafts(scripts, now)
        self.refused_messages = RefusedMessages(scripts, now)

    def hand_to(self, make_offer: Callable[[], Offer | None]) -> None:
        """Call *make_offer* for each message: a free worker gets its lane at once if that was empty."""
        self._make_offer = make_offer

    async def put(
        self,
        inbound: Inbound,
        *,
        event: str = "",
        within: timedelta | None = None,
        why: str = "",
        writes: Sequence[Write] = (),
    ) -> Put:
        """Store *inbound* in a lane of its own, as `put_arrival` does, unless it's a ``duplicate`` or ``stale``.

        Raises `StoreUnavailable`.
        """
        return await self.put_arrival(Arrival(inbound=inbound, event=event, within=within, why=why, writes=writes))

    async def put_arrival(self, arrival: Arrival, *, traceparent: str = "") -> Put:
        """Store what arrived, with the context of its trace. Raises `StoreUnavailable`."""
        turn, now, inbound = new_turn_id(), self._now(), arrival.inbound
        limits = self._limits(arrival) if arrival.is_limited else ()
        # Slack resends messages, and only messages. So only a message may turn out to be stored although it was
        # refused, and only a message's lane is handed to a free worker.
        message = inbound.as_message
        offer = self._make_offer() if message and self._make_offer else None
        token = secrets.token_hex(8) if offer else ""
        try:
            answer = await self._scripts.run(
                "put",
                self._facts(arrival, turn, now, limits, token=token, traceparent=traceparent),
                to_json(inbound),
                confirmed=True,
                repeatable=message is not None,
            )
            if offer:
                handed: Head | Held | None = None
                if answer[0] == "queued" and len(answer) > _ANSWER_WITHOUT_LANE:
                    _queued, _waiting, _ahead, entry, lane, *head = answer
                    held = Held(entry, Lane(lane))
                    handed = read_head(held, head[0], token, inbound) if head else held
                offer.accept(handed)
        except BaseException:
            if offer:
                offer.accept(None)
            raise
        match answer:
            case ["queued", waiting, ahead, *_handed]:
                return Queued(turn, int(waiting), int(ahead))
            case ["late"]:
                raise StoreUnavailable("late")
            case _:
                return not_queued(limits, answer)

    def _facts(
        self, arrival: Arrival, turn: TurnId, now: datetime, limits: Sequence[Quota], **more: str
    ) -> dict[str, Any]:
        """Return all but the body for ``put.lua``; empty fields are left out. A worker takes it with a *token*."""
        inbound, message, thread = arrival.inbound, arrival.message, arrival.thread
        first = inbound.as_message
        event, retry = arrival.event or (message.event_id if message else ""), first.retry if first else 0
        is_from_slack = message is not None or isinstance(inbound, Interaction)  # the ID of a job may name a person
        said_at = ""  # when its author has written in a thread, as far as that changes who the agent is talking with
        if thread is not None and not inbound.channel.startswith("D"):
            is_talk = arrival.is_limited or arrival.condition is Condition.START
            if isinstance(inbound, InboundMessage) and is_talk and not inbound.rule:  # not an app's
                said_at = (inbound.is_mention and inbound.edited_ts) or inbound.ts  # an edit may have called the bot in
            elif message and isinstance(inbound, Notice):
                said_at = message.ts
        fields = {
            "turn": turn,
            "lane": thread_lane(thread) if thread and arrival.in_order else own_lane(turn),
            "event": event,
            "message": str(message.key) if message else "",
            "thread": str(thread or ""),
            "condition": arrival.condition,
            "kind": inbound.kind,
            "v": inbound.version,
            "now": str(epoch_ms(now)),
            "came": Delivery(now, self.consumer, event if is_from_slack else "", retry, arrival.why).to_line(),
            "worker": self.consumer if more["token"] else None,
            **more,
            "agent": None if arrival.agent is None else str(arrival.agent),  # Lua's numbers have 53 bits
            "deadline": self._scripts.redis_time(arrival.within) if arrival.within else None,
            "author": inbound.user if said_at else "",  # the person who has written in a channel's thread
            "said_at": said_at,
            "speaker": inbound.user if arrival.is_limited and first else "",  # who speaks to the agent
            "limits": as_arguments(limits),
            "project": inbound.project,  # of its thread from now on
            "version": message.edited_ts if message else "",
            "is_auto": arrival.is_auto,
            "is_last": message is not None and message.is_last,
            "is_resent": retry > 0,
            "may_choose": arrival.may_choose,
            "was_found": message is not None and message.was_found,
            "writes": arrival.writes,
            "limit": WAITING_LIMIT,
            "session_ms": self._session_ms,
            "marked_ms": _MARKED_MS,
            "seen_ms": _SEEN_MS,
        }
        return {name: value for name, value in fields.items() if value}

    def queues(self, inbound: Inbound, *, why: str) -> Write:
        """Return the write that queues *inbound* in the step that the write belongs to; *why* is for the trace."""
        turn, now = new_turn_id(), self._now()
        came = Delivery(now, self.consumer, why=why).to_line()
        key, lane = self._scripts.keys.turn(turn), own_lane(turn)
        return ("queue", key, 0, turn, lane, epoch_ms(now), inbound.kind, to_json(inbound), came, inbound.version)

    async def write(self, *writes: Write) -> list[str]:
        """Make *writes* in one step, which may be repeated. Returns Redis's answers."""
        return [str(answer) for answer in await self._scripts.run("write", writes, confirmed=True)]

    def pass_over(self, message: MessageKey, *, event: str, retry: int, why: str) -> None:
        """Record in the background *why* a message didn't become a turn."""
        self._passed.add(message, Delivery(self._now(), self.consumer, event, retry, why))

    async def passed_over(self, message: MessageKey) -> list[Delivery]:
        """Return the recorded deliveries of *message* that didn't become a turn. Raises `StoreUnavailable`."""
        return await passed_over(self._scripts, message)

    async def edit(self, message: InboundMessage, *, is_for_nobody: bool = False, run: Job | None = None) -> Edit:
        """Give a waiting message its new text. Returns ``edited``, ``asked``, ``known``, ``late`` or ``unknown``.

        ``asked``: an agent has the earlier text; the new one is stored as a draft. ``known``: this text or a
        later one is stored. ``late``: it's too late for another reason. ``unknown``: the message isn't a turn, perhaps
        because this edit overtook it. With *is_for_nobody*, its new text isn't for an agent, so it's withdrawn, and
        earlier texts that Slack may still deliver are void. It may wait as a *run*.
        """
        facts = {
            "message": str(message.key),
            "version": message.edited_ts,
            "kind": (run or message).kind,
            "now": str(epoch_ms(self._now())),
            "voids_ms": milliseconds(RESENT_WITHIN) if is_for_nobody else 0,
            "trace_ms": milliseconds(TRACE),
        }
        how: Edit = await self._scripts.run("edit", facts, to_json(run or message), confirmed=True)
        return how

    async def overhear(self, message: InboundMessage) -> None:
        """Record that a person wrote *message* in a thread, for someone other than the bot: see ``others``."""
        await self._scripts.run("overhear", str(message.thread), message.ts, message.user, confirmed=True)

    async def follow_up(self, message: InboundMessage, arrival: Arrival) -> Put:
        """Queue the new text of a *message* whose earlier text an agent received, once, within the arrival's limits."""
        return await self.drafts.put(str(message.key), by=message.edited_ts, limits=self._limits(arrival))

    async def withdraw(
        self, message: MessageKey, *, thread: ThreadKey | None = None, is_young: bool = False
    ) -> Literal["withdrawn", "stopped", "late", "unknown"]:
        """Withdraw a deleted message that waits, or stop the work on it.

        Returns ``withdrawn``, ``stopped``, ``late`` (it was answered, or started a run) or ``unknown``. The first
        message of a thread takes along its conversation, and all messages that wait there. With *is_young*, Slack may
        be about to resend an unknown message: it's marked as deleted. It no longer counts as said in its *thread*.
        """
        marked = milliseconds(RESENT_WITHIN) if is_young else ""
        how: Literal["withdrawn", "stopped", "late", "unknown"] = await self._scripts.run(
            "withdraw", str(message), marked, str(thread or ""), confirmed=True
        )
        return how

    async def discard_expired(self) -> int:
        """Discard messages that nobody chose an agent for, or resumed after a stop, in a conversation's lifetime.

        Their thread is notified. Returns in how many lanes there were some. Raises `StoreUnavailable`.
        """
        count, newest = 0, epoch_ms(self._now()) - self._session_ms
        parked = [str(lane) async for lane, _turn in self._scripts.redis.hscan_iter(self._scripts.keys.parked())]
        for at in range(0, len(parked), _BATCH):
            count += int(await self._scripts.run("discard_expired", newest, parked[at : at + _BATCH]))
        return count

    async def stored_outcome(self, turn: TurnId, *, by: TurnId, button: str) -> str | None:
        """Return the recorded outcome of a turn that was stopped before its post, or whose post is in doubt.

        The turn *by* of the first click on the message *button* (``ts``) gets it as often as it asks; later clicks get
        ``""``. None if the outcome isn't stored.
        """
        how, *outcome = await self._scripts.run("stored_outcome", turn, by, button, confirmed=True)
        return str(outcome[0]) if how == "stored" else "" if how == "already" else None

    async def drop_outcome(self, turn: TurnId) -> None:
        """Delete the stored outcome after it was shown. That of a dead letter stays, for a retry."""
        key = self._scripts.keys.turn(turn)
        if await self._scripts.redis.hget(key, "step") == "done":
            await self._scripts.redis.hdel(key, "outcome")

    async def wait_for_lanes(self, connection: Redis, *, most: int, block: timedelta) -> list[Held]:
        """Wait up to *block* for at most *most* lanes with new work; *connection* is blocked meanwhile.

        Raises `StoreWiped` and `StoreUnavailable`.
        """
        with _noticing_a_wipe():
            # Always pass COUNT with BLOCK: without it, fakeredis returns nothing and strands the entries.
            answer = await connection.xreadgroup(
                GROUP,
                self.consumer,
                {self._ready: ">"},
                count=min(most, _BATCH),
                block=max(1, milliseconds(block)),
            )
        if not answer:
            return []
        # A list of streams in RESP2 and a map in RESP3.
        lists = answer.values() if isinstance(answer, dict) else [[entries] for _stream, entries in answer]
        return [held for groups in lists for entries in groups for held in _held(entries)]

    async def claim_from_the_dead(self, *, lease: timedelta, most: int) -> list[Held]:
        """Take over about *most* lanes whose holder hasn't renewed them for longer than *lease*."""
        claimed: list[Held] = []
        cursor = "0-0"
        while len(claimed) < most:  # one call looks at ten times COUNT entries; more may be pending
            try:
                with _noticing_a_wipe():
                    cursor, entries, *_deleted = await self._scripts.redis.xautoclaim(
                        self._ready,
                        GROUP,
                        self.consumer,
                        min_idle_time=milliseconds(lease),
                        start_id=cursor,
                        count=_BATCH,
                    )
            except StoreWiped:
                break
            claimed += _held(entries)
            if cursor == "0-0":
                break
        return claimed

    async def renew(self, entries: Sequence[str]) -> list[str]:
        """Renew the leases of *entries*; returns those this consumer no longer holds."""
        if not entries:
            return []
        return list(await self._scripts.run("renew", self.consumer, entries))

    async def depth(self) -> int:
        """Count the lanes with work that aren't parked."""
        return int(await self._scripts.redis.xlen(self._ready))


@contextmanager
def _noticing_a_wipe() -> Iterator[None]:
    """Raise `StoreWiped` if the consumer group is gone."""
    try:
        yield
    except ResponseError as exc:
        if "NOGROUP" in str(exc):
            raise StoreWiped from exc
        raise


def _held(entries: Any) -> list[Held]:
    # Redis 6.2 returns entries deleted while pending, without fields.
    return [Held(entry, Lane(fields["lane"])) for entry, fields in entries if fields]
