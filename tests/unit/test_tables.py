"""The table of cases that a test of a pure function runs through."""

from __future__ import annotations

import pytest

from support.tables import each


def test_every_row_that_fails_is_named() -> None:
    @each(("number", "square"), [(1, 1), (2, 5), (3, 9), (4, 15)])
    def check(number: int, square: int) -> None:
        assert number**2 == square

    with pytest.raises(BaseExceptionGroup) as failed:
        check()

    assert [one.__notes__ for one in failed.value.exceptions] == [["row: (2, 5)"], ["row: (4, 15)"]]
