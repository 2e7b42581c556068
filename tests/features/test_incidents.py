"""Incidents: one message for each in the operators' channel, edited until it's over, however many processes look."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.features.alerts.alert import AlertSpec, StoredAlert
from bridge.features.alerts.store import AlertStore
from bridge.features.channels.settings import AppRule
from bridge.features.episodes.episode import TRIES_EVERY
from bridge.features.incidents.records import IncidentChange
from bridge.features.registry import features
from bridge.playground.emulator.faults import Error, Http
from bridge.playground.emulator.sample import BOB, GENERAL, RANDOM, RUNNERS
from bridge.queue.scripting import epoch_ms
from bridge.slack.parts import Place
from support.harness import POST, SUPPORT, Harness, Posted
from support.ports import NO_TLS
from support.secrecy import SECRETS
from support.store import TEAM
from support.waiting import wait_until

WATCH = next(job for job in features.jobs if job.name == "incidents.watch")
REPORT = next(job for job in features.jobs if job.name == "incidents.report_troubles")
MEASURE = next(job for job in features.jobs if job.name == "incidents.measure_redis")
MINUTE = timedelta(minutes=1)
OPS = RANDOM

REJECTED = "it rejects the bridge's key (401 or 403)"


@pytest.fixture
async def harness(harness: Harness, redis: Redis) -> AsyncIterator[Harness]:
    harness.configure(BRIDGE_OPS_CHANNEL=OPS)
    await redis.config_set("appendonly", "yes")
    yield harness
    await redis.config_set("appendonly", "no")


async def watch(harness: Harness, name: str = "a") -> None:
    await harness.parts(name).clock.do(REPORT)
    await harness.parts(name).clock.do(WATCH)


async def a_minute_later(harness: Harness, after: timedelta = MINUTE) -> None:
    """Let time pass, look for incidents, and do what follows."""
    harness.store.clock.time += after
    await watch(harness)
    await harness.work()


def posts(harness: Harness) -> list[Posted]:
    return harness.seen.replies("bridge_incident")


async def dead(harness: Harness, count: int = 1) -> None:
    """Store dead letters; 0 removes all."""
    redis, key = harness.store.redis, harness.store.scripts.keys.dead()
    await redis.delete(key)
    for number in range(count):
        await redis.zadd(key, {f"t{number}": epoch_ms(harness.store.clock())})


async def begins(harness: Harness) -> Posted:
    await dead(harness)
    await a_minute_later(harness)
    (post,) = posts(harness)
    return post


async def test_without_a_channel_nothing_is_looked_up(harness: Harness) -> None:
    harness.configure(BRIDGE_OPS_CHANNEL="")
    await dead(harness)
    await a_minute_later(harness)

    assert (posts(harness), harness.service.requests) == ([], 0)
    await dead(harness, 0)


async def measured(harness: Harness) -> list[str]:
    await harness.parts().clock.do(MEASURE)
    exposed = harness.metrics.exposition().decode().splitlines()
    return [one for one in exposed if one.startswith(("bridge_processes{", "bridge_redis_"))]


async def test_metrics_show_redis_and_dead_replicas_also_without_a_channel(harness: Harness, redis: Redis) -> None:
    harness.configure(BRIDGE_OPS_CHANNEL="")
    now = (await redis.time())[0] * 1000
    await redis.zadd(harness.store.scripts.keys.processes(), {"h:1:a": now, "h:2:b": now - 60_000})

    lines = await measured(harness)
    await redis.config_set("appendonly", "no")
    await redis.config_set("maxmemory", "1mb")
    worse = await measured(harness)
    await redis.config_set("maxmemory", "0")
    await redis.delete(harness.store.scripts.keys.processes())

    assert {'bridge_processes{state="running"} 1.0', 'bridge_processes{state="missing"} 1.0'} <= set(lines)
    assert [one.rpartition(" ")[2] for one in lines if "trouble" in one] == ["0.0", "0.0", "0.0"]
    assert not any('what="limit"' in one for one in lines)
    assert {
        'bridge_redis_trouble{kind="persistence"} 1.0', 'bridge_redis_trouble{kind="memory"} 1.0',
        'bridge_redis_memory_bytes{what="limit"} 1.048576e+06',
    } <= set(worse)  # fmt: skip


async def test_a_change_is_a_reply_and_an_edit(harness: Harness) -> None:
    first = await begins(harness)
    await dead(harness, 3)
    await a_minute_later(harness, timedelta(minutes=6))

    edited, reply = posts(harness)
    assert (edited.ts, edited.text) == (first.ts, "⚠️ Some work couldn't be finished: 3 messages or commands.")
    assert (reply.place, reply.text) == (Place(OPS, first.ts), "Now: 3 messages or commands")


async def test_an_incident_that_is_back_uses_the_same_message(harness: Harness) -> None:
    first = await begins(harness)
    await dead(harness, 0)
    await a_minute_later(harness)
    await dead(harness, 2)
    await a_minute_later(harness)

    assert [one.place.thread_ts for one in posts(harness)] == ["", first.ts, first.ts]
    assert posts(harness)[0].text.startswith("⚠️")
    assert posts(harness)[2].text == "⚠️ Again: 2 messages or commands"
    await dead(harness, 0)
    await a_minute_later(harness)
    assert posts(harness)[0].text.startswith("✅")


async def test_an_incident_long_after_its_end_is_a_new_one(harness: Harness) -> None:
    await begins(harness)
    await dead(harness, 0)
    await a_minute_later(harness)
    await harness.store.redis.pexpire(harness.store.scripts.keys.incident("dead"), 1)
    await wait_until(lambda: _is_gone(harness), "it's forgotten")
    await dead(harness, 2)
    await a_minute_later(harness)

    assert [one.place.thread_ts for one in posts(harness)].count("") == 2


async def _is_gone(harness: Harness) -> bool:
    return not await harness.store.redis.exists(harness.store.scripts.keys.incident("dead"))


async def test_an_incident_over_before_its_post_is_posted_as_over(harness: Harness) -> None:
    await dead(harness)
    began = harness.store.clock()
    await watch(harness)
    await dead(harness, 0)
    harness.store.clock.time += timedelta(hours=3)  # Slack is down
    await watch(harness)
    await harness.work()
    await a_minute_later(harness)
    await a_minute_later(harness)

    root, reply = posts(harness)
    assert root.text == "✅ Over: there was work that couldn't be finished, for 3 h."
    assert f"<!date^{int(began.timestamp())}^" in str(root.blocks)
    assert reply.place == Place(OPS, root.ts)


async def test_a_rejected_token_is_said_with_its_true_time(harness: Harness) -> None:
    token = harness.wires.web.token
    token.refuse(token.value, "token_revoked")
    began = harness.store.clock()
    for _ in range(3):
        harness.store.clock.time += MINUTE
        await watch(harness)
    token.accept(token.value)
    await harness.work()
    for _ in range(2):
        await a_minute_later(harness)

    root = posts(harness)[0]
    assert root.text.startswith("✅ Over: Slack rejected the bot token")
    assert f"<!date^{int((began + MINUTE).timestamp())}^" in str(root.blocks)
    assert "token_revoked" in str(root.blocks)


async def test_a_refused_post_is_no_dead_letter_and_is_tried_again(harness: Harness) -> None:
    harness.slack.faults.on(POST, Error("not_in_channel"))
    await dead(harness)
    await a_minute_later(harness)
    await a_minute_later(harness)
    assert posts(harness) == []
    assert await harness.store.redis.zcard(harness.store.scripts.keys.dead()) == 1

    await a_minute_later(harness, TRIES_EVERY)

    assert len(posts(harness)) == 1
    await dead(harness, 0)


@pytest.mark.parametrize(("status", "why"), [(503, ""), *[(one, f": {REJECTED}") for one in (401, 403)]])
async def test_a_service_down_for_five_minutes_is_an_incident(harness: Harness, status: int, why: str) -> None:
    harness.service.always = httpx.Response(status)
    for _ in range(5):
        await a_minute_later(harness)
    assert posts(harness) == []

    await a_minute_later(harness)
    assert [one.text for one in posts(harness)] == [f"⚠️ The project service can't be reached{why}."]
    harness.service.always = None
    harness.monotonic += 60  # the breaker tries again
    await a_minute_later(harness)

    assert posts(harness)[0].text == "✅ Over: the project service couldn't be reached, for 6 min."


async def test_each_project_has_an_incident_of_its_own(harness: Harness) -> None:
    harness.serve("billing", "shop")
    for one in ("billing", "shop"):
        harness.others[one].always = httpx.Response(503)
    for _ in range(6):
        await a_minute_later(harness)

    assert {one.text for one in posts(harness)} == {
        "⚠️ The project service can't be reached · Billing.", "⚠️ The project service can't be reached · Shop.",
    }  # fmt: skip


async def test_a_bad_row_is_an_incident_until_it_is_gone(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, {"name": "No ID"}]
    harness.monotonic += 10
    await a_minute_later(harness)
    (post,) = posts(harness)
    assert post.text.startswith("⚠️ The project service sent data I can't read: get_agents: agents[1]")

    harness.service.agents = [SUPPORT]
    harness.monotonic += 10
    await a_minute_later(harness)

    assert posts(harness)[0].text.startswith("✅")


async def test_a_bad_row_that_cannot_be_read_again_stays_an_incident(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, {"name": "No ID"}]
    harness.monotonic += 10
    await a_minute_later(harness)

    harness.service.always = httpx.Response(503)
    harness.monotonic += 10
    await a_minute_later(harness)

    assert posts(harness)[0].text.startswith("⚠️ The project service sent data I can't read")


async def test_paused_things_are_an_incident(harness: Harness) -> None:
    store = AlertStore(harness.store.scripts)
    spec = AlertSpec(condition="runs > 1", team=TEAM, channel=GENERAL, owner=BOB)
    inbox = harness.store.process().inbox
    await inbox.write(*store.add(StoredAlert("a1", spec), harness.store.clock()))
    await inbox.write(*store.pause("a1", "asked"))
    await a_minute_later(harness)
    assert posts(harness) == [], "a person did that"

    await harness.store.redis.hset(harness.store.scripts.keys.alert("a1"), "paused", "is_archived")
    await harness.store.set_channel(apps={"A1": AppRule(agent=1, owner=BOB, paused="left")})
    await a_minute_later(harness)

    assert [one.text for one in posts(harness)] == ["⚠️ Something that people set up is paused: 1 app rule, 1 alert."]


GATE = '[[rules]]\nmay = ["run", "ask"]\n{}\n[[rules]]\n'
OPEN = "⚠️ Part of bridge.toml has no effect: {}."


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ('workflows = ["Imprt"]\nrefuse = true', "rule 1 names no workflow: “Imprt”; nearest: “Import”"),
        ('workflows = ["Imprt"]\nconfirm = true', "rule 1 names no workflow: “Imprt”; nearest: “Import”"),
        ('workflows = ["Imp*", 99]\napprove = {count = 2}', "rule 1 names no workflow: “99”"),
        ('agents = ["Suport"]\nrefuse = true', "rule 1 names no agent: “Suport”; nearest: “Support”"),
        ('categories = ["billing"]\nrefuse = true', "rule 1 names no category: “billing”"),
        ('who = ["S0GONE"]\nrefuse = true', "rule 1 names no user group: “S0GONE”"),
        ('approve = {by = ["S0GONE"]}', "rule 1 names no user group: “S0GONE”"),
        ('projects = ["data"]\nrefuse = true', "rule 1 names no project: “data”; nearest: “default”"),
        ('[[limits]]\nper = "agent"\nonly = ["Suport"]\nturns = 5',
         "limit 1 names no agent: “Suport”; nearest: “Support”"),
        ('[[limits]]\nper = "project"\nonly = ["data"]\nturns = 5',
         "limit 1 names no project: “data”; nearest: “default”"),
        ('who = ["S0GONE"]\nworkflows = ["Import"]\napprove = {by = ["S0GONE"]}',
         "rule 1 names no user group: “S0GONE”"),
        ('workflows = ["Import"]\nrefuse = true', ""),
        ('workflows = ["Imprt"]', ""),
        ("who = ['S0RUNNERS']\nrefuse = true", ""),
    ],
)  # fmt: skip
async def test_a_gate_that_names_nothing_is_an_incident_and_logged(
    harness: Harness, caplog: pytest.LogCaptureFixture, gate: str, said: str
) -> None:
    harness.use_file(GATE.format(gate))
    await a_minute_later(harness)

    assert [one.text for one in posts(harness)] == ([OPEN.format(said)] if said else [])
    assert [vars(one)["problem"] for one in caplog.records if "has no effect" in one.message] == (
        [said] if said else []
    )


async def test_a_gate_that_names_what_a_part_of_the_list_lacks_is_no_incident(harness: Harness) -> None:
    harness.service.page = {"next_cursor": "abc"}
    harness.use_file(GATE.format('workflows = ["Seventy"]\nrefuse = true'))
    await a_minute_later(harness)

    assert posts(harness) == []


async def test_a_gate_opened_by_a_rename_is_an_incident_until_it_holds_again(harness: Harness) -> None:
    harness.use_file(GATE.format('workflows = ["Import"]\nagents = ["Support"]\nwho = ["S0RUNNERS"]\nrefuse = true'))
    workflow, group = harness.service.workflows[0], harness.slack.workspace.groups[RUNNERS]
    await a_minute_later(harness)
    assert posts(harness) == []

    harness.service.workflows[0] = workflow | {"name": "Imports"}
    await harness.slack.people.change_group(BOB, replace(group, deleted_at=1))
    harness.monotonic += 10  # lists are cached for a few seconds
    await a_minute_later(harness)

    (post,) = posts(harness)
    renamed = "rule 1 names no workflow: “Import”; nearest: “Imports”"
    assert post.text == OPEN.format(f"{renamed}; rule 1 names no user group: “S0RUNNERS”")

    harness.slack.faults.on("usergroups.list", Error("fatal_error"))
    harness.service.always = httpx.Response(500)
    harness.monotonic += 10
    await a_minute_later(harness)
    assert [one.text for one in posts(harness) if "no effect" in one.text] == [post.text], "what isn't known stays"

    harness.slack.faults.clear()
    harness.service.always, harness.service.workflows[0] = None, workflow
    await harness.slack.people.change_group(BOB, replace(group, deleted_at=0))
    harness.monotonic += 10
    await a_minute_later(harness)
    assert "✅ Over: part of bridge.toml had no effect, for " in posts(harness)[0].text


async def test_a_message_that_waits_is_an_incident(harness: Harness) -> None:
    await harness.store.queue()
    harness.store.clock.time += timedelta(minutes=11)
    await watch(harness)
    change: Any = None
    while change is None or not isinstance(change.body, IncidentChange):
        change = await harness.take("a")
    outcome: Any = await harness.handle(change)

    assert outcome.reply.text == "⚠️ Messages are waiting for long: the oldest for over 10 min."


async def test_a_scope_that_was_taken_away_is_an_incident(harness: Harness) -> None:
    harness.slack.faults.on(
        "conversations.info", Http(200, json.dumps({"ok": False, "error": "missing_scope", "needed": "channels:read"}))
    )
    await harness.parts().turns.deps.directory.may_post(GENERAL)

    await a_minute_later(harness)

    assert [one.text for one in posts(harness)] == ["⚠️ The Slack app lacks a permission: channels:read."]


async def test_refused_requests_are_an_incident(harness: Harness) -> None:
    def troubles() -> dict[str, str]:
        return {"unauthorized": harness.guard.unauthorized} if harness.guard.unauthorized else {}

    harness.parts().turns.deps.troubles._look = troubles
    async with httpx.AsyncClient(verify=NO_TLS) as client:
        for _ in range(3):
            answer = await client.post(harness.slack.events_url, content=b"{}")
            assert answer.status_code == 401

    await a_minute_later(harness)

    (post,) = posts(harness)
    assert post.text.startswith("⚠️ Requests were refused with 401: someone is scanning")


async def test_no_incident_shows_a_secret_or_pings(harness: Harness) -> None:
    harness.service.always = httpx.Response(503, text="<!channel> " + " ".join(SECRETS))
    await dead(harness)
    for _ in range(6):
        await a_minute_later(harness)

    shown = str([one.message for one in posts(harness)])
    assert len(posts(harness)) == 2
    assert not [one for one in (*SECRETS, "<!channel", "<@") if one in shown]


async def test_a_token_rejected_between_two_looks_is_said(harness: Harness) -> None:
    token, report = harness.wires.web.token, harness.parts().clock
    await a_minute_later(harness)
    token.refuse(token.value, "token_revoked")
    await report.do(REPORT)
    harness.store.clock.time += timedelta(seconds=20)
    token.accept(token.value)
    await report.do(REPORT)

    await a_minute_later(harness)
    await a_minute_later(harness)

    assert posts(harness)[0].text == "✅ Over: Slack rejected the bot token, for 20 s."
