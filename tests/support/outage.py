"""A long outage for tests of catching up: events are dropped while people keep writing, with timestamps in the past.

Slack gives up on an event after about six minutes and never sends it again. Here a test doesn't have to wait for that::

    with outage(system.slack):                        # drops events, including those waiting for a retry
        written = await talk(system.slack, 1800, [    # spread evenly over the last 30 minutes, oldest first
            Line(sample.ALICE, sample.GENERAL, "and then?", root),
            Line(sample.BOB, sample.DM_BOB, "are you there?"),
        ])

`talk` returns each message's ts; `EmulatedSlack.people.say(…, at=unix_seconds)` posts a single message in the past.
Edits, deletions and reactions work as usual. With Socket Mode no socket is open, and none can be opened.
`EmulatedSlack.clock.move(seconds)` advances the clock instead: for message times, rate limits and expiry, in Slack
only. `EmulatedSlack.rates.limits_history = True` limits history as for apps outside the Marketplace, with 429 and
Retry-After by that clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bridge.playground.emulator import EmulatedSlack


@dataclass(frozen=True)
class Line:
    """A message from *user* in *channel*, in a thread if *thread_ts* is given."""

    user: str
    channel: str
    text: str
    thread_ts: str | None = None


@contextmanager
def outage(slack: EmulatedSlack) -> Iterator[None]:
    """Drop all events during the block, without retries."""
    before, slack.drops_events = slack.drops_events, True
    try:
        yield
    finally:
        slack.drops_events = before


async def talk(slack: EmulatedSlack, seconds: float, lines: Sequence[Line]) -> list[str]:
    """Write *lines* in order, spread evenly over the last *seconds*; return each ts."""
    now = slack.clock()
    return [
        await slack.people.say(
            line.user,
            line.channel,
            line.text,
            thread_ts=line.thread_ts,
            at=now - seconds + seconds * place / len(lines),
        )
        for place, line in enumerate(lines)
    ]
