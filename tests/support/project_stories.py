"""Stories with a second project, whose agents, workflows and sessions have the same IDs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bridge.playground.emulator.sample import ALICE, BOB, CAROL, DM_CAROL, GENERAL, RANDOM
from bridge.playground.sample_project.server import SampleProject
from support.ledger import OTHER
from support.secrecy import API_KEY
from support.stories import Story, Users
from support.system import System


@asynccontextmanager
async def served(system: System, folder: Path, stories: tuple[Story, ...]) -> AsyncIterator[None]:
    """Serve a second project, which has #random, if *stories* are about it."""
    if stories not in {TWO_PROJECTS, ONE_DOWN}:
        yield
        return
    async with SampleProject(api_key=API_KEY) as system.other:
        file = folder / f"{system.namespace}.toml"
        table = f'base_url = "{system.other.base_url}"\napi_key_env = "KEY_OF_OTHER"\nchannels = ["{RANDOM}"]\n'
        file.write_text(f'[projects.default]\nchannels = ["{GENERAL}"]\n[projects.{OTHER}]\n{table}', encoding="utf-8")
        system.environ = {"BRIDGE_CONFIG": str(file), "KEY_OF_OTHER": API_KEY}
        yield


async def talks_to_both(users: Users) -> None:
    """Threads of both projects, in the same channels, at the same time."""
    ours = await users.begin(ALICE, GENERAL, "ours-one", agent="Memory")
    theirs = await users.begin(BOB, RANDOM, "theirs-one", agent="Memory", project=OTHER, is_named=False)
    beside = await users.begin(BOB, GENERAL, "beside-one", agent="Slow", project=OTHER)
    for number in ("two", "three"):
        await users.reply(ours, ALICE, f"ours-{number}")
        await users.reply(theirs, BOB, f"theirs-{number}")
        await users.reply(beside, BOB, f"beside-{number}")
    await asyncio.gather(*map(users.settled, (ours, theirs, beside)))


async def runs_in_both(users: Users) -> None:
    """The same workflow runs in both projects."""
    await users.run(ALICE, GENERAL, 1, "run-ours")
    await users.run(CAROL, RANDOM, 1, "run-theirs", project=OTHER)


async def loses_one_for_a_while(users: Users) -> None:
    """One project's service is down: the other answers, and its own messages are answered once it's back."""
    other = users.system.other
    assert other is not None
    await other.stop()
    waiting = await users.begin(CAROL, DM_CAROL, "waits-one", agent="Memory", project=OTHER)
    quick = await users.begin(ALICE, GENERAL, "quick-one", agent="Memory")
    await users.settled(quick)
    assert not waiting.asked(), "it's down"
    await other.start()
    await users.reply(waiting, CAROL, "waits-two")
    await users.settled(waiting)


TWO_PROJECTS: tuple[Story, ...] = (talks_to_both, runs_in_both)
ONE_DOWN: tuple[Story, ...] = (loses_one_for_a_while,)
