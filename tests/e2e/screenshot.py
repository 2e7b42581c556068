"""Takes the README's picture of the playground: ``make screenshot``."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from bridge.playground.slack.sample import ALICE, BOB
from support.browser import a_browser
from support.playground import Playground
from support.window import Window, a_window

SIZE = (1360, 850)


async def take(picture: Path) -> None:
    """Play a scene in a playground of its own, and keep how it looks at the end."""
    picture.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        playground = await (await Playground(Path(folder)).start()).ready(ALICE)
        try:
            async with a_browser() as browser:
                async with a_window(browser, playground.url, user=BOB, channel="general") as bob:
                    await bobs_part(bob)
                async with a_window(
                    browser, playground.url, user=ALICE, channel="general", picture=picture, size=SIZE
                ) as alice:
                    await alices_part(alice)
        finally:
            await playground.end()


async def bobs_part(bob: Window) -> None:
    """Run a workflow, whose card everybody sees."""
    await bob.write("/workflows run Daily digest friday")
    await bob.sees(bob.message("the green tea runs low"))


async def alices_part(alice: Window) -> None:
    """Talk with an agent in a thread."""
    await alice.ask("@bridge Support: where is order 1042, and what does shipping cost?")
    await alice.sees(alice.in_thread("search_docs"))
    await alice.reply("and if a cup arrives broken?")
    await alice.sees(alice.in_thread("Whatever arrives broken is replaced"))
    await alice.page.mouse.move(0, 0)


if __name__ == "__main__":
    asyncio.run(take(Path(sys.argv[1])))
