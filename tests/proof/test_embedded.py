"""The embedded server, killed and shared in every possible way, with real processes and files."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import bridge
from bridge.errors import ConfigurationError
from bridge.queue.redis.connection import blocking_connection, connect
from bridge.queue.redis.embedded import embedded_redis

CODE = Path(bridge.__file__).parent.parent
WaitUntil = Callable[..., Awaitable[None]]

# A minimal bridge: it prints the server's address and runs until it is stopped or killed.
USER = """
import asyncio, signal, sys
from pathlib import Path
from bridge.queue.redis.embedded import embedded_redis

async def main():
    asked_to_go = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked_to_go.set)
    async with embedded_redis(Path(sys.argv[1])) as url:
        print(url, flush=True)
        await asked_to_go.wait()

asyncio.run(main())
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder with a space in its name, whose server stops with the test."""
    with tempfile.TemporaryDirectory(prefix="br-") as parent:
        data_dir = Path(parent) / "the data"
        yield data_dir
        if (pid := server_pid(data_dir)) is not None:
            os.kill(pid, signal.SIGKILL)


def server_pid(data_dir: Path) -> int | None:
    try:
        pid = int((data_dir / "redis.pid").read_text())
        os.kill(pid, 0)
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return None
    return pid


class User:
    """Another process that uses the server."""

    def __init__(self, data_dir: Path, environ: dict[str, str] | None = None) -> None:
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", USER, str(data_dir)],
            env={"PYTHONPATH": str(CODE), **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def url(self) -> str:
        assert self._process.stdout is not None
        return (await asyncio.to_thread(self._process.stdout.readline)).strip()

    def end(self, number: signal.Signals) -> None:
        self._process.send_signal(number)
        self._process.wait(timeout=20)
        assert self._process.stdout is not None
        self._process.stdout.close()


async def put(url: str, key: str, value: str) -> None:
    async with connect(url) as redis:
        await redis.set(key, value)


async def got(url: str, key: str) -> str | None:
    async with connect(url) as redis:
        found: str | None = await redis.get(key)
        return found


async def test_data_survives_a_stop_of_the_server(folder: Path) -> None:
    async with embedded_redis(folder) as url:
        assert server_pid(folder) is not None
        await put(url, "kept", "1")

    assert server_pid(folder) is None, "no process is left running"
    async with embedded_redis(folder) as url:
        assert await got(url, "kept") == "1"


async def test_a_server_is_private_and_durable(folder: Path) -> None:
    async with embedded_redis(folder) as url, connect(url) as redis:
        config = await redis.config_get("port", "appendonly", "appendfsync", "maxmemory-policy", "save")
        socket, environ = folder / "redis.sock", Path(f"/proc/{server_pid(folder)}/environ")
        assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(socket.stat().st_mode)) == (0o700, 0o700)
        assert not environ.exists() or environ.read_bytes() == b"", "it inherited none of our secrets"

    expected = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction", "port": "0", "save": ""}
    assert config == expected


async def test_a_killed_process_leaves_the_server_to_the_next(folder: Path) -> None:
    user = User(folder)
    await put(await user.url(), "kept", "1")
    user.end(signal.SIGKILL)
    pid = server_pid(folder)
    assert pid is not None

    async with embedded_redis(folder) as url:
        assert server_pid(folder) == pid
        assert await got(url, "kept") == "1"

    assert server_pid(folder) is None


async def test_a_killed_server_loses_nothing(folder: Path) -> None:
    user = User(folder)
    await put(await user.url(), "kept", "1")
    pid = server_pid(folder)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    user.end(signal.SIGKILL)
    assert (folder / "redis.sock").is_socket()

    async with embedded_redis(folder) as url:
        assert server_pid(folder) not in {pid, None}
        assert await got(url, "kept") == "1"


async def test_the_last_of_several_processes_stops_the_server(folder: Path, wait_until: WaitUntil) -> None:
    users = [User(folder) for _ in range(3)]
    urls = [await user.url() for user in users]
    pid = server_pid(folder)
    await put(urls[0], "shared", "1")

    assert [await got(url, "shared") for url in urls] == ["1", "1", "1"]
    users[0].end(signal.SIGTERM)
    users[1].end(signal.SIGKILL)
    assert server_pid(folder) == pid
    assert await got(urls[2], "shared") == "1"

    users[2].end(signal.SIGTERM)
    await wait_until(lambda: server_pid(folder) is None, "the server has stopped")


async def test_concurrent_processes_share_a_server(folder: Path) -> None:
    async def use() -> str:
        async with embedded_redis(folder) as url:
            await put(url, "a", "1")
        return url

    urls = await asyncio.gather(*(use() for _ in range(8)))

    assert len(set(urls)) == 1
    assert server_pid(folder) is None


async def test_a_path_too_long_for_a_socket_puts_it_elsewhere(folder: Path) -> None:
    deep = folder / ("d" * 60) / ("e" * 60)
    runtime = folder.parent / "run"
    runtime.mkdir()
    user = User(deep, {"XDG_RUNTIME_DIR": str(runtime)})
    url = await user.url()
    try:
        assert str(runtime) in url
        await put(url, "kept", "1")

        async with embedded_redis(deep) as other:  # with another environment
            assert other == url
    finally:
        user.end(signal.SIGTERM)
    assert server_pid(deep) is None


async def test_a_foreign_folder_for_the_socket_is_refused(folder: Path) -> None:
    runtime = folder.parent / "run"
    (runtime / f"bridge-{os.getuid()}").mkdir(parents=True)
    (runtime / f"bridge-{os.getuid()}").chmod(0o755)
    user = User(folder / ("d" * 60) / ("e" * 60), {"XDG_RUNTIME_DIR": str(runtime)})

    assert await user.url() == ""
    user.end(signal.SIGTERM)


async def test_a_folder_that_cannot_be_created_is_named(folder: Path) -> None:
    folder.parent.joinpath("file").touch()

    with pytest.raises(ConfigurationError, match="BRIDGE_DATA_DIR"):
        async with embedded_redis(folder.parent / "file" / "data"):
            pass


async def test_a_server_that_cannot_read_its_data_names_its_log(folder: Path) -> None:
    async with embedded_redis(folder) as url:
        await put(url, "kept", "1")
    for file in (folder / "appendonlydir").glob("*.manifest"):
        file.write_text("nonsense\n")

    with pytest.raises(ConfigurationError, match=r"exited right after it started: .*manifest.*redis\.log"):
        async with embedded_redis(folder):
            pass


async def test_a_silent_server_is_reported_and_not_killed(folder: Path) -> None:
    user = User(folder)
    await user.url()
    pid = server_pid(folder)
    user.end(signal.SIGKILL)
    (folder / "redis.sock").unlink()

    with pytest.raises(ConfigurationError, match=r"redis\.pid"):
        async with embedded_redis(folder, patience=timedelta(seconds=0.2)):
            pass

    assert server_pid(folder) == pid


async def test_without_the_package_the_error_names_the_fix(folder: Path) -> None:
    bare = folder.parent / "bare"
    copied = (
        "bridge", "redis", "hiredis", "typing_extensions.py",
        "pydantic", "pydantic_core", "annotated_types", "typing_inspection",
        "async_timeout",  # redis-py's own, before Python 3.11.3
    )  # fmt: skip
    bare.mkdir()
    for name in copied:
        found = [Path(place) / name for place in [str(CODE), *sys.path] if (Path(place) / name).exists()]
        if found:
            (bare / name).symlink_to(found[0])

    output = subprocess.run(  # noqa: S603 - the test has nothing else to do
        [sys.executable, "-S", "-c", USER, str(folder)],
        env={"PYTHONPATH": str(bare)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "ConfigurationError: The embedded Redis isn't installed" in output.stderr


async def test_a_blocked_read_outlasts_the_servers_wait(folder: Path) -> None:
    async with embedded_redis(folder) as url, blocking_connection(url) as redis:
        await redis.xgroup_create("ready", "workers", mkstream=True)

        found = await redis.xreadgroup("workers", "me", {"ready": ">"}, count=1, block=2500)

    assert found == []


@pytest.fixture(autouse=True)
def _nothing_in_the_shared_folder() -> Iterator[None]:
    yield
    shutil.rmtree(Path(tempfile.gettempdir()) / f"bridge-{os.getuid()}", ignore_errors=True)


async def test_a_first_start_on_a_full_disk_says_what_to_do(folder: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        with pytest.raises(ConfigurationError) as caught:
            async with embedded_redis(folder):
                pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    [problem] = caught.value.problems
    assert problem.startswith(f"BRIDGE_DATA_DIR: files can't grow any larger (ulimit -f): {folder}: free some space")
