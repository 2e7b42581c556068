"""How redis-py's exceptions are mapped."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl

import pytest
from redis import exceptions
from redis.asyncio.connection import SSLConnection

from bridge.errors import ConfigurationError, StoreUnavailable
from bridge.queue.redis.connection import connect, translated
from bridge.queue.redis.refusals import in_words
from bridge.setting_types import redis_servers
from support.tables import each

PIPELINE = "Command # 1 (EVALSHA 1f 1 {b}: BUSY) of pipeline caused error:"  # the BUSY inside is an argument


@each(
    ("raised", "reason"),
    [
        (exceptions.ConnectionError("refused"), "away"),
        (exceptions.TimeoutError("slow"), "away"),
        (exceptions.MaxConnectionsError("too many"), "away"),
        (exceptions.BusyLoadingError("Redis is loading the dataset in memory"), "loading"),
        (exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), "full"),
        (exceptions.ReadOnlyError("You can't write against a read only replica."), "read-only"),
        (exceptions.AuthenticationError("Authentication required."), "refused"),
        (exceptions.NoPermissionError("this user has no permissions"), "refused"),
        (exceptions.ResponseError("ACL failure in script: No permissions to access a key script: on f:1."), "refused"),
        (exceptions.ResponseError("MISCONF Errors writing to the AOF file: No space left on device"), "read-only"),
        (exceptions.ResponseError("ERR Error running script (call to f_1): @user_script: 2: -OOM command"), "full"),
        (exceptions.ResponseError("BUSY Redis is busy running a script."), "loading"),
        (exceptions.MasterDownError("Link with MASTER is down"), "away"),
        (exceptions.ResponseError("NOREPLICAS Not enough good replicas to write."), "read-only"),
        (exceptions.ResponseError(f"{PIPELINE} ('NOREPLICAS Not enough good replicas to write.',)"), "read-only"),
        (exceptions.ResponseError("UNBLOCKED force unblock from blocking operation, instance state changed"), "away"),
        (exceptions.ResponseError(f"{PIPELINE} ('WAIT cannot be used with replica instances. Please also',)"), "away"),
        (exceptions.MovedError("9189 127.0.0.1:7001"), "away"),
        (exceptions.AskError("9189 127.0.0.1:7001"), "away"),
        (RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed"), "away"),
    ],
)
async def test_a_redis_failure_has_a_reason(raised: Exception, reason: str) -> None:
    with pytest.raises(StoreUnavailable) as caught, translated():
        raise raised

    assert caught.value.reason == reason
    assert caught.value.__cause__ is raised


@each(
    ("raised", "denied"),
    [
        (exceptions.NoPermissionError("User u has no permissions to run the 'config|get' command"), "CONFIG GET"),
        (exceptions.NoPermissionError("No permissions to access a key"), "keys"),
        (
            exceptions.ResponseError("ACL failure in script: User u has no permissions to run the 'zadd' command"),
            "ZADD",
        ),
        (
            exceptions.ResponseError("ACL failure in script: No permissions to access a channel script: on f"),
            "channels",
        ),
        (exceptions.AuthenticationError("invalid username-password pair"), ""),
    ],
)
async def test_a_denied_command_is_named(raised: Exception, denied: str) -> None:
    with pytest.raises(StoreUnavailable) as caught, translated():
        raise raised

    assert (caught.value.reason, caught.value.denied) == ("refused", denied)


def while_connecting(cause: OSError) -> exceptions.ConnectionError:
    error = exceptions.ConnectionError("Error 1 connecting to localhost:6379.")
    error.__context__ = cause
    return error


@each(
    ("raised", "detail", "cure"),
    [
        (while_connecting(ssl.SSLCertVerificationError("self-signed certificate")), "isn't trusted", "?ssl_ca_certs="),
        (while_connecting(ssl.SSLCertVerificationError("Hostname mismatch")), "for another host", "certificate's host"),
        (while_connecting(ssl.SSLError("WRONG_VERSION_NUMBER")), "TLS failed", "redis://"),
        (while_connecting(socket.gaierror(-2, "Name or service not known")), "host name not found", "host"),
        (while_connecting(FileNotFoundError(2, "No such file")), "can't be opened", "path of the socket"),
        (exceptions.ConnectionError("Connection closed by server."), "closed the connection", "rediss://"),
        (exceptions.InvalidResponse('Protocol error, got "H" as reply type byte'), "isn't Redis", "port"),
        (exceptions.ResponseError("DB index is out of range"), "no database", "such as /0"),
        (exceptions.ResponseError("DENIED Redis is running in protected mode"), "protected mode", "requirepass"),
        (exceptions.ResponseError("unknown command 'HSET', with args beginning with: 'OOM'"), "command", "rename"),
        (exceptions.AuthenticationError("AUTH <password> called without any password configured"), "no pass", "remove"),
        (exceptions.MovedError("9189 127.0.0.1:7001"), "node of a cluster", "redis+cluster://"),
        (exceptions.MaxConnectionsError("max number of clients reached"), "no more clients", "maxclients"),
        (exceptions.ConnectionError("no master is known"), "knows a master", "name"),
        (exceptions.ConnectionError("refused"), "can't connect", "make sure Redis is running"),
    ],
)
async def test_each_refusal_of_redis_has_a_cure(raised: Exception, detail: str, cure: str) -> None:
    with pytest.raises(StoreUnavailable) as caught, translated():
        raise raised

    said = in_words(caught.value)
    assert (detail in said[0], cure in said[1]) == (True, True), said


@each(
    "raised",
    [
        exceptions.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"),
        exceptions.ResponseError("BUSYGROUP Consumer Group name already exists"),
        exceptions.ResponseError("NOGROUP No such key"),
        exceptions.NoScriptError("No matching script."),
        exceptions.ResponseError(f"{PIPELINE} ('WRONGTYPE Operation against a key holding the wrong kind of value',)"),
        exceptions.DataError("Invalid input"),
        ValueError("not of Redis"),
        RuntimeError("this loop is broken"),
    ],
)
async def test_a_programming_error_is_not_translated(raised: Exception) -> None:
    with pytest.raises(type(raised)) as caught, translated():
        raise raised

    assert caught.value is raised


async def test_a_cancelled_task_ends_where_redis_py_raises() -> None:
    async def swallows() -> None:
        with translated():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                raise exceptions.ConnectionError("while connecting") from None

    task = asyncio.create_task(swallows())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


def test_an_unreadable_address_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        connect("redis://:hidden@h/0?socket_read_size=hidden&max_connections=hidden")

    assert "hidden" not in str(caught.value)


@each(
    ("url", "kind", "servers", "plain", "master"),
    [
        ("redis+sentinel://a:1,b:2/main/3", "sentinel", [("a", 1), ("b", 2)], "redis://host/3", "main"),
        ("redis+sentinel://a,b/main", "sentinel", [("a", 26379), ("b", 26379)], "redis://host/0", "main"),
        ("redis+sentinel://a/main%20one/", "sentinel", [("a", 26379)], "redis://host/0", "main one"),
        ("redis+cluster://a:1,b:2", "cluster", [("a", 1), ("b", 2)], "redis://host/0", ""),
        ("redis+cluster://[::1]:7000,a/", "cluster", [("::1", 7000), ("a", 6379)], "redis://host/0", ""),
        (
            "rediss+cluster://me:p%40@a:1?ssl_ca_certs=/ca.pem",
            "cluster", [("a", 1)], "rediss://me:p%40@host/0?ssl_ca_certs=/ca.pem", "",
        ),
        (
            "rediss+sentinel://:p,q@a:1/main?sentinel_password=x",
            "sentinel", [("a", 1)], "rediss://:p,q@host/0?sentinel_password=x", "main",
        ),
    ],
)  # fmt: skip
def test_an_address_of_several_servers_is_read(
    url: str, kind: str, servers: list[tuple[str, int]], plain: str, master: str
) -> None:
    found = redis_servers(url)

    assert found is not None
    assert (found.kind, list(found.servers), found.plain, found.master) == (kind, servers, plain, master)


@each("url", ["redis://a:1/0", "unix:///redis.sock", "redis+others://a"])
def test_an_address_of_one_server_is_unchanged(url: str) -> None:
    assert redis_servers(url) is None


@each(
    "url",
    [
        "redis://a/0?hidden=1",
        "redis+sentinel://a:1/main/0?hidden=1",
        "redis+cluster://a:1?hidden=1",
        "rediss://a?ssl_cert_reqs=hidden",
    ],
)
def test_an_option_that_redis_py_lacks_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        connect(url)

    assert caught.value.problems == (
        "REDIS_URL has an option after ? that can't be used: use one such as ?ssl_cert_reqs=required, or none",
    )


@each(
    "url",
    [
        "redis+sentinel://:hidden@a:1,b:2",  # no service name
        "redis+sentinel://:hidden@a:1,b:2/main/first",
        "redis+sentinel://:hidden@/main",
        "redis+cluster://:hidden@a:1,b:port",
        "redis+cluster://:hidden@a:1,,b:2",
        "redis+cluster://:hidden@a:70000",
        "rediss+cluster://:hidden@a:1/1",  # a cluster has only one database
    ],
)
def test_a_wrong_address_of_several_servers_is_not_shown(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        connect(url)

    (line,) = caught.value.problems
    assert re.match(r"REDIS_URL isn't a valid (sentinel|cluster) address: ", line)
    assert "hidden" not in line


async def test_connections_to_several_servers_have_the_options_of_one() -> None:
    async with (
        connect("rediss+sentinel://me:p%40@a:1/main/3?ssl_check_hostname=false&sentinel_password=x") as watched,
        connect("redis+cluster://a:1,b:2") as clustered,
    ):
        options = watched.connection_pool.connection_kwargs
        assert (options["username"], options["password"], options["db"]) == ("me", "p@", 3)
        assert options["ssl_check_hostname"] is False
        assert "sentinel_password" not in options
        assert isinstance(watched.connection_pool.make_connection(), SSLConnection)
        assert not isinstance(clustered.connection_pool.make_connection(), SSLConnection)
