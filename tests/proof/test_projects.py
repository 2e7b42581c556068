"""A bridge process with two projects, whose agents, workflows and sessions have the same numbers."""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from bridge.playground.emulator.sample import ALICE, GENERAL, RANDOM
from support.playground import Playground
from support.ports import NO_TLS
from support.waiting import wait_until


@pytest.fixture
async def playground() -> AsyncIterator[Playground]:
    """A playground with the projects Shop and Orders, which has #random."""
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        playground = await Playground(Path(folder), words=("--projects", "2")).start()
        try:
            yield await playground.ready(ALICE)
        finally:
            assert await playground.end() == 0


async def say(playground: Playground, channel: str, text: str, answer: str, thread_ts: str = "") -> str:
    """Write as Alice, and wait until the thread has the *answer*; returns the thread."""
    more = {"thread_ts": thread_ts} if thread_ts else {}
    said = await playground.do("say", ALICE, channel=channel, text=text, **more)
    root = thread_ts or str(said["ts"])

    async def is_there() -> bool:
        where = {"as": ALICE, "channel": channel, "thread": root}
        async with httpx.AsyncClient(base_url=playground.url, verify=NO_TLS) as http:
            state = (await http.get("/page/state", params=where)).raise_for_status().json()
        return answer in re.sub("<[^>]+>", "", str(state["thread"]))

    await wait_until(is_there, f"the answer to {text!r} is there", 30)
    return root


async def hang_up(playground: Playground) -> None:
    """Have the bridge read its file again."""
    part = await playground.part(ALICE, "Bridge")
    found = re.search(r"process (\d+)", part["detail"])
    assert found is not None
    log = playground.folder / "playground" / "bridge.log"
    count = log.read_text().count("the configuration was reloaded")
    os.kill(int(found[1]), signal.SIGHUP)
    await wait_until(lambda: log.read_text().count("the configuration was reloaded") > count, "it was read again")


async def test_a_removed_project_is_named_and_continues_once_put_back(playground: Playground) -> None:
    theirs = await say(playground, RANDOM, "@bridge Memory: remember 18", "I'll remember 18.")
    ours = await say(playground, GENERAL, "@bridge Memory: remember 27", "I'll remember 27.")
    await say(playground, GENERAL, "@bridge @orders Support: hello", "Orders")
    file = playground.folder / "playground" / "bridge.toml"
    whole = file.read_text()

    file.write_text(whole.partition("[projects.orders]")[0])
    await hang_up(playground)
    await say(playground, RANDOM, "which number?", "no longer connected to the project", theirs)
    await say(playground, GENERAL, "which number?", "together that is 27.", ours)
    file.write_text(whole)
    await hang_up(playground)
    await say(playground, RANDOM, "and which number now?", "together that is 18.", theirs)
