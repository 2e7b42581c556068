"""`bridge dead`: work that couldn't be finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Final

import typer

from bridge.cli.names import DisplayNames, opened_names
from bridge.cli.printing import moment, out, printable, to_json
from bridge.cli.running import CANNOT_RUN
from bridge.cli.store import JsonOption, in_store
from bridge.ids import TurnId
from bridge.inbound import WAITING_LIMIT, kind_in_words
from bridge.queue.dead import DeadLetter, DeadLetters
from bridge.queue.put import Queued
from bridge.queue.scripting import Scripts
from bridge.queue.trace import Owner, owner_of
from bridge.slack.blockkit.kit import counted, permalink

NONE: Final = "No work failed in the last 30 days."
_UNKNOWN: Final = (
    "No failed work has the ID {turn}: it's wrong, or the work was already retried or discarded, or has expired. "
    "See bridge dead list."
)
_WAITS_FOR_BRIDGE: Final = "If no bridge is running, it waits until one starts."
_RETRIED: Final = {
    "queued": f"Queued {{turn}}{{after}}. It starts from the beginning. {_WAITS_FOR_BRIDGE}",
    "showing": (
        f"Queued {{turn}}{{after}}. It posts the result it already has; nothing is sent again. {_WAITS_FOR_BRIDGE}"
    ),
    "asking": f"Queued {{turn}}{{after}}. It's sent again, even if it arrived the first time. {_WAITS_FOR_BRIDGE}",
    "unknown": _UNKNOWN,
    "gone": "Can't retry {turn}: its text has expired. It was removed from the list.",
    "full": f"Didn't retry {{turn}}: {WAITING_LIMIT} messages are already waiting in its thread. Try again later.",
}

_ID: Final = "3q2_7wIBuGYdM1xK"
dead = typer.Typer(
    add_completion=False,
    help="List, retry or discard work that couldn't be finished.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Id = Annotated[str, typer.Argument(metavar="ID", help=f"From bridge dead list, such as {_ID}.")]


@dead.command("list")
def list_all(*, as_json: JsonOption = False) -> None:
    """List work that failed in the last 30 days.

    Says why, and what a retry would do.
    """

    async def show(scripts: Scripts) -> int:
        letters, owner = await _letters(scripts).all(), await owner_of(scripts)
        if as_json:
            out(for_programs(letters, owner))
            return 0
        async with opened_names() as names:
            await names.look_up(id_ for letter in letters for id_ in (letter.user, letter.channel))
        out(table(letters, owner, names) or NONE)
        return 0

    in_store(show)


@dead.command()
def retry(turn: Id, *, as_json: JsonOption = False) -> None:
    """Queue work that failed again, at the end of its thread's queue.

    If it already has a result, that is posted and nothing is sent again.
    """

    async def queue(scripts: Scripts) -> int:
        put = await _letters(scripts).retry(TurnId(turn))
        result, before = (put.how, put.waiting) if isinstance(put, Queued) else (put.end, 0)
        words = _RETRIED[result].format(turn=turn, after=f", after {counted(before, 'other')}" if before else "")
        return _report(turn, result, words, is_well=isinstance(put, Queued), as_json=as_json)

    in_store(queue)


@dead.command()
def drop(turn: Id, *, as_json: JsonOption = False) -> None:
    """Discard work that failed, and delete its text."""

    async def give_up(scripts: Scripts) -> int:
        if await _letters(scripts).drop(TurnId(turn)):
            words = f"Discarded {turn} and deleted its text."
            return _report(turn, "dropped", words, is_well=True, as_json=as_json)
        return _report(turn, "unknown", _UNKNOWN.format(turn=turn), is_well=False, as_json=as_json)

    in_store(give_up)


def _letters(scripts: Scripts) -> DeadLetters:
    return DeadLetters(scripts, scripts.clock.now)


def _report(turn: str, result: str, words: str, *, is_well: bool, as_json: bool) -> int:
    """Print the result; returns the exit code."""
    if as_json:
        out(to_json({"id": turn, "result": result, "detail": words}))
    else:
        out(printable(words), err=not is_well)
    return 0 if is_well else CANNOT_RUN


def for_programs(letters: Sequence[DeadLetter], owner: Owner | None) -> str:
    """Format *letters* as JSON."""
    rows = [
        asdict(letter) | {"asks_again": letter.asks_again, "permalink": _permalink(letter, owner)} for letter in letters
    ]
    return to_json({"dead": rows}, indent=2)


def table(letters: Sequence[DeadLetter], owner: Owner | None, names: DisplayNames) -> str:
    """Format *letters* for people."""
    paragraphs = []
    for letter in letters:
        retry = "starts from the beginning; nothing was sent yet"
        if not letter.has_text:
            retry = "not possible: its text has expired"
        elif letter.asks_again:
            retry = "sends it AGAIN, although it may have arrived"
        elif letter.step == "posting":
            retry = "posts the result it already has; nothing is sent again"
        rows = {
            "when": moment(letter.died_at),
            "where": _permalink(letter, owner) or f"{names.channel(letter.channel)} {letter.ts}".strip() or "unknown",
            "who": names.person(letter.user) or "unknown",
            "what": kind_in_words(letter.kind) if letter.kind else "unknown",
            "why": letter.reason,
            "retry": retry,
        }
        paragraphs.append("\n".join([letter.id, *(f"  {name:<6} {printable(text)}" for name, text in rows.items())]))
    return "\n\n".join(paragraphs)


def _permalink(letter: DeadLetter, owner: Owner | None) -> str:
    return permalink(owner.workspace, letter.channel, letter.ts, letter.thread_ts) if owner else ""
