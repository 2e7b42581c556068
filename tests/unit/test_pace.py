"""How fast messages go out to one channel and to its neighbours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from bridge.errors import SlackUnreachable
from bridge.slack.api import RESERVE, Deadline, Pace
from support.clocks import Clock


class Channel:
    """Slack's end: notes when each message arrives, and refuses as long as it is told to."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.arrived: list[tuple[str, float]] = []
        self.refusals: list[float] = []

    def send(self, what: str) -> Callable[[], Awaitable[str]]:
        async def send(method: str, arguments: object, *, seconds: float) -> str:  # noqa: ARG001 - as a call has it
            if self.refusals:
                raise SlackUnreachable("chat.postMessage", "ratelimited", timedelta(seconds=self.refusals.pop(0)))
            self.arrived.append((what, self.clock() - 1000))
            return what

        return send


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(monotonic=clock, sleep=clock.sleep)


def post(
    pace: Pace, clock: Clock, slack: Channel, what: str, *, channel: str = "C1", seconds: float = 10
) -> asyncio.Task[object]:
    deadline = Deadline(clock() + seconds + RESERVE, clock)
    return asyncio.create_task(pace.call(slack.send(what), "chat.postMessage", {}, deadline, channel))


async def test_messages_go_out_at_once_while_slack_takes_them(pace: Pace, clock: Clock) -> None:
    slack = Channel(clock)

    await clock.run([post(pace, clock, slack, str(number)) for number in range(5)])

    assert slack.arrived == [(str(number), 0) for number in range(5)]


async def test_after_a_429_a_channel_waits_and_goes_on_at_one_a_second_in_order(pace: Pace, clock: Clock) -> None:
    slack = Channel(clock)
    slack.refusals = [3]
    first = post(pace, clock, slack, "a")
    await asyncio.sleep(0)

    await clock.run([first, *(post(pace, clock, slack, what) for what in "bcd")])

    assert slack.arrived == [("a", 3), ("b", 4), ("c", 5), ("d", 6)]


async def test_what_was_asked_first_goes_first_though_it_was_refused_last(pace: Pace, clock: Clock) -> None:
    slack = Channel(clock)
    slack.refusals = [1, 1, 1]

    await clock.run([post(pace, clock, slack, what) for what in "abc"])

    assert [what for what, _ in slack.arrived] == ["a", "b", "c"]


async def test_another_channel_is_not_held_up(pace: Pace, clock: Clock) -> None:
    slack, other = Channel(clock), Channel(clock)
    slack.refusals = [5]
    waiting = post(pace, clock, slack, "slow")
    await asyncio.sleep(0)

    await clock.run([waiting, post(pace, clock, other, "quick", channel="C2")])

    assert other.arrived == [("quick", 0)]
    assert slack.arrived == [("slow", 5)]


async def test_another_method_in_the_same_channel_is_not_held_up(pace: Pace, clock: Clock) -> None:
    slack, other = Channel(clock), Channel(clock)
    slack.refusals = [5]
    waiting = post(pace, clock, slack, "slow")
    await asyncio.sleep(0)

    update = asyncio.create_task(pace.call(other.send("quick"), "chat.update", {}, Deadline(clock() + 10, clock), "C1"))
    await clock.run([waiting, update])

    assert other.arrived == [("quick", 0)]


async def test_a_wait_beyond_the_deadline_is_not_begun_and_says_when_to_come_back(pace: Pace, clock: Clock) -> None:
    slack = Channel(clock)
    slack.refusals = [30]

    task = post(pace, clock, slack, "a")
    await clock.run([task])

    with pytest.raises(SlackUnreachable) as caught:
        task.result()
    assert caught.value.retry_after == timedelta(seconds=30)
    assert clock() == 1000


async def test_whoever_comes_later_in_line_is_told_a_later_time(pace: Pace, clock: Clock) -> None:
    slack = Channel(clock)
    slack.refusals = [9]
    tasks = [post(pace, clock, slack, "a")]
    await asyncio.sleep(0)
    tasks += [post(pace, clock, slack, what) for what in "bcd"]

    await clock.run(tasks)

    assert [what for what, _ in slack.arrived] == ["a", "b"]
    errors = [task.exception() for task in tasks[2:]]
    assert [error.retry_after for error in errors if isinstance(error, SlackUnreachable)] == [
        timedelta(seconds=11),
        timedelta(seconds=11),  # "c" is not in line any more when "d" comes
    ]


async def test_who_gives_up_does_not_hold_up_the_next(pace: Pace, clock: Clock) -> None:
    slack = Channel(clock)
    slack.refusals = [2]
    first = post(pace, clock, slack, "a")
    await asyncio.sleep(0)
    second = post(pace, clock, slack, "b")
    await asyncio.sleep(0)
    third = post(pace, clock, slack, "c")
    await asyncio.sleep(0)

    second.cancel()
    await clock.run([first, second, third])

    assert slack.arrived == [("a", 2), ("c", 4)]  # no later than it was due when it got in line


async def test_a_channel_that_was_quiet_is_free_again_and_forgotten(pace: Pace, clock: Clock) -> None:
    slack = Channel(clock)
    slack.refusals = [1]
    await clock.run([post(pace, clock, slack, "a")])
    assert len(pace.slow) == 1

    clock.time += 60
    await clock.run([post(pace, clock, slack, what) for what in "bc"])

    assert slack.arrived == [("a", 1), ("b", 61), ("c", 61)]
    assert len(pace.slow) == 0


async def test_idle_channels_do_not_pile_up(pace: Pace, clock: Clock) -> None:
    for number in range(50):
        slack = Channel(clock)
        slack.refusals = [1]
        await clock.run([post(pace, clock, slack, "a", channel=f"C{number}")])
        clock.time += 60

    assert len(pace.slow) <= 1


async def test_what_is_not_a_rate_limit_is_not_repeated(pace: Pace, clock: Clock) -> None:
    tries = []

    async def send(method: str, arguments: object, *, seconds: float) -> None:  # noqa: ARG001 - as a call has it
        tries.append(1)
        raise SlackUnreachable("chat.postMessage", "ClientConnectorError")

    with pytest.raises(SlackUnreachable):
        await pace.call(send, "chat.postMessage", {}, Deadline(clock() + 10, clock), "C1")
    assert len(tries) == 1
