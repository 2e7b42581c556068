"""The bridge on a master with a replica, watched by Sentinels, during failovers."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import ALICE, BOB, CAROL, GENERAL, RANDOM
from bridge.queue.redis.connection import blocking_connection, connect
from support.continuous_load import RETRIES, continuous_load
from support.real_redis import unavailable_reason
from support.redis_groups import MASTER_NAME, Watched, started
from support.store import NAMESPACE
from support.system import System, open_system
from support.waiting import wait_until

PATIENCE = 20.0
SETTINGS = {"BRIDGE_DEFAULT_AGENT": "1", "BRIDGE_THREAD_TURNS_PER_MINUTE": "0"}
RULES = f'[[rules]]\nmay = ["run"]\napprove = {{by = ["{BOB}"]}}\n[[rules]]\n'
PEOPLE = ((ALICE, GENERAL), (BOB, GENERAL), (BOB, RANDOM), (CAROL, GENERAL))


@contextmanager
def watched(*, needs_replica: bool = False) -> Iterator[Watched]:
    """Start a master, a replica and three Sentinels."""
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        group = Watched(Path(folder), needs_replica=needs_replica)
        with started(group):
            yield group


async def asked(system: System, given: str) -> Message:
    """Have Alice ask for a run that needs Bob's approval; return its card."""
    await system.slack.ui.command(ALICE, GENERAL, "/workflows", f"run 1 {given}")

    def card() -> list[Message]:
        return [one for one in system.posted(GENERAL) if given in str(one.blocks) and "🔐" in one.text]

    await wait_until(card, "the request's card is posted", PATIENCE)
    return card()[0]


async def approve(system: System, card: Message) -> bool:
    """Have Bob approve; whether the bridge accepted the click."""
    return (await system.slack.ui.click(BOB, GENERAL, card.ts, "approval:approve")).is_acked


def is_approved(system: System, card: Message) -> bool:
    return any("approved by" in one.text for one in system.posted(GENERAL) if one.ts == card.ts)


async def test_messages_are_answered_and_approvals_hold_despite_a_killed_master(tmp_path: Path) -> None:
    (tmp_path / "bridge.toml").write_text(RULES)
    with watched() as group:
        async with open_system(group.first.url, NAMESPACE, retry_delays=RETRIES) as system:
            system.redis_url = group.url
            bridge = await system.start_bridge(**SETTINGS, BRIDGE_CONFIG=str(tmp_path / "bridge.toml"))
            early, late = await asked(system, "early"), await asked(system, "late")
            async with continuous_load(system, *PEOPLE) as threads:
                await threads.wait_until_accepted(3)
                assert await approve(system, early)
                group.first.kill()
                await wait_until(lambda: group.knows_as_master(group.second), "the replica is the master", PATIENCE)
                await threads.wait_until_accepted(3)
                await wait_until(lambda: is_approved(system, early), "its approval counts", PATIENCE)
                assert await approve(system, late)
                await wait_until(lambda: is_approved(system, late), "the waiting request is approved", PATIENCE)
            assert sorted(system.runs()) == ["early", "late"]

            await bridge.reaches("redis")


async def test_messages_are_answered_during_a_planned_failover() -> None:
    # Without this the former master accepts writes for seconds after the failover, and loses them.
    with watched(needs_replica=True) as group:
        async with open_system(group.first.url, NAMESPACE, retry_delays=RETRIES) as system:
            system.redis_url = group.url
            bridge = await system.start_bridge(**SETTINGS)
            async with continuous_load(system, *PEOPLE) as threads:
                await threads.wait_until_accepted(3)
                group.switch()
                await wait_until(lambda: group.knows_as_master(group.second), "the replica is the master", PATIENCE)
                await wait_until(lambda: group.first.follows, "the former master is a replica", PATIENCE)
                await threads.wait_until_accepted(3)

            await bridge.reaches("redis")


async def test_the_master_is_found_while_one_sentinel_answers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "bridge")
    with watched() as group:
        group.sentinels[0].kill()
        async with connect(group.url) as redis, blocking_connection(group.url) as waiting:
            assert await redis.set("a", "1")
            assert await waiting.get("a") == "1"
            assert group.first.ask("GET", "a") == "1"

            async with connect(group.url.replace(f"/{MASTER_NAME}/", "/other/")) as wrong:
                assert await unavailable_reason(wrong.get("a")) == "away"
                assert await unavailable_reason(wrong.get("a")) == "away"
            said = [record.getMessage() for record in caplog.records]
            assert said == ["a Sentinel doesn't know this master"], "answered once"

            for sentinel in group.sentinels[1:]:
                sentinel.ask("ACL", "SETUSER", "default", "resetpass", ">secret")
            async with connect(group.url) as stranger, connect(f"{group.url}?sentinel_password=secret") as friend:
                assert await unavailable_reason(stranger.get("a")) == "refused"
                assert await friend.get("a") == "1"

            for sentinel in group.sentinels:
                sentinel.kill()
            assert await redis.get("a") == "1", "the open connection still works"
            async with connect(group.url) as stranger:
                assert await unavailable_reason(stranger.get("a")) == "away"
