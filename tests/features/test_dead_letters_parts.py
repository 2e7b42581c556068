"""`bridge dead`: failed turns are listed, and retried or discarded exactly once."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.cli.dead import for_programs, table
from bridge.cli.names import DisplayNames
from bridge.queue.dead import DeadLetter
from bridge.queue.put import NotQueued
from bridge.queue.records import Step
from bridge.queue.trace import Owner
from support.dead_letters import bury, letters
from support.store import CHANNEL, LANE, PREFIX, ROOT, START, TEAM, USER, Store, message, ts

OWNER = Owner(TEAM, "https://acme.slack.com/")


async def test_a_dead_letter_shows_person_channel_time_and_reason(store: Store) -> None:
    await store.conversation()
    await store.queue(message("my secret words", ts(1)))
    first = await bury(store, Step.POSTING)
    store.clock.time = START + timedelta(minutes=5)
    second = await bury(store, Step.QUEUED)

    found = await letters(store).all()

    assert found == [
        DeadLetter(
            id=first, died_at=START, reason="Slack: not_in_channel", step="posting", what="answered", kind="message",
            channel=CHANNEL, ts=ROOT, user=USER, has_text=True,
        ),
        DeadLetter(
            id=second, died_at=store.clock(), reason="Slack: not_in_channel", step="queued", kind="message",
            channel=CHANNEL, thread_ts=ROOT, ts=ts(1), user=USER, has_text=True,
        ),
    ]  # fmt: skip
    shown = table(found, OWNER, DisplayNames(slack={USER: "Ada"}))
    assert f"who    Ada ({USER})\n  what   a message\n" in shown
    assert f"https://acme.slack.com/archives/{CHANNEL}/p{ROOT.replace('.', '')}" in shown
    assert "secret" not in shown + for_programs(found, OWNER)
    assert json.loads(for_programs(found, OWNER))["dead"][1]["permalink"].endswith(f"?thread_ts={ROOT}&cid={CHANNEL}")
    assert f"{CHANNEL} {ROOT}" in table(found, None, DisplayNames())
    assert f"#ops ({CHANNEL}) {ROOT}" in table(found, None, DisplayNames(slack={CHANNEL: "ops"}))


@pytest.mark.parametrize(
    ("step", "what", "asks_again"),
    [
        (Step.QUEUED, "", False),
        (Step.SENT, "", True),
        (Step.POSTING, "unknown", True),
        (Step.POSTING, "answered", False),
    ],
)
async def test_only_a_retry_sends_a_doubtful_message_again(
    store: Store, step: Step, what: str, *, asks_again: bool
) -> None:
    await store.queue(message(), agent=7)
    turn = await bury(store, step, what)

    [letter] = await letters(store).all()
    assert letter.asks_again is asks_again
    assert ("AGAIN" in table([letter], None, DisplayNames())) is asks_again
    assert await store.process().hold() == []

    await letters(store).retry(turn)

    taken = await store.process().take()
    assert taken.record.step is (Step.POSTING if what == "answered" else Step.QUEUED)
    assert (taken.record.outcome == "") is (what != "answered")
    assert (taken.record.id != turn) is asks_again
    assert await letters(store).retry(turn) == NotQueued("unknown")


async def test_a_full_lane_refuses_a_retry(store: Store) -> None:
    await store.conversation()
    turn = await bury(store, Step.QUEUED)
    for number in range(50):
        await store.queue(message("x", ts(number + 1)))

    assert await letters(store).retry(turn) == NotQueued("full")

    assert [letter.id for letter in await letters(store).all()] == [turn]
    assert 29.9 < await store.days_left(f"turn:{turn}") <= 30


@pytest.mark.parametrize("lost", ["texts", "record"])
async def test_an_expired_letter_is_not_queued(store: Store, redis: Redis, lost: str) -> None:
    await store.conversation()
    turn = await bury(store, Step.QUEUED)
    key = f"{PREFIX}turn:{turn}"
    await (redis.hdel(key, "body") if lost == "texts" else redis.delete(key))
    assert "its text has expired" in table(await letters(store).all(), None, DisplayNames())

    assert await letters(store).retry(turn) == NotQueued("gone")

    assert await store.box() == []
    assert await store.entries() == 0
    assert await letters(store).all() == []


async def test_a_dropped_letter_loses_its_texts(store: Store) -> None:
    await store.queue(message("my secret words"))
    turn = await bury(store, Step.POSTING)

    assert await letters(store).drop(turn)

    assert not await store.contains_text("secret words")
    assert 6.9 < await store.days_left(f"turn:{turn}") <= 7
    assert (await letters(store).drop(turn), await letters(store).retry(turn)) == (False, NotQueued("unknown"))
    assert await store.box(LANE) == []


async def test_dropping_an_expired_letter_makes_no_record(store: Store, redis: Redis) -> None:
    await store.conversation()
    turn = await bury(store, Step.QUEUED)
    await redis.delete(f"{PREFIX}turn:{turn}")

    assert await letters(store).drop(turn)

    assert not await redis.exists(f"{PREFIX}turn:{turn}")
