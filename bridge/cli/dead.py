"""`bridge dead`: work that could not be finished."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.running import CANNOT_RUN, run, say
from bridge.cli.stored import EmbeddedRedis, stored_or_exit
from bridge.logs import configure

if TYPE_CHECKING:
    from bridge.ops.dead import Office, Said

dead = typer.Typer(help="Work that could not be finished: list it, retry it, or drop it.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="As bridge dead list shows it.")]


@dead.command("list")
def list_all(*, as_json: AsJson = False, embedded_redis: EmbeddedRedis = False) -> None:
    """Show what could not be finished in the last 30 days, why, and what a retry would do."""
    from bridge.ops.dead import NONE, table, to_json  # noqa: PLC0415 - see `serve`

    async def show(office: Office) -> int:
        letters = await office.letters.all()
        if as_json:
            typer.echo(to_json(letters, office.owner))
        else:
            typer.echo(table(letters, office.owner) if letters else NONE)
        return 0

    _in_the_office(show, embedded_redis=embedded_redis)


@dead.command()
def retry(turn: Id, *, as_json: AsJson = False, embedded_redis: EmbeddedRedis = False) -> None:
    """Queue ID again, at the end of its thread, once; what was answered already is only posted."""

    async def queue(office: Office) -> int:
        return _say(await office.retry(turn), as_json=as_json)

    _in_the_office(queue, embedded_redis=embedded_redis)


@dead.command()
def drop(turn: Id, *, as_json: AsJson = False, embedded_redis: EmbeddedRedis = False) -> None:
    """Give ID up, and delete its texts."""

    async def give_up(office: Office) -> int:
        return _say(await office.drop(turn), as_json=as_json)

    _in_the_office(give_up, embedded_redis=embedded_redis)


def _in_the_office(act: Callable[[Office], Awaitable[int]], *, embedded_redis: bool) -> None:
    from bridge.ops.dead import office  # noqa: PLC0415

    configure("console", "ERROR")
    stored = stored_or_exit(embedded_redis=embedded_redis)

    async def opened() -> int:
        async with stored.address() as url, office(url, stored.namespace, lambda: datetime.now(UTC)) as there:
            return await act(there)

    raise typer.Exit(run(opened))


def _say(said: Said, *, as_json: bool) -> int:
    if as_json:
        typer.echo(said.to_json())
    elif said.is_well:
        typer.echo(said.words)
    else:
        say(said.words)
    return 0 if said.is_well else CANNOT_RUN
