"""After an outage: 10,000 messages that Slack has stored, found and answered beside live traffic.

What is measured is the bridge's own work: it makes as many calls as it may in a minute (`CatchUp`), and not one more,
so that no second of it is a pause on behalf of Slack's rate limits. Against Slack, an outage of which more has to be
read takes a minute longer for each further 45 pages or threads.
"""

from __future__ import annotations

import asyncio
import time
from itertools import count

from bench.figures import Figure, at_most, percentile, told
from bench.stage import Door, Stage
from bench.traffic import BOT, PERSON, TEAM, Said
from support.waiting import wait_until

_THREADS = 20  # with a conversation
_REPLIES = 50  # in each
_ROOTS = 9_000  # mentions at the top of a channel, on 45 pages
_LIVE_THREADS = 20
_IN_A_SECOND = 50
_AWAY = 1800.0
_LONGEST = 180.0
_SECONDS, _ACK = 60.0, 20.0


async def caught_up(stage: Stage) -> list[Figure]:
    """A bridge starts after half an hour; meanwhile the agent, which answers at once, is asked by others, too."""
    share = 1 if not stage.length.is_quick else 10
    async with stage.server("bridge") as door:
        threads = await stage.threads(door, _THREADS)
        live = await stage.threads(door, _LIVE_THREADS)
    ago = time.time() - _AWAY
    stored: list[Said] = []
    for place in range(_REPLIES // share):
        for number, thread in enumerate(threads):
            said = Said(thread, 1 + place)
            stage.slack.store_reply(thread, _message(f"{ago + place:.0f}.{number:06d}", said.words, thread))
            stored.append(said)
    for place in range(_ROOTS // share):
        root = f"{ago + place // 10:.0f}.{500_000 + place % 10:06d}"
        stage.slack.store_root(_message(root, f"<@{BOT}> {Said(root, 0).words}"))
        stored.append(Said(root, 0))
    await stage.redis.hset("{bench}:owner", "listened", str(int(ago * 1000)))
    async with stage.server("bridge") as door:
        began, is_over, acks = time.perf_counter(), asyncio.Event(), list[float]()
        used = door.process.cpu_seconds()
        talking = asyncio.create_task(_talk(stage, door, live, acks, is_over))
        await wait_until(lambda: all(stage.ledger.posted.get(said) for said in stored), "all is answered", _LONGEST)
        seconds, used = time.perf_counter() - began, door.process.cpu_seconds() - used
        is_over.set()
        said_live = await talking
    stage.check([*stored, *said_live])
    each = f"{len(stored) / seconds:.0f}/s"
    name = f"{len(stored):,} messages of an outage, read and answered"
    return [
        at_most(name, seconds, _SECONDS, "s", beside=each),
        told("… processor time of the bridge, live traffic included", used, "s"),
        at_most("… ack p99 of live messages meanwhile", percentile(acks, 0.99), _ACK, "ms"),
        told("… p50", percentile(acks, 0.5), "ms"),
    ]


async def _talk(stage: Stage, door: Door, threads: list[str], acks: list[float], is_over: asyncio.Event) -> list[Said]:
    """Send live replies evenly, in their order, until *is_over*; gives those that were sent."""
    said: list[Said] = []
    turns = []
    for number in count():
        if is_over.is_set():
            break
        said.append(Said(threads[number % len(threads)], 1 + number // len(threads)))
        turns.append(asyncio.create_task(stage.turn(door, said[-1])))
        await asyncio.sleep(1 / _IN_A_SECOND)
    acks += [answer.seconds * 1e3 for answer in await asyncio.gather(*turns)]
    return said


def _message(ts: str, text: str, thread: str = "") -> dict[str, str]:
    """Make a message as Slack's history has it."""
    message = {"type": "message", "user": PERSON, "team": TEAM, "ts": ts, "text": text, "client_msg_id": ts}
    return message | ({"thread_ts": thread} if thread else {})
