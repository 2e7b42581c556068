"""Events that are no messages, as Slack sends them: Slack's own Stop, a cross on a message, the Messages tab."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.listeners.events import EVENTS
from bridge.playground.emulator.manifests import EVENTS as SLACKS_EVENTS
from bridge.slack.api import SlackWeb
from support.front_door import FrontDoor, a_front_door
from support.store import ROOT, ts

STOP = {
    "type": "agent_session_stopped", "channel": "C1", "user": "U1", "thread_ts": ROOT, "event_ts": "1700000900.000001",
}  # fmt: skip
CROSS = {
    "type": "reaction_added", "user": "U1", "reaction": "x", "item_user": "U1", "event_ts": "1700000900.000001",
    "item": {"type": "message", "channel": "C1", "ts": ROOT},
}  # fmt: skip
OPENED = {"type": "app_home_opened", "user": "U1", "channel": "D1", "tab": "messages", "event_ts": "1700000900.000001"}


@pytest.fixture
async def door(redis: Redis, web: SlackWeb) -> AsyncIterator[FrontDoor]:
    async with a_front_door(redis, web) as door:
        yield door


async def sent(door: FrontDoor, event: dict[str, Any], **changes: Any) -> int:
    envelope = {"event_id": "Ev1", "is_ext_shared_channel": False}
    return (await door.event({**event, **changes}, **envelope)).status


@pytest.mark.parametrize("event", [STOP, CROSS])
async def test_a_stop_is_given_before_its_acknowledgement(door: FrontDoor, event: dict[str, Any]) -> None:
    turn = await door.bench.store.conversation(agent=7)

    statuses = [await sent(door, event), await sent(door, event)]

    assert statuses == [200, 200]
    assert await door.bench.store.field(turn, "stopped") == "queued"
    await door.bench.work()
    assert door.bench.service.messages == []
    assert len(door.bench.say.words) == 1


@pytest.mark.parametrize(
    ("event", "changes"),
    [
        (STOP, {"thread_ts": None}),
        (STOP, {"thread_ts": "²."}),
        (STOP, {"event_ts": ""}),
        (STOP, {"channel": None}),
        (CROSS, {"item_user": "UOTHER"}),
        (CROSS, {"user": "UOTHER"}),
        (CROSS, {"user": "USLACKBOT", "item_user": "USLACKBOT"}),
        (STOP, {"user": "USLACKBOT"}),
        (CROSS, {"reaction": "eyes"}),
        (CROSS, {"item": None}),
        (CROSS, {"item": {"type": "file", "file": "F1"}}),
        (CROSS, {"item": {"type": "message", "channel": "C1", "ts": ts(5)}}),
        (CROSS, {"user": "UBOT", "item_user": "UBOT"}),
    ],
)
async def test_an_event_that_is_no_stop_changes_nothing(
    door: FrontDoor, event: dict[str, Any], changes: dict[str, Any]
) -> None:
    await door.bench.store.conversation(agent=7)

    assert await sent(door, event, **changes) == 200
    await door.bench.work()

    assert door.bench.service.messages == ["hello there"]
    assert door.bench.say.whispers == []


@pytest.mark.parametrize(("event", "kind"), [(STOP, "stop"), (CROSS, "stop"), (OPENED, "messages_opened")])
async def test_an_event_is_counted_by_its_own_kind(door: FrontDoor, event: dict[str, Any], kind: str) -> None:
    await door.bench.store.conversation(agent=7)

    await sent(door, event)

    await door.bench.work()
    assert door.counted(f'bridge_events_total{{kind="{kind}",outcome="queued"}} 1.0')
    assert door.counted(f'bridge_turn_seconds_count{{kind="{kind}",')


async def test_an_opened_messages_tab_gets_prompts(door: FrontDoor) -> None:
    assert await sent(door, OPENED) == 200
    await door.bench.work()

    assert [channel for channel, _ in door.bench.say.prompts] == ["D1"]


@pytest.mark.parametrize("changes", [{"tab": "home"}, {"tab": None}, {"channel": None}, {"user": None}])
async def test_another_opened_tab_gets_no_prompts(door: FrontDoor, changes: dict[str, Any]) -> None:
    assert await sent(door, OPENED, **changes) == 200
    await door.bench.work()

    assert door.bench.say.prompts == []


async def test_a_person_without_access_gets_no_prompts(redis: Redis, web: SlackWeb) -> None:
    async with a_front_door(redis, web, allowed_users=frozenset({"UOTHER"})) as door:
        assert await sent(door, OPENED) == 200
        await door.bench.work()

        assert door.bench.say.prompts == []
        assert door.bench.say.whispers == []


async def test_the_manifest_has_exactly_the_events_with_a_listener(door: FrontDoor) -> None:
    kinds = {event.partition(".")[0] for event in SLACKS_EVENTS}
    unheard: list[str] = []
    for kind in kinds:
        assert await sent(door, {"type": kind}) == 200
        if door.counted(f'bridge_events_total{{kind="event",outcome="ignored"}} {len(unheard) + 1}.0'):
            unheard.append(kind)

    assert kinds - set(unheard) == {event.partition(".")[0] for event in EVENTS}


@pytest.mark.parametrize("user", ["USLACK", "USLACKBOT"])
async def test_a_click_by_slack_itself_is_ignored(door: FrontDoor, user: str) -> None:
    response = await door.interaction(
        {
            "type": "block_actions",
            "user": {"id": user, "team_id": "T1"},
            "channel": {"id": "C1"},
            "container": {"type": "message", "message_ts": ROOT, "channel_id": "C1"},
            "actions": [{"action_id": "agent:choose", "value": "1", "block_id": "b"}],
            "trigger_id": "1.2.a",
        }
    )

    assert response.status == 200
    assert [key for key in await door.keys() if ":turn:" in key] == []
    assert door.counted('bridge_events_total{kind="click",outcome="ignored"}')
