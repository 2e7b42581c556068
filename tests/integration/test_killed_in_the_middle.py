"""kill -9 between two messages of one answer, and while a sign shows that an agent works."""

from __future__ import annotations

from bridge.playground.project.answers import Answer, Hang
from bridge.playground.slack.faults import Slow
from bridge.playground.slack.sample import ALICE, GENERAL
from support.waiting import wait_until
from support.world import TAKEOVER_SECONDS, World

CHAT = "/api/sdk/agents/1/chat"


async def test_the_rest_of_an_answer_is_posted_once_and_the_sign_of_work_is_taken_away(world: World) -> None:
    bridge = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    long = "\n\n".join(f"Paragraph {number}: " + "word " * 100 for number in range(100))
    world.slack.faults.on("chat.postMessage", Slow(0))
    world.slack.faults.on("chat.postMessage", Slow(1.0))
    world.project.on("POST", CHAT, Answer(200, {"sessionId": 1, "message": long}))
    world.project.on("POST", CHAT, Hang())
    root = await world.mention(ALICE, GENERAL, "tell me everything")
    await wait_until(lambda: len(world.called("chat.postMessage")) == 2, "the second part is on its way")
    silent = await world.mention(ALICE, GENERAL, "are you there?")
    await wait_until(lambda: world.slack.status(GENERAL, silent), "the agent is shown to be working")

    await bridge.kill()
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    said = await world.answered(GENERAL, silent, timeout=TAKEOVER_SECONDS + 5)
    await wait_until(lambda: "Paragraph 99:" in "".join(world.said(GENERAL, root)), "the rest is there", timeout=10)

    posted = "".join(world.said(GENERAL, root))
    assert len(world.answers(GENERAL, root)) == len(world.called("chat.postMessage")) - 1, (
        "and one for the other thread"
    )
    assert [posted.count(f"Paragraph {number}:") for number in range(100)] == [1] * 100
    assert "not known" in said[0]
    await wait_until(lambda: world.slack.status(GENERAL, silent) == "", "the sign of work is taken away")
    assert world.chats() == ["tell me everything", "are you there?"]
