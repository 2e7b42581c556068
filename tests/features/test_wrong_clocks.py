"""A replica whose machine's clock is hours off: what's due, over or old is the same for it as for the others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from bridge.features.alerts.alert import AlertSpec, StoredAlert
from bridge.features.alerts.store import AlertStore
from bridge.features.registry import features
from bridge.playground.emulator.sample import BOB, BRIDGE, CAROL, DM_BOB, GENERAL
from bridge.queue.namespace import Namespace
from bridge.queue.outages import Outages
from bridge.queue.scripting import Scripts, epoch_ms
from support.harness import Harness
from support.store import BOT, NAMESPACE, PREFIX, START, TEAM

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
REPORT, EVALUATE, WATCH = [
    next(job for job in features.jobs if job.name.endswith(name))
    for name in ("report_troubles", "evaluate_all", "incidents.watch")
]
APPROVED = f'[[rules]]\nmay = ["run"]\napprove = {{by = ["{BOB}", "{CAROL}"]}}\n[[rules]]\n'
SINCE = ["its start", "lately"]


async def looks(harness: Harness, name: str) -> None:
    """Have a process do what it finds due."""
    await harness.find_due(name)
    await harness.parts(name).clock.do(EVALUATE)
    await harness.work(name)


async def a_schedule(harness: Harness) -> Callable[[], int]:
    """A question that's due in half an hour; returns how often it was asked."""
    await harness.type_command('/agents ask 7 every day at 12:30 UTC "What changed?"')
    return lambda: len(harness.service.asked)


async def an_approval(harness: Harness) -> Callable[[], int]:
    """A request that Bob is reminded of, later than half an hour from now; returns how often he was written to."""
    harness.use_file(APPROVED)
    await harness.type_command("/workflows run 3 hello")
    return lambda: len([one for one in harness.seen.messages if one.place.channel == DM_BOB]) - 1


async def a_snooze(harness: Harness) -> Callable[[], int]:
    """An alert that's snoozed for an hour, and would post before; returns how often it did."""
    store, write = AlertStore(harness.store.scripts), harness.store.process().inbox.write
    spec = AlertSpec(condition="runs > 5000", team=TEAM, channel=GENERAL, owner=BOB)
    await write(*store.add(StoredAlert("a1", spec), START), *store.snooze("a1", str(epoch_ms(START + HOUR))))
    harness.service.stats["runCount"] = 6000
    return lambda: len(harness.seen.replies("bridge_alert"))


async def a_message(harness: Harness) -> Callable[[], int]:
    """A message that has waited for ten minutes, and may for an hour; returns how often it was sent."""
    harness.configure(BRIDGE_MAX_AGE="1h")
    await harness.say(f"<@{BRIDGE}> hello", works=False)
    return lambda: len(harness.service.asked)


CASES = {
    "schedule": (a_schedule, 0, 1),
    "approval": (an_approval, 0, 0),
    "snooze": (a_snooze, 0, 0),
    "message": (a_message, 1, 1),
}
"""How often each happens within ten minutes, and within half an hour."""


@pytest.mark.parametrize("since", SINCE)
@pytest.mark.parametrize("hours", [2, -1])
@pytest.mark.parametrize("case", CASES)
async def test_nothing_is_due_early_or_late_by_a_wrong_clock(
    harness: Harness, case: str, hours: int, since: str
) -> None:
    clock = harness.machine("b")
    wrong = timedelta(hours=hours)
    if since == "its start":
        clock.is_ahead = wrong
    await looks(harness, "b")
    begin, *expected = CASES[case]
    happened = await begin(harness)
    clock.is_ahead = wrong

    harness.store.clock.time = START + 10 * MINUTE
    await looks(harness, "b")
    early = happened()
    harness.store.clock.time = START + 31 * MINUTE
    await looks(harness, "b")

    assert [early, happened()] == expected
    assert "clock" in clock.off_redis


async def test_a_wrong_clock_is_an_incident_until_its_right(harness: Harness) -> None:
    harness.configure(BRIDGE_OPS_CHANNEL=GENERAL)
    clock = harness.machine("b")

    shown = []
    for clock.is_ahead in (timedelta(0), 2 * HOUR, timedelta(0)):
        harness.store.clock.time += MINUTE
        await looks(harness, "b")
        for job in (REPORT, WATCH):
            await harness.parts("b").clock.do(job)
        await harness.work()
        shown.append([one.text[0] for one in harness.seen.replies("bridge_incident") if "clock" in one.text])

    assert shown == [[], ["⚠"], ["✅"]]
    assert not clock.trouble


@pytest.mark.parametrize("hours", [2, -1])
async def test_a_wrong_clock_is_no_outage(harness: Harness, hours: int) -> None:
    clock = harness.machine("b")
    scripts = Scripts(harness.store.redis, NAMESPACE, harness.metrics, clock)
    namespace = Namespace(scripts, name=NAMESPACE, team=TEAM, bot=BOT, now=clock.now)

    clock.is_ahead = timedelta(hours=hours)
    await namespace.hold()

    alive, listened = await harness.store.redis.hmget(f"{PREFIX}owner", "alive", "listened")
    assert {alive, listened} == {str(epoch_ms(START))}
    assert await Outages(scripts).latest() is None
