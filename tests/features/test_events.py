"""Slack events other than messages: the native Stop button, an ❌ reaction, the Messages tab."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.door.listeners.subscriptions import EVENTS
from bridge.playground.emulator.manifests import EVENTS as SLACKS_EVENTS
from bridge.playground.emulator.sample import BOB, DM_ALICE
from support.harness import Harness
from support.store import BOT, CHANNEL, ROOT, TEAM, USER, ts

STOP = {
    "type": "agent_session_stopped", "channel": CHANNEL, "user": USER, "thread_ts": ROOT,
    "event_ts": "1700000900.000001",
}  # fmt: skip
CROSS = {
    "type": "reaction_added", "user": USER, "reaction": "x", "item_user": USER, "event_ts": "1700000900.000001",
    "item": {"type": "message", "channel": CHANNEL, "ts": ROOT},
}  # fmt: skip
OPENED = {
    "type": "app_home_opened",
    "user": USER,
    "channel": DM_ALICE,
    "tab": "messages",
    "event_ts": "1700000900.000001",
}


async def sent(harness: Harness, event: dict[str, Any], **changes: Any) -> int:
    envelope = {"event_id": "Ev1", "is_ext_shared_channel": False}
    return (await harness.event({**event, **changes}, **envelope)).status


@pytest.mark.parametrize("event", [STOP, CROSS])
async def test_a_stop_takes_effect_before_it_is_acknowledged(harness: Harness, event: dict[str, Any]) -> None:
    turn = await harness.store.conversation(agent=7)

    statuses = [await sent(harness, event), await sent(harness, event)]

    assert statuses == [200, 200]
    assert await harness.store.field(turn, "end") == "stopped queued"
    await harness.work()
    assert harness.service.messages == []
    assert len(harness.seen.texts) == 1


@pytest.mark.parametrize(
    ("event", "changes"),
    [
        (STOP, {"thread_ts": None}),
        (STOP, {"thread_ts": "²."}),
        (STOP, {"event_ts": ""}),
        (STOP, {"channel": None}),
        (CROSS, {"item_user": BOB}),
        (CROSS, {"user": BOB}),
        (CROSS, {"user": "USLACKBOT", "item_user": "USLACKBOT"}),
        (STOP, {"user": "USLACKBOT"}),
        (CROSS, {"reaction": "eyes"}),
        (CROSS, {"item": None}),
        (CROSS, {"item": {"type": "file", "file": "F1"}}),
        (CROSS, {"item": {"type": "message", "channel": CHANNEL, "ts": ts(5)}}),
        (CROSS, {"user": BOT, "item_user": BOT}),
    ],
)
async def test_an_event_other_than_a_stop_changes_nothing(
    harness: Harness, event: dict[str, Any], changes: dict[str, Any]
) -> None:
    await harness.store.conversation(agent=7)

    assert await sent(harness, event, **changes) == 200
    await harness.work()

    assert harness.service.messages == ["hello there"]
    assert harness.seen.ephemerals == []


@pytest.mark.parametrize(("event", "kind"), [(STOP, "stop"), (CROSS, "stop"), (OPENED, "messages_opened")])
async def test_an_event_is_counted_by_its_own_kind(harness: Harness, event: dict[str, Any], kind: str) -> None:
    await harness.store.conversation(agent=7)

    await sent(harness, event)

    await harness.work()
    assert harness.counted(f'bridge_events_total{{kind="{kind}",outcome="queued"}} 1.0')
    assert harness.counted(f'bridge_turn_seconds_count{{kind="{kind}",')


async def test_an_opened_messages_tab_gets_prompts(harness: Harness) -> None:
    assert await sent(harness, OPENED) == 200
    await harness.work()

    assert [channel for channel, _ in harness.seen.prompts] == [DM_ALICE]


@pytest.mark.parametrize("changes", [{"tab": "home"}, {"tab": None}, {"channel": None}, {"user": None}])
async def test_another_opened_tab_gets_no_prompts(harness: Harness, changes: dict[str, Any]) -> None:
    assert await sent(harness, OPENED, **changes) == 200
    await harness.work()

    assert harness.seen.prompts == []


async def test_a_person_without_access_gets_no_prompts(harness: Harness) -> None:
    harness.configure(BRIDGE_ALLOWED_USERS=BOB)
    assert await sent(harness, OPENED) == 200
    await harness.work()

    assert harness.seen.prompts == []
    assert harness.seen.ephemerals == []


async def test_the_manifest_has_exactly_the_events_with_a_listener(harness: Harness) -> None:
    kinds = {event.partition(".")[0] for event in SLACKS_EVENTS}
    unheard: list[str] = []
    for kind in kinds:
        assert await sent(harness, {"type": kind}) == 200
        if harness.counted(f'bridge_events_total{{kind="event",outcome="ignored"}} {len(unheard) + 1}.0'):
            unheard.append(kind)

    assert kinds - set(unheard) == {event.partition(".")[0] for event in EVENTS}


@pytest.mark.parametrize("user", ["USLACK", "USLACKBOT"])
async def test_a_click_by_slack_itself_is_ignored(harness: Harness, user: str) -> None:
    response = await harness.interaction(
        {
            "type": "block_actions",
            "user": {"id": user, "team_id": TEAM},
            "channel": {"id": CHANNEL},
            "container": {"type": "message", "message_ts": ROOT, "channel_id": CHANNEL},
            "actions": [{"action_id": "agent:choose", "value": "1", "block_id": "b"}],
            "trigger_id": "1.2.a",
        }
    )

    assert response.status == 200
    assert [key for key in await harness.keys() if ":turn:" in key] == []
    assert harness.counted('bridge_events_total{kind="click",outcome="ignored"}')
