"""What the Redis user must be allowed, and what happens if it isn't."""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncIterator, Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from redis.asyncio import Redis

from bridge.errors import StoreUnavailable
from bridge.queue.keys import Keys
from bridge.queue.permissions import COMMANDS, commands_in, cure, denied_to
from bridge.queue.put import Queued
from bridge.queue.redis.connection import connect
from bridge.queue.redis.refusals import denial
from bridge.queue.scripting import source
from support.kill_points import script_names
from support.real_redis import RealRedis
from support.store import NAMESPACE, Store, message, open_store, ts

BRIDGE = Path(str(files("bridge")))
OF_THE_CHECK = {"INFO", "WAIT", "CONFIG GET"}  # it says what it doesn't know without them
OTHER_NAMES = {
    "delete": "DEL", "hscan_iter": "HSCAN", "scan_iter": "SCAN", "xinfo_stream": "XINFO STREAM",
    "xinfo_groups": "XINFO GROUPS", "config_get": "CONFIG GET", "xpending_range": "XPENDING",
}  # fmt: skip
NO_COMMANDS = {"pipeline", "execute", "execute_command", "pubsub", "shutdown"}


class Careful:
    """A user of the server, with an own client."""

    def __init__(self, admin: Redis, redis: Redis) -> None:
        self.admin, self.redis = admin, redis

    async def may(self, *rules: str) -> None:
        """Change what the user may do."""
        await self.admin.execute_command("ACL", "SETUSER", "careful", *rules)  # type: ignore[no-untyped-call]


@pytest.fixture
async def careful(redis: Redis, redis_server: RealRedis) -> AsyncIterator[Careful]:
    async with connect(f"{redis_server.url}?db=9&username=careful&password=pw") as client:
        user = Careful(redis, client)
        await user.may("reset", "on", ">pw", "~*", "&*", "+@all")
        yield user
    await redis.execute_command("ACL", "DELUSER", "careful")  # type: ignore[no-untyped-call]


def sent_by_code() -> Iterator[str]:
    """Find the commands that the bridge sends outside of its scripts."""
    for path in (path for path in BRIDGE.rglob("*.py") if "playground" not in path.parts):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if re.search(r"\b_?(redis|pipe)\.", text) else ():
            match node:
                case ast.Call(func=ast.Attribute(value=value, attr=name)) if re.search(
                    r"\b_?(redis|pipe)$", ast.unparse(value)
                ):
                    yield OTHER_NAMES.get(name, name if name in NO_COMMANDS else name.upper())


def test_every_command_that_the_bridge_uses_is_known() -> None:
    known = {*COMMANDS, "channels"}
    texts = [path.read_text() for path in BRIDGE.rglob("*.lua")]

    assert set(sent_by_code()) - known - OF_THE_CHECK == NO_COMMANDS
    assert {name for text in texts for name in commands_in(text)} <= known
    assert [call for text in texts for call in re.findall(r"redis\.p?call\((?!'[A-Z]+').*", text)] == []


async def test_a_script_without_a_permission_changes_nothing(store: Store, careful: Careful) -> None:
    await store.conversation()
    before = await store.dump()

    for script in script_names():
        text = source(script)
        for name in commands_in(text):
            await careful.may(f"-{name.replace(' ', '|')}")
            with pytest.raises(StoreUnavailable) as caught:
                await careful.redis.eval(text, 1, store.scripts.keys.prefix, *[""] * 40)
            assert caught.value.denied == name
            await careful.may(f"+{name.replace(' ', '|')}")
        assert await store.dump() == before, script


@pytest.mark.parametrize("name", ["EVALSHA", "SET", "HSET", "RPUSH", "XADD", "ZADD", "PEXPIRE", "HMGET"])
async def test_a_message_refused_for_a_permission_is_accepted_later(name: str, careful: Careful) -> None:
    store = await open_store(careful.redis)
    await store.conversation()
    await careful.may(f"-{name}")

    with pytest.raises(StoreUnavailable) as caught:
        await store.put(message(ts=ts(1)))
    await careful.may(f"+{name}")

    assert caught.value.denied == name
    assert isinstance(await store.put(message(ts=ts(1))), Queued)
    assert (await store.put(message(ts=ts(1)))).end == "duplicate"
    assert len(await store.box()) == 2


async def test_a_denied_command_is_found(careful: Careful) -> None:
    for name in COMMANDS:
        await careful.may(f"-{name.replace(' ', '|')}")

        denied = await denied_to(careful.redis, Keys(NAMESPACE))

        assert denied == [name]
        await careful.may(*cure(careful.redis, Keys(NAMESPACE), denied).split()[3:])
    assert await denied_to(careful.redis, Keys(NAMESPACE)) == []


async def test_denied_keys_and_channels_are_found(careful: Careful) -> None:
    await careful.may("resetkeys", "~test:*", "resetchannels", "-xadd")
    keys = Keys(NAMESPACE)

    denied = await denied_to(careful.redis, keys)

    assert sorted(denied) == ["XADD", "channels", "keys"]
    assert denial(denied) == "the user may not run XADD or use the bridge's keys or use its channels"
    await careful.may(*cure(careful.redis, keys, denied).split()[3:])
    assert await denied_to(careful.redis, keys) == []


async def test_the_probe_leaves_only_a_key_that_expires(careful: Careful) -> None:
    await denied_to(careful.redis, Keys(NAMESPACE))

    assert await careful.redis.keys() == [Keys(NAMESPACE).probe()]
    assert 0 < await careful.redis.pttl(Keys(NAMESPACE).probe()) <= 60_000
