"""What people see while an agent works: the status, and a private line where there's no status."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta

import httpx
import pytest

from bridge.ends.notices import NOTIFY, STOP
from bridge.features.conversations.menu import CHOOSE
from bridge.playground.emulator.faults import Error, Hang, RateLimited
from bridge.playground.emulator.sample import ALICE, BRIDGE, DM_ALICE, GENERAL
from bridge.queue.status import status_of
from support.harness import POST, REFUSED, SALES, SUPPORT, Harness
from support.waiting import wait_until

AGENTS, ASSISTANT = "agents.sessions.setStatus", "assistant.threads.setStatus"
MENTION = f"<@{BRIDGE}> "


@pytest.fixture
def harness(harness: Harness) -> Harness:
    harness.configure(BRIDGE_DEFAULT_AGENT="Support")
    harness.service.agents = [SUPPORT, SALES]
    return harness


def states(harness: Harness) -> list[str]:
    return [call.args["status"] for call in harness.seen.called(AGENTS)]


def without_sessions(harness: Harness) -> None:
    harness.slack.faults.on(AGENTS, Error("unknown_method"), times=None)


async def asking(harness: Harness, text: str = f"{MENTION}hello", channel: str = GENERAL) -> asyncio.Task[None]:
    """Ask an agent that doesn't answer yet."""
    harness.service.gate.clear()
    await harness.slack.people.say(ALICE, channel, text)
    return await harness.start_next()


async def answered(harness: Harness, task: asyncio.Task[None]) -> None:
    harness.service.gate.set()
    await task
    await harness.work()


async def test_a_session_is_suspended_while_the_menu_waits(harness: Harness) -> None:
    harness.configure(BRIDGE_DEFAULT_AGENT="")
    await harness.slack.people.say(ALICE, GENERAL, f"{MENTION}hello")
    await harness.work()
    assert states(harness) == ["suspended"]

    await harness.press(CHOOSE, "7")

    assert states(harness)[-1] == "active"
    assert harness.service.messages == ["hello"]


async def test_a_deleted_question_ends_the_suspension(harness: Harness) -> None:
    harness.configure(BRIDGE_DEFAULT_AGENT="")
    root = await harness.slack.people.say(ALICE, GENERAL, f"{MENTION}hello")
    await harness.work()

    await harness.slack.people.delete(GENERAL, root)
    await harness.work()

    assert states(harness) == ["suspended", "active"]


async def test_a_direct_messages_title_goes_with_its_first_status(harness: Harness) -> None:
    task = await asking(harness, "How do I export a report?", DM_ALICE)
    await wait_until(lambda: states(harness) == ["processing"], "the status is shown")
    await answered(harness, task)

    assert harness.seen.titles == [harness.seen.called(AGENTS)[0].args["title"]] == ["How do I export a report?"]
    assert harness.seen.called("agents.sessions.rename") == []


async def test_the_older_status_names_the_agent(harness: Harness) -> None:
    without_sessions(harness)
    task = await asking(harness)
    await wait_until(lambda: harness.seen.called(ASSISTANT) != [], "the status is shown")
    await answered(harness, task)

    shown = harness.seen.called(ASSISTANT)[0].args
    assert (shown["status"], shown["loading_messages"][0]) == ("is answering as Support…", "Support is answering…")


async def test_the_status_counts_the_files_that_are_read(harness: Harness) -> None:
    without_sessions(harness)
    hang = Hang()
    harness.slack.faults.on("download", hang)
    files = harness.slack.people.attach(ALICE, {"a.txt": b"one " * 9000, "b.txt": b"two " * 9000})
    await harness.slack.people.say(ALICE, GENERAL, f"{MENTION}look", files=files)
    task = await harness.start_next()
    await wait_until(lambda: harness.seen.called(ASSISTANT) != [], "the status is shown")
    hang.until.set()
    await answered(harness, task)

    assert harness.seen.called(ASSISTANT)[0].args["loading_messages"] == ["Support is reading 2 files…"]


async def test_a_limited_answer_says_when_it_comes(harness: Harness) -> None:
    without_sessions(harness)
    task = await asking(harness)
    await wait_until(lambda: harness.seen.called(ASSISTANT) != [], "the status is shown")
    harness.slack.faults.on(POST, RateLimited(12))
    await answered(harness, task)

    statuses = [call.args["status"] for call in harness.seen.called(ASSISTANT)]
    assert any(status == "has to wait: Slack limits us, posting in 12 s" for status in statuses)
    assert [one.words for one in harness.seen.replies()] == ["re: hello"]


async def test_nobody_is_at_work_while_the_service_is_down(harness: Harness) -> None:
    harness.service.chats = [REFUSED]
    task = await asking(harness)
    await wait_until(lambda: states(harness) == ["processing"], "the status is shown")
    is_back = asyncio.Event()

    async def wait_for_it() -> None:
        if not harness.wires.project.is_up:
            await is_back.wait()
        elif harness.slept[-1] < 1:  # between two attempts, which take long enough for a status
            await wait_until(lambda: states(harness)[-1] == "processing", "the status is shown")

    harness.on_sleep, harness.service.always = wait_for_it, REFUSED
    harness.service.gate.set()

    await wait_until(lambda: not harness.wires.project.is_up, "the service is down")
    await wait_until(lambda: states(harness)[-1] == "active", "the status is cleared")

    harness.service.always = None
    is_back.set()
    await answered(harness, task)
    assert harness.service.messages == ["hello"]


# Where there's no status


async def asking_for_a_minute(harness: Harness, seconds: float = 0.6) -> asyncio.Task[None]:
    """Ask an agent that doesn't answer within the minute that people wait without a line, here *seconds*."""
    harness.service.gate.clear()
    turns = harness.parts().turns
    quick = dataclasses.replace(turns, deps=dataclasses.replace(turns.deps, long_run=timedelta(seconds=seconds)))
    await harness.slack.people.say(ALICE, GENERAL, f"{MENTION}hello")
    process = harness.store.process()
    held = (await process.hold(most=1))[0]
    return asyncio.create_task(quick.work(harness.lease(process, held)))


@pytest.fixture
def unseen(harness: Harness) -> Harness:
    """A workspace with neither kind of status."""
    without_sessions(harness)
    harness.slack.faults.on(ASSISTANT, Error("not_agent_app"), times=None)
    return harness


async def test_after_a_minute_without_a_status_a_private_line_offers_a_notice(unseen: Harness) -> None:
    task = await asking_for_a_minute(unseen)
    await wait_until(lambda: unseen.seen.ephemerals != [], "the line is shown")
    lines = [(one.text, one.user) for one in unseen.seen.ephemerals]
    await unseen.press(NOTIFY, works=False)
    await unseen.work("b")
    await answered(unseen, task)

    assert lines == [("Support is still working on your message.", ALICE)]
    notified = [one.text for one in unseen.seen.messages if one.place.channel == DM_ALICE]
    assert notified == ["Support is done with your message."]


async def test_its_stop_button_stops_that_message(unseen: Harness) -> None:
    task = await asking_for_a_minute(unseen)
    await wait_until(lambda: unseen.seen.ephemerals != [], "the line is shown")

    await unseen.press(STOP, works=False)
    await unseen.work("b")
    await answered(unseen, task)

    assert "re: hello" not in unseen.seen.texts


def retries_wait(harness: Harness) -> asyncio.Event:
    """Have the next try wait for the event returned."""
    again = asyncio.Event()

    async def until_then() -> None:
        if harness.slept[-1] > 60:
            await again.wait()

    harness.on_sleep = until_then
    return again


async def waiting(harness: Harness, answer: httpx.Response) -> asyncio.Task[None]:
    """Ask an agent while the service is busy."""
    harness.service.chats = [answer]
    await harness.slack.people.say(ALICE, GENERAL, f"{MENTION}hello")
    task = await harness.start_next()
    await wait_until(lambda: harness.seen.ephemerals != [] and states(harness)[-1:] == ["processing"], "it's shown")
    return task


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("presses", ["notify", "stop", "nothing"])
async def test_who_waits_for_a_busy_service_sees_until_when(harness: Harness, status: int, presses: str) -> None:
    again = retries_wait(harness)
    next_try = harness.store.clock() + timedelta(seconds=1800)
    task = await waiting(harness, httpx.Response(status, headers={"Retry-After": "1800"}))
    ((user, text, blocks),) = [(one.user, one.text, str(one.blocks)) for one in harness.seen.ephemerals]
    found = await status_of(harness.store.scripts)
    if presses != "nothing":
        await harness.press(NOTIFY if presses == "notify" else STOP, works=False)
        await harness.work("b")
    again.set()
    await task
    await harness.work()

    assert user == ALICE
    assert text.startswith("⏳ The project service is busy, so your message is waiting.\nNext try: ")
    assert f"<!date^{int(next_try.timestamp())}^" in blocks
    assert next_try in [work.next_try for process in found.processes for work in process.work]
    assert states(harness)[-1] == "active"
    texts = [one.text for one in harness.seen.messages if one.place.channel == DM_ALICE]
    assert texts == (["Support is done with your message."] if presses == "notify" else [])
    assert harness.service.messages == ["hello"] * (1 if presses == "stop" else 2)


@pytest.mark.parametrize("is_moved", [True, False])
async def test_who_waits_for_a_busy_service_does_not_wait_for_one_that_is_replaced(
    harness: Harness, *, is_moved: bool
) -> None:
    harness.serve("orders", orders=GENERAL)
    busy, again = harness.others["orders"], retries_wait(harness)
    busy.chats = [httpx.Response(429, headers={"Retry-After": "1800"})]
    await harness.slack.people.say(ALICE, GENERAL, f"{MENTION}hello")
    task = await harness.start_next()
    await wait_until(lambda: 1800 in harness.slept, "it waits")
    if is_moved:
        del harness._connected["orders"], harness.others["orders"]
    harness.serve("orders", orders=GENERAL)  # a reload
    if is_moved:
        async with asyncio.timeout(20):
            await task
    was_sent = len(harness.others["orders"].messages)
    again.set()
    await task

    assert (was_sent, len(busy.messages)) == ((1, 1) if is_moved else (1, 2))
    assert harness.seen.texts[-1] == "re: hello"


async def test_a_person_who_sees_a_status_gets_no_line(harness: Harness) -> None:
    task = await asking_for_a_minute(harness, 0.7)
    await wait_until(lambda: states(harness) == ["processing"], "the status is shown")
    await asyncio.sleep(0.4)  # nothing comes
    await answered(harness, task)

    assert harness.seen.ephemerals == []
