"""What one Home tab costs, counted at the wire."""

from __future__ import annotations

import tempfile
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis

from bench.proxy import counted
from bridge.engine.results import HomeView
from bridge.features.alerts.alert import AlertSpec, StoredAlert
from bridge.features.alerts.store import AlertStore
from bridge.inbound import HomeOpened
from bridge.playground.emulator.sample import DM_ALICE
from bridge.queue.inbox import Condition
from bridge.queue.redis.connection import connect
from support.harness import SALES, SUPPORT, open_harness
from support.real_redis import RealRedis
from support.store import CHANNEL, ROOT, TEAM, USER, message

OTHER_ROOT = "1700000999.000100"
FAILURES = [None, httpx.Response(400), httpx.Response(404), httpx.Response(500), httpx.Response(200, text="<html>")]


@pytest.mark.parametrize("failure", FAILURES, ids=str)
async def test_a_full_home_costs_three_round_trips_and_two_requests(
    redis_server: RealRedis, redis: Redis, failure: httpx.Response | None
) -> None:
    database = redis.connection_pool.connection_kwargs["db"]
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        here = Path(folder) / "p.sock"
        async with (
            counted(redis_server.socket, here) as proxy,
            connect(f"unix://{here}?db={database}") as client,
            open_harness(client) as harness,
        ):
            harness.service.agents = [SUPPORT, SALES]
            await harness.type_command("/workflows run 3 x", works=False)
            await harness.type_command("/stats report daily 09:00", works=False)
            await harness.type_command('/agents ask Support daily 9 "What?"', works=False)
            await harness.type_command("/workflows schedule 3 daily 9 x")
            await harness.store.queue(message("hello", ROOT, is_mention=True), condition=Condition.START, agent=7)
            await harness.store.queue(message("hi", OTHER_ROOT, is_mention=True), condition=Condition.START)
            await harness.work()
            spec = AlertSpec(condition="runs < 1 in 24h", team=TEAM, channel=CHANNEL, owner=USER)
            writes = AlertStore(harness.store.scripts).add(StoredAlert("a", spec), harness.store.clock())
            await harness.parts().turns.deps.inbox.write(*writes)
            harness.configure()  # a process that has seen no list yet
            harness.service.always = failure
            harness.monotonic += 60
            turn = await harness.turn(HomeOpened(team=TEAM, channel=DM_ALICE, user=USER))
            trips, requests = proxy.round_trips, harness.service.requests

            tab = await harness.handle(turn)

            assert isinstance(tab, HomeView)
            shown = [one["text"]["text"] for one in tab.view["blocks"] if one["type"] == "header"]
            titles = ["Needs you", "Your threads", "Your runs", "Your schedules", "Your alerts"]
            assert shown == titles + ["Agents"] * (failure is None)
            assert proxy.round_trips - trips <= 3
            assert harness.service.requests - requests <= 2
