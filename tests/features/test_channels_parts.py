"""Channel settings: their records, how they are stored and read, and their form; and other settings read alike."""

from __future__ import annotations

import asyncio

import pytest
from redis.asyncio import Redis

from bridge.errors import StoreUnavailable
from bridge.features.channels.forms import settings_form
from bridge.features.channels.settings import NOTHING_SET, AppRule, Channels, ChannelSettings
from bridge.playground.emulator.sample import RANDOM
from bridge.queue.cached_hash import CachedHash
from bridge.queue.watches import Watches
from bridge.slack.blockkit.modals import Origin
from support.real_redis import refused_commands
from support.store import CHANNEL, PREFIX, TEAM, Store
from support.tables import each
from support.waiting import wait_until

ALL = ChannelSettings(answers="all")


@each(
    ("settings", "text"),
    [
        (NOTHING_SET, ""),
        (ChannelSettings(agent=7), "7"),
        (ALL, '{"answers":"all","v":1}'),
        (ChannelSettings(replies="mentions", agent=7), '{"agent":7,"replies":"mentions","v":1}'),
        (
            ChannelSettings(apps={"A1": AppRule(workflow=3, owner="U1")}),
            '{"apps":{"A1":{"workflow":3,"owner":"U1"}},"v":1}',
        ),
    ],
)
def test_a_record_is_read_as_it_was_written(settings: ChannelSettings, text: str) -> None:
    assert settings.to_text() == text
    assert ChannelSettings.from_text(text) == settings


@each("text", ['{"answers":"sometimes"}', "{", "[]", "null", '{"apps":7}'])
def test_a_record_that_cannot_be_read_sets_nothing(text: str) -> None:
    assert ChannelSettings.from_text(text) == NOTHING_SET


async def test_a_record_is_stored_until_everything_is_reset(store: Store, redis: Redis) -> None:
    await store.set_channel(agent=7)

    assert (await store.channels.get(TEAM, CHANNEL)).agent == 7
    assert await store.channels.get(TEAM, RANDOM) == NOTHING_SET
    assert await redis.ttl(f"{PREFIX}defaults") == -1
    await store.set_channel()
    assert await redis.exists(f"{PREFIX}defaults") == 0


async def test_a_change_of_outdated_settings_is_refused(store: Store) -> None:
    seen = await store.channels.stored(TEAM, CHANNEL)
    await store.set_channel(agent=7)

    assert not await store.channels.replace(TEAM, CHANNEL, seen, ALL)
    assert (await store.channels.get(TEAM, CHANNEL)).agent == 7


async def test_a_change_whose_answer_was_lost_may_be_made_again(store: Store) -> None:
    seen = await store.channels.stored(TEAM, CHANNEL)

    assert await store.channels.replace(TEAM, CHANNEL, seen, ALL)
    assert await store.channels.replace(TEAM, CHANNEL, seen, ALL)


class Counted(CachedHash[ChannelSettings]):
    """Channel settings that count their Redis reads."""

    reads = 0

    async def _read(self) -> None:
        self.reads += 1
        await super()._read()


async def test_settings_are_read_once_until_another_process_changes_them(store: Store) -> None:
    mine = Counted(store.scripts, store.scripts.keys.channels(), ChannelSettings.from_text)
    task = asyncio.create_task(Watches(mine.heard).listen(store.process().inbox.stops))
    await wait_until(lambda: mine._is_subscribed, "it listens")
    for _ in range(3):
        assert await mine.values() == {}
    assert mine.reads == 1

    await store.set_channel(answers="all")

    await wait_until(lambda: not mine._is_fresh, "it received the change")
    for _ in range(3):
        assert await mine.values() == {f"{TEAM}:{CHANNEL}": ALL}
    assert mine.reads == 2
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await mine.values()
    await mine.values()
    assert mine.reads == 4  # no longer notified of changes


async def test_the_last_known_settings_apply_while_redis_is_down(store: Store) -> None:
    await store.set_channel(answers="all")
    mine = Channels(store.scripts)
    await mine.get(TEAM, CHANNEL)

    with refused_commands(store.redis):
        assert await mine.get(TEAM, CHANNEL) == ALL
        assert await mine.rules() == []
        with pytest.raises(StoreUnavailable):
            await Channels(store.scripts).get(TEAM, CHANNEL)


def test_a_setting_of_another_release_leaves_its_menu_empty() -> None:
    form = settings_form(Origin(channel=CHANNEL), "#general", None, answers="sometimes", replies="all", is_direct=False)

    (answers,) = [block["element"] for block in form.view["blocks"] if block.get("block_id") == "answers"]
    assert "initial_option" not in answers
