"""Counting people and threads without storing who or which."""

from __future__ import annotations

from bridge.engine.distinct import Distinct, token_of
from support.tables import each


def counted(numbers: range, salt: str = "bridge") -> Distinct:
    return Distinct(token_of(salt, f"U{number}") for number in numbers)


@each("count", range(12))
def test_few_are_counted_exactly(count: int) -> None:
    assert len(counted(range(count))) == count


@each(("count", "off"), [(24, 0.05), (100, 0.2), (500, 0.2), (5000, 0.25), (100_000, 0.25)])
def test_many_are_counted_about(count: int, off: float) -> None:
    found = Distinct.from_text(counted(range(count)).to_text())

    assert abs(len(found) - count) <= off * count


def test_the_same_ones_are_counted_once() -> None:
    both = counted(range(10))
    both.merge(counted(range(5, 15)))

    assert len(both) == 15


@each("count", [0, 1, 24, 25, 3000])
def test_a_stored_count_stays_the_same(count: int) -> None:
    text = counted(range(count)).to_text()

    assert Distinct.from_text(text).to_text() == text
    assert len(text) <= 86


def test_coarse_and_fine_counts_are_merged() -> None:
    coarse, fine = Distinct.from_text(counted(range(200)).to_text()), counted(range(200, 210))
    there, back = Distinct(), Distinct()
    for merged, order in ((there, (coarse, fine)), (back, (fine, coarse))):
        for one in order:
            merged.merge(one)

    assert there.to_text() == back.to_text() == Distinct.from_text(counted(range(210)).to_text()).to_text()


def test_a_token_names_nobody() -> None:
    tokens = [token_of("bridge", f"U{number}") for number in range(100_000)]

    assert max(tokens) < 1 << 14
    assert len(set(tokens)) < 16_384
    assert token_of("bridge", "U1") != token_of("other", "U1")
