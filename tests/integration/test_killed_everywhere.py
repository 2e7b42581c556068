"""kill -9 between every two steps, with several conversations in progress.

The steps aren't listed here: an undisturbed run finds them, and for each kind of step a bridge is killed right after
it (`support.points`). `make soak` kills before and after every single passage, and kills the successors, too.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from support.lives import Life, all_lived, in_peace, lives_after_a_miss, quick_lives, shown
from support.points import scripts_in_use, slack_calls
from support.real_redis import RealRedis

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(300),  # the first test waits for 58 lives: half a minute, or 140 s on a busy machine
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="bridges are forked, and their ends are told by Linux"),
]

AT_ONCE = 8  # on a slow machine, more of them would starve one another

ELSEWHERE = {
    "drop": "an operator's, on the command line",
    "retry": "an operator's, on the command line",
    "outage": "an operator's, on the command line: bridge catch-up",
    "caught_up": "after an outage of more than a minute: test_caught_up, which kills too",
}
"""Scripts that no bridge runs by itself, and who does."""

NOT_HERE = {
    "apps.connections.open": "opens a socket, which changes nothing; what a socket's end does: test_socket_mode",
    "agents.sessions.rename": "names a thread, which a repetition does not change: test_slack_indicators",
    "files.info": "looks a file up, which changes nothing: test_files",
    "users.conversations": "lists the bot's channels after an outage: test_caught_up",
    "assistant.threads.setStatus": "stands in where agents.sessions.setStatus is not there: test_slack_indicators",
}
"""Calls of Slack that are not in these lives, and where they are looked at."""


@dataclass(frozen=True)
class Lives:
    """Everything that happened."""

    peace: list[Life]
    killed: list[Life]

    @property
    def passed(self) -> Counter[str]:
        """How often each point was passed in all lives."""
        return sum((life.points() for life in [*self.peace, *self.killed]), Counter())

    @property
    def met(self) -> set[str]:
        """The points after which a bridge died."""
        return {fate.rpartition(" ")[0] for life in self.killed for fate in life.fates if fate not in life.missed}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lives(redis_server: RealRedis) -> AsyncIterator[Lives]:
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        diaries = Path(folder)
        peace = await in_peace(redis_server.url, diaries)
        killed = await all_lived(quick_lives(peace), redis_server.url, diaries, at_once=AT_ONCE)
        for scenes in (1, len(peace)):
            again = lives_after_a_miss(killed, peace, scenes)
            killed += await all_lived(again, redis_server.url, diaries, at_once=AT_ONCE)
        yield Lives(peace, killed)


async def test_in_peace_everything_is_answered_once_and_in_order(lives: Lives) -> None:
    assert shown(lives.peace) == ""


async def test_a_kill_at_any_step_loses_repeats_and_reorders_nothing(
    lives: Lives,
) -> None:
    assert shown(lives.killed) == ""


async def test_each_of_them_died_where_it_was_to(lives: Lives) -> None:
    in_peace = {point for life in lives.peace for point in life.points() if point.startswith("after ")}

    assert in_peace - lives.met == set()
    assert len(lives.met) > 20


async def test_no_script_is_forgotten(lives: Lives) -> None:
    killed_after = {point.split()[1] for point in lives.met}

    forgotten = scripts_in_use() - killed_after - ELSEWHERE.keys()

    assert not forgotten, "run these scripts in a story in support.conversations"
    assert not killed_after & ELSEWHERE.keys()


async def test_no_call_of_slack_or_of_the_service_is_forgotten(lives: Lives) -> None:
    passed = {point.removeprefix("after ") for point in lives.passed}

    forgotten = {call for call in slack_calls() if f"slack {call}" not in passed} - NOT_HERE.keys()

    assert not forgotten, "make these calls in a story in support.conversations"
    assert {"project chat", "project run"} <= passed
