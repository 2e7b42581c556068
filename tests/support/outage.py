"""A long outage, as tests of catching up need it: nobody listens while people go on writing, in the past.

Slack gives an event up after some six minutes, and never repeats it after that. Here nothing has to be waited for::

    with nobody_listens(world.slack):                 # events are dropped, and those that wait for a retry too
        said = await talk(world.slack, 1800, [        # spread evenly over the last 30 minutes, oldest first
            Line(sample.ALICE, sample.GENERAL, "and then?", root),
            Line(sample.BOB, sample.DM_BOB, "are you there?"),
        ])

`talk` gives the ts of what was said; `EmulatedSlack.people.say(…, at=unix_seconds)` says a single thing in the past.
Edits, deletions and reactions work as always meanwhile. With Socket Mode no socket is open, and none can be opened.
`EmulatedSlack.clock.move(seconds)` lets time pass instead: for message times, rate limits and expiry, in Slack alone.
History as apps outside the Marketplace get it: `EmulatedSlack.limits_history = True`, with 429 and Retry-After by that
clock.
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
def nobody_listens(slack: EmulatedSlack) -> Iterator[None]:
    """Drop all events during the block, without retries."""
    before, slack.nobody_listens = slack.nobody_listens, True
    try:
        yield
    finally:
        slack.nobody_listens = before


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
