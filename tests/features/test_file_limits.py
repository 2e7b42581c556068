"""Limits of the operator's file: what they count together, that they say when they're free, and near their end."""

from __future__ import annotations

import httpx
import pytest

from bridge.playground.emulator.sample import ALICE, BOB, CAROL, GENERAL, RANDOM, RUNNERS
from support.harness import REFUSED, SALES, SUPPORT, Harness
from support.store import message


@pytest.fixture
def harness(harness: Harness) -> Harness:
    harness.configure(BRIDGE_DEFAULT_AGENT="7")
    harness.service.agents = [SUPPORT, SALES]
    return harness


async def ask(harness: Harness, number: int, text: str = "hello", user: str = ALICE, channel: str = GENERAL) -> None:
    """Ask in a new thread."""
    await harness.receive(message(text, f"17000{number:02}000.000100", user=user, channel=channel, is_mention=True))
    await harness.work()


async def run(harness: Harness, line: str, user: str = ALICE, channel: str = GENERAL) -> None:
    await harness.type_command(f"/workflows run {line}", user, channel)


def told(harness: Harness) -> list[str]:
    return [one.words for one in harness.seen.ephemerals]


async def test_a_persons_limit_counts_theirs_only_and_says_when_it_is_free(harness: Harness) -> None:
    harness.use_file('[[limits]]\nper = "person"\nturns = 2')

    for number, user in enumerate([ALICE, ALICE, ALICE, BOB]):
        await ask(harness, number, user=user)

    assert len(harness.service.asked) == 3
    assert told(harness)[-1] == ("Your limit of 2 messages per hour is used up, so nothing was sent. Try again in 1 h.")


@pytest.mark.parametrize(
    ("limit", "sent"),
    [
        ('per = "person"\nonly = ["U0BOB"]\nturns = 1', 5),  # only Bob's second one isn't
        (f'per = "person"\nonly = ["{RUNNERS}"]\nturns = 1', 4),  # Alice's second, and Carol's second
        (f'per = "group"\nonly = ["{RUNNERS}"]\nturns = 1', 3),
        ('per = "channel"\nturns = 2', 2),
        (f'per = "channel"\nonly = ["{RANDOM}"]\nturns = 1', 6),
        ('per = "agent"\nonly = ["Sup*"]\nturns = 2', 2),
        ('per = "agent"\nonly = ["Sales"]\nturns = 1', 6),
        ('per = "project"\nevery = "day"\nturns = 4', 4),
        ('per = "person"\ncharacters = 8', 6),  # whoever has reached it can't go on
        ('per = "person"\ncharacters = 5', 3),
        ('per = "person"\nruns = 1', 6),
    ],
)
async def test_each_kind_of_limit_counts_what_it_names(harness: Harness, limit: str, sent: int) -> None:
    harness.use_file(f"[[limits]]\n{limit}")

    for number, user in enumerate([ALICE, BOB, CAROL] * 2):
        await ask(harness, number, user=user)

    assert len(harness.service.asked) == sent


async def test_runs_are_limited_by_workflow(harness: Harness) -> None:
    harness.service.workflows = [
        {"id": 3, "name": "Import", "is_active": True},
        {"id": 4, "name": "Digest", "is_active": True},
    ]
    harness.use_file('[[limits]]\nper = "workflow"\nonly = ["Import"]\nevery = "day"\nruns = 1')

    for line, user in (("3 a", ALICE), ("3 b", BOB), ("4 c", BOB)):
        await run(harness, line, user)

    assert harness.service.runs == ["a", "c"]
    assert told(harness)[-1].startswith("This workflow's limit of 1 workflow run per day is used up")


async def test_someone_near_their_limit_is_told_once(harness: Harness) -> None:
    harness.use_file('[[limits]]\nper = "person"\nturns = 5')

    for number in range(4):
        await ask(harness, number)
    near = told(harness)
    await ask(harness, 4)

    assert [one.partition(" It starts")[0] for one in near] == [
        "You're near your limit of 5 messages per hour: 1 left."
    ]
    assert told(harness) == near


async def test_a_message_that_did_not_arrive_does_not_count(harness: Harness) -> None:
    harness.use_file('[[limits]]\nper = "person"\nturns = 2')
    harness.service.chats = [REFUSED, REFUSED, httpx.Response(429, headers={"Retry-After": "1"})]

    await ask(harness, 0)
    await ask(harness, 1)

    assert [one["message"].split()[0] for one in harness.service.asked[-2:]] == ["hello", "hello"]
    assert not [one for one in told(harness) if "is used up, so nothing" in one]


async def test_the_setting_for_runs_is_such_a_limit(harness: Harness) -> None:
    harness.configure(BRIDGE_USER_RUNS_PER_HOUR="1")

    await run(harness, "3 a")
    await run(harness, "3 b")

    assert harness.service.runs == ["a"]
    assert told(harness)[-1].startswith("You've reached your hourly limit of workflow runs, so nothing was started.")


async def test_counters_name_nobody_and_expire(harness: Harness) -> None:
    harness.use_file('[[limits]]\nper = "person"\nturns = 5')

    await ask(harness, 0)

    redis = harness.store.redis
    (key,) = [one async for one in redis.scan_iter("*used:*")]
    assert ALICE not in str(key)
    assert 0 < await redis.pttl(key) <= 3_600_000


@pytest.mark.parametrize("limit", ["", "[[limits]]\nper = 'person'\nruns = 1", "[[limits]]\nper = 'project'\nruns = 1"])
@pytest.mark.parametrize(
    ("failure", "counts"),
    [
        (REFUSED, False),
        (httpx.ConnectTimeout("slow"), False),
        (httpx.Response(429), False),
        (httpx.Response(503, headers={"Retry-After": "1"}), False),
        (httpx.Response(404), False),
        (httpx.Response(422), False),
        (httpx.Response(500), True),
        (httpx.ReadTimeout("slow"), True),
        (httpx.ReadError("lost"), True),
    ],
)
async def test_a_run_that_surely_did_not_start_does_not_count(
    harness: Harness, failure: httpx.Response | Exception, limit: str, *, counts: bool
) -> None:
    if limit:
        harness.use_file(limit)
    else:
        harness.configure(BRIDGE_USER_RUNS_PER_HOUR="1")
    harness.service.run_answers = [failure] * 9  # some are tried again
    await run(harness, "3 a")
    before = told(harness)

    harness.service.run_answers = []
    harness.service.runs.clear()
    for line in ("3 b", "3 c"):
        await run(harness, line)

    assert harness.service.runs == ([] if counts else ["b"])
    assert [one for one in before if "used up" in one] == (before if counts else [])


@pytest.mark.parametrize(
    ("before", "used", "after", "left"),
    [
        ("runs = 3", 2, "runs = 2", 0),
        ("runs = 3", 3, "runs = 4", 1),
        ("runs = 3", 1, "runs = 3\nonly = [ALICE]", 2),
        ("runs = 3\nonly = [ALICE]", 1, "runs = 2", 1),
        ("runs = 3", 2, 'runs = 3\nevery = "day"', 3),  # that counts something else
        ("runs = 3", 1, "runs = 3\n[[limits]]\nper = 'person'\nruns = 2", 1),  # the stricter one of two holds
    ],
)
async def test_a_changed_limit_keeps_what_was_used(
    harness: Harness, before: str, used: int, after: str, left: int
) -> None:
    for number, limit in ((used, before), (6, after)):
        harness.service.runs.clear()
        harness.use_file('[[limits]]\nper = "person"\n' + limit.replace("ALICE", f'"{ALICE}"'))
        for _ in range(number):
            await run(harness, "3 hello")

    assert len(harness.service.runs) == left


async def test_a_changed_setting_keeps_what_was_used(harness: Harness) -> None:
    for most in "324":
        harness.configure(BRIDGE_USER_RUNS_PER_HOUR=most)
        for _ in range(2):
            await run(harness, "3 hello")

    assert len(harness.service.runs) == 4
