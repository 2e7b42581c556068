"""`/stats agents`: what agents and workflows did, added up as it happens, in bounded memory and without names."""

from __future__ import annotations

import asyncio
import csv
import io
import random
from contextlib import suppress
from datetime import timedelta

import httpx
import pytest
from redis.asyncio import Redis

from bridge.engine.distinct import token_of
from bridge.errors import ProjectError
from bridge.features.buttons import FEEDBACK
from bridge.features.registry import features
from bridge.features.statistics.aggregating import WorkStore
from bridge.ids import TurnId
from bridge.playground.emulator.sample import ALICE, BOB, DM_BOB, GENERAL
from bridge.queue.scripting import epoch_ms
from support.harness import Harness, Posted
from support.store import LANE, ROOT, message, ts
from support.waiting import wait_until

AGGREGATE = next(job for job in features.jobs if job.name == "stats.aggregate")
EXPOSE = next(job for job in features.jobs if job.name == "stats.expose")
DAY = timedelta(days=1)


async def aggregate(harness: Harness, name: str = "a") -> None:
    harness.store.clock.time += timedelta(minutes=1)
    await harness.parts(name).clock.do(AGGREGATE)


async def asked(harness: Harness, text: str = "hello", number: int = 0, user: str = ALICE) -> None:
    await harness.store.queue(message(text, ts=ts(number) if number else ROOT, user=user))
    await harness.work()


async def votes(harness: Harness, *given: tuple[str, str]) -> None:
    """Have people vote on the only answer."""
    (answer,) = harness.seen.replies()
    for user, vote in given:
        value = f"{vote}:{answer.tag.turn}:7:42"
        await harness.click(FEEDBACK, value, user=user, ts=answer.ts, thread_ts=ROOT)
        await harness.work()


async def shown(harness: Harness, line: str = "/stats agents") -> Posted:
    await harness.type_command(line, user=BOB)
    return max([*harness.seen.ephemerals, *harness.seen.messages], key=lambda one: one.ts)


@pytest.mark.parametrize("is_added_up", [True, False])
async def test_an_agents_turns_are_counted_by_end(harness: Harness, *, is_added_up: bool) -> None:
    harness.service.chats = [None, None, httpx.Response(400, json={"message": "no"}), httpx.ReadError("broke")]
    for number, user in enumerate((ALICE, BOB, ALICE, BOB)):
        await asked(harness, number=number, user=user)
    if is_added_up:
        await aggregate(harness)
        await aggregate(harness)

    post = await shown(harness)

    assert "4 messages; 2 failed." in post.text
    assert "Support: Messages 4, People 2, Threads 1, Median" in post.text
    assert "Failed 1, Stopped 0, Unknown 1" in post.text


async def test_runs_are_counted_by_outcome(harness: Harness) -> None:
    failed = {"runId": 5, "status": "failed", "output": "", "nodeResults": {}}
    harness.service.run_answers = [httpx.Response(200, json=failed)]
    for _ in range(2):
        await harness.type_command("/workflows run 3 hello", user=BOB)

    post = await shown(harness)

    assert "2 runs; 1 failed." in post.text
    assert "Import: Runs 2, Done 1, Failed 1, Unknown 0" in post.text


async def test_votes_are_counted_per_agent(harness: Harness) -> None:
    await asked(harness)
    await votes(harness, (ALICE, "up"), (BOB, "down"), (BOB, "up"))

    assert "👍 2, 👎 0" in (await shown(harness)).text


async def test_one_of_many_processes_counts_a_turn(harness: Harness) -> None:
    await asked(harness)
    deps = [harness.parts(name).turns.deps for name in "abcdefgh"]

    await asyncio.gather(*(AGGREGATE.handler(one) for one in deps))

    assert "Messages 1" in (await shown(harness)).text


async def test_an_outage_is_listed_with_its_length(harness: Harness) -> None:
    harness.service.always = httpx.Response(503)
    for _ in range(6):  # the breaker opens
        with suppress(ProjectError):
            await harness.wires.project.get_stats()
    await aggregate(harness)
    assert "1 outage" in (await shown(harness)).text
    harness.store.clock.time += timedelta(minutes=9)
    harness.service.always = None
    harness.monotonic += 60  # the breaker tries again
    await aggregate(harness)

    post = await shown(harness)

    assert "1 outage" in post.text
    assert "unavailable for 10 min" in str(post.blocks)


async def test_a_stopped_turn_is_counted(harness: Harness) -> None:
    await asked(harness)
    harness.service.gate.clear()
    await harness.store.queue(message("again", ts=ts(1)))
    task = await harness.start_next()
    await wait_until(lambda: harness.service.in_flight == 1, "the agent is at work")
    await harness.store.process().inbox.stops.stop(LANE, "1800000000.000000", by=TurnId("s1"))
    harness.service.gate.set()
    await task

    assert "Stopped 1" in (await shown(harness)).text


async def test_the_metrics_have_the_same_numbers(harness: Harness) -> None:
    await asked(harness)

    exposed = harness.metrics.exposition().decode()

    assert 'bridge_agent_seconds_count{agent="7",outcome="answered",project="default"} 1.0' in exposed


async def test_the_metrics_of_each_process_have_the_people_threads_votes_and_outages(harness: Harness) -> None:
    harness.store.clock.time += timedelta(days=1)
    await asked(harness)
    await votes(harness, (ALICE, "up"))
    work = WorkStore(harness.store.scripts)
    began = harness.store.clock() - timedelta(minutes=20)
    await work.note_outage(harness.store.process().inbox, "", began, began + timedelta(minutes=10))

    for name in "ab":
        await harness.parts(name).clock.do(EXPOSE)
    exposed = harness.metrics.exposition().decode()

    for line in (
        'bridge_agent_people{agent="7",project="default"} 1.0',
        'bridge_agent_threads{agent="7",project="default"} 1.0',
        'bridge_agent_votes{agent="7",project="default",vote="up"} 1.0',
        'bridge_agent_votes{agent="7",project="default",vote="down"} 0.0',
        'bridge_outages{project="default"} 1.0',
        'bridge_outage_seconds{project="default"} 600.0',
    ):
        assert line in exposed


async def test_what_an_agent_did_long_ago_leaves_the_metrics(harness: Harness) -> None:
    await asked(harness)
    await harness.parts("a").clock.do(EXPOSE)
    assert 'bridge_agent_people{agent="7"' in harness.metrics.exposition().decode()
    harness.store.clock.time += timedelta(days=9)

    await harness.parts("a").clock.do(EXPOSE)

    assert "bridge_agent_people{" not in harness.metrics.exposition().decode()


@pytest.mark.parametrize("since", ["since 30d", "30d", "since yesterday"])
async def test_a_time_can_be_given(harness: Harness, since: str) -> None:
    await asked(harness)
    await aggregate(harness)
    harness.store.clock.time += 3 * DAY

    post = await shown(harness, f"/stats agents {since}")

    assert ("Messages 1" in post.text) == ("30d" in since)


async def test_an_unknown_time_is_named(harness: Harness) -> None:
    assert "soon" in (await shown(harness, "/stats agents since soon")).text


@pytest.mark.parametrize(("more", "place"), [("", DM_BOB), (" --share", GENERAL), (" －－share", GENERAL)])  # noqa: RUF001
async def test_a_csv_is_a_file_without_formulas(harness: Harness, more: str, place: str) -> None:
    harness.service.agents = [{"id": 7, "name": "=cmd|' /C calc'!A0", "model": "m"}]
    await asked(harness)

    await shown(harness, f"/stats agents since 7d --csv{more}")

    [file] = harness.slack.workspace.files.values()
    (head, row) = list(csv.reader(io.StringIO(file.content.decode())))
    assert [channel for channel, _ts in file.shared_in] == [place]
    assert head[:4] == ["kind", "id", "name", "turns"]
    assert row[:4] == ["agent", "7", "'=cmd|' /C calc'!A0", "1"]


async def test_nothing_of_people_or_texts_is_stored(harness: Harness) -> None:
    await asked(harness, "a secret word")
    await aggregate(harness)

    keys = harness.store.scripts.keys
    stored = str(
        [await harness.store.redis.hgetall(keys.work()), await harness.store.redis.xrange(keys.ended("agent"))]
    )
    assert not [one for one in (ALICE, "secret", ROOT, "Support") if one in stored]


async def test_ninety_busy_days_take_less_than_100_kb(real_redis: Redis, harness: Harness) -> None:
    """Thirty agents and thirty workflows, fifty people a day: the sums of all that are of bounded size."""
    source = random.Random(7)  # noqa: S311 - it's a test
    keys, clock = harness.store.scripts.keys, harness.store.clock
    inbox = harness.store.process().inbox
    salts = [token_of("s", f"U{n}") for n in range(500)]
    for day in range(90):
        clock.time += DAY
        async with real_redis.pipeline(transaction=False) as pipe:
            for _ in range(400):
                kind = source.choice(["agent", "workflow"])
                took = round(1000 * source.lognormvariate(1.5, 1))
                facts = {
                    "at": epoch_ms(clock()), "of": f"{kind} {source.randrange(30)}", "ms": took,
                    "how": source.choice(["", "", "", "failed", "unknown"]), "project": "",
                    "who": source.choice(salts), "in": source.randrange(1 << 14),
                }  # fmt: skip
                pipe.xadd(keys.ended(kind), facts, maxlen=1000)  # type: ignore[arg-type]
            await pipe.execute()
        if day % 3 == 2:  # before the streams are full
            await WorkStore(harness.store.scripts).aggregate(inbox, clock())

    size = await real_redis.memory_usage(keys.work(), samples=0)
    done = await WorkStore(harness.store.scripts).since(clock() - 89 * DAY, clock(), "")

    assert size is not None
    assert size < 100_000, size  # it is 82 kB
    assert sum(one.turns for one in done.work.values()) == 90 * 400
    await real_redis.delete(keys.ended("agent"), keys.ended("workflow"))
