"""The playground's page: typed text, its stream of changes, and the sample project's history."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime
from itertools import pairwise

from bridge.cli.playground import sample_snapshots
from bridge.features.alerts.alert import AlertSpec, preview
from bridge.features.alerts.readings import Readings
from bridge.features.statistics.past import Past
from bridge.playground.emulator import sample
from bridge.playground.emulator.changes import Subscriber
from bridge.playground.emulator.workspace import Workspace
from bridge.playground.page.live import Live
from bridge.playground.page.names import Names
from bridge.playground.page.typed import as_slack_writes, as_typed
from support.tables import each

NAMES = Names("U1", {"U1": "alice", "U2": "Bob.Brandt"}, {"C1": "general"}, {"S1": "runners"})


@each(
    ("typed", "written"),
    [
        ("hello", "hello"),
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("@alice: look", "<@U1>: look"),
        ("ask @bob.brandt.", "ask <@U2>."),
        ("@nobody and a@alice.example", "@nobody and a@alice.example"),
        ("in #general and #nowhere", "in <#C1> and #nowhere"),
        ("@here @channel @runners", "<!here> <!channel> <!subteam^S1>"),
        ("see https://a.example/?x=1&y=@alice.", "see <https://a.example/?x=1&amp;y=@alice>."),
        ("`@alice` ```\n@alice\n``` @alice", "`@alice` ```\n@alice\n``` <@U1>"),
        ("<@U1> <!here>", "&lt;@U1&gt; &lt;!here&gt;"),
    ],
)
def test_typed_text_becomes_slacks_form(typed: str, written: str) -> None:
    assert as_slack_writes(typed, NAMES) == written


@each(
    "typed",
    ["a < b & c > d", "@alice in #general", "@here @runners", "https://a.example/?x=1&y=2", "&lt;", "`@alice` <@U1>"],
)
def test_slacks_form_becomes_typed_text_for_editing(typed: str) -> None:
    assert as_typed(as_slack_writes(typed, NAMES), NAMES) == typed


def test_the_apps_text_is_shown_for_editing_without_ids() -> None:
    assert as_typed("<https://a.example|label> <#C9|other> <@U9>", NAMES) == "https://a.example #other @U9"


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
            def noting() -> None:
                heard.append(subscriber)
                subscriber()

            return super().subscribe(noting)

    workspace = Noting(clock=time.time, new_id=lambda prefix: f"{prefix}1")
    events = Live(workspace, lambda: "the same").events()
    await anext(events)
    workspace.messages.post(sample.BOB, sample.GENERAL, "heard")
    before = len(heard)
    await events.aclose()
    workspace.messages.post(sample.BOB, sample.GENERAL, "unheard")

    assert (before, len(heard)) == (2, 3), "first the count and the stream, then the count alone"


NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def test_samples_lead_to_the_sample_project() -> None:
    found = sample_snapshots(NOW)

    assert all(before.numbers["runs"] <= after.numbers["runs"] for before, after in pairwise(found))
    assert found[0].numbers["runs"] > 0
    assert found[0].numbers["prompts"] > 0


@each("condition", ["runs < 1 in 24h", "runs > 15 in 24h"])
def test_an_alerts_preview_has_something_to_show(condition: str) -> None:
    found = sample_snapshots(NOW)
    spec = AlertSpec(condition=condition)

    shown = preview(spec, found, Readings(NOW, found[-1], Past(found), found[0].at))

    assert shown.periods
