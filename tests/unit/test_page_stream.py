"""The stream of events of one window."""

from __future__ import annotations

import time
from contextlib import aclosing

from bridge.playground.emulator import sample
from bridge.playground.emulator.workspace import Workspace
from bridge.playground.page.live import Live
from bridge.playground.page.sight import Sight


async def test_a_quiet_stream_says_now_and_then_that_it_lives() -> None:
    workspace = Workspace(clock=time.time, new_id=lambda prefix: f"{prefix}1")
    live = Live(workspace, lambda: "the same", looks=0.001)

    async with aclosing(live.events(Sight(workspace, workspace.people[sample.ALICE]))) as events:
        told = [await anext(events), await anext(events)]
        workspace.messages.post(sample.BOB, sample.GENERAL, "x")
        told.append(await anext(events))

    assert told[0].startswith("event: changed\n")
    assert told[1] == ": still here\n\n"
    assert told[2] == f'event: changed\ndata: {{"version": {live.version}}}\n\n'


async def test_who_has_left_is_told_nothing_any_more() -> None:
    workspace = Workspace(clock=time.time, new_id=lambda prefix: f"{prefix}1")
    asked: list[str] = []

    class Listening(Sight):
        def concerns(self, change: object) -> bool:  # noqa: ARG002 - it only counts
            asked.append("once")
            return True

    events = Live(workspace, lambda: "the same").events(Listening(workspace, workspace.people[sample.ALICE]))
    await anext(events)
    workspace.messages.post(sample.BOB, sample.GENERAL, "heard")
    await events.aclose()
    workspace.messages.post(sample.BOB, sample.GENERAL, "unheard")

    assert asked == ["once"]
