"""How near a misspelled word is to those that are known."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

_LETTERS_FOR_A_TYPO = 3
_LONGEST_WORD = 100  # characters; one that is longer has no typos


def nearest(typed: str, known: Iterable[str], *, most: int = 1, least: float = 0.6) -> list[str]:
    """Return those of the *known* words that are most like what was *typed*, the nearest first: 1 is the same."""
    matches = process.extract(typed, list(known), scorer=fuzz.ratio, limit=most, score_cutoff=100 * least)
    return [word for word, _score, _at in matches]


def ratio(typed: str, known: str, *, least: float = 0.0) -> float:
    """Return how alike two words are, from 0 to 1; 0 if that's below *least*."""
    return fuzz.ratio(typed, known, score_cutoff=100 * least) / 100


def likeness(typed: str, name: str) -> float:
    """Return how well *typed* fits as a misspelled *name*, up to 1; 0 if it has more than a few typos.

    A wrong letter, an extra or missing one, or two that are swapped are one typo.
    """
    typos = min(2, len(name) // _LETTERS_FOR_A_TYPO)  # none in a word of two letters, which would be like any other
    if typed == name or abs(len(typed) - len(name)) > typos or len(name) > _LONGEST_WORD:
        return float(typed == name)
    made = OSA.distance(typed, name, score_cutoff=typos)
    return 1 - made / len(name) if made <= typos else 0.0
