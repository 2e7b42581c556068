"""Parse when and where something is due, as people type it: ``every monday at 9 berlin #sales --compare 7d``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from bridge.errors import BadSchedule
from bridge.features.standing.phrases import describe, normalized, read_schedule
from bridge.features.standing.times import Schedule, read_cron
from bridge.features.standing.zones import find_zone
from bridge.names.folding import fold, without_end
from bridge.names.nearness import nearest

_MOST_WORDS: Final = 100  # of a schedule; who pastes a page there means something else
_PIECE: Final = re.compile(  # of folded text
    r"""
    (?P<blank> [\s;()`]+ )
    | (?: cron (?= \s | $ | ["'] ) \s* )? ["'] (?P<quoted> [^"']* ) ["']
    | cron (?= \s | $ ) \s* (?P<bare> (?: \S+ \s* ){0,5} )
    | -- (?P<option> \w[\w-]* ) (?P<value> (?: = | \s+ )? [^\s()]* )
    | (?P<channel> \# [^\s;,()`]+ )
    | (?P<bare_cron> (?= [\d,/-]*+ [^\n]{0,40} \* ) (?: [\d*,/-]++ \s++ ){4} [\dA-Za-z*,/\#-]++ (?! \S ) )
    | (?P<word> , | [^\s;,()`]+ )
    """,
    re.VERBOSE,
)


class When(NamedTuple):
    """What's typed of anything that's due at times, and its options."""

    schedule: Schedule
    zone: str
    channel: str
    options: dict[str, str]

    @property
    def facts(self) -> dict[str, Any]:
        """The fields of a spec."""
        return {"schedule": self.schedule, "zone": self.zone, "channel": self.channel}


@contextmanager
def errors_of(task: str) -> Iterator[None]:
    """Have each `BadSchedule` say which kind of *task* it's about."""
    try:
        yield
    except BadSchedule as exc:
        exc.of = task
        raise


def read_when(typed: str, of: str, takes: Mapping[str, bool] = MappingProxyType({})) -> When:
    """Parse a schedule, a time zone, a channel, and options; *takes* says which have a value.

    Raises `BadSchedule`, which says what it's the schedule *of*, such as a ``report``.
    """
    with errors_of(of):
        return _read(typed, takes)


def _read(typed: str, takes: Mapping[str, bool]) -> When:
    zone = channel = cron = ""
    words: list[str] = []
    options: dict[str, str] = {}
    at, folded = 0, fold(typed)
    while found := _PIECE.match(folded.text, at):
        at = found.end()
        begin, end = found.span(found.lastgroup or 0)
        piece = folded.between(begin, end)
        match found.lastgroup:
            case "quoted" | "bare" | "bare_cron":
                if cron:
                    raise BadSchedule("cron", folded.between(*found.span()))
                cron = read_cron(piece)
            case "value":
                name = found["option"]
                if name not in takes:
                    near = nearest(name, takes)
                    part, choices = ("option", near) if near else ("options", list(takes))
                    raise BadSchedule(part, f"--{name}", [f"--{choice}" for choice in choices])
                value = found["value"].rstrip(",;")
                begin, end = begin + len(value) - len(value.lstrip("= \n")), begin + len(value)
                options[name] = folded.between(begin, end) if takes[name] else ""
                at = at if takes[name] else found.end("option")
            case "channel":
                earlier, channel = channel, without_end(piece, ".:!")
                if earlier and fold(earlier).text != fold(channel).text:
                    raise BadSchedule("channels", f"{earlier} {channel}")
            case "word":
                words.append(piece)
        if len(words) > _MOST_WORDS:
            raise BadSchedule("often", " ".join(words))
    if cron:
        crons: tuple[str, ...] = normalized(cron)
        zone = find_zone(" ".join(words)) if words else ""
    else:
        crons, zone = read_schedule(words)
    return When(Schedule(describe(crons), crons), zone, channel, options)
