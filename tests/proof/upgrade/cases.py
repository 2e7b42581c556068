"""Whatever one release leaves behind, the other one continues, and both may serve at once."""

from __future__ import annotations

import asyncio
import random
import secrets
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from pathlib import Path

import pytest

from bridge.playground.emulator.sample import ALICE
from proof.soak.fleet import Fleet
from proof.soak.people import PLACES, Person, choose_agents, run_things
from proof.upgrade.releases import NOW, Release, release_before
from proof.upgrade.work import Work
from support.feature_stories import RULES
from support.kill_runs import RETRIES
from support.ledger import last_word
from support.lifetimes import keys_without_lifetime
from support.real_redis import RealRedis
from support.stories import PATIENCE, Users
from support.system import BridgeProcess, System, open_system
from support.waiting import wait_until

pytestmark = pytest.mark.timeout(400)

KILLS = 8
EVERY = 25  # messages: five seconds
SETTLE = 120.0  # seconds


@pytest.fixture(scope="session")
def before() -> Iterator[Release]:
    with release_before() as release:
        yield release


@pytest.fixture
async def system(redis_server: RealRedis, tmp_path: Path) -> AsyncIterator[System]:
    async with open_system(redis_server.url, f"upgrade-{secrets.token_hex(4)}", retry_delays=RETRIES) as system:
        rules = tmp_path / "bridge.toml"
        rules.write_text(RULES, encoding="utf-8")
        system.environ = {"BRIDGE_CONFIG": str(rules), "BRIDGE_DEFAULT_AGENT": ""}
        yield system
        assert await keys_without_lifetime(system.redis) == [], "keys were left without a lifetime"


async def start(system: System, release: Release) -> BridgeProcess:
    bridge = system.bridge()
    bridge.python = release.python
    await bridge.start()
    await bridge.ready()
    system.slack.events_url = f"{bridge.url}/slack/events"
    return bridge


@pytest.mark.parametrize("is_back", [False, True], ids=["upgraded", "rolled back, then upgraded"])
async def test_what_a_killed_release_left_is_finished_by_the_other(
    system: System, before: Release, *, is_back: bool
) -> None:
    first, second = (NOW, before) if is_back else (before, NOW)
    work = Work(system)
    bridge = await start(system, first)
    await work.begin()
    await work.check_lists(first)
    await bridge.kill()
    work.its_process_is_dead()

    bridge = await start(system, second)
    await work.decide()
    await work.users.reply(work.talk, ALICE, "talk-two")
    ends = {
        "talk-one": ["talk-one", "talk-two"],
        "edited-one": ["edited-one"],
        "menu-one": ["menu-one", "menu-two"],
        "sent-one": ["sent-two", "sent-other", "unknown"],
        "outcome-one": ["outcome-one", "outcome-two"],
        "posted-one": ["posted-one", "posted-two"],
    }
    await work.check(first, ends)
    await work.check(second, ends)

    if is_back:
        await bridge.kill()
        await start(system, first)
        await work.users.reply(work.talk, ALICE, "talk-three")
        ends["talk-one"].append("talk-three")
    await work.send_edited()
    ends["edited-one"].append("edited-other")
    await work.check(before, ends)
    await work.check(NOW, ends)
    await wait_until(system.is_at_rest, "nothing is queued", PATIENCE)


async def test_both_releases_serve_at_once_while_either_is_killed(
    system: System, before: Release, tmp_path: Path
) -> None:
    users, is_over = Users(system), asyncio.Event()
    system.project.operations.workflows[0].seconds = 0.3
    async with fleet_of(system, tmp_path, before, NOW, before, NOW) as fleet, asyncio.TaskGroup() as group:
        for number, (user, channel) in enumerate(PLACES):
            group.create_task(Person(users, user, channel, random.Random(number)).talk(is_over))  # noqa: S311
        group.create_task(run_things(users, random.Random(7), is_over))  # noqa: S311
        choosing = group.create_task(choose_agents(users))

        for number in range(KILLS):
            await more_is_written(users)
            await kill_one(fleet, (before, NOW)[number % 2])
        for release in (before, NOW):
            await serve_only(fleet, release)
            await more_is_written(users)
        is_over.set()
        await wait_until(users.is_settled, "all is answered", SETTLE)
        await wait_until(system.is_at_rest, "nothing is queued", PATIENCE)
        choosing.cancel()

    said = sum(len(thread.written) for thread in users.threads)
    unknown = sum(len(thread.unknown()) for thread in users.threads)
    assert not [*users.faults(), *forgotten_sessions(users)]
    assert unknown < KILLS * len(PLACES), "only what the killed processes had sent"
    assert (await NOW.prints(system, "dead", "list"))["dead"] == []
    print(f"{said} messages, {unknown} of them unknown, {len(users.runs)} runs, {fleet.started} bridges")  # noqa: T201


def forgotten_sessions(users: Users) -> Iterator[str]:
    """Find threads that had several sessions, though the agent's first answer was shown."""
    talks = users.system.project.operations.talks.values()
    for thread in users.threads:
        words = set(thread.answered())
        sessions = [talk.id for talk in talks if words & {*map(last_word, talk.messages)}]
        if len(sessions) > 1 and not thread.told():
            yield f"{thread.written[0].words} had the sessions {sessions}"


@asynccontextmanager
async def fleet_of(system: System, folder: Path, *releases: Release) -> AsyncIterator[Fleet]:
    """Run a bridge of each release, as long as all are up at the beginning."""
    fleet = Fleet(system, folder, random.Random(0), [one.python for one in releases])  # noqa: S311 - which one is killed
    running = asyncio.create_task(fleet.run())
    try:
        await are_serving(fleet)
        yield fleet
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def are_serving(fleet: Fleet) -> None:
    """Wait until each of the *fleet*'s bridges is there, of the release that it should be, and ready."""

    async def is_complete() -> bool:
        are_there = sorted(str(one.python) for one in fleet.alive) == sorted(map(str, fleet.pythons))
        return are_there and all([(await one.state())[0] == HTTPStatus.OK for one in fleet.alive])

    await wait_until(is_complete, "all bridges are ready", PATIENCE)


async def kill_one(fleet: Fleet, release: Release) -> None:
    """Kill a bridge of a release, and wait until another one is in its place."""
    killed = fleet.signal_one(signal.SIGKILL, of=[release.python])
    await wait_until(lambda: killed.has_ended and killed not in fleet.alive, "it's dead")
    await are_serving(fleet)


async def serve_only(fleet: Fleet, release: Release) -> None:
    """Replace every bridge of another release."""
    fleet.pythons = [release.python] * len(fleet.pythons)
    for bridge in list(fleet.alive):
        if bridge.python != release.python:
            bridge.send_signal(signal.SIGTERM)
    await are_serving(fleet)


async def more_is_written(users: Users) -> None:
    """Wait until people have written some more."""
    count = sum(len(thread.written) for thread in users.threads) + EVERY
    await wait_until(
        lambda: sum(len(thread.written) for thread in users.threads) >= count, f"{count} messages are written", PATIENCE
    )
