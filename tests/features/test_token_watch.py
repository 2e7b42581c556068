"""A token Slack rejects: no turn starts with it, and Slack is asked about it less and less often."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bridge.errors import SlackTokenRefused
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL
from bridge.queue.lease import Lease
from bridge.queue.records import Taken
from support.dead_letters import letters
from support.harness import POST, Harness, kill_task
from support.secrecy import BOT_TOKEN
from support.store import CHANNEL, TEAM, message
from support.waiting import wait_until

NEW_TOKEN = f"{BOT_TOKEN}-2"


@asynccontextmanager
async def running(harness: Harness) -> AsyncIterator[None]:
    """Run a worker, and the watch of the token."""
    watch = asyncio.create_task(harness.parts().token_watch.run())
    work = asyncio.create_task(harness.worker().run(harness.turns(harness.store.process()).work))
    yield
    harness.draining.set()
    await work
    await kill_task(watch)


async def mention(harness: Harness, text: str) -> str:
    return await harness.slack.people.say(ALICE, GENERAL, f"<@{BRIDGE}> {text}")


async def is_refused(harness: Harness) -> None:
    await wait_until(lambda: harness.wires.web.token.refused_because, "the bridge notices that its token is rejected")


async def are_answered(harness: Harness, count: int) -> None:
    await wait_until(lambda: len(harness.seen.replies()) == count, f"{count} messages are answered")


async def test_the_token_is_checked_less_and_less_often(harness: Harness) -> None:
    for method in ("auth.test", POST):
        harness.slack.faults.on(method, Error("token_revoked"), times=None)
    has_passed, goes_on = asyncio.Event(), asyncio.Event()

    async def wait_in_the_end() -> None:
        if sum(harness.slept) >= 600:
            has_passed.set()
            await goes_on.wait()

    harness.on_sleep = wait_in_the_end
    web = harness.wires.web
    with pytest.raises(SlackTokenRefused):
        await web.call(POST, {})
    watch = asyncio.create_task(harness.parts().token_watch.run())
    await has_passed.wait()
    asked = len(harness.seen.called("auth.test"))
    harness.slack.faults.clear()
    goes_on.set()
    await web.token.accepted.wait()
    watch.cancel()

    assert 8 <= asked <= 20
    assert (await web.hello()).identity.team == TEAM


async def test_no_call_is_made_with_a_token_that_is_refused(harness: Harness) -> None:
    harness.slack.faults.on(POST, Error("account_inactive"))

    for _ in range(3):
        with pytest.raises(SlackTokenRefused, match="account_inactive"):
            await harness.wires.web.call(POST, {"channel": CHANNEL, "text": "hello"})

    assert [call.method for call in harness.slack.calls] == [POST]


async def test_a_handed_over_turn_is_released_unsent(harness: Harness) -> None:
    turn = await harness.store.queue(message("hello"), agent=7)
    process = harness.store.process("a")
    held = (await process.hold(most=1))[0]
    head = await process.journal.take(held)
    assert isinstance(head, Taken)

    async def renew() -> None:
        raise AssertionError("nothing takes that long here")

    lease = Lease(held, monotonic=lambda: 0.0, renewed_at=0.0, renew=renew, head=head)
    harness.wires.web.token.refuse(BOT_TOKEN, "token_revoked")
    await harness.work_on(process, lease)

    assert harness.service.messages == []
    assert await harness.store.field(turn, "step") == "queued"

    harness.wires.web.use(BOT_TOKEN)
    await harness.work()
    assert harness.seen.texts == ["re: hello"]


async def test_a_recorded_answer_waits_for_the_token_and_is_posted_once(harness: Harness) -> None:
    harness.slack.unsubscribed.add("tokens_revoked")  # only Slack's responses show it
    harness.service.gate.clear()
    async with running(harness):
        await mention(harness, "asked before")
        await wait_until(lambda: harness.service.asked, "the agent is asked")
        await harness.slack.people.revoke_token()
        harness.service.gate.set()
        await is_refused(harness)
        await mention(harness, "asked after")
        calls = len(harness.slack.calls)
        harness.slack.people.give_token()
        answers = ["re: asked before", "re: asked after"]
        await wait_until(lambda: set(answers) <= set(harness.seen.texts), "both are answered")

    assert [text for text in harness.seen.texts if text in answers] == answers
    assert harness.service.messages == ["asked before", "asked after"]
    refused = {call.method for call in harness.slack.calls[calls:] if not call.is_ok}
    assert refused <= {"auth.test"}, "only the token is checked"
    assert await letters(harness.store).all() == []


async def test_a_new_token_in_the_file_is_used_if_it_is_the_same_bots(
    harness: Harness, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (file := tmp_path / "token").write_text(BOT_TOKEN)
    harness.configure(SLACK_BOT_TOKEN="", SLACK_BOT_TOKEN_FILE=str(file))
    bot = harness.slack.workspace.people[BRIDGE]
    async with running(harness):
        await harness.slack.people.revoke_token()
        await is_refused(harness)
        await mention(harness, "for the new token")
        harness.slack.people.give_token(NEW_TOKEN)

        bot.id = "U0ANOTHER"
        file.write_text(f"{NEW_TOKEN}\n")
        await wait_until(lambda: "which is another bot's" in caplog.text, "the bridge reports whose token it is")
        assert harness.wires.web.token.refused_because
        bot.id = BRIDGE

        await are_answered(harness, 1)
    assert not harness.wires.web.token.refused_because


@pytest.mark.parametrize(
    "event",
    [
        {"type": "tokens_revoked", "tokens": {"oauth": [ALICE], "bot": []}},
        {"type": "app_uninstalled"},
        {"type": "tokens_revoked", "tokens": {"bot": [BRIDGE]}},
    ],
)
async def test_a_false_revocation_event_is_recovered_from(harness: Harness, event: dict[str, object]) -> None:
    async with running(harness):
        await harness.slack.people.send_event(event)
        await mention(harness, "still here?")
        await are_answered(harness, 1)

    assert harness.service.messages == ["still here?"]
