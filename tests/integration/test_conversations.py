"""A mention becomes a thread, and the thread a conversation."""

from __future__ import annotations

from bridge.playground.emulator.sample import ALICE, GENERAL
from support.world import World


async def test_a_reply_in_the_thread_continues_the_session(world: World) -> None:
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")

    root = await world.mention(ALICE, GENERAL, "my name is Alice and my number is 42")
    await world.answered(GENERAL, root)
    await world.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
    said = await world.answered(GENERAL, root, 2)

    sessions = [call.body.get("sessionId") for call in world.project.calls if call.path.endswith("/chat")]
    assert sessions[0] is None
    assert isinstance(sessions[1], int)
    assert "Alice" in said[1]
    assert len(world.answers(GENERAL, root)) == 2
