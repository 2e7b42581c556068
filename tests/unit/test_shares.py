"""Projects share the slots for running turns: each has some of its own, and the rest is for any."""

from __future__ import annotations

import pytest

from bridge.queue.worker import Shares


@pytest.mark.parametrize(
    ("most", "count", "asked", "granted"),
    [
        (10, 2, {"a": 20}, {"a": 8}),
        (10, 2, {"a": 20, "b": 20}, {"a": 8, "b": 2}),
        (12, 3, {"a": 20, "b": 20, "c": 1}, {"a": 8, "b": 2, "c": 1}),
        (1000, 10, {"a": 2000}, {"a": 550}),
        (1, 2, {"a": 2, "b": 2}, {"a": 1, "b": 1}),
    ],
)
async def test_each_project_can_use_what_is_reserved_for_it(
    most: int, count: int, asked: dict[str, int], granted: dict[str, int]
) -> None:
    shares = Shares(most, lambda: count)

    given = {name: [shares.ask(name) for _ in range(number)] for name, number in asked.items()}

    assert {name: sum(one.done() for one in ones) for name, ones in given.items()} == granted


async def test_a_share_given_back_goes_to_who_asked_first() -> None:
    shares = Shares(2, lambda: 2)
    first, second, third = (shares.ask("a") for _ in range(3))
    assert (first.done(), second.done(), third.done()) == (True, False, False)

    shares.give_back("a", second)  # no longer waits
    shares.give_back("a", first)

    assert second.cancelled()
    assert third.done()
