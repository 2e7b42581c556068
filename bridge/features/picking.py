"""Find the workflow or agent a person means, and where its name ends and the rest of the text begins.

An ID beats a name, a whole name beats its beginning, a longer name beats a shorter one, and quotes decide.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from itertools import islice
from typing import Protocol, TypeVar

from bridge.errors import NoSuch, SeveralFit
from bridge.slack.blockkit.folding import Folded, fold, name_key

# Of folded text:
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<name>.*?)(?P=quote)(?=\s|$)""")
_ID = re.compile(r"[*_~`]*#?(\d+)[*_~`]*(?=\s|$)")
_WORD = re.compile(r"\S+")
_LONGEST_NAME = 40  # words
_MOST_TYPED = 1000  # characters of a text that may be a name
_NEAREST = 3
_ALIKE = 0.5
# Each comparison costs microseconds, so only this many are searched for the most similar one.
_COMPARED_NAMES = 1000
_COMPARED_WORDS = 8  # of a beginning
_COMPARED = 80  # characters


class Named(Protocol):
    """A workflow or an agent."""

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
    """Return the one of *candidates* that *text* names, and the text after the name, as typed.

    Without *takes_rest*, all of *text* must be the name, and the text after it is ``""``.
    Raises `NoSuch` or `SeveralFit`.
    """
    text = text.strip()
    folded = fold(text, _MOST_TYPED if takes_rest else None)
    named = [(name_key(candidate.name), candidate) for candidate in candidates]
    found = _by_id(folded, candidates, takes_rest=takes_rest) or _quoted(kind, folded, named, takes_rest=takes_rest)
    if found:
        return found
    words = islice(_WORD.finditer(folded.text), _LONGEST_NAME) if takes_rest else ()
    ends = [word.end() for word in words] if takes_rest else [len(folded.text)]
    # Possible names with the text after them, longest first.
    beginnings = [(typed := folded.until(end), name_key(typed), folded.after(end)) for end in reversed(ends)]
    for fits in (str.__eq__, str.startswith):
        for typed, wanted, rest in beginnings:
            if fitting := [candidate for name, candidate in named if wanted and fits(name, wanted)]:
                return _only(kind, typed, fitting), rest
    nearest = _nearest([wanted for _typed, wanted, _rest in beginnings], named)
    id_ = _ID.match(folded.text) if takes_rest and not nearest else None
    typed = text
    if nearest and takes_rest:  # the words that are most like it, without the text after them
        typed = max(beginnings, key=lambda one: difflib.SequenceMatcher(None, one[1], name_key(nearest[0])).ratio())[0]
    raise NoSuch(kind, id_[1] if id_ else typed, nearest)


def _by_id(typed: Folded, candidates: Sequence[T], *, takes_rest: bool) -> tuple[T, str] | None:
    found = _ID.match(typed.text)
    rest = typed.after(found.end()) if found else ""
    if found is None or (rest and not takes_rest):
        return None
    return next(((one, rest) for one in candidates if str(one.id) == (found[1].lstrip("0") or "0")), None)


def _quoted(kind: str, typed: Folded, named: Sequence[tuple[str, T]], *, takes_rest: bool) -> tuple[T, str] | None:
    found = _QUOTED.match(typed.text)
    rest = typed.after(found.end()) if found else ""
    if found is None or (rest and not takes_rest):
        return None
    wanted = name_key(found["name"])
    for fits in (str.__eq__, str.startswith):
        if fitting := [candidate for name, candidate in named if wanted and fits(name, wanted)]:
            return _only(kind, typed.between(*found.span("name")), fitting), rest
    return None


def _only(kind: str, typed: str, fitting: Sequence[T]) -> T:
    if len(fitting) > 1:
        raise SeveralFit(kind, typed, [(candidate.id, candidate.name) for candidate in fitting])
    return fitting[0]


def _nearest(typed: Sequence[str], named: Sequence[tuple[str, Named]]) -> list[str]:
    """Return the names most similar to any of the beginnings of the *typed* text."""
    names = {name[:_COMPARED]: candidate.name for name, candidate in named[:_COMPARED_NAMES]}
    scores = dict.fromkeys(names, 0.0)
    for words in typed[-_COMPARED_WORDS:]:
        matcher = difflib.SequenceMatcher(None, b=words[:_COMPARED])  # it caches its analysis of b
        for name in names:
            matcher.set_seq1(name)
            if words and words[:_COMPARED] in name:
                scores[name] = max(scores[name], 0.9)
            elif matcher.real_quick_ratio() >= _ALIKE and matcher.quick_ratio() >= _ALIKE:
                scores[name] = max(scores[name], matcher.ratio())
    best = sorted((name for name in names if scores[name] >= _ALIKE), key=lambda name: -scores[name])
    return [names[name] for name in best[:_NEAREST]]
