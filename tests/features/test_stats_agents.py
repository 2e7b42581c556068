"""`/stats agents`: what agents and workflows did, counted as it happens, in bounded memory and without names."""

from __future__ import annotations

import asyncio
import csv
import io
import random
from contextlib import suppress
from copy import copy
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from redis.asyncio import Redis

from bridge.errors import ProjectError
from bridge.features.buttons import FEEDBACK
from bridge.features.registry import features
from bridge.features.statistics.aggregating import WorkStore
from bridge.ids import TurnId
from bridge.playground.emulator.sample import ALICE, BOB, DM_BOB, GENERAL
from bridge.queue.finished_turns import FinishedTurn
from bridge.queue.scripting import epoch_ms
from support.harness import Harness, Posted
from support.store import LANE, ROOT, message, ts
from support.waiting import wait_until

LOOK = next(job for job in features.jobs if job.name == "stats.aggregate")
EXPOSE = next(job for job in features.jobs if job.name == "stats.expose")
DAY = timedelta(days=1)
AUDITED = {"v": "1", "user": ALICE, "did": "message", "about": "agent 7", "allowed": "1", "outcome": "answered"}
"""An entry of the release before, which had its own statistics."""


async def look(harness: Harness, name: str = "a") -> None:
    harness.store.clock.time += timedelta(minutes=1)
    await harness.parts(name).clock.do(LOOK)


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


async def test_an_agents_turns_are_counted_by_end(harness: Harness) -> None:
    harness.service.chats = [None, None, httpx.Response(400, json={"message": "no"}), httpx.ReadError("broke")]
    for number, user in enumerate((ALICE, BOB, ALICE, BOB)):
        await asked(harness, number=number, user=user)

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
    await harness.store.queue(message())
    await harness.work_on(process := harness.store.process(), harness.lease(process, (await process.hold())[0]))

    await asyncio.gather(*(harness.parts(name).finished_turns.apply() for name in "abcdefgh"))
    for name in "abcdefgh":  # each holds the claim in turn, and finds nothing more
        await harness.store.redis.delete(harness.store.scripts.keys.consuming())
        await harness.parts(name).finished_turns.apply()

    assert "Messages 1" in (await shown(harness)).text


async def test_processes_that_apply_the_same_entries_at_once_count_them_once(harness: Harness) -> None:
    for _ in range(3):
        await harness.store.queue(message(ts=ts(_)))
        process = harness.store.process()
        await harness.work_on(process, harness.lease(process, (await process.hold())[0]))

    async def apply_unclaimed(name: str) -> None:
        scripts = copy(harness.store.scripts)
        scripts.claim = always  # type: ignore[method-assign] # its claim ran out while it was suspended
        events = harness.parts(name).finished_turns
        events._deps = replace(harness.parts(name).turns.deps, scripts=scripts)
        await events.apply()

    await asyncio.gather(*map(apply_unclaimed, "abcd"))

    assert "Messages 3" in (await shown(harness)).text


async def always(*_: object) -> bool:
    return True


async def test_what_a_process_of_the_release_before_lists_is_counted_once(harness: Harness) -> None:
    keys, redis, now = harness.store.scripts.keys, harness.store.redis, str(epoch_ms(harness.store.clock()))
    await asked(harness)
    text = '{"a7":"3.1.0.2.1.0;n1q1D1;F4IZ0yaS;DYUXQhiEKMExxA"}'  # 3 people in 5 threads
    await redis.hset(keys.work(), f"d{harness.store.clock():%Y-%m-%d}", text)
    await redis.expire(keys.work(), 60)
    listed = {"at": now, "of": "agent 7", "ms": "1500", "how": "failed", "project": "", "who": "5", "in": "6"}
    vote = {"at": now, "of": "agent 7", "how": "up", "before": "", "project": ""}
    for key, entry in ((keys.ended("agent"), listed), (keys.ended("vote"), vote), (keys.audit(), AUDITED)):
        await redis.xadd(key, entry)  # type: ignore[arg-type]
        await redis.expire(key, 60)

    await harness.work()
    await look(harness)
    await look(harness, "b")

    text = (await shown(harness)).text
    assert "Support: Messages 8, People 3, Threads 6" in text
    assert "Failed 2, Stopped 0, Unknown 2" in text
    assert "👍 2, 👎 0" in text


async def test_an_outage_is_listed_with_its_length(harness: Harness) -> None:
    harness.service.always = httpx.Response(503)
    for _ in range(6):  # the breaker opens
        with suppress(ProjectError):
            await harness.wires.project.get_stats()
    await look(harness)
    assert "1 outage" in (await shown(harness)).text
    harness.store.clock.time += timedelta(minutes=9)
    harness.service.always = None
    harness.monotonic += 60  # the breaker tries again
    await look(harness)

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
    await harness.work()

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


async def test_nothing_of_people_or_texts_is_counted(harness: Harness) -> None:
    await asked(harness, "a secret word")

    keys = [key for key in await harness.keys() if ":did:" in key or ":distinct:" in key or ":ended:" in key]
    stored = str([await harness.store._value(key) for key in keys])
    assert len(keys) == 7, "a day and a week, each with people and threads, and the list"
    assert not [one for one in (ALICE, "secret", ROOT, "Support") if one in f"{stored} {keys}"]


async def test_without_an_audit_nothing_of_people_stays(harness: Harness) -> None:
    harness.configure(BRIDGE_AUDIT_DAYS="0")
    await asked(harness)
    await harness.type_command("/workflows run 3 hello", user=BOB)

    assert await harness.store.redis.xlen(harness.store.scripts.keys.audit()) == 0
    assert "Messages 1, People 1" in (await shown(harness)).text
    assert len(await WorkStore(harness.store.scripts).ended(harness.store.clock() - DAY, "agent", "workflow")) == 2


async def test_ninety_busy_days_take_little_memory(real_redis: Redis, harness: Harness) -> None:
    """Thirty agents and thirty workflows, fifty people a day."""
    source = random.Random(7)  # noqa: S311 - it's a test
    scripts, clock = harness.store.scripts, harness.store.clock
    store, inbox = WorkStore(scripts), harness.store.process().inbox
    for _ in range(90):
        clock.time += DAY
        events = []
        for _ in range(400):
            kind = source.choice(["agent", "workflow"])
            fields = {
                "at": str(epoch_ms(clock())), "ms": str(round(1000 * source.lognormvariate(1.5, 1))),
                "of": f"{kind} {source.randrange(30)}", "how": source.choice(["", "", "", "failed", "unknown"]),
                "kind": "message", "user": f"U{source.randrange(50)}", "ts": ts(source.randrange(1 << 14)),
            }  # fmt: skip
            events.append(FinishedTurn.from_redis("1-1", fields))
        await inbox.write(*store.counts(events))

    daily = await store.since(clock() - 13 * DAY, clock(), "")
    done = await store.since(clock() - 89 * DAY, clock(), "")
    keys = [key for key in await harness.keys() if ":did:" in key or ":distinct:" in key]
    size = sum([await real_redis.memory_usage(key, samples=0) or 0 for key in keys])

    assert sum(one.turns for one in daily.work.values()) == 14 * 400
    assert sum(one.turns for one in done.work.values()) == 90 * 400
    assert all(one.people <= 52 for one in done.work.values())
    assert size < 4_000_000, size  # it's 2.8 MB; of days, only three weeks are stored
