"""What the project service learns about who asks (BRIDGE_CALLER_HEADERS)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL, TEAM
from support.harness import Harness

NAMES = ("x-slack-team", "x-slack-user", "x-slack-channel", "x-slack-thread", "x-slack-cause", "idempotency-key")


@pytest.fixture
def told(harness: Harness) -> list[dict[str, str]]:
    """The headers of each chat and run from now on, with the setting turned on."""
    harness.configure(BRIDGE_CALLER_HEADERS="true")
    return watched(harness)


def watched(harness: Harness) -> list[dict[str, str]]:
    seen: list[dict[str, str]] = []
    answer = harness.service.answer

    async def watching(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            seen.append({name: request.headers[name] for name in NAMES if name in request.headers})
        return await answer(request)

    requests: Any = harness.wires.project._requests
    requests._pooled = requests._anew = httpx.MockTransport(watching)
    return seen


async def test_a_message_names_its_author_and_thread(harness: Harness, told: list[dict[str, str]]) -> None:
    root = await harness.slack.people.say(ALICE, GENERAL, f"<@{BRIDGE}> hello")
    await harness.work()
    await harness.slack.people.say(BOB, GENERAL, f"<@{BRIDGE}> and me", thread_ts=root)
    await harness.work()

    [first, second] = told
    key = first.pop("idempotency-key")
    assert first == {"x-slack-team": TEAM, "x-slack-user": ALICE, "x-slack-channel": GENERAL, "x-slack-thread": root}
    assert second["x-slack-user"] == BOB
    assert key == harness.seen.replies()[0].tag.turn != second["idempotency-key"]


async def test_a_run_names_its_person(harness: Harness, told: list[dict[str, str]]) -> None:
    await harness.type_command("/workflows run 3 hello", BOB)

    [run] = told
    assert (run["x-slack-user"], run["x-slack-channel"]) == (BOB, GENERAL)
    assert "x-slack-cause" not in run


async def test_a_busy_service_gets_the_same_key_again(harness: Harness, told: list[dict[str, str]]) -> None:
    harness.service.chats = [httpx.Response(429, headers={"Retry-After": "0"})]
    await harness.slack.people.say(ALICE, GENERAL, f"<@{BRIDGE}> hello")
    await harness.work()

    assert len(told) == 2
    assert len({one["idempotency-key"] for one in told}) == 1


async def test_another_request_of_a_turn_has_another_key(harness: Harness, told: list[dict[str, str]]) -> None:
    root = await harness.slack.people.say(ALICE, GENERAL, f"<@{BRIDGE}> hello")
    await harness.work()
    harness.service.chats = [httpx.Response(404)]  # the session is gone
    await harness.slack.people.say(ALICE, GENERAL, "again", thread_ts=root)
    await harness.work()

    _, gone, anew = told
    assert anew["idempotency-key"] == f"{gone['idempotency-key']}.2"


async def test_a_scheduled_question_names_its_owner_and_cause(harness: Harness, told: list[dict[str, str]]) -> None:
    await harness.type_command('/agents ask Support daily 9 "What changed?"', ALICE)
    [task] = await harness.report_store().all()
    await harness.at(task.due)
    await harness.find_due()
    await harness.work()

    [asked] = told
    assert (asked["x-slack-user"], asked["x-slack-cause"]) == (ALICE, "schedule")


async def test_a_run_that_someone_else_starts_by_hand_names_both(harness: Harness, told: list[dict[str, str]]) -> None:
    await harness.type_command("/workflows schedule Import daily 9", ALICE)
    await harness.type_command("/schedules", BOB)
    await harness.press("report:now", user=BOB)

    [run] = told
    assert (run["x-slack-user"], run["x-slack-cause"]) == (ALICE, f"schedule; by {BOB}")


async def test_by_default_the_service_learns_nothing(harness: Harness) -> None:
    seen = watched(harness)
    await harness.slack.people.say(ALICE, GENERAL, f"<@{BRIDGE}> hello")
    await harness.type_command("/workflows run 3 hello")
    await harness.work()

    assert seen == [{}, {}]
