"""Find the workflow, agent or project a person means, and where its name ends and the rest of the text begins.

An ID beats a name, a whole name beats its beginning, a longer name beats a shorter one, and quotes decide. A name may
have its ID after it, as it's shown where others have that name. A command that acts never guesses: it asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from bridge.errors import NoSuch, NotSure, SeveralFit
from bridge.names.folding import fold, id_key, name_key
from bridge.names.listing import is_part
from bridge.names.nearness import likeness, ratio

# Of folded text:
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<name>.*?)(?P=quote)(?=\s|$)""")
_ID = re.compile(r"([*_~`]*#?-?\d+[*_~`]*)(?=\s|$)")
_ID_AND_MARK = re.compile(r"([*_~`]*#?-?\d+[*_~`]*)[^\w\s]+(?![0-9])")
_NAME_AND_ID = re.compile(r"(?P<name>.+?)(?P<is_cut>\.\.\.)? \(id (?P<id>-?\d+)\)")
_WORD = re.compile(r"\S+")
_LONGEST_NAME = 40  # words
_MOST_TYPED = 1000  # characters of a text that may be a name
_NEAREST = 3
_ALIKE = 0.5
_ROOM = 20  # characters of a shown name that marks or an ellipsis may take
# Each comparison costs microseconds, so only this many are searched for the most similar one.
_COMPARED_NAMES = 1000
_COMPARED_WORDS = 8  # of a beginning
_COMPARED = 80  # characters


class Named(Protocol):
    """A workflow, an agent or a project."""

    @property
    def id(self) -> Any: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102


class Called(NamedTuple):
    """A stored ID and name."""

    id: int
    name: str


T = TypeVar("T", bound=Named)
V = TypeVar("V")


class Picked(NamedTuple, Generic[T]):
    """The *item* that was named, and the *rest* of the text, as typed; *is_whole*: by its ID or its whole name."""

    item: T
    rest: str = ""
    is_whole: bool = True


class _Spot(NamedTuple):
    """A possible name, as *typed* and as a *key*, and the *rest* of the text after it."""

    typed: str
    key: str
    rest: str = ""


def pick(kind: str, text: str, candidates: Sequence[T], *, takes_rest: bool, acts: bool = False) -> Picked[T]:
    """Return the one of *candidates* that *text* names.

    Without *takes_rest*, all of *text* must be the name. For a command that *acts*, only an ID or a whole name counts,
    and only if nothing else can be meant; otherwise an unambiguous beginning does, too.
    Raises `NoSuch`, `SeveralFit` and, for a command that acts, `NotSure`.
    """
    text, named = text.strip(), _by_key(candidates)
    folded = fold(text, _MOST_TYPED if takes_rest else None)
    words = islice(_WORD.finditer(folded.text), _LONGEST_NAME) if takes_rest else ()
    ends = [word.end() for word in words] if takes_rest else [len(folded.text)]
    spots = [_Spot(typed := folded.until(end), name_key(typed), folded.after(end)) for end in reversed(ends)]
    matches = _QUOTED.match(folded.text), _ID.match(folded.text), _ID_AND_MARK.match(folded.text)
    quoted, number, marked = (
        match if takes_rest or not match or not folded.after(match.end()) else None for match in matches
    )

    def of_id(typed: str, rest: str) -> list[Picked[T]]:
        return [Picked(item, rest) for item in candidates if str(item.id) == id_key(typed)]

    if quoted:
        inside = folded.between(*quoted.span("name"))
        spots.insert(0, _Spot(inside, name_key(inside), folded.after(quoted.end())))
    by_id = of_id(number[1], folded.after(number.end())) if number else []
    typed, whole = _fitting(spots, [*named, *_with_ids(spots, named)], str.__eq__)
    if quoted and not whole:  # no name, but perhaps an ID
        by_id = of_id(spots[0].typed, spots[0].rest)
    fitting = [*by_id, *whole]
    if acts and not quoted and fitting and all(picked.rest for picked in fitting):
        fitting += _longer(spots, named)
    fitting = list({(picked.item.id, picked.rest): picked for picked in fitting}.values())
    if len(fitting) == 1 or (by_id and not acts):
        return fitting[0]
    if not fitting:
        typed, fitting = _fitting(spots, named, str.startswith)
        fitting += of_id(marked[1], folded.after(marked.end())) if marked else []
        fitting = list({picked.item.id: picked for picked in fitting}.values())
    if len(fitting) == 1 and not acts:
        return fitting[0]._replace(is_whole=False)
    near = fitting or _similar(spots, named)
    if near and acts:
        misspelled = {picked.item.id: picked for picked in _misspelled(spots, named)} if not whole else {}
        near = [misspelled.get(picked.item.id, picked) for picked in near]
        raise NotSure(kind, [(picked.item.id, picked.item.name, picked.rest) for picked in near])
    if fitting:
        raise SeveralFit(kind, typed, [(picked.item.id, picked.item.name) for picked in fitting])
    if near and takes_rest:
        text = text.removesuffix(near[0].rest).rstrip()
    elif number and takes_rest:
        text = id_key(number[1])  # of any length, so it stays text
    raise NoSuch(kind, text, [picked.item.name for picked in near], is_part=is_part(candidates))


def called(text: str, items: Iterable[T]) -> list[T]:
    """Return those whose ID or whole name *text* is."""
    return [item for item in items if is_called(text, item)]


def meant(text: str, items: Sequence[T]) -> T | None:
    """Return the only one that *text* names, begins or misspells; None if it's none or several."""
    spots, named = [_Spot(text, name_key(text))], _by_key(items)
    near = _fitting(spots, named, str.startswith)[1] or _misspelled(spots, named)
    fitting = called(text, items) or [picked.item for picked in near]
    return fitting[0] if len(fitting) == 1 else None


def search(query: str, items: Iterable[T]) -> list[T]:
    """Return those that fit a *query* while it's typed, the best first, otherwise in their order."""
    wanted, number = name_key(query), id_key(query)
    fits: tuple[Callable[[str, T], bool], ...] = (
        lambda name, item: name == wanted.removeprefix("#") or str(item.id) == number,
        lambda name, _: name.startswith(wanted),
        lambda name, _: any(word.startswith(wanted) for word in name.split()),
        lambda name, _: wanted in name,
        lambda name, _: all(word in name for word in wanted.split()),
    )
    named = _by_key(items)
    return list({id(item): item for fit in fits for name, item in named if fit(name, item)}.values())


def is_called(text: str, item: Named) -> bool:
    """Whether *text* is the ID or the whole name of *item*."""
    key = name_key(text)
    return bool(key) and (key in {name_key(item.name), name_key(str(item.id))} or id_key(text) == str(item.id))


def looks(name: str, most: int) -> set[str]:
    """Return what a *name* looks like, whole and cut to *most* characters: keys to compare."""
    return {name_key(name), name_key(name[: most - _ROOM])}


def by_look(items: Iterable[Named], most: int) -> dict[str, set[Any]]:
    """Return the IDs of what looks alike (`looks`)."""
    ids: dict[str, set[Any]] = {}
    for item in items:
        for look in looks(item.name, most):
            ids.setdefault(look, set()).add(item.id)
    return ids


def namesakes(items: Iterable[Named], most: int) -> set[Any]:
    """Return the IDs of those that need them beside their name: cut to *most* characters, another's looks the same."""
    return {id_ for alike in by_look(items, most).values() if len(alike) > 1 for id_ in alike}


def similar(text: str, names: Iterable[str]) -> list[str]:
    """Return those of *names* that are most like *text*, at most three."""
    return [name for _key, name in _nearest([name_key(text)], [(name_key(name), name) for name in names])]


def _by_key(items: Iterable[T]) -> list[tuple[str, T]]:
    return [(name_key(item.name), item) for item in items]


def _fitting(
    spots: Sequence[_Spot], named: Sequence[tuple[str, T]], fits: Callable[[str, str], bool]
) -> tuple[str, list[Picked[T]]]:
    """Return the first text that fits a name, and all it fits."""
    for spot in spots:
        if fitting := [Picked(item, spot.rest) for known, item in named if spot.key and fits(known, spot.key)]:
            return spot.typed, fitting
    return "", []


def _with_ids(spots: Sequence[_Spot], named: Sequence[tuple[str, T]]) -> list[tuple[str, T]]:
    """Return those that are shown as one of *spots*, with their ID and perhaps cut, by that."""
    matches = [match for spot in spots if (match := _NAME_AND_ID.fullmatch(spot.key))]
    return [
        (match[0], item)
        for match in matches
        for known, item in named
        if str(item.id) == match["id"] and (known.startswith if match["is_cut"] else known.__eq__)(match["name"])
    ]


def _longer(spots: Sequence[_Spot], named: Sequence[tuple[str, T]]) -> list[Picked[T]]:
    """Return those that may be meant instead of a shorter name: the text is theirs, but cut short or misspelled."""
    longer = [(known, item) for known, item in named if known.startswith(f"{spots[-1].key} ")]
    cut_short = [Picked(item) for known, item in longer if known.startswith(spots[0].key)]
    return cut_short + _misspelled(spots[:-1], longer)


def _misspelled(spots: Sequence[_Spot], named: Sequence[tuple[str, T]]) -> list[Picked[T]]:
    """Return those whose name has as many words as a spot, with a few typos."""
    return [
        Picked(item, spot.rest)
        for spot in spots
        for known, item in named
        if known.count(" ") == spot.key.count(" ")
        and known != spot.key
        and all(map(likeness, spot.key.split(" "), known.split(" ")))
    ]


def _similar(spots: Sequence[_Spot], named: Sequence[tuple[str, T]]) -> list[Picked[T]]:
    """Return those with the most similar names, each with the text after the words that are most like its name."""
    near = _nearest([spot.key for spot in spots], named)
    return [Picked(item, max(spots, key=lambda spot: ratio(spot.key[:_COMPARED], name)).rest) for name, item in near]


def _nearest(typed: Sequence[str], named: Sequence[tuple[str, V]]) -> list[tuple[str, V]]:
    """Return those with the names most similar to any of the beginnings of the *typed* text."""
    names = {name[:_COMPARED]: (name, candidate) for name, candidate in named[:_COMPARED_NAMES]}
    scores = dict.fromkeys(names, 0.0)
    for words in (beginning[:_COMPARED] for beginning in typed[-_COMPARED_WORDS:]):
        for name in names:
            score = 0.9 if words and words in name else ratio(words, name, least=_ALIKE)
            scores[name] = max(scores[name], score)
    best = sorted((name for name in names if scores[name] >= _ALIKE), key=lambda name: -scores[name])
    return [names[name] for name in best[:_NEAREST]]
