"""How fast messages are sent to a channel and to other channels."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from bridge.errors import SlackUnreachable
from bridge.slack.pace import RESERVE, Deadline, Pace
from support.clocks import Clock


class Slack:
    """Slack behind a pace: records arrivals and refuses as configured."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.pace = Pace(monotonic=self.clock, sleep=self.clock.sleep)
        self.arrived: list[tuple[str, float]] = []
        self.refusals: list[float | None] = []  # Retry-After in seconds

    async def take(self, method: str, arguments: Any, *, seconds: float) -> dict[str, Any]:  # noqa: ARG002 - as a call
        if self.refusals:
            after = self.refusals.pop(0)
            raise SlackUnreachable(method, "no", None if after is None else timedelta(seconds=after))
        self.arrived.append((arguments["text"], self.clock() - 1000))
        return {"ok": True}

    async def post(self, *texts: str, channel: str = "C1", method: str = "chat.postMessage") -> list[asyncio.Task[Any]]:
        """Start posting; each call is refused or queued before the next starts."""
        tasks = []
        for text in texts:
            deadline = Deadline(self.clock() + 10 + RESERVE, self.clock)
            tasks.append(asyncio.create_task(self.pace.call(self.take, method, {"text": text}, deadline, channel)))
            await asyncio.sleep(0)
        return tasks


@pytest.fixture
def slack() -> Slack:
    return Slack()


async def test_messages_are_sent_at_once_while_slack_accepts_them(slack: Slack) -> None:
    await slack.clock.run(await slack.post(*"abcde"))

    assert slack.arrived == [(text, 0) for text in "abcde"]


async def test_after_a_429_messages_go_one_a_second_in_order(slack: Slack) -> None:
    slack.refusals = [3]

    await slack.clock.run(await slack.post(*"abcd"))

    assert slack.arrived == [("a", 3), ("b", 4), ("c", 5), ("d", 6)]


async def test_the_first_message_goes_first_even_if_refused_last(slack: Slack) -> None:
    slack.refusals = [1, 1, 1]

    await slack.clock.run(await slack.post(*"abc"))

    assert [text for text, _ in slack.arrived] == ["a", "b", "c"]


@pytest.mark.parametrize("other", [{"channel": "C2"}, {"method": "chat.update"}])
async def test_other_channels_and_methods_are_not_held_up(slack: Slack, other: dict[str, str]) -> None:
    slack.refusals = [5]

    await slack.clock.run([*await slack.post("slow"), *await slack.post("quick", **other)])

    assert slack.arrived == [("quick", 0), ("slow", 5)]


async def test_a_wait_beyond_the_deadline_says_when_to_retry(slack: Slack) -> None:
    slack.refusals = [9]
    tasks = await slack.post(*"abcd")

    await slack.clock.run(tasks)

    assert [text for text, _ in slack.arrived] == ["a", "b"]
    errors = [task.exception() for task in tasks[2:]]
    assert [error.retry_after for error in errors if isinstance(error, SlackUnreachable)] == [
        timedelta(seconds=11),
        timedelta(seconds=11),  # "c" has left the queue when "d" is queued
    ]


async def test_a_cancelled_message_does_not_hold_up_the_next(slack: Slack) -> None:
    slack.refusals = [2]
    tasks = await slack.post(*"abc")

    tasks[1].cancel()
    await slack.clock.run(tasks)

    assert slack.arrived == [("a", 2), ("c", 4)]  # no later than was due when it was queued


async def test_a_quiet_channel_is_free_again_and_forgotten(slack: Slack) -> None:
    for channel in ("C1", "C2", "C3"):
        slack.refusals = [1]
        await slack.clock.run(await slack.post("a", channel=channel))
        slack.clock.time += 60
        assert len(slack.pace.slow) == 1
    slack.arrived.clear()
    began = slack.clock() - 1000

    await slack.clock.run(await slack.post("b", "c", channel="C3"))

    assert slack.arrived == [("b", began), ("c", began)]
    assert slack.pace.slow == {}


async def test_a_failure_without_a_time_is_not_repeated(slack: Slack) -> None:
    slack.refusals = [None]

    (task,) = await slack.post("a")

    with pytest.raises(SlackUnreachable):
        await task
    assert slack.arrived == []
