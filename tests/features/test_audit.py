"""The audit log: who did what, where, when, allowed or denied, and the outcome; never message text."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.cli.audit import for_programs
from bridge.metrics import Metrics
from bridge.playground.emulator.sample import BOB, DM_ALICE
from bridge.queue.finished_turns import FinishedTurn, finished_turns_since
from bridge.queue.scripting import Scripts
from support.harness import Harness
from support.store import CHANNEL, NAMESPACE, ROOT, START, TEAM, USER

WORDS = "what nobody may read here"
COMMAND = {"command": "/workflows", "user_id": USER, "team_id": TEAM, "channel_id": CHANNEL}
DAYS = timedelta(days=90)


@pytest.fixture
def harness(harness: Harness) -> Harness:
    harness.configure(BRIDGE_ALLOWED_USERS=USER, BRIDGE_RUNNERS=USER)
    return harness


async def acts(redis: Redis) -> list[FinishedTurn]:
    return [act async for act in finished_turns_since(Scripts(redis, NAMESPACE, Metrics()), START - DAYS)]


async def shown(redis: Redis) -> list[tuple[str, str, str, bool, str]]:
    return [(act.user, act.did, act.about, act.is_allowed, act.outcome) for act in await acts(redis)]


async def do(harness: Harness, **form: Any) -> None:
    await harness.form({**COMMAND, "trigger_id": harness.slack.tickets.trigger(form.get("user_id", USER)), **form})
    await harness.work()


def mention(user: str, text: str) -> dict[str, Any]:
    return {
        "type": "app_mention", "user": user, "team": TEAM, "channel": CHANNEL, "ts": ROOT,
        "text": f"<@U0BRIDGE> {text}",
    }  # fmt: skip


async def test_an_action_is_audited_with_person_object_and_outcome(harness: Harness, redis: Redis) -> None:
    await harness.event(mention(USER, WORDS))
    await harness.work()
    await do(harness, text=f"run 3 {WORDS}")
    await do(harness, text="show nothing-like-this")
    await harness.interaction(
        {"type": "block_actions", "user": {"id": USER, "team_id": TEAM}, "channel": {"id": CHANNEL},
         "actions": [{"action_id": "run:again", "value": '{"w": 3, "i": 1}'}]}
    )  # fmt: skip
    await harness.work()

    assert await shown(redis) == [
        (USER, "message", "agent 7", True, "answered"),
        (USER, "/workflows run", "workflow 3 Import", True, "ran"),
        (USER, "/workflows show", "workflow", True, "NoSuch"),
        (USER, "click run:again", "workflow 3 Import", True, "ran"),
    ]


@pytest.mark.parametrize(
    ("text", "did"),
    [
        ("!stats", "!stats"), ("/stats agents", "!stats agents"), ("help", "!help"), ("please stop", "!stop"),
        ("", "!help"), ("/stts", "message"), ("what's in !stats", "message"),
    ],
)  # fmt: skip
async def test_a_command_in_a_message_is_audited_by_its_words(
    harness: Harness, redis: Redis, text: str, did: str
) -> None:
    await harness.event(mention(USER, text))
    await harness.work()

    assert [act.did for act in await acts(redis)] == [did]


async def test_stops_and_opened_tabs_are_in_the_audit(harness: Harness, redis: Redis) -> None:
    await harness.store.conversation(agent=7)
    stop = {"type": "agent_session_stopped", "channel": CHANNEL, "thread_ts": ROOT, "event_ts": "1700000900.000001"}
    opened = {"type": "app_home_opened", "channel": DM_ALICE, "tab": "messages", "event_ts": "1700000900.000002"}
    for user, event, about in ((USER, stop, "1"), (BOB, stop, "2"), (USER, opened, "3")):
        await harness.event({**event, "user": user}, event_id=f"Ev{about}", is_ext_shared_channel=False)
        await harness.work()

    assert (await shown(redis))[1:] == [
        (USER, "stop", "", True, "stop: queued"),
        (BOB, "stop", "", False, "user"),
        (USER, "messages_opened", "", True, "greeted"),
    ]


async def test_refusals_are_recorded_with_their_reason(harness: Harness, redis: Redis) -> None:
    await harness.event(mention(BOB, WORDS))
    await harness.work()
    await do(harness, user_id=BOB, text="run 3 hello")
    await do(harness, user_id=USER, team_id="T9", text="list")

    assert await shown(redis) == [
        (BOB, "message", "", False, "user"),
        (BOB, "/workflows run", "", False, "user"),
        (USER, "/workflows list", "", False, "stranger"),
    ]


async def test_forbidden_and_too_frequent_runs_are_refusals(harness: Harness, redis: Redis) -> None:
    harness.configure(BRIDGE_ALLOWED_USERS=f"{USER},{BOB}", BRIDGE_USER_RUNS_PER_HOUR="1")
    await do(harness, user_id=BOB, text="run 3 hello")
    await do(harness, text="run 3 hello")
    await do(harness, text="run 3 hello")

    assert await shown(redis) == [
        (BOB, "/workflows run", "workflow 3 Import", False, "NotAllowed"),
        (USER, "/workflows run", "workflow 3 Import", True, "ran"),
        (USER, "/workflows run", "workflow 3", False, "TooOften"),
    ]


async def test_the_audit_has_no_message_texts(harness: Harness, redis: Redis) -> None:
    await harness.event(mention(USER, WORDS))
    await do(harness, text=f"run 3 {WORDS}")
    await do(harness, text=WORDS)

    entries = await redis.xrange(f"{{{NAMESPACE}}}:audit")

    assert len(entries) == 3
    assert WORDS.split(maxsplit=1)[0] not in repr(entries)


async def test_each_command_is_recorded_with_object_and_outcome(harness: Harness, redis: Redis) -> None:
    typed = (
        "default Support",
        "default Support",
        "default none",
        "default Sup-port",
        "chat",
        f"chat Support {WORDS}",
        "shwo",
        "show",
    )
    for text in typed:
        await do(harness, command="/agents", text=text)
    await do(harness, command="/stats", text="report daily 09:00")
    await do(harness, text='run 3 {"x": }')
    await do(harness, text="run Import")
    await harness.event(mention(USER, "!agents show Support"))
    await harness.work()
    await harness.event(mention(USER, "!stpo") | {"ts": f"{ROOT[:-3]}300"})
    await harness.work()

    lines = [json.loads(for_programs(act)) for act in await acts(redis)]
    (report,) = [act.pop("about") for act in lines if act["did"] == "/stats report"]
    assert report.startswith("report ")
    assert [(act["did"], act.get("about"), act["name"], act["outcome"]) for act in lines if act["did"] != "notice"] == [
        ("/agents default", "agent 7", "Support", "changed"),
        ("/agents default", "agent 7", "Support", "unchanged"),
        ("/agents default", "agent none", "", "changed"),
        ("/agents default", "agent", "", "not_sure"),
        ("/agents chat", "", "", "form_opened"),
        ("/agents chat", "agent 7", "Support", "thread_started"),
        ("message", "agent 7", "", "answered"),
        ("/agents", "", "", "unknown_command"),
        ("/agents show", "", "", "bad_usage"),
        ("/stats report", None, "every day at 09:00 (Europe/Berlin)", "report_scheduled"),
        ("/workflows run", "workflow 3", "Import", "bad_input"),
        ("/workflows run", "workflow 3", "Import", "form_opened"),
        ("!agents show", "agent 7", "Support", "shown"),
        ("message", "", "", "slip"),
    ]
