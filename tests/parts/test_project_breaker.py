"""When the project service counts as unavailable, and when it is probed."""

from __future__ import annotations

from datetime import timedelta

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
from bridge.project.breaker import Breaker
from support.tables import each

DOWN = CannotConnect("op")
ANSWERS: list[ProjectError | None] = [
    None,
    Busy("op", 429),
    NotFound("op", 404),
    NotUnderstood("op", 200, "not JSON"),
    ServiceRefused("op", 400),
    ServiceRefused("op", 500),
]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def breaker_after(*errors: ProjectError | None, clock: Clock | None = None) -> Breaker:
    breaker = Breaker(clock or Clock())
    for error in errors:
        breaker.record(error)
    return breaker


@each("error", [DOWN, Outage("op", 502), Outage("op", 503), Outage("op", 504)])
def test_the_fifth_failure_in_a_row_opens_the_breaker(error: ProjectError) -> None:
    assert not breaker_after(*[error] * 4).is_open
    assert breaker_after(*[error] * 5).is_open


@each("error", ANSWERS)
def test_any_answer_closes_the_breaker_and_resets_the_count(error: ProjectError | None) -> None:
    assert not breaker_after(*[DOWN] * 4, error, *[DOWN] * 4).is_open
    assert not breaker_after(*[DOWN] * 5, error).is_open


@each("error", [TimedOut("op", timedelta(seconds=1)), ConnectionLost("op")])
def test_a_slow_or_broken_answer_changes_nothing(error: ProjectError) -> None:
    assert not breaker_after(*[error] * 9).is_open
    assert breaker_after(*[DOWN] * 4, error, DOWN).is_open
    assert breaker_after(*[DOWN] * 5, error).is_open


def test_late_failures_of_earlier_calls_do_not_delay_the_probe() -> None:
    clock = Clock()
    breaker = breaker_after(*[DOWN] * 5, clock=clock)
    for _ in range(5):
        clock.now += 1
        breaker.record(DOWN)
    assert breaker.claim_probe()
