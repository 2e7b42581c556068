"""`bridge dead`: work that could not be finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bridge.cli.printing import printable, to_json
from bridge.cli.running import CANNOT_RUN, say
from bridge.cli.store import EmbeddedRedisOption, in_store
from bridge.ids import TurnId
from bridge.inbound import WAITING_LIMIT

if TYPE_CHECKING:
    from bridge.queue.dead import DeadLetter, DeadLetters
    from bridge.queue.scripting import Scripts
    from bridge.queue.trace import Owner

NONE: Final = "There are no dead letters: everything was finished, or is on its way."
_NOT_THERE: Final = "There is no dead letter {turn}: it was retried or dropped already, or is older than 30 days."
_TAKEN: Final = "A running bridge takes it at once; if none runs, the next one that starts does."
_RETRIED: Final = {
    "queued": f"{{turn}} is queued again, {{behind}}, and will be done from the beginning. {_TAKEN}",
    "showing": f"{{turn}} is queued again, {{behind}}: what was to be shown is posted, and nobody is asked. {_TAKEN}",
    "asking": f"{{turn}} is queued again, {{behind}}, and will be sent again, whether it had arrived or not. {_TAKEN}",
    "unknown": _NOT_THERE,
    "gone": "{turn} cannot be retried: its texts are kept no longer. It was taken off the list.",
    "full": f"{{turn}} was left as it is: {WAITING_LIMIT} messages wait in its thread. Try again later.",
}

dead = typer.Typer(help="List, retry or drop work that couldn't be finished.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="As bridge dead list shows it.")]


@dead.command("list")
def list_all(*, as_json: AsJson = False, embedded_redis: EmbeddedRedisOption = False) -> None:
    """List what couldn't be finished in the last 30 days.

    With why, and what a retry would do.
    """

    async def show(scripts: Scripts) -> int:
        from bridge.queue.trace import owner_of  # noqa: PLC0415 - see `store`

        found, owner = await _letters(scripts).all(), await owner_of(scripts)
        typer.echo(for_programs(found, owner) if as_json else table(found, owner) or NONE)
        return 0

    in_store(show, embedded_redis=embedded_redis)


@dead.command()
def retry(turn: Id, *, as_json: AsJson = False, embedded_redis: EmbeddedRedisOption = False) -> None:
    """Queue it again, once, at the end of its thread.

    If there was an answer already, it is posted, and nobody is asked again.
    """

    async def queue(scripts: Scripts) -> int:
        result, before = await _letters(scripts).retry(TurnId(turn))
        words = _RETRIED[result].format(turn=turn, behind=f"behind {before} that wait" if before else "as the next")
        return _tell(turn, result, words, is_well=result in {"queued", "showing", "asking"}, as_json=as_json)

    in_store(queue, embedded_redis=embedded_redis)


@dead.command()
def drop(turn: Id, *, as_json: AsJson = False, embedded_redis: EmbeddedRedisOption = False) -> None:
    """Give it up, and delete its texts."""

    async def give_up(scripts: Scripts) -> int:
        if await _letters(scripts).drop(TurnId(turn)):
            words = f"{turn} was given up, and its texts were deleted."
            return _tell(turn, "dropped", words, is_well=True, as_json=as_json)
        return _tell(turn, "unknown", _NOT_THERE.format(turn=turn), is_well=False, as_json=as_json)

    in_store(give_up, embedded_redis=embedded_redis)


def _letters(scripts: Scripts) -> DeadLetters:
    from bridge.queue.dead import DeadLetters  # noqa: PLC0415 - see `store`

    return DeadLetters(scripts, lambda: datetime.now(UTC))


def _tell(turn: str, result: str, words: str, *, is_well: bool, as_json: bool) -> int:
    """Say what became of a wish; gives the exit code."""
    if as_json:
        typer.echo(to_json({"id": turn, "result": result, "detail": words}))
    else:
        (typer.echo if is_well else say)(words)
    return 0 if is_well else CANNOT_RUN


def for_programs(letters: Sequence[DeadLetter], owner: Owner | None) -> str:
    """Write them as JSON."""
    rows = [
        {
            **asdict(letter),
            "died_at": letter.died_at.timestamp(),
            "asks_again": letter.asks_again,
            "permalink": _permalink(letter, owner),
        }
        for letter in letters
    ]
    return to_json({"dead": rows}, indent=2)


def table(letters: Sequence[DeadLetter], owner: Owner | None) -> str:
    """Write them for people, each with what a retry would do."""
    paragraphs = []
    for letter in letters:
        rows = {
            "when": f"{letter.died_at:%Y-%m-%d %H:%M:%S} UTC",
            "where": _permalink(letter, owner) or f"{letter.channel} {letter.ts}".strip() or "not known",
            "who": f"{letter.user or 'not known'}, by {letter.kind or 'not known'}",
            "why": letter.reason,
            "step": f"{letter.step}: {_after(letter)}",
        }
        paragraphs.append("\n".join([letter.id, *(f"  {name:<6} {printable(said)}" for name, said in rows.items())]))
    return "\n\n".join(paragraphs)


def _after(letter: DeadLetter) -> str:
    """Say what a retry would do."""
    if not letter.has_text:
        return "its texts are kept no longer, so it cannot be retried"
    if letter.asks_again:
        return "nobody knows whether it arrived, and a retry sends it AGAIN"
    if letter.step == "posting":
        return "a retry posts what was to be shown, and asks nobody again"
    return "nothing had been sent; a retry begins with it"


def _permalink(letter: DeadLetter, owner: Owner | None) -> str:
    return owner.permalink(letter.channel, letter.ts, letter.thread_ts) if owner else ""
