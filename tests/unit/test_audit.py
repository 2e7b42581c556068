"""The audit: who did what, where, when, allowed or refused, with which outcome; never what was said."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.ops.audit import TITLE, line, to_json
from bridge.slack.web import SlackWeb
from bridge.store.audit import Act, AuditLog
from bridge.store.limits import Limits
from support.front_door import FrontDoor, a_front_door
from support.store import CHANNEL, NAMESPACE, ROOT, START, TEAM

WORDS = "what nobody may read here"
COMMAND = {"command": "/workflows", "user_id": "U1", "team_id": TEAM, "channel_id": CHANNEL}
DAYS = timedelta(days=90)


@pytest.fixture
async def door(redis: Redis, web: SlackWeb) -> AsyncIterator[FrontDoor]:
    async with a_front_door(redis, web, allowed_users=frozenset({"U1"}), runners=frozenset({"U1"})) as door:
        yield door


async def acts(redis: Redis) -> list[Act]:
    return [act async for act in AuditLog(redis, NAMESPACE).since(START - DAYS)]


async def shown(redis: Redis) -> list[tuple[str, str, str, bool, str]]:
    return [(act.user, act.did, act.about, act.is_allowed, act.outcome) for act in await acts(redis)]


async def do(door: FrontDoor, **form: Any) -> None:
    await door.form({**COMMAND, "trigger_id": f"1.2.{len(await door.keys())}", **form})
    await door.bench.work()


def mention(user: str, text: str) -> dict[str, Any]:
    return {
        "type": "app_mention", "user": user, "team": TEAM, "channel": CHANNEL, "ts": ROOT, "text": f"<@UBOT> {text}",
    }  # fmt: skip


async def test_who_did_what_with_which_outcome_is_kept(door: FrontDoor, redis: Redis) -> None:
    await door.event(mention("U1", WORDS))
    await door.bench.work()
    await do(door, text=f"run 3 {WORDS}")
    await do(door, text="show nothing-like-this")
    await door.interaction(
        {"type": "block_actions", "user": {"id": "U1", "team_id": TEAM}, "channel": {"id": CHANNEL},
         "actions": [{"action_id": "run:again", "value": '{"w": 3, "i": 1}'}]}
    )  # fmt: skip
    await door.bench.work()

    assert await shown(redis) == [
        ("U1", "message", "agent 7", True, "answered"),
        ("U1", "/workflows", "workflow 3", True, "ran"),
        ("U1", "/workflows", "", True, "NoSuch"),
        ("U1", "click run:again", "workflow 3", True, "ran"),
    ]


async def test_refusals_are_kept_with_their_reason(door: FrontDoor, redis: Redis) -> None:
    await door.event(mention("U2", WORDS))
    await door.bench.work()
    await do(door, user_id="U2", text="run 3 hello")
    await do(door, user_id="U1", team_id="T9", text="list")

    assert await shown(redis) == [
        ("U2", "message", "", False, "user"),
        ("U2", "/workflows", "", False, "user"),
        ("U1", "/workflows", "", False, "stranger"),
    ]


async def test_who_may_not_run_and_who_ran_too_often_are_refused(redis: Redis, web: SlackWeb) -> None:
    async with a_front_door(redis, web, limits=Limits(user_runs=1), runners=frozenset({"U1"})) as door:
        await do(door, user_id="U2", text="run 3 hello")
        await do(door, text="run 3 hello")
        await do(door, text="run 3 hello")

    assert await shown(redis) == [
        ("U2", "/workflows", "", False, "NotAllowed"),
        ("U1", "/workflows", "workflow 3", True, "ran"),
        ("U1", "/workflows", "workflow 3", False, "TooOften"),
    ]


async def test_no_words_of_anybody_are_in_the_audit(door: FrontDoor, redis: Redis) -> None:
    await door.event(mention("U1", WORDS))
    await do(door, text=f"run 3 {WORDS}")
    await do(door, text=WORDS)

    entries = await redis.xrange(f"{{{NAMESPACE}}}:audit")

    assert len(entries) == 3
    assert WORDS.split(maxsplit=1)[0] not in repr(entries)


def test_an_act_is_one_line_for_people_and_one_for_programs() -> None:
    act = Act.from_redis(
        "1772625600123-0",
        {"user": "U1", "channel": "C1", "did": "click \x1b[2J", "allowed": "0", "outcome": "user", "of_tomorrow": "x"},
    )

    assert (
        line(act)
        == "2026-03-04 12:00:00   U1           C1           refused  click ?[2J                              user"
    )
    assert line(act).index("U1") == TITLE.index("who")
    assert json.loads(to_json(act))["ended_at"] == "2026-03-04T12:00:00.123000+00:00"
    assert "\n" not in to_json(act)
