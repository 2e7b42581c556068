"""Whether what follows from finished turns follows once: the counters, compared with the turns and with Slack."""

from __future__ import annotations

from collections import Counter
from datetime import UTC
from typing import Any

from bridge.features.statistics.work import EndedTurn, periods_of
from bridge.playground.emulator.sample import BRIDGE
from bridge.queue.finished_turns import FinishedTurn
from support.system import System
from support.waiting import wait_until

_PATIENCE = 30.0
_ANSWER = "bridge_turn"


async def miscounted(system: System) -> list[str]:
    """Wait until all finished turns are counted; return what's counted wrong, once nothing more is queued."""
    prefix = f"{{{system.namespace}}}:"

    async def are_all_counted() -> bool:
        last: Any = await system.redis.xrevrange(f"{prefix}audit", count=1)
        return not last or await system.redis.hget(f"{prefix}consumed", "entry") == last[0][0]

    await wait_until(are_all_counted, "the finished turns are counted", _PATIENCE)
    entries: Any = await system.redis.xrange(f"{prefix}audit")
    events = [FinishedTurn.from_redis(*entry) for entry in entries]
    return [*_repeated(events), *await _wrong(system, prefix, events), *_not_counted(system, events)]


def _repeated(events: list[FinishedTurn]) -> list[str]:
    """Find turns that ended twice; one that was given up may be retried."""
    times = Counter(event.turn for event in events if not event.outcome.startswith("dead: "))
    return [f"doubled: turn {turn} ended {count} times" for turn, count in times.items() if count > 1]


async def _wrong(system: System, prefix: str, events: list[FinishedTurn]) -> list[str]:
    """Find counters that differ from what the turns add up to."""
    ended = [
        EndedTurn(event.at, event.of, event.took.total_seconds(), event.how, event.project)
        for event in events
        if event.of
    ]
    expected = Counter(
        (period, f"{turn.key} {what}")
        for turn in ended
        for period in periods_of(turn.at.astimezone(UTC).date())
        for what in turn.counts
    )
    found = Counter[tuple[str, str]]()
    for key in await system.keys():
        if key.startswith(f"{prefix}did:"):
            counted: Any = await system.redis.hgetall(key)
            for name, number in counted.items():
                if name.rpartition(" ")[2] not in {"up", "down"}:
                    found[key.removeprefix(f"{prefix}did:"), name] += int(number)
    listed = sum([int(await system.redis.xlen(f"{prefix}ended:{kind}")) for kind in ("agent", "workflow")])
    wrong = [f"miscounted: {one} {found[one]} times, not {expected[one]}" for one in expected | found]
    wrong = [line for line, one in zip(wrong, expected | found, strict=True) if found[one] != expected[one]]
    return wrong if listed == len(ended) else [*wrong, f"miscounted: {listed} are listed, not {len(ended)}"]


def _not_counted(system: System, events: list[FinishedTurn]) -> list[str]:
    """Find answers in Slack whose turn isn't counted; one that was given up isn't an answer."""
    counted = {event.turn for event in events if event.of.startswith("agent ") or event.outcome.startswith("dead: ")}
    log = system.slack.workspace.messages
    shown = [one for channel in list(system.slack.workspace.channels) for one in log.of(channel) if one.user == BRIDGE]
    marks = [one.metadata for one in shown if one.metadata and one.metadata["event_type"] == _ANSWER]
    answered = {mark["event_payload"].get("turn", "") for mark in marks if mark["event_payload"].get("session")}
    return [f"not counted: the answer of turn {turn}" for turn in sorted(answered - counted)]
