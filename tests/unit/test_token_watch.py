"""A token that Slack does not accept: no turn begins with it, and Slack is asked about it less and less often."""

from __future__ import annotations

import asyncio

import pytest

from bridge.errors import SlackTokenRefused
from bridge.listeners.token_watch import TokenWatch
from bridge.queue.records import Taken
from bridge.queue.turn import Lease
from bridge.slack.api import SlackWeb
from support.saying import US
from support.store import message
from support.turns import Bench
from support.wire_slack import WireSlack, refused

WORKS = {"ok": True, "team_id": US.team, "user_id": US.bot_user, "bot_id": US.bot_id}


async def test_slack_is_asked_less_and_less_often_whether_the_token_works(slack: WireSlack, web: SlackWeb) -> None:
    slack.script |= {method: [refused("token_revoked")] for method in ("auth.test", "chat.postMessage")}
    slept = 0.0
    has_passed, goes_on = asyncio.Event(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        nonlocal slept
        slept += seconds
        if slept >= 600:
            has_passed.set()
            await goes_on.wait()

    with pytest.raises(SlackTokenRefused):
        await web.call("chat.postMessage", {})
    watch = asyncio.create_task(TokenWatch(web, US, lambda: "xoxb-1", sleep=sleep).run())
    await has_passed.wait()
    asked = len(slack.calls("auth.test"))
    slack.script["auth.test"] = [WORKS]
    goes_on.set()
    await web.token.until_accepted()
    watch.cancel()

    assert 8 <= asked <= 20
    assert (await web.auth_test()).team == US.team


async def test_no_call_is_made_with_a_token_that_is_refused(slack: WireSlack, web: SlackWeb) -> None:
    slack.script["chat.postMessage"] = [refused("account_inactive")]

    for _ in range(3):
        with pytest.raises(SlackTokenRefused, match="account_inactive"):
            await web.call("chat.postMessage", {"channel": "C1", "text": "hello"})

    assert slack.methods() == ["chat.postMessage"]


async def test_a_turn_that_was_handed_over_is_given_back_unsent(bench: Bench) -> None:
    turn = await bench.store.queue(message("hello"), agent=7)
    process = bench.store.process("a")
    held = (await process.hold(most=1))[0]
    head = await process.journal.take(held)
    assert isinstance(head, Taken)

    async def renew() -> None:
        raise AssertionError("nothing takes that long here")

    lease = Lease(held, monotonic=lambda: 0.0, renewed_at=0.0, renew=renew, head=head)
    bench.say.is_accepted = False
    await bench.turns(process).work(lease)

    assert bench.service.messages == []
    assert await bench.store.field(turn, "step") == "queued"

    bench.say.is_accepted = True
    await bench.work()
    assert bench.say.words == ["re: hello"]
