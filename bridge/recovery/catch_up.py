"""Read the messages of an outage from Slack's history, and receive them as if Slack had delivered them now.

Slack retries a delivery at once, after one and after five minutes, then gives up
(https://docs.slack.dev/apis/events-api#retries). After a longer outage, one process reads everything, the most recent
threads and channels first. After a shorter one, it reads where messages were refused, so that they needn't wait for
Slack's retries, which are duplicates then (`bridge.queue.refused_messages`). Messages go through the same parser,
receiver and deduplication as live ones, with their current text. Messages that are too old are offered in their thread,
not sent (`bridge.engine.processor`); late commands aren't run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from bridge.engine.results import TryLater
from bridge.errors import ProjectError, SlackError, SlackRefused, SlackTokenRefused, SlackUnreachable, StoreUnavailable
from bridge.ids import MessageKey, ThreadKey
from bridge.json_reader import Json
from bridge.latest import Bucket
from bridge.metrics import Metrics
from bridge.queue.keys import MARKED
from bridge.queue.lease import LEASE
from bridge.queue.outages import BOUND, Outages, PastOutage, Unit
from bridge.queue.patience import Draining, Patience
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.blockkit.mrkdwn import addressed, bang
from bridge.slack.payloads import next_cursor, objects

log = logging.getLogger(__name__)

_LOOKS_EVERY: Final = timedelta(seconds=1)
_BEFORE: Final = timedelta(minutes=1)  # the outage may have started before it was noticed
_OFFERED_LIVE: Final = timedelta(seconds=10)  # newer messages are left to live delivery
_LEAST_THREADS: Final = 1000  # to read, even if idle for longer than `BOUND`
_MOST_LANES: Final = 200  # lanes with work; above that, reading pauses
_LOOK_AHEAD: Final = 50
_PAGE: Final = "200"  # apps outside the Marketplace get at most 15
_ATTEMPTS: Final = 5  # attempts at one thread while people edit it
_TRY_AGAIN: Final = timedelta(seconds=5)
_LOG_EVERY: Final = 60.0  # seconds
_SLICE: Final = timedelta(seconds=5)  # the claim is renewed this often during a long wait
# Slack allows about 50 calls per method and minute, and other code needs some of them:
# https://docs.slack.dev/apis/web-api/rate-limits
_CALLS_A_MINUTE: Final = 45

_KINDS: Final = (  # type, scope to list channels, scope to read them
    ("public_channel", "channels:read", "channels:history"),
    ("private_channel", "groups:read", "groups:history"),
    ("im", "im:read", "im:history"),
    ("mpim", "mpim:read", "mpim:history"),
)
_AGAIN: Final = frozenset({"full", "paused"})


class _ClaimLost(Exception):
    """Another process holds the claim."""


@dataclass(slots=True)
class _Count:
    found: int = 0
    queued: int = 0


@dataclass(slots=True)
class _Thread:
    """The part of a thread that was read for an *outage*: its *messages* by ``ts``, up to the ``ts`` *until*.

    It's kept between attempts: with 15 messages per call and one call per minute, a long thread takes many.
    """

    outage: str
    until: str
    messages: dict[str, Json] = field(default_factory=dict)

    def add(self, messages: Iterable[Json]) -> None:
        """Add a page of messages. Every page includes the root."""
        self.messages |= {str(message.get("ts")): message for message in messages}
        self.until = max([self.until, *self.messages], key=_seconds)

    def rewind(self, ts: str) -> None:
        """Drop the message *ts* and later ones, to read them again."""
        self.messages = {known: message for known, message in self.messages.items() if _seconds(known) < _seconds(ts)}
        self.until = f"{_seconds(ts) - 0.000001:.6f}"


@dataclass(slots=True)
class CatchUp:
    """Catches up on outages, for one *process*.

    *receive* handles one message of a channel and returns the decision. *is_human*: whether it's a person who writes
    messages, perhaps by an app that has their token. *has_outage* returns whether there may be
    something to read, *store_since* when the store's data begins, and *depth* how many lanes have work. *lease* is that
    of workers.
    """

    outages: Outages
    web: SlackWeb
    identity: Identity
    receive: Callable[[Json, str], Awaitable[str]]
    is_human: Callable[[str], Awaitable[bool]]
    patience: Patience
    metrics: Metrics
    process: str
    now: Callable[[], datetime]
    has_outage: Callable[[], bool]
    store_since: Callable[[], datetime | None]
    depth: Callable[[], Awaitable[int]]
    monotonic: Callable[[], float] = time.monotonic
    lease: timedelta = LEASE
    _later: dict[Unit, float] = field(default_factory=dict)
    _done: set[tuple[str, Unit]] = field(default_factory=set)  # threads already read
    _loading: dict[Unit, _Thread] = field(default_factory=dict)
    _calls: dict[str, Bucket] = field(default_factory=dict)  # by method

    async def run(self) -> None:
        """Catch up after each outage, until the process drains."""
        was_away = False
        with suppress(Draining):
            while True:
                await self.patience.pause(_LOOKS_EVERY)
                try:
                    if self.has_outage():
                        await self.catch_up()
                    else:
                        self._forget()
                    was_away = False
                except (StoreUnavailable, SlackError) as exc:
                    if not was_away:
                        log.warning("can't catch up yet", extra={"why": type(exc).__name__})
                    was_away = True
                except _ClaimLost:
                    log.info("another process is catching up")

    async def catch_up(self) -> None:
        """Read everything unread, unless another process does. Raises `StoreUnavailable` and `SlackError`."""
        outage = await self.outages.latest()
        if outage is None or outage.done_at is not None or not await self.outages.claim(self.process):
            return
        facts = {"began": outage.began.isoformat(), "ended": outage.ended.isoformat(), "left": outage.left}
        log.info("catching up after an outage", extra=facts)
        try:
            await self._pause(self._left_of_old_leases(outage))
            if not outage.is_planned:
                await self.mark_threads()
                active: dict[str, float] = {}
                for score, thread in await self._threads(outage):
                    active.setdefault(thread.channel, score)
                channels = dict.fromkeys(await self._channels(), 0.0) | active
                planned = [(score, Unit("c", self.identity.team, channel)) for channel, score in channels.items()]
                if not await self.outages.plan(outage, planned, self.now()):
                    return
            logged_at = self.monotonic()
            while True:
                units, left = await self.outages.unread(_LOOK_AHEAD)
                if not units:
                    break
                await self._renew_claim()
                self.metrics.catch_up_left.set(left)
                if self.monotonic() - logged_at >= _LOG_EVERY:
                    log.info("still catching up", extra={"left": left})
                    logged_at = self.monotonic()
                ready = [unit for unit in units if self._later.get(unit, 0) <= self.monotonic()]
                if not ready or await self.depth() > _MOST_LANES:
                    await self._pause(_LOOKS_EVERY)
                elif not await self._read(outage, ready[0]):
                    return  # a new outage
            self._forget()
            done = await self.outages.latest()
            if done is not None:
                counts = {"read": done.read, "found": done.found, "queued": done.queued}
                log.info("caught up", extra=counts)
        finally:
            with suppress(StoreUnavailable):
                await self.outages.release(self.process)

    def _forget(self) -> None:
        """Drop this process's state once all outages are caught up, here or elsewhere."""
        self._later.clear()
        self._done.clear()
        self._loading.clear()
        self.metrics.catch_up_left.set(0)

    async def mark_threads(self) -> None:
        """Mark the threads to read, before new messages are received. Raises `StoreUnavailable`."""
        outage = await self.outages.latest()
        if outage is None or outage.done_at is not None or outage.has_threads:
            return
        units = [(score, Unit.of_thread(thread)) for score, thread in await self._threads(outage)]
        await self.outages.plan(outage, units, self.now(), is_whole=False)

    async def ensure_caught_up(self, thread: ThreadKey) -> None:
        """Read *thread* now if it's still unread: a live reply in it is about to be sent.

        The reply waits at most ten minutes; one that arrived in the seconds between an outage's end and its
        detection doesn't wait. Raises `TryLater` if older messages must be sent first, and `StoreUnavailable`.
        """
        mark = await self.outages.unread_mark(thread)
        outage = await self.outages.latest() if mark else None
        if outage is None or outage.done_at is not None:
            return
        if (left := self._left_of_old_leases(outage)) > timedelta(0):
            raise TryLater(left)
        unit = Unit.of_thread(thread)
        try:
            await self._thread(outage, unit, mark=mark)
        except SlackRefused as exc:
            await self._skip(outage, unit, exc, mark=mark)
        except SlackError as exc:
            raise TryLater(exc.retry_after or _TRY_AGAIN) from exc
        except ProjectError as exc:
            raise TryLater(_TRY_AGAIN) from exc
        raise TryLater(_TRY_AGAIN if self._later.get(unit, 0) > self.monotonic() else timedelta(0))

    def _left_of_old_leases(self, outage: PastOutage) -> timedelta:
        """Return how long a worker may still post answers of turns from before a wipe (``tests/proof/model``)."""
        return outage.ended + self.lease - self.now() if outage.was_wiped else timedelta(0)

    # Planning.

    async def _threads(self, outage: PastOutage) -> list[tuple[float, ThreadKey]]:
        return await self.outages.active_threads(_begins(outage, self.now()) - BOUND, _LEAST_THREADS)

    async def _channels(self) -> list[str]:
        """Return the channels that the bot is in and can read. https://docs.slack.dev/reference/methods/users.conversations."""
        scopes = self.identity.scopes
        kinds = [kind for kind, listed, read in _KINDS if not scopes or {listed, read} <= scopes]
        without = [name for _kind, *needed in _KINDS for name in needed if scopes and name not in scopes]
        if without:
            log.warning("can't look for missed messages in some channels", extra={"without": sorted(without)})
        channels: list[str] = []
        arguments = {"types": ",".join(kinds), "exclude_archived": "true", "limit": _PAGE}
        while kinds:
            try:
                page = await self._call("users.conversations", arguments)
            except SlackRefused as exc:
                log.warning("can't list the bot's channels", extra={"detail": exc.detail})
                break
            channels += [id_ for about in objects(page.get("channels")) if (id_ := str(about.get("id") or ""))]
            cursor = next_cursor(page)
            if not cursor:
                break
            arguments["cursor"] = cursor
        return channels

    # Reading.

    async def _read(self, outage: PastOutage, unit: Unit) -> bool:
        """Read one unit, or schedule a later attempt. False during a new outage."""
        try:
            return await (self._thread if unit.kind == "t" else self._channel)(outage, unit)
        except SlackTokenRefused:
            raise
        except SlackRefused as exc:
            return await self._skip(outage, unit, exc)
        except (SlackError, ProjectError) as exc:
            log.info("can't read a channel or thread yet", extra={"channel": unit.channel, "detail": exc.detail})
            self._try_later(unit)
            return True

    async def _skip(self, outage: PastOutage, unit: Unit, exc: SlackRefused, *, mark: str = "") -> bool:
        """Give up on *unit*: Slack would refuse a retry, too."""
        self.metrics.catch_up_messages.labels("unreadable").inc()
        log.warning(
            "can't look for missed messages in a channel or thread",
            extra={"channel": unit.channel, "detail": exc.detail},
        )
        return await self.outages.was_read(outage, unit, self.now(), mark=mark)

    async def _thread(self, outage: PastOutage, unit: Unit, *, mark: str = "") -> bool:
        """Read a whole thread, without waiting if a message with this *mark* waits for it.

        https://docs.slack.dev/reference/methods/conversations.replies gives it oldest first.
        """
        count = _Count()
        arguments = {"channel": unit.channel, "ts": unit.at, "limit": _PAGE, "include_all_metadata": "true"}
        oldest = _begins(outage, self.now()).timestamp()
        thread = self._loading.get(unit)
        if thread is None or thread.outage != outage.name:
            thread = self._loading[unit] = _Thread(outage.name, f"{oldest:.6f}")
        for _ in range(_ATTEMPTS):
            since, cursor = thread.until, ""
            while True:
                more = {"oldest": since} | ({"cursor": cursor} if cursor else {})
                page = await self._call("conversations.replies", arguments | more, is_patient=not mark)
                thread.add(objects(page.get("messages")))
                cursor = next_cursor(page)
                if not cursor:
                    break
            decision, ts = await self._receive_all(
                unit.channel, await self._unanswered(outage, thread.messages, oldest), count
            )
            if decision == "outdated":
                thread.rewind(ts)
                continue
            if decision in _AGAIN:
                break
            self._loading.pop(unit, None)
            self._done.add((outage.name, unit))
            return await self.outages.was_read(
                outage, unit, self.now(), found=count.found, queued=count.queued, mark=mark
            )
        self._try_later(unit)
        return True

    async def _channel(self, outage: PastOutage, unit: Unit) -> bool:
        """Read one page of a channel's top level, and list its threads and the next page for reading.

        https://docs.slack.dev/reference/methods/conversations.history gives the newest first. Each message there starts
        its own thread, so their order doesn't matter; a message with replies is read as a whole thread.
        """
        oldest = _begins(outage, self.now()).timestamp()
        page = await self._call(
            "conversations.history",
            {
                "channel": unit.channel,
                "oldest": f"{oldest:.6f}",
                "latest": unit.at or f"{outage.ended.timestamp():.6f}",
                "limit": _PAGE,
                "include_all_metadata": "true",
            },
        )
        count = _Count()
        leads_to: list[tuple[float, Unit]] = []
        alone: list[Json] = []
        messages = objects(page.get("messages"))
        for message in messages:
            ts, root = str(message.get("ts") or ""), str(message.get("thread_ts") or "")
            latest = _seconds(message.get("latest_reply"))
            if root not in {"", ts}:  # a reply also sent to the channel
                if f"<@{self.identity.bot_user}" in str(message.get("text") or ""):
                    leads_to.append((_seconds(ts), Unit("t", unit.team, unit.channel, root)))
            elif latest >= oldest and not await self._is_only_answered(unit, message):
                thread = Unit("t", unit.team, unit.channel, ts)
                leads_to += [(latest, thread)] if (outage.name, thread) not in self._done else []
            else:
                alone.append(message)
        decision, _ = await self._receive_all(unit.channel, alone, count)
        if decision in _AGAIN or decision == "outdated":
            self._try_later(unit, timedelta(0) if decision == "outdated" else _TRY_AGAIN)
            return True
        if page.get("has_more") and messages:
            last = min((str(message.get("ts") or "") for message in messages), key=_seconds)
            leads_to.append((_seconds(last), Unit("c", unit.team, unit.channel, last)))
        return await self.outages.was_read(
            outage, unit, self.now(), found=count.found, queued=count.queued, leads_to=leads_to
        )

    async def _is_only_answered(self, channel: Unit, root: Json) -> bool:
        """Whether all replies to *root* are the bot's, and the store knows the message. It saves reading the thread."""
        replied = root.get("reply_users_count") == 1 and root.get("reply_users") == [self.identity.bot_user]
        message = MessageKey(channel.team, channel.channel, str(root.get("ts") or ""))
        return replied and await self.outages.was_received(message)

    async def _unanswered(self, outage: PastOutage, messages: Mapping[str, Json], oldest: float) -> list[Json]:
        """Return a thread's messages to receive, oldest first, without those named in the metadata of an answer.

        Answers are checked because a store that was lost, or restored from a backup, doesn't know every message it
        received. For the time before its data begins, all messages up to a stop, or up to an answer without such
        metadata, count as handled.
        """
        since = self.store_since()
        known_from = since.timestamp() if since else 0.0
        answered: set[str] = set()
        handled_until = 0.0
        for ts, message in messages.items():
            if not self.identity.wrote(message):
                rest = addressed(str(message.get("text") or ""), self.identity.bot_user)[1]
                is_stop = bang(rest) == ("stop", "") and _seconds(ts) < known_from
                if is_stop and (
                    not (message.get("bot_id") or message.get("app_id"))
                    or await self.is_human(str(message.get("user")))
                ):
                    handled_until = max(handled_until, _seconds(ts))
                continue
            match message.get("metadata"):
                case {"event_type": str() as kind, "event_payload": dict() as payload} if kind.startswith("bridge_"):
                    if payload.get("message"):
                        answered.add(str(payload["message"]))
                    elif kind == "bridge_turn":
                        handled_until = max(handled_until, _seconds(ts))
        last = max(outage.ended, self.now() - _OFFERED_LIVE).timestamp()
        return [
            messages[ts]
            for ts in sorted(messages, key=_seconds)
            if oldest <= _seconds(ts) <= last
            and not self.identity.wrote(messages[ts])
            and ts not in answered
            and (_seconds(ts) >= known_from or _seconds(ts) > handled_until)
        ]

    async def _receive_all(self, channel: str, messages: Iterable[Json], count: _Count) -> tuple[str, str]:
        """Receive messages in order. If one can't be received now, return the decision and its ``ts``."""
        for message in messages:
            decision = await self.receive(message, channel)
            self.metrics.catch_up_messages.labels(decision).inc()
            count.found += 1
            count.queued += decision == "queued"
            if decision in _AGAIN or decision == "outdated":
                return decision, str(message.get("ts") or "")
        return "", ""

    # Rate limits, waiting and the claim.

    async def _call(self, method: str, arguments: Mapping[str, str], *, is_patient: bool = True) -> Json:
        """Call Slack within `_CALLS_A_MINUTE`; if *is_patient*, wait out a 429. Raises `SlackError`."""
        calls = self._calls.setdefault(method, Bucket(_CALLS_A_MINUTE, self.monotonic))
        while True:
            if is_patient and (left := calls.wait()):
                await self._pause(timedelta(seconds=left))
                continue
            calls.add()
            try:
                return await self.web.read(method, arguments)
            except SlackUnreachable as exc:
                if exc.retry_after is None or not is_patient:
                    raise
                await self._pause(exc.retry_after)

    async def _pause(self, duration: timedelta) -> None:
        """Wait, renewing the claim. Raises `Draining` and `_ClaimLost`."""
        left = duration
        while left > timedelta(0):
            await self.patience.pause(min(left, _SLICE))
            left -= _SLICE
            await self._renew_claim()

    async def _renew_claim(self) -> None:
        if not await self.outages.claim(self.process):
            raise _ClaimLost

    def _try_later(self, unit: Unit, after: timedelta = _TRY_AGAIN) -> None:
        self._later[unit] = self.monotonic() + after.total_seconds()


def _begins(outage: PastOutage, now: datetime) -> datetime:
    return max(outage.began, outage.ended - BOUND, now - MARKED + BOUND / 100) - _BEFORE


def _seconds(ts: Any) -> float:
    try:
        return float(ts or 0)
    except (TypeError, ValueError):
        return 0.0
