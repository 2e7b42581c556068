"""Limits: a runaway thread is paused, people are held to their limits, and both get a notice."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.inbound import Notice
from bridge.playground.emulator.sample import BOB
from bridge.slack.blockkit import kit
from support.harness import Harness
from support.store import CHANNEL, ROOT, TEAM, USER
from support.tables import each

OTHER_ROOT = "1700000500.000001"


@pytest.fixture
async def harness(harness: Harness) -> Harness:
    """A bridge whose threads already have conversations."""
    for root in (ROOT, OTHER_ROOT):
        key = f"{{test}}:thread:{TEAM}:{CHANNEL}:{root}"
        await harness.store.redis.hset(key, mapping={"v": 1, "agent": 7})
        await harness.store.redis.expire(key, 60)
    return harness


async def say(harness: Harness, text: str, number: int, *, user: str = USER, root: str = ROOT) -> None:
    """Post a reply in a thread and process it."""
    stamp = f"{root.partition('.')[0]}.{number:06d}"
    event: dict[str, Any] = {
        "type": "message", "channel_type": "channel", "channel": CHANNEL, "user": user, "team": TEAM,
        "text": text, "ts": stamp, "thread_ts": root,
    }  # fmt: skip
    assert (await harness.event(event, event_id=f"Ev{stamp}")).status == 200
    await harness.work()


def notices(harness: Harness) -> list[tuple[str, str]]:
    """The private notices: who got which text."""
    return [(one.user, one.text) for one in harness.seen.ephemerals]


async def end_window(harness: Harness, kind: str) -> None:
    """End a rate-limit window by deleting its keys."""
    keys = [key for key in await harness.keys() if f":{kind}:" in key]
    assert keys
    await harness.store.redis.delete(*keys)


async def test_a_looping_thread_pauses_with_one_public_and_then_private_notices(harness: Harness) -> None:
    harness.configure(BRIDGE_THREAD_TURNS_PER_MINUTE="3")

    for number in range(200, 206):
        await say(harness, f"message {number}", number)

    assert harness.service.messages == ["message 200", "message 201", "message 202"]
    public = [one for one in harness.seen.messages if "too fast" in one.words]
    assert [(one.place.channel, one.place.thread_ts) for one in public] == [(CHANNEL, ROOT)]
    assert "Try again in" in public[0].words
    assert [user for user, words in notices(harness) if "too fast" in words] == [USER, USER]


async def test_another_thread_is_not_affected(harness: Harness) -> None:
    harness.configure(BRIDGE_THREAD_TURNS_PER_MINUTE="1")

    await say(harness, "one", 200)
    await say(harness, "two", 201)
    await say(harness, "three", 200, root=OTHER_ROOT)

    assert harness.service.messages == ["one", "three"]


async def test_a_paused_thread_resumes_after_a_minute(harness: Harness) -> None:
    harness.configure(BRIDGE_THREAD_TURNS_PER_MINUTE="1")
    await say(harness, "one", 200)
    await say(harness, "two", 201)

    await end_window(harness, "used")
    await say(harness, "three", 202)

    assert harness.service.messages == ["one", "three"]


async def test_commands_work_in_a_paused_thread(harness: Harness) -> None:
    harness.configure(BRIDGE_THREAD_TURNS_PER_MINUTE="1")
    await say(harness, "one", 200)
    await say(harness, "two", 201)

    await say(harness, "!session", 202)

    assert "Support answers here" in "".join(words for _, words in notices(harness))


async def test_a_message_refused_in_a_pause_is_not_answered_on_a_retry(harness: Harness) -> None:
    harness.configure(BRIDGE_THREAD_TURNS_PER_MINUTE="1")
    await say(harness, "one", 200)
    await say(harness, "two", 201)

    await end_window(harness, "used")
    await say(harness, "two", 201)

    assert harness.service.messages == ["one"]


async def test_a_persons_limit_applies_everywhere_and_to_no_one_else(harness: Harness) -> None:
    harness.configure(BRIDGE_USER_TURNS_PER_MINUTE="2", BRIDGE_THREAD_REPLIES="all")

    await say(harness, "one", 200)
    await say(harness, "two", 200, root=OTHER_ROOT)
    await say(harness, "three", 201)
    await say(harness, "four", 202, user=BOB)

    assert harness.service.messages == ["one", "two", "Bob Brandt: four"]
    ((user, words),) = notices(harness)
    assert user == USER
    assert "too fast. Try again in" in words


async def test_a_refused_message_counts_toward_no_other_limit(harness: Harness) -> None:
    harness.configure(BRIDGE_THREAD_TURNS_PER_MINUTE="1", BRIDGE_USER_TURNS_PER_MINUTE="2")

    await say(harness, "one", 200)
    await say(harness, "two", 201)
    await say(harness, "three", 200, root=OTHER_ROOT)

    assert harness.service.messages == ["one", "three"], (
        "the second was refused by the thread's limit and didn't count toward the person's"
    )


async def test_a_thread_started_by_a_command_counts_as_a_turn(harness: Harness) -> None:
    harness.configure(BRIDGE_USER_TURNS_PER_MINUTE="1")
    command = {"command": "/agents", "user_id": USER, "team_id": TEAM, "channel_id": CHANNEL}

    for number in range(2):
        await harness.form({**command, "text": f"chat Support hello {number}", "trigger_id": f"1.2.{number}"})
        await harness.work()

    assert harness.service.messages == ["hello 0"]
    assert "sending messages too fast" in notices(harness)[-1][1]


async def test_a_run_beyond_the_limit_is_refused_with_the_time_to_wait(harness: Harness) -> None:
    harness.configure(BRIDGE_USER_RUNS_PER_HOUR="2")
    command = {"command": "/workflows", "text": "run 3 hello", "team_id": TEAM, "channel_id": CHANNEL}

    for number, user in enumerate([USER, USER, USER, BOB]):
        await harness.form({**command, "user_id": user, "trigger_id": f"1.2.{number}"})
        await harness.work()

    assert harness.service.runs == ["hello"] * 3
    ((user, words),) = notices(harness)
    assert user == USER
    assert words.startswith("You've reached your hourly limit of workflow runs, so nothing was started.")
    assert "Try again in" in words
    await end_window(harness, "used")
    await harness.form({**command, "user_id": USER, "trigger_id": "1.2.9"})
    await harness.work()
    assert len(harness.service.runs) == 4


async def test_a_run_counts_for_the_person_who_presses_the_button(harness: Harness) -> None:
    harness.configure(BRIDGE_USER_RUNS_PER_HOUR="1")
    click = {
        "type": "block_actions", "channel": {"id": CHANNEL}, "container": {"message_ts": "1700000000.000100"},
        "actions": [{"action_id": "run:again", "value": '{"w": 3, "i": 1}'}],
    }  # fmt: skip

    for number, user in enumerate([USER, USER, BOB]):
        await harness.interaction({**click, "user": {"id": user, "team_id": TEAM}, "trigger_id": f"1.2.{number}"})
        await harness.work()

    assert harness.service.runs == [1, 1]


@each("what", ["thread_full", "paused:thread:thread:37", 'report_paused:["daily 9","C1","user","Bob",true]', ""])
async def test_a_notice_of_an_earlier_release_leads_to_why_in_private(harness: Harness, what: str) -> None:
    await harness.store.process().inbox.put(Notice(team=TEAM, channel=CHANNEL, user=USER, what=what))

    await harness.work()

    *_, told = harness.seen.ephemerals
    assert (told.user, "!why" in told.text, harness.seen.messages) == (USER, True, [])


async def test_a_notice_is_left_to_releases_that_can_show_it(harness: Harness) -> None:
    reply = kit.reply("Hello.").stored()

    notice = await harness.store.process().inbox.put(Notice.direct(TEAM, USER, "told", reply))
    message = await harness.store.queue()

    assert [await harness.store.field(one, "v") for one in (notice.turn, message)] == ["2", "1"]
