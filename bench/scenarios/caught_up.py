"""Catch up on 10,000 messages after an outage, with live traffic at the same time.

The stored messages take exactly the calls that the bridge may make in a minute (`CatchUp`), so the figure has no
pause for Slack's rate limits. With real Slack, each further 45 pages or threads take another minute.
"""

from __future__ import annotations

import asyncio
import time
from itertools import count

from bench.figures import Figure, at_most, percentile, without_target
from bench.stage import Stage, Target
from bench.traffic import BOT, PERSON, TEAM, ChatMessage
from support.waiting import wait_until

_THREADS = 20  # existing conversations
_REPLIES = 50  # in each
_ROOTS = 9_000  # mentions at the top of a channel, on 45 pages
_LIVE_THREADS = 20
_IN_A_SECOND = 50
_AWAY = 1800.0
_LONGEST = 180.0
_SECONDS, _ACK = 60.0, 20.0


async def caught_up(stage: Stage) -> list[Figure]:
    """Start a bridge after a half-hour outage, while other people talk to an agent that answers at once."""
    share = 1 if not stage.length.is_quick else 10
    async with stage.server("bridge") as target:
        threads = await stage.threads(target, _THREADS)
        live = await stage.threads(target, _LIVE_THREADS)
    ago = time.time() - _AWAY
    stored: list[ChatMessage] = []
    for place in range(_REPLIES // share):
        for number, thread in enumerate(threads):
            message = ChatMessage(thread, 1 + place)
            stage.slack.store_reply(thread, _message(f"{ago + place:.0f}.{number:06d}", message.words, thread))
            stored.append(message)
    for place in range(_ROOTS // share):
        root = f"{ago + place // 10:.0f}.{500_000 + place % 10:06d}"
        stage.slack.store_root(_message(root, f"<@{BOT}> {ChatMessage(root, 0).words}"))
        stored.append(ChatMessage(root, 0))
    await stage.redis.hset("{bench}:owner", "listened", str(int(ago * 1000)))
    async with stage.server("bridge") as target:
        began, is_over, acks = time.perf_counter(), asyncio.Event(), list[float]()
        used = target.process.cpu_seconds()
        talking = asyncio.create_task(_talk(stage, target, live, acks, is_over))
        await wait_until(
            lambda: all(stage.ledger.posted.get(message) for message in stored), "all are answered", _LONGEST
        )
        seconds, used = time.perf_counter() - began, target.process.cpu_seconds() - used
        is_over.set()
        said_live = await talking
    stage.check([*stored, *said_live])
    each = f"{len(stored) / seconds:.0f}/s"
    name = f"{len(stored):,} messages from an outage, read and answered"
    return [
        at_most(name, seconds, _SECONDS, "s", beside=each),
        without_target("… processor time of the bridge, live traffic included", used, "s"),
        at_most("… ack p99 of live messages", percentile(acks, 0.99), _ACK, "ms"),
        without_target("… ack p50 of live messages", percentile(acks, 0.5), "ms"),
    ]


async def _talk(
    stage: Stage, target: Target, threads: list[str], acks: list[float], is_over: asyncio.Event
) -> list[ChatMessage]:
    """Send live replies at a steady rate until *is_over*. Returns them."""
    sent: list[ChatMessage] = []
    turns = []
    for number in count():
        if is_over.is_set():
            break
        sent.append(ChatMessage(threads[number % len(threads)], 1 + number // len(threads)))
        turns.append(asyncio.create_task(stage.turn(target, sent[-1])))
        await asyncio.sleep(1 / _IN_A_SECOND)
    acks += [answer.seconds * 1e3 for answer in await asyncio.gather(*turns)]
    return sent


def _message(ts: str, text: str, thread: str = "") -> dict[str, str]:
    """A message as in Slack's history."""
    message = {"type": "message", "user": PERSON, "team": TEAM, "ts": ts, "text": text, "client_msg_id": ts}
    return message | ({"thread_ts": thread} if thread else {})
