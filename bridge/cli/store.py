"""Helpers of the commands that use only Redis: they need its address and the namespace, but no Slack."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Annotated, Any, Final, NoReturn
from urllib.parse import urlsplit

import typer
from pydantic import TypeAdapter, ValidationError

from bridge.cli.printing import age, printable
from bridge.cli.running import run, say, values_or_exit
from bridge.logs import configure
from bridge.metrics import Metrics
from bridge.queue.redis.connection import connect
from bridge.queue.redis.embedded import embedded_redis
from bridge.queue.scripting import Scripts
from bridge.queue.tenants import Tenant, all_tenants, tenant
from bridge.setting_types import EMBEDDED, duration, redis_servers

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonLinesOption = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
SinceOption = Annotated[str, typer.Option(metavar="AGE", help="How far back to look, such as 90m, 24h or 7d.")]

_LONGEST: Final = timedelta(days=3650)
_MOST: Final = 5  # other namespaces listed, the most recently used


def in_store(act: Callable[[Scripts], Awaitable[int]]) -> NoReturn:
    """Run *act* on the configured store, and exit with the code it returns."""
    configure("console", "ERROR")
    values = values_or_exit("REDIS_URL", "BRIDGE_NAMESPACE", "BRIDGE_DATA_DIR")

    async def main() -> int:
        async with opened(values) as scripts:
            return await act(scripts)

    raise typer.Exit(run(main))


@asynccontextmanager
async def opened(values: Mapping[str, Any]) -> AsyncIterator[Scripts]:
    """Open the store at REDIS_URL; the embedded Redis is started if none is running.

    Prints to standard error which store it is, because an empty result may only mean that it's the wrong one.
    """
    namespace = values["BRIDGE_NAMESPACE"]
    async with AsyncExitStack() as stack:
        url = values["REDIS_URL"].get_secret_value()
        place = place_of(url)
        if url == EMBEDDED:
            url = await stack.enter_async_context(embedded_redis(values["BRIDGE_DATA_DIR"]))
            place = f"the embedded Redis in {values['BRIDGE_DATA_DIR']}"
        scripts = Scripts(await stack.enter_async_context(connect(url)), namespace, Metrics())
        await scripts.ask_clock()
        if here := await tenant(scripts.redis, namespace):
            use = f"{_used(here)}."
        elif others := await all_tenants(scripts.redis):
            known = [f"{printable(other.namespace)} ({_used(other)})" for other in others[:_MOST]]
            known += [f"{len(others) - _MOST} others"] if len(others) > _MOST else []
            use = f"no bridge has used this namespace. Others here: {', '.join(known)}."
            use += " To read one, set BRIDGE_NAMESPACE."
        else:
            use = "no bridge has used this Redis yet."
        say(f"Reading namespace {namespace} in {place}: {use}")
        yield scripts


def _used(tenant: Tenant) -> str:
    return "a bridge is running" if tenant.is_at_work else f"last used {age(tenant.last_used)} ago"


def place_of(url: str) -> str:
    """Name the Redis at *url* without its user, password and options."""
    several = redis_servers(url)
    if several is not None:
        servers = ", ".join(f"{host}:{port}" for host, port in several.servers)
        return f"the master {several.master} of Sentinels {servers}" if several.master else f"the cluster {servers}"
    parts = urlsplit(url)
    return f"{parts.scheme}://{'' if parts.scheme == 'unix' else parts.netloc.rpartition('@')[2]}{parts.path}"


def length_of_time(since: str) -> timedelta:
    """Parse ``--since`` like a duration in the settings."""
    try:
        length: timedelta = TypeAdapter(Annotated[timedelta, duration("d", upto=_LONGEST)]).validate_python(since)
    except ValidationError as exc:
        raise typer.BadParameter(f"“{since}” {exc.errors()[0]['ctx']['error']}", param_hint="--since") from None
    return length
