"""`bridge dead`: work that could not be finished, shown and decided about."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from bridge.ids import TurnId
from bridge.inbound import WAITING_LIMIT
from bridge.metrics import Metrics
from bridge.ops.rows import printable
from bridge.queue.dead import DeadLetter, DeadLetters, Retried
from bridge.queue.redis.connection import connect
from bridge.queue.scripting import Scripts
from bridge.queue.trace import Owner, owner_of

NONE: Final = "There are no dead letters: everything was finished, or is on its way."
NOT_THERE: Final = "There is no dead letter {turn}: it was retried or dropped already, or is older than 30 days."


@dataclass(frozen=True, slots=True)
class Said:
    """What became of a wish: *result* in a word for programs, *words* for people."""

    turn: str
    result: str
    words: str
    is_well: bool

    def to_json(self) -> str:
        """Write it for programs, in ASCII."""
        return json.dumps({"id": self.turn, "result": self.result, "detail": self.words})


@dataclass(frozen=True, slots=True)
class Office:
    """The dead letters of a namespace, and whose it is."""

    letters: DeadLetters
    owner: Owner | None

    async def retry(self, turn: str) -> Said:
        """Queue one again. Raises `StoreUnavailable`."""
        result, before = await self.letters.retry(TurnId(turn))
        words = _RETRIED[result].format(turn=turn, behind=f"behind {before} that wait" if before else "as the next")
        return Said(turn, result, words, result in _WELL)

    async def drop(self, turn: str) -> Said:
        """Give one up. Raises `StoreUnavailable`."""
        if await self.letters.drop(TurnId(turn)):
            return Said(turn, "dropped", f"{turn} was given up, and its texts were deleted.", is_well=True)
        return Said(turn, Retried.UNKNOWN, NOT_THERE.format(turn=turn), is_well=False)


@asynccontextmanager
async def office(url: str, namespace: str, now: Callable[[], datetime]) -> AsyncIterator[Office]:
    """Open the dead letters in the Redis at *url*. Raises `StoreUnavailable`."""
    redis = connect(url)
    try:
        scripts = Scripts(redis, namespace, Metrics())
        yield Office(DeadLetters(scripts, now), await owner_of(scripts))
    finally:
        await redis.aclose()


def to_json(letters: Sequence[DeadLetter], owner: Owner | None) -> str:
    """Write them for programs, in ASCII."""
    rows = [
        {
            **asdict(letter),
            "died_at": letter.died_at.timestamp(),
            "asks_again": letter.asks_again,
            "permalink": _permalink(letter, owner),
        }
        for letter in letters
    ]
    return json.dumps({"dead": rows}, indent=2)


def table(letters: Sequence[DeadLetter], owner: Owner | None) -> str:
    """Write them for people, each with what a retry would do."""
    return "\n\n".join("\n".join(_lines(letter, owner)) for letter in letters)


def _lines(letter: DeadLetter, owner: Owner | None) -> list[str]:
    where = _permalink(letter, owner) or " ".join(filter(None, (letter.channel, letter.ts))) or "not known"
    rows = (
        ("when", f"{letter.died_at:%Y-%m-%d %H:%M:%S} UTC"),
        ("where", where),
        ("who", f"{letter.user or 'not known'}, by {letter.kind or 'not known'}"),
        ("why", letter.reason),
        ("step", _step(letter)),
    )
    return [letter.id, *(f"  {name:<6} {printable(words)}" for name, words in rows)]


def _step(letter: DeadLetter) -> str:
    if not letter.has_text:
        return f"{letter.step}: its texts are kept no longer, so it cannot be retried"
    if letter.asks_again:
        return f"{letter.step}: nobody knows whether it arrived, and a retry sends it AGAIN"
    if letter.step == "posting":
        return "posting: a retry posts what was to be shown, and asks nobody again"
    return f"{letter.step}: nothing had been sent; a retry begins with it"


def _permalink(letter: DeadLetter, owner: Owner | None) -> str:
    return owner.permalink(letter.channel, letter.ts, letter.thread_ts) if owner else ""


_TAKEN: Final = "A running bridge takes it at once; if none runs, the next one that starts does."

_WELL: Final = frozenset({Retried.QUEUED, Retried.SHOWING, Retried.ASKING})

_RETRIED: Final = {
    Retried.QUEUED: "{turn} is queued again, {behind}, and will be done from the beginning. " + _TAKEN,
    Retried.SHOWING: "{turn} is queued again, {behind}: what was to be shown is posted, and nobody is asked. " + _TAKEN,
    Retried.ASKING: "{turn} is queued again, {behind}, and will be sent again, whether it had arrived or not. "
    + _TAKEN,
    Retried.UNKNOWN: NOT_THERE,
    Retried.GONE: "{turn} cannot be retried: its texts are kept no longer. It was taken off the list.",
    Retried.FULL: f"{{turn}} was left as it is: {WAITING_LIMIT} messages wait in its thread. Try again later.",
}
