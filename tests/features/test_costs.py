"""What the bridge asks of Slack and the project service, as *What it costs to run* says."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from bridge.playground.emulator.sample import ALICE, BRIDGE, DM_ALICE, GENERAL
from bridge.project.catalog import CACHED_FOR
from support.docs_site import ROOT
from support.harness import Harness
from support.waiting import wait_until

PAGE = (ROOT / "docs/how-to/costs.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
PEOPLE = [[int(cell.replace(",", "")) for cell in row] for row in re.findall(
    r"^\| ([\d,]+) \| ([\d,]+) MB \| ([\d,]+) \| ([\d,]+) \|$", PAGE, re.MULTILINE
)]  # fmt: skip
MESSAGES, THREADS, RUNS, LISTS = 10, 5, 2, 1  # of a person in a day
DAYS_OF_SESSIONS, DAYS_OF_MESSAGES = 64, 5  # working days in 90 and in 7
THREAD, MESSAGE = 300, 1700  # bytes, see docs/how-to/size.md


SELDOM = {"users.info", "conversations.replies"}
"""Who someone is, and a thread's first words, in Home: both are cached for long."""


async def start_a_thread(harness: Harness) -> None:
    await harness.slack.people.say(ALICE, GENERAL, f"<@{BRIDGE}> hello")
    await harness.work()


async def reply(harness: Harness) -> None:
    await harness.slack.people.say(ALICE, GENERAL, "and then?", thread_ts=harness.seen.replies()[0].message.thread_ts)
    await harness.work()


async def start_directly(harness: Harness) -> None:
    await harness.slack.people.say(ALICE, DM_ALICE, "hello")
    await harness.work()


async def reply_to_a_slow_agent(harness: Harness) -> None:
    await ask_a_slow_agent(harness, "and then?", thread_ts=harness.seen.replies()[0].message.thread_ts)


async def start_a_thread_with_a_slow_agent(harness: Harness) -> None:
    await ask_a_slow_agent(harness, f"<@{BRIDGE}> hello")


async def ask_a_slow_agent(harness: Harness, text: str, *, thread_ts: str = "") -> None:
    harness.service.gate.clear()
    before = len(harness.seen.called("agents.sessions.setStatus"))
    await harness.slack.people.say(ALICE, GENERAL, text, thread_ts=thread_ts)
    asking = await harness.start_next()
    await wait_until(lambda: len(harness.seen.called("agents.sessions.setStatus")) > before, "the status is shown")
    harness.service.gate.set()
    await asking
    await harness.work()


async def run(harness: Harness) -> None:
    await harness.type_command("/workflows run 3 hello")


async def run_slowly(harness: Harness) -> None:
    harness.service.run_gate.clear()
    cards = len(harness.seen.replies("bridge_run"))
    await harness.type_command("/workflows run 3 hello", works=False)
    running = await harness.start_next()
    await wait_until(lambda: len(harness.seen.replies("bridge_run")) > cards, "its card is shown")
    harness.service.run_gate.set()
    await running
    await harness.work()


async def list_workflows(harness: Harness) -> None:
    await harness.type_command("/workflows")


async def show_statistics(harness: Harness) -> None:
    await harness.type_command("/stats")


async def open_home(harness: Harness) -> None:
    await harness.slack.people.open_home(ALICE)
    await harness.work()


ACTIONS: dict[str, Callable[[Harness], Awaitable[None]]] = {
    "a reply in a thread, if the agent answers within half a second": reply,
    "a reply in a thread, if the agent takes longer": reply_to_a_slow_agent,
    "a message that starts a thread, if the agent answers within half a second": start_a_thread,
    "a message that starts a thread, if the agent takes longer": start_a_thread_with_a_slow_agent,
    "a direct message that starts a conversation": start_directly,
    "a workflow that's done within half a second": run,
    "a workflow that takes longer": run_slowly,
    "a list of workflows or agents": list_workflows,
    "statistics": show_statistics,
    "Home, opened": open_home,
    "a message that starts a thread, by someone who has Home open": start_a_thread,
}


async def test_each_thing_that_happens_takes_as_many_requests_as_the_page_says(harness: Harness) -> None:
    harness.configure(BRIDGE_DEFAULT_AGENT="Support")
    await start_a_thread(harness)
    counted = {}

    for name, action in ACTIONS.items():
        harness.monotonic += CACHED_FOR.total_seconds() + 1
        before, asked = len(harness.slack.calls), harness.service.requests
        await action(harness)
        calls = [call for call in harness.slack.calls[before:] if call.method not in SELDOM]
        counted[name] = (len(calls), harness.service.requests - asked)

    assert counted == {name: (int(slack), int(service)) for name, slack, service in ROWS}


def test_what_people_cost_follows_from_what_they_do() -> None:
    of = {name: (int(slack), int(service)) for name, slack, service in ROWS}
    slow, answer = of["a reply in a thread, if the agent takes longer"]
    slow_thread, thread = of["a message that starts a thread, if the agent takes longer"]
    run_slack, run_service = of["a workflow that takes longer"]
    list_slack, list_service = of["a list of workflows or agents"]
    slack = (MESSAGES - THREADS) * slow + THREADS * slow_thread + RUNS * run_slack + LISTS * list_slack
    service = (MESSAGES - THREADS) * answer + THREADS * thread + RUNS * run_service + LISTS * list_service
    stored = THREADS * DAYS_OF_SESSIONS * THREAD + (MESSAGES + RUNS + LISTS) * DAYS_OF_MESSAGES * MESSAGE

    assert [(people, people * slack, people * service) for people, *_ in PEOPLE] == [
        (people, to_slack, to_service) for people, _, to_slack, to_service in PEOPLE
    ]
    assert all(0.9 < people * stored / (megabytes * 1_000_000) < 1.1 for people, megabytes, *_ in PEOPLE)
    assert len(PEOPLE) > 2
