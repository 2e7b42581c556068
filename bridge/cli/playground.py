"""`bridge playground`: the whole bridge, with stand-ins for everything that isn't configured."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final, Self
from urllib.parse import urlsplit

import typer

from bridge.cli.printing import out, this_program
from bridge.cli.running import complain, run, say
from bridge.errors import ConfigurationError
from bridge.features.statistics.snapshots import Snapshot, SnapshotStore, hour_of
from bridge.logs import configure
from bridge.metrics import Metrics
from bridge.queue.redis.connection import connect
from bridge.queue.redis.embedded import LOOK_EVERY, Keeper, embedded_redis, locked, not_writable
from bridge.queue.scripting import Scripts
from bridge.setting_types import EMBEDDED
from bridge.settings import VARIABLES, Settings, environment, load, unknown_variables

try:
    from bridge.playground.emulator.sample import OPS
    from bridge.playground.local_server import next_reserved, reserved
    from bridge.playground.playground import NAMESPACE, Playground, PlaygroundOptions, open_playground
    from bridge.playground.sample_project import SampleProject
    from bridge.playground.sample_project.sample import DEFAULT_AGENT
except ModuleNotFoundError as exc:
    if exc.name is None or exc.name.startswith("bridge"):
        raise
    MISSING = exc.name
else:
    MISSING = ""

NOT_INSTALLED: Final = "bridge playground needs its extra: pip install 'slack-project-bridge[playground]'"
_DRAIN_SECONDS: Final = "1"  # unless set otherwise, so that the playground stops quickly
_SLACK: Final = {"SLACK_BOT_TOKEN": "xoxb-0", "SLACK_SIGNING_SECRET": "0" * 32}
_ANY_ADDRESS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - what BRIDGE_HOST may be
_LAST_LINES: Final = 20  # of the log, if the bridge couldn't start
_MORE_PROJECTS: Final = ("orders", "support", "research")
_PROJECT: Final = {"PROJECT_BASE_URL": "http://127.0.0.1", "PROJECT_API_KEY": "0"}
_FIRST_PORT: Final = 8080
_SAMPLE_HOURS: Final = 35 * 24
_SATURDAY: Final = 5
_OPENS: Final = 8
_CLOSES: Final = 17
_LAST_PORT: Final = 65535


def _port(typed: str) -> int:
    """Parse the typed port."""
    if not (typed.isdecimal() and int(typed) <= _LAST_PORT):
        raise typer.BadParameter(f"“{typed}” isn't a port: use a number from 0 to {_LAST_PORT}", param_hint="--port")
    return int(typed)


def playground(
    *,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            parser=_port,
            metavar="PORT",
            help=f"Port of the page; 0 picks a free one. By default {_FIRST_PORT}, or the next free one.",
        ),
    ] = None,
    projects: Annotated[
        int,
        typer.Option(
            "--projects", min=1, max=1 + len(_MORE_PROJECTS), help="How many sample projects the bridge serves."
        ),
    ] = 1,
    over_socket: Annotated[
        bool, typer.Option("--socket", help="Connect to the page's Slack with Socket Mode.")
    ] = False,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser, if there's a display.")
    ] = True,
) -> None:
    """Try the bridge in a browser, without an account.

    Slack, the project and Redis are built in, unless you configure your own.
    """
    if MISSING:
        raise typer.Exit(complain([ConfigurationError([f"{NOT_INSTALLED} ({MISSING} is missing)"])]))
    try:
        environ = environment(os.environ, Path(".env"), embedded_redis=True)
        settings, options = _planned(environ, over_socket=over_socket, projects=projects)
        with _alone_in(options.folder):
            raise typer.Exit(run(lambda: _play(settings, options, port, open_browser=open_browser)))
    except ConfigurationError as exc:
        raise typer.Exit(complain([exc])) from None


def _planned(environ: Mapping[str, str], *, over_socket: bool, projects: int) -> tuple[Settings, PlaygroundOptions]:
    """Return the settings, with placeholders for stand-ins, and what to run.

    Raises `ConfigurationError` if a part is only half configured, or wrongly.
    """
    for line in unknown_variables(environ):
        say(f"warning: {line}")
    slack, project, has_host, has_port = (
        any(environ.get(name) or environ.get(f"{name}_FILE") for name in VARIABLES if name.startswith(group))
        for group in ("SLACK_", "PROJECT_", "BRIDGE_HOST", "BRIDGE_PORT")
    )
    if slack and over_socket:
        raise ConfigurationError(["--socket is for the playground's Slack: for a real workspace, set SLACK_APP_TOKEN"])
    if projects > 1 and environ.get("BRIDGE_CONFIG"):
        raise ConfigurationError(["--projects writes a file of its own: leave it out, or unset BRIDGE_CONFIG"])
    settings = load({**environ, **({} if slack else _SLACK), **({} if project else _PROJECT)})
    # With the page's Slack, the bridge listens on localhost, unless configured.
    host = settings.host if slack or has_host else "127.0.0.1"
    port = settings.port if slack or has_port else 0
    if not port:  # a free one, which stays the same over restarts
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    defaults = {"BRIDGE_DRAIN_SECONDS": _DRAIN_SECONDS}
    if not slack:
        defaults |= {"BRIDGE_NAMESPACE": NAMESPACE, "BRIDGE_HOST": host, "BRIDGE_OPS_CHANNEL": OPS}
    if not project:
        defaults["BRIDGE_DEFAULT_AGENT"] = DEFAULT_AGENT
    variables = {**defaults, **environ, "BRIDGE_PORT": str(port)}
    no_proxy = variables.get("no_proxy", variables.get("NO_PROXY", ""))
    folder = settings.data_dir / "playground"
    return settings, PlaygroundOptions(
        folder=folder,
        log_file=folder / "bridge.log",
        environ=variables | dict.fromkeys(("no_proxy", "NO_PROXY"), f"127.0.0.1,localhost,{no_proxy}"),
        bridge_url=f"http://{'127.0.0.1' if host in _ANY_ADDRESS else host}:{port}",
        drain=settings.drain.total_seconds(),
        is_slack_real=slack,
        is_project_real=project,
        uses_socket=over_socket,
        projects=_MORE_PROJECTS[: projects - 1],
    )


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lock the stand-ins' data for this process; the kernel releases the lock however the process ends."""
    with ExitStack() as stack:
        try:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            if sys.platform != "win32":
                stack.enter_context(locked(folder / "lock"))
        except BlockingIOError:
            problem = f"Another playground is using {folder}: stop it, or set BRIDGE_DATA_DIR to another folder"
            raise ConfigurationError([problem]) from None
        except OSError as exc:
            raise not_writable(folder, exc) from exc
        yield


async def _play(settings: Settings, options: PlaygroundOptions, port: int | None, *, open_browser: bool) -> int:
    until = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, until.set)
    try:
        listener = next_reserved(_FIRST_PORT) if port is None else reserved(port)
    except OSError as exc:
        other = f"{this_program()} playground --port 0"
        raise ConfigurationError(
            [f"port {port} can't be used ({exc.strerror}): choose another, as in {other}"]
        ) from exc
    if port is None and (got := listener.getsockname()[1]) != _FIRST_PORT:
        _print(f"Port {_FIRST_PORT} is in use, so the page gets {got}.")
    async with AsyncExitStack() as stack:
        stack.enter_context(listener)
        options.log_file.write_bytes(b"")  # the log is of one run
        log_file = stack.enter_context(options.log_file.open("a", encoding="utf-8"))
        configure(settings.log_format, settings.log_level, log_file)
        _print(f"Starting the bridge. Its log goes to {options.log_file}")
        redis = None
        if settings.redis_url.get_secret_value() == EMBEDDED:
            redis = await stack.enter_async_context(EmbeddedRedis(settings.data_dir))
        if redis is not None and not options.is_project_real:
            await _record_samples(redis.url, settings.namespace if options.is_slack_real else NAMESPACE)
        running = await stack.enter_async_context(open_playground(options, listener, redis))
        _introduce(running, options, settings)
        has_display = (
            sys.platform in {"darwin", "win32"} or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        )
        if open_browser and has_display and sys.stdout.isatty():
            # A daemon thread, so that a slow browser delays neither the start nor the end.
            threading.Thread(target=webbrowser.open, args=(running.url,), daemon=True).start()
        code = await running.run(until)
    if code:
        for line in options.log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST_LINES:]:
            say(line)
    return code


class EmbeddedRedis:
    """A server with its data in *data_dir*, which people can stop and start; *url* stays the same after restarts."""

    def __init__(self, data_dir: Path) -> None:
        self.url = ""
        self.is_stopped = True
        self._data_dir = data_dir
        self._keeper = Keeper(data_dir)
        self._use = AsyncExitStack()
        self._one_at_a_time = asyncio.Lock()

    @property
    def trouble(self) -> str:
        """Why the server isn't running, or ``""``."""
        return self._keeper.trouble

    async def keep(self) -> None:
        """Restart the server whenever it ends, unless it was stopped, until cancelled."""
        while True:
            async with self._one_at_a_time:
                if not self.is_stopped:
                    await self._keeper.look()
            await asyncio.sleep(LOOK_EVERY)

    async def start(self) -> None:
        """Start the server with its data."""
        async with self._one_at_a_time:
            if self.is_stopped:
                self.url = await self._use.enter_async_context(embedded_redis(self._data_dir))
                self.is_stopped = False

    async def stop(self) -> None:
        """Stop the server, unless another bridge uses it."""
        async with self._one_at_a_time:
            self.is_stopped = True
            await self._use.aclose()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


async def _record_samples(url: str, namespace: str) -> None:
    """Record some weeks of the sample project's statistics, unless some are recorded: alerts have something to show."""
    async with connect(url) as redis:
        store = SnapshotStore(Scripts(redis, namespace, Metrics()))
        if any(await store.hours()):
            return
        for snapshot in sample_snapshots(datetime.now(UTC)):
            await store.add(hour_of(snapshot.at), snapshot)


def sample_snapshots(now: datetime) -> list[Snapshot]:
    """Return hourly statistics that lead to those of the sample project: busy on weekdays, quiet on weekends.

    They have no names, so that the statistics show as charts, not as tables of changes.
    """
    snapshots, ends = list[Snapshot](), SampleProject(api_key="").operations.get_stats()
    numbers = {
        "prompts": int(ends["promptCount"]),
        "runs": int(ends["runCount"]),
        "versions": int(ends["versionCount"]),
    }
    for hours in range(1, _SAMPLE_HOURS + 1):
        at = now - timedelta(hours=hours)
        snapshots.append(Snapshot(at, dict(numbers), {}, at))
        is_busy = at.weekday() < _SATURDAY and _OPENS <= at.hour < _CLOSES
        numbers["runs"] -= (1 + at.hour % 3) * is_busy
        numbers["prompts"] -= is_busy and at.hour == _OPENS
    return snapshots[::-1]


def _introduce(running: Playground, options: PlaygroundOptions, settings: Settings) -> None:
    """Print which parts are stand-ins and how to look inside, with the page's address last."""
    lines = [""]
    for part in running.supervisor.parts():
        kind = "built-in" if part.is_stand_in else "real"
        detail = part.detail if part.is_stand_in else "starting" if part.name == "Bridge" else "as configured"
        lines.append(f"  {part.name:<16} {kind:<9} {detail}")
    lines += ["", *_ways_to_look_inside(running, options, settings), ""]
    lines += [f"Messages are stored in {settings.data_dir}. Press Ctrl-C to stop.", "", f"Open {running.url}"]
    _print("\n".join(lines))


def _print(text: str) -> None:
    out(text)
    sys.stdout.flush()


def _ways_to_look_inside(running: Playground, options: PlaygroundOptions, settings: Settings) -> list[str]:
    """Return lines with commands that work in another terminal, with another environment; no secret is shown.

    `bridge check` finds the stand-ins by the bridge's settings, in a file: only the page's address is printed.
    """
    of_bridge, heading = running.bridge.environ, "To look inside, use another terminal"
    environ = {"BRIDGE_NAMESPACE": of_bridge.get("BRIDGE_NAMESPACE", settings.namespace)}
    here = f"cd {shlex.quote(str(Path.cwd()))} && "  # for its .env and bridge.toml
    if running.redis is not None:
        environ |= {"REDIS_URL": EMBEDDED, "BRIDGE_DATA_DIR": str(settings.data_dir)}
    elif url_file := os.environ.get("REDIS_URL_FILE"):
        environ["REDIS_URL_FILE"] = url_file
    elif url := os.environ.get("REDIS_URL"):
        if "@" in url or urlsplit(url).query:
            heading += " with the same REDIS_URL"
        else:
            environ["REDIS_URL"] = url
    stand_ins = (*([] if options.is_slack_real else ["SLACK_"]), *([] if options.is_project_real else ["PROJECT_"]))
    stand_ins += ("SAMPLE_",) if options.projects else ()
    file = options.folder / "settings.env"
    file.write_text("".join(f"{name}={value}\n" for name, value in of_bridge.items() if name.startswith(stand_ins)))
    if options.projects:
        environ["BRIDGE_CONFIG"] = of_bridge["BRIDGE_CONFIG"]
    before = " ".join(f"{name}={shlex.quote(value)}" for name, value in environ.items())
    lines = [f"{heading}:"]
    for words, shows in (
        ("audit", "Who did what"),
        ("dead list", "Work that failed"),
        ("check", "What's wrong, and how to fix it"),
        ("check --access U0ALICE C0GENERAL", "What a person may do, and by which rule"),
    ):
        is_check = bool(stand_ins) and words.startswith("check")
        folder = here if running.redis is None or is_check else ""
        files = f"env $(cat {shlex.quote(str(file))}) " if is_check else ""
        command = f"{folder}{before} {files}{this_program()} {words}"
        # The description has its own line: an interactive zsh doesn't accept comments.
        lines += [f"  {shows}:", f"    ({command})" if folder else f"    {command}"]
    return lines
