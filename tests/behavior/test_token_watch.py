"""A token Slack rejects: no turn starts with it, and Slack is asked about it less and less often."""

from __future__ import annotations

import asyncio

import pytest

from bridge.errors import SlackTokenRefused
from bridge.playground.emulator.faults import Error
from bridge.queue.records import Taken
from bridge.queue.turn import Lease
from support.harness import POST, Harness
from support.secrecy import BOT_TOKEN
from support.store import CHANNEL, TEAM, message


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
    await harness.turns(process).work(lease)

    assert harness.service.messages == []
    assert await harness.store.field(turn, "step") == "queued"

    harness.wires.web.use(BOT_TOKEN)
    await harness.work()
    assert harness.seen.texts == ["re: hello"]
