"""SIGKILL between every two steps, with several conversations in progress.

The steps aren't listed here: a run without kills finds them, and for each kind of step a bridge is killed right after
it, whichever comes first in a run (`support.kill_points`). `make soak` kills before and after every single passage, and
kills the successors, too.
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

from support.kill_points import scripts_in_use, slack_calls
from support.kill_runs import KillRun, execute_all, quick_runs, report, runs_for_missed_kills, runs_without_kills
from support.real_redis import RealRedis

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(300),  # the first test waits for some 25 runs: 20 s, or 140 s on a busy machine
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="bridges are forked, and only Linux reports their end"),
]

AT_ONCE = 8  # on a slow machine, more runs would starve one another

ELSEWHERE = {
    "drop": "run by operators, on the command line",
    "retry": "run by operators, on the command line",
    "outage": "run by operators, on the command line: bridge catch-up",
    "erase_turn": "run by operators, on the command line: bridge forget; test_erasure repeats it",
    "discard_expired": "after BRIDGE_SESSION_DAYS; repeatable: test_undecided",
    "caught_up": "after an outage of more than a minute: test_catch_up, which kills too",
}
"""Scripts that a bridge never runs by itself, and who runs or tests them."""

NOT_HERE = {
    "apps.connections.open": "opens a socket, which changes nothing; losing a socket is tested in test_socket_mode",
    "chat.delete": "removes what was posted for a deleted message: test_deletions",
    "agents.sessions.rename": "sets a title, which is idempotent: test_slack_indicators",
    "files.info": "reads a file's fields: test_files",
    "users.conversations": "lists the bot's channels after an outage: test_catch_up",
    "assistant.threads.setStatus": "the fallback for agents.sessions.setStatus: test_slack_indicators",
}
"""Slack methods that these runs don't call, and where they are tested."""


BY_THE_CLOCK = {"after PEXPIRE"}
"""Steps that no run passes again if it's quick: what follows a periodic job, once a minute or an hour."""


@dataclass(frozen=True)
class Results:
    """The runs without kills, and those with kills."""

    baseline: list[KillRun]
    killed: list[KillRun]

    @property
    def passed(self) -> Counter[str]:
        """How often each point was passed in all runs."""
        return sum((run.points() for run in [*self.baseline, *self.killed]), Counter())

    @property
    def killed_after(self) -> set[str]:
        """The points after which a bridge died."""
        return {kill.rpartition(" ")[0] for run in self.killed for kill in run.killed}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def results(redis_server: RealRedis) -> AsyncIterator[Results]:
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        point_logs = Path(folder)
        baseline = await runs_without_kills(redis_server.url, point_logs)
        killed = await execute_all(quick_runs(baseline), redis_server.url, point_logs, at_once=AT_ONCE)
        for scenarios in (1, *[len(baseline)] * 4):  # on a busy machine, several times
            again = runs_for_missed_kills(killed, baseline, scenarios)
            killed += await execute_all(again, redis_server.url, point_logs, at_once=AT_ONCE)
        yield Results(baseline, killed)


async def test_without_kills_everything_is_answered_once_in_order(results: Results) -> None:
    assert report(results.baseline) == ""


async def test_a_kill_at_any_step_loses_repeats_and_reorders_nothing(
    results: Results,
) -> None:
    assert report(results.killed) == ""


async def test_every_planned_kill_happened(results: Results) -> None:
    runs_without_kills = {point for run in results.baseline for point in run.points() if point.startswith("after ")}

    assert runs_without_kills - results.killed_after - BY_THE_CLOCK == set()
    assert len(results.killed_after) > 20


async def test_every_redis_script_is_killed_after(results: Results) -> None:
    killed_after = {point.split()[1] for point in results.killed_after}

    missing = scripts_in_use() - killed_after - ELSEWHERE.keys()

    assert not missing, "run these scripts in a story in support.stories"
    assert killed_after & ELSEWHERE.keys() <= {"caught_up"}, "what was refused may take a slow machine that long"


async def test_every_slack_and_project_call_is_killed_after(results: Results) -> None:
    passed = {point.removeprefix("after ") for point in results.passed}

    missing = {call for call in slack_calls() if f"slack {call}" not in passed} - NOT_HERE.keys()

    assert not missing, "make these calls in a story in support.stories"
    assert {"project chat", "project run"} <= passed
