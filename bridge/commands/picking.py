"""Which workflow or agent a person means, and where its name ends and the rest begins.

An id beats a name, a whole name beats a beginning, the longest name beats a shorter one, and quotes settle it.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Sequence
from typing import Protocol, TypeVar

from bridge.errors import NoSuch, SeveralFit

_DOUBLE = '"\u201c\u201d\u201e\u201f'  # straight, and as phones and word processors write them
_SINGLE = "'\u2018\u2019\u201a"
_QUOTED = re.compile(
    rf"(?:[{_DOUBLE}](?P<double>[^{_DOUBLE}]*)[{_DOUBLE}]|[{_SINGLE}](?P<single>[^{_SINGLE}]*)[{_SINGLE}])(?=\s|$)"
)
_STRAIGHT = str.maketrans(dict.fromkeys(_DOUBLE, '"') | dict.fromkeys(_SINGLE, "'"))
_ID = re.compile(r"#?(\d{1,15})(?=\s|$)")
_WORD = re.compile(r"\S+")
_LONGEST_NAME = 40  # words
_NEAREST = 3
_ALIKE = 0.5


class Named(Protocol):
    """What both workflows and agents have."""

    @property
    def id(self) -> int:
        """The service's number for it."""
        ...

    @property
    def name(self) -> str:
        """What people call it."""
        ...


T = TypeVar("T", bound=Named)


def pick(kind: str, text: str, candidates: Sequence[T], *, takes_rest: bool) -> tuple[T, str]:
    """Find the one of *candidates* that *text* names; with *takes_rest* more words may follow, and are returned.

    Raises `NoSuch` or `SeveralFit`.
    """
    text = text.strip()
    beginnings = list(_beginnings(text, takes_rest=takes_rest))
    found = _by_id(text, candidates, takes_rest=takes_rest) or _quoted(kind, text, candidates, takes_rest=takes_rest)
    if found:
        return found
    for fits in (_is_name, _is_beginning):
        for typed, rest in beginnings:
            if fitting := [candidate for candidate in candidates if fits(typed, candidate)]:
                return _only(kind, typed, fitting), rest
    raise NoSuch(kind, text, _nearest([typed for typed, _ in beginnings], candidates))


def _beginnings(text: str, *, takes_rest: bool) -> list[tuple[str, str]]:
    """Go through what may be the name and what is then the rest, the longest name first."""
    if not takes_rest:
        return [(text, "")]
    ends = [word.end() for word in _WORD.finditer(text)][:_LONGEST_NAME]
    return [(text[:end], text[end:].strip()) for end in reversed(ends)]


def _by_id(text: str, candidates: Sequence[T], *, takes_rest: bool) -> tuple[T, str] | None:
    found = _ID.match(text)
    rest = text[found.end() :].strip() if found else ""
    if found is None or (rest and not takes_rest):
        return None
    return next(((candidate, rest) for candidate in candidates if candidate.id == int(found[1])), None)


def _quoted(kind: str, text: str, candidates: Sequence[T], *, takes_rest: bool) -> tuple[T, str] | None:
    found = _QUOTED.match(text)
    rest = text[found.end() :].strip() if found else ""
    if found is None or (rest and not takes_rest):
        return None
    typed = found["double"] or found["single"] or ""
    for fits in (_is_name, _is_beginning):
        if fitting := [candidate for candidate in candidates if fits(typed, candidate)]:
            return _only(kind, typed, fitting), rest
    return None


def _only(kind: str, typed: str, fitting: Sequence[T]) -> T:
    if len(fitting) > 1:
        raise SeveralFit(kind, typed, [(candidate.id, candidate.name) for candidate in fitting])
    return fitting[0]


def _is_name(typed: str, candidate: Named) -> bool:
    return bool(_folded(typed)) and _folded(candidate.name) == _folded(typed)


def _is_beginning(typed: str, candidate: Named) -> bool:
    return bool(_folded(typed)) and _folded(candidate.name).startswith(_folded(typed))


def _folded(name: str) -> str:
    """Fold away what people do not tell apart: case, kinds of blanks and quotes, ways to write a letter."""
    straight = name.translate(_STRAIGHT)
    return " ".join(unicodedata.normalize("NFKC", straight).casefold().split())


def _nearest(typed: Sequence[str], candidates: Sequence[Named]) -> list[str]:
    """Find the names that look most like any of the beginnings that were typed."""
    names = {_folded(candidate.name): candidate.name for candidate in candidates}
    scores = {name: max((_likeness(_folded(words), name) for words in typed), default=0) for name in names}
    best = sorted((name for name in names if scores[name] >= _ALIKE), key=lambda name: -scores[name])
    return [names[name] for name in best[:_NEAREST]]


def _likeness(typed: str, name: str) -> float:
    if typed and typed in name:
        return 0.9
    matcher = difflib.SequenceMatcher(None, typed, name)
    return matcher.ratio() if matcher.real_quick_ratio() >= _ALIKE else 0
