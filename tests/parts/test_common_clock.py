"""The time that all processes go by, whatever a machine's own clock does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from bridge.common_clock import CommonClock
from support.store import START
from support.tables import each


@dataclass
class Machine:
    """A machine whose clock is *ahead*, *seconds* after it was started."""

    seconds: float = 1000.0
    ahead: timedelta = timedelta(0)

    def clock(self) -> CommonClock:
        return CommonClock(lambda: self.right + self.ahead, lambda: self.seconds)

    @property
    def right(self) -> datetime:
        return START + timedelta(seconds=self.seconds - 1000)


@each(
    ("ahead", "jumps", "passed", "is_heard"),
    [
        (0, 0, 4, False),
        (7200, 0, 4, False),  # it was wrong from the start
        (0, -3600, 4, False),  # and since the last heartbeat
        (40, 0, 4, False),
        (0, 7200, 60, True),
    ],
)
def test_the_time_is_redis_time(ahead: int, jumps: int, passed: int, *, is_heard: bool) -> None:
    machine = Machine(ahead=timedelta(seconds=ahead))
    clock = machine.clock()
    clock.hear_redis(machine.right, machine.seconds)
    clock.hear_slack(machine.right, machine.seconds)

    machine.ahead += timedelta(seconds=jumps)
    machine.seconds += passed
    if is_heard:
        clock.hear_redis(machine.right, machine.seconds)

    assert clock.now() == machine.right


def test_seconds_that_jump_are_corrected_by_the_next_heartbeat() -> None:
    machine = Machine()
    clock = machine.clock()
    clock.hear_slack(START, machine.seconds)
    clock.hear_redis(START, machine.seconds)

    machine.seconds += 7200
    assert not clock.is_fresh
    clock.hear_redis(START, machine.seconds)

    assert clock.now() == START


def test_a_slow_answer_changes_nothing() -> None:
    machine = Machine()
    clock = machine.clock()
    clock.hear_redis(START, machine.seconds)

    machine.seconds += 3
    clock.hear_redis(machine.right - timedelta(seconds=2), machine.seconds - 3)

    assert clock.now() == machine.right
    assert not clock.trouble


def test_slack_contradicts_redis() -> None:
    """For example in the playground, whose clock people move."""
    machine, day = Machine(), timedelta(days=1)
    clock = machine.clock()
    clock.hear_redis(START, machine.seconds)
    clock.hear_slack(START + day, machine.seconds)

    assert (clock.now(), clock.by_redis()) == (START + day, START)
