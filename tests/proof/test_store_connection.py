"""A real server that fails, is full, demoted or restarted, or has a thousand lanes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from datetime import timedelta

from redis.asyncio import Redis

from bridge.queue.records import Taken
from bridge.queue.redis.connection import blocking_connection, connect
from support.real_redis import RealRedis, unavailable_reason
from support.store import message, open_store
from support.waiting import wait_until

WRITES = "return redis.call('SET', KEYS[1], ARGV[1])"


async def test_a_killed_server_is_unavailable_until_it_restarts(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    async with connect(server.url) as redis:
        await redis.set("kept", "1")
        server.kill()

        assert await unavailable_reason(redis.get("kept")) == "away"

        server.start()
        assert await redis.get("kept") == "1"


async def test_a_hanging_server_is_unavailable_soon(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    async with connect(server.url) as redis:
        await redis.ping()
        server.send_signal(signal.SIGSTOP)
        try:
            async with asyncio.timeout(20):
                assert await unavailable_reason(redis.ping()) == "away"
        finally:
            server.send_signal(signal.SIGCONT)


async def test_a_full_server_says_so(private_redis: Callable[[], RealRedis]) -> None:
    async with connect(private_redis().url) as redis:
        await redis.config_set("maxmemory", "1")

        assert await unavailable_reason(redis.set("a", "1")) == "full"
        assert await unavailable_reason(_script(redis)) == "full"


async def test_a_replica_is_read_only_and_strangers_are_refused(
    private_redis: Callable[[], RealRedis],
) -> None:
    server = private_redis()
    async with connect(server.url) as redis:
        await redis.replicaof("127.0.0.1", 1)
        assert await unavailable_reason(redis.set("a", "1")) == "read-only"
        assert await unavailable_reason(_script(redis)) == "read-only"
        await redis.replicaof("NO", "ONE")
        await redis.config_set("requirepass", "hidden")
        async with connect(server.url) as stranger:
            assert await unavailable_reason(stranger.get("a")) == "refused"
        await redis.config_set("requirepass", "")


async def test_a_blocked_read_ends_when_its_master_is_demoted(
    private_redis: Callable[[], RealRedis],
) -> None:
    server = private_redis()
    async with connect(server.url) as redis, blocking_connection(server.url) as waiting:
        await redis.xgroup_create("ready", "workers", mkstream=True)
        reading = asyncio.create_task(waiting.xreadgroup("workers", "one", {"ready": ">"}, count=1, block=5000))
        await wait_until(lambda: is_blocked(redis), "the read is blocked at the server")

        await redis.replicaof("127.0.0.1", 1)

        assert await unavailable_reason(reading) == "away"


async def is_blocked(redis: Redis) -> bool:
    return bool((await redis.info("clients"))["blocked_clients"])


async def test_callers_wait_for_a_free_connection(redis_server: RealRedis) -> None:
    async with connect(redis_server.url) as redis:
        answers = await asyncio.gather(*(redis.echo(str(number)) for number in range(500)))

    assert answers == [str(number) for number in range(500)]


async def test_a_command_on_a_broken_connection_is_not_repeated() -> None:
    received: list[bytes] = []

    async def take_and_hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1000):
            received.append(data)
            if b"INCR" in data:
                break
            writer.write(b"+PONG\r\n" if b"PING" in data else b"+OK\r\n" * data.count(b"*"))
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(take_and_hang_up, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server, connect(f"redis://{host}:{port}") as redis:
        assert await unavailable_reason(redis.incr("once")) == "away"

    assert b"".join(received).count(b"INCR") == 1


async def test_a_handed_over_lane_is_still_held_after_a_kill_of_redis(
    private_redis: Callable[[], RealRedis],
) -> None:
    server = private_redis()
    async with connect(server.url) as redis:
        store = await open_store(redis)
        offer = await store.process().offer()
        turn = await store.queue()

        server.kill()
        server.start()
        await redis.connection_pool.disconnect()

        handed = offer.answer.result()
        assert isinstance(handed, Taken)
        assert await store.process("b").hold() == [], "it is not handed out again"
        await store.process().journal.done(handed)
        assert await store.field(turn, "step") == "done"


async def test_an_abandoned_lane_is_found_after_a_thousand_running_ones(private_redis: Callable[[], RealRedis]) -> None:
    async with Redis.from_url(private_redis().url, decode_responses=True, protocol=2) as redis:
        store = await open_store(redis)
        alive, dead, other = store.process("alive"), store.process("dead"), store.process("other")
        for number in range(1000):
            await store.put(message(ts=f"17000{number:05d}.000100", thread_ts=""))
        held = [lane for _ in range(20) for lane in await alive.hold(most=64)]
        await store.put(message(ts="1800000000.000100", thread_ts=""))
        (abandoned,) = await dead.hold()
        await store.expire_lease(abandoned)

        claimed = await other.inbox.claim_from_the_dead(lease=timedelta(seconds=15), most=10)

    assert len(held) == 1000
    assert [lane.lane for lane in claimed] == [abandoned.lane]


async def _script(redis: Redis) -> object:
    return await redis.eval(WRITES, 1, "a", "1")  # type: ignore[misc] # redis-py types this for both its clients
