"""``/metrics`` of a real process, also while Redis hangs."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable

import aiohttp

from bridge.metrics import ROWS
from bridge.playground.emulator.sample import ALICE, GENERAL
from support.real_redis import RealRedis
from support.system import BridgeProcess, open_system
from support.waiting import wait_until


async def metrics_of(bridge: BridgeProcess) -> str:
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=3)) as client,
        client.get(f"{bridge.url}/metrics") as answer,
    ):
        return await answer.text()


def value(text: str, sample: str) -> float:
    """The value of the first sample that begins so; fails if there's none."""
    found = re.search(rf"^{re.escape(sample)}.* (\S+)$", text, re.MULTILINE)
    assert found, sample
    return float(found[1])


async def test_metrics_are_answered_while_redis_hangs(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    async with open_system(server.url, "test") as system:
        bridge = await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1")
        await system.answered(GENERAL, await system.mention(ALICE, GENERAL, "hello"))
        await wait_until(system.is_at_rest, "the turn is over")

        async def is_known() -> bool:
            return value(await metrics_of(bridge), "bridge_redis_round_trip_seconds") >= 0

        async def is_unknown() -> bool:  # what was looked up is fresh for a second
            return not await is_known()

        before = await metrics_of(bridge)
        server.send_signal(signal.SIGSTOP)
        await wait_until(is_unknown, "it's noticed that Redis hangs")

        hung = await metrics_of(bridge)

        server.send_signal(signal.SIGCONT)
        looked_up = [row.name for row in ROWS if row.is_looked_up] + ["bridge_redis_round_trip_seconds"]
        assert len(looked_up) > 3
        assert {name for name in looked_up if value(before, name) >= 0} == set(looked_up)
        assert {name for name in looked_up if value(hung, name) >= 0} == set()
        assert value(hung, "bridge_breaker_open{") == 0
        assert 0 <= value(hung, 'bridge_socket_silent_seconds{socket="1"}') < 30
        assert value(hung, "bridge_turns_in_flight") == 0
        assert value(hung, "bridge_loop_lag_seconds_count") > 0
        await wait_until(is_known, "Redis is measured again")
