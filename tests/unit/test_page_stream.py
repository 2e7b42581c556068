"""The event stream of one browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing

from bridge.playground.emulator import Change, sample
from bridge.playground.emulator.changes import Subscriber
from bridge.playground.emulator.workspace import Workspace
from bridge.playground.page.live import Live


async def test_a_quiet_stream_sends_keep_alives() -> None:
    workspace = Workspace(clock=time.time, new_id=lambda prefix: f"{prefix}1")
    live = Live(workspace, lambda: "the same", poll_seconds=0.001)

    async with aclosing(live.events()) as events:
        frames = [await anext(events), await anext(events)]
        workspace.messages.post(sample.BOB, sample.GENERAL, "x")
        frames.append(await anext(events))

    assert frames[0].startswith("event: changed\n")
    assert frames[1] == ": still here\n\n"
    assert frames[2] == f'event: changed\ndata: {{"version": {live.version}}}\n\n'


async def test_a_closed_stream_gets_no_further_changes() -> None:
    heard: list[Subscriber] = []

    class Noting(Workspace):
        def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
            def noting(change: Change) -> None:
                heard.append(subscriber)
                subscriber(change)

            return super().subscribe(noting)

    workspace = Noting(clock=time.time, new_id=lambda prefix: f"{prefix}1")
    events = Live(workspace, lambda: "the same").events()
    await anext(events)
    workspace.messages.post(sample.BOB, sample.GENERAL, "heard")
    before = len(heard)
    await events.aclose()
    workspace.messages.post(sample.BOB, sample.GENERAL, "unheard")

    assert (before, len(heard)) == (2, 3), "first the count and the stream, then the count alone"
