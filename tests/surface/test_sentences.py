"""The words of the whole product, so that each change of them is seen and read."""

from __future__ import annotations

from support.sentences import FILE, sentences


def test_the_listed_sentences_are_those_of_the_code() -> None:
    """After a change of words, ``make reference`` writes the list anew: read its difference."""
    assert sentences().splitlines() == FILE.read_text(encoding="utf-8").splitlines()
