"""What is repeated, how often and after how long."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bridge.errors import (
    Busy,
    CannotConnect,
    ConnectionLost,
    NotFound,
    NotUnderstood,
    Outage,
    ProjectError,
    ServiceRefused,
    TimedOut,
)
from bridge.project.retrying import Tries, wait_before_retry

SLOW = TimedOut("op", timedelta(seconds=1))


def seconds(value: float) -> timedelta:
    return timedelta(seconds=value)


def is_repeated(
    error: ProjectError, *, is_read: bool, made: int = 1, slow: int = 0, elapsed: timedelta = timedelta(0)
) -> bool:
    tries = Tries(is_read=is_read, made=made, elapsed=elapsed, slow=slow)
    return wait_before_retry(error, tries, 0.5) is not None


@pytest.mark.parametrize(
    ("error", "read", "change"),
    [
        (CannotConnect("op"), True, True),
        (Busy("op", 429), True, True),
        (Busy("op", 503, "", seconds(5)), True, True),
        (Busy("op", 429, "", seconds(5.1)), False, False),
        (ConnectionLost("op"), True, False),
        (Outage("op", 502), True, False),
        (SLOW, True, False),
        (ServiceRefused("op", 500), False, False),
        (NotFound("op", 404), False, False),
        (NotUnderstood("op", 200, "not JSON"), False, False),
    ],
)
def test_what_changes_something_is_repeated_only_where_it_surely_did_not_arrive(
    error: ProjectError, *, read: bool, change: bool
) -> None:
    assert is_repeated(error, is_read=True) is read
    assert is_repeated(error, is_read=False) is change
    assert not (change and error.may_have_happened)


@pytest.mark.parametrize("is_read", [True, False])
def test_three_tries_are_all(*, is_read: bool) -> None:
    assert is_repeated(CannotConnect("op"), is_read=is_read, made=2)
    assert not is_repeated(CannotConnect("op"), is_read=is_read, made=3)


def test_a_slow_read_is_repeated_once() -> None:
    assert is_repeated(SLOW, is_read=True, made=1, slow=1)
    assert not is_repeated(SLOW, is_read=True, made=2, slow=2)


def test_no_read_begins_again_after_eight_seconds() -> None:
    assert is_repeated(CannotConnect("op"), is_read=True, elapsed=seconds(7))
    assert not is_repeated(CannotConnect("op"), is_read=True, elapsed=seconds(8))


@pytest.mark.parametrize(("made", "least", "most"), [(1, 0.15, 0.3), (2, 0.3, 0.6)])
def test_waits_grow_and_are_spread(made: int, least: float, most: float) -> None:
    tries = Tries(is_read=True, made=made, elapsed=timedelta(0), slow=0)
    assert wait_before_retry(CannotConnect("op"), tries, 0) == seconds(least)
    assert wait_before_retry(CannotConnect("op"), tries, 1) == seconds(most)


def test_what_the_service_asks_for_is_waited_out() -> None:
    tries = Tries(is_read=False, made=1, elapsed=timedelta(0), slow=0)
    assert wait_before_retry(Busy("op", 429, "", seconds(4)), tries, 0) == seconds(4)
    assert wait_before_retry(Busy("op", 429, "", seconds(0)), tries, 0) == seconds(0.15)
