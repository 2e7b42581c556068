"""The commands that only look at what is kept in Redis: they need its address and the namespace, and no Slack."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from bridge.cli.check import problems_of
from bridge.cli.running import complain, say
from bridge.errors import ConfigurationError
from bridge.settings import environment, well_formed

_NEEDED = ("REDIS_URL", "BRIDGE_NAMESPACE", "BRIDGE_DATA_DIR")

EmbeddedRedis = Annotated[
    bool, typer.Option("--embedded-redis", help="Without REDIS_URL, look into the Redis that serve would run.")
]


@dataclass(frozen=True, slots=True)
class Stored:
    """Where the store is: at *url*, or, without one, in the embedded Redis of *data_dir*."""

    namespace: str
    url: SecretStr | None
    data_dir: Path

    @asynccontextmanager
    async def address(self) -> AsyncIterator[str]:
        """Where Redis is, for as long as that is needed; starts the embedded server where none runs.

        Says to standard error where it looks: what is empty may be so only because it is the wrong place.
        """
        from bridge.ops.whereabouts import place_of, whereabouts  # noqa: PLC0415 - see `serve`
        from bridge.queue.redis.embedded import embedded_redis  # noqa: PLC0415

        async with AsyncExitStack() as stack:
            if self.url is not None:
                url = self.url.get_secret_value()
                place = place_of(url)
            else:
                url = await stack.enter_async_context(embedded_redis(self.data_dir))
                place = f"the embedded Redis of {self.data_dir}"
            say(await whereabouts(url, self.namespace, place))
            yield url


def stored_or_exit(*, embedded_redis: bool) -> Stored:
    """Read the settings that matter here; where one of them has problems, print them and leave with 2."""
    try:
        environ = environment(os.environ, Path(".env"))
    except ConfigurationError as exc:
        raise typer.Exit(complain([exc])) from None
    problems = [line for line in problems_of(environ, embedded_redis=embedded_redis) if line.startswith(_NEEDED)]
    if problems:
        raise typer.Exit(complain([ConfigurationError(problems)]))
    values = well_formed(environ)
    return Stored(values["BRIDGE_NAMESPACE"], values["REDIS_URL"], values["BRIDGE_DATA_DIR"])
