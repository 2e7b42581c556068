"""Take the README's screenshots of the playground: ``make screenshot``."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import BrowserContext, expect

from bridge.playground.emulator.sample import ALICE, BOB
from support.apng import Film
from support.browser import a_browser
from support.browser_window import Window, open_window
from support.playground import Playground

LARGE = (1360, 850)
SMALL = (1100, 820)
WIDE = (1280, 720)
TALL = (1100, 960)
FILM = (1040, 580)


@dataclass(frozen=True)
class Scene:
    """A person's actions in a channel; the screenshot *name* shows the result."""

    user: str
    channel: str
    play: Callable[[Window], Awaitable[None]]
    name: str = ""
    size: tuple[int, int] = SMALL


async def take(folder: Path) -> None:
    """Play the scenes one after another in a new playground and take their screenshots."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="br-") as data:
        playground = await (await Playground(Path(data)).start()).ready(ALICE)
        try:
            async with a_browser() as browser:
                context = await browser.new_context()
                await context.add_init_script(
                    "localStorage.setItem('playground-steps-used', 'talk run stop report kill')"
                )
                (folder / "kill-9.png").write_bytes(await filmed(context, playground.url))
                for scene in SCENES:
                    await _played(scene, context, playground.url, folder)
        finally:
            await playground.end()


async def _played(scene: Scene, context: BrowserContext, url: str, folder: Path) -> None:
    picture = folder / f"{scene.name}.png" if scene.name else None
    opened = open_window(context, url, user=scene.user, channel=scene.channel, picture=picture, size=scene.size)
    async with opened as window:
        await scene.play(window)
        await window.page.mouse.move(0, 0)


async def filmed(context: BrowserContext, url: str) -> bytes:
    """Record an animated PNG in which the bridge is killed in the middle of a conversation."""
    film = Film()
    async with open_window(context, url, user=ALICE, channel="general", size=FILM) as alice:
        await alice.ask("@bridge Memory: my name is Ada")
        await alice.sees(alice.in_thread("Nice to meet you, Ada."))
        await alice.page.mouse.move(0, 0)
        await film.shoot(alice.page, 2)
        composer = alice.page.get_by_test_id("thread-composer")
        await composer.press_sequentially("what is my name?")
        await film.shoot(alice.page, 1)
        await alice.page.get_by_role("button", name="Trace and faults").first.click()
        kill = alice.page.get_by_role("button", name="kill -9 the bridge")
        await kill.hover()
        await film.shoot(alice.page, 2)
        await kill.click()
        await alice.page.get_by_test_id("drawer").get_by_role("button", name="Close").click()
        await expect(alice.page.locator(".part.is-down")).to_be_visible()
        await composer.press("Enter")
        await alice.sees(alice.in_thread("what is my name?"))
        await film.shoot(alice.page, 2)
        await alice.sees(alice.in_thread("Your name is Ada."))
        await expect(alice.page.locator(".part.is-down")).to_have_count(0)
        await film.shoot(alice.page, 4)
    blank = await context.new_page()
    return await film.developed(blank)


async def runs_a_workflow(bob: Window) -> None:
    """Run a workflow to show its card."""
    await bob.write("/workflows run Daily digest friday")
    await bob.sees(bob.message("green tea is running low"))


async def talks_with_an_agent(alice: Window) -> None:
    """Ask in a thread, and reply there."""
    await alice.ask("@bridge Support: where is order 1042, and what does shipping cost?")
    await alice.sees(alice.in_thread("search_docs"))
    await alice.reply("and if a cup arrives broken?")
    await alice.sees(alice.in_thread("Items that arrive broken are replaced"))


async def opens_home(alice: Window) -> None:
    """Run a workflow, so that Home shows activity."""
    await alice.write('/workflows run "Greet a customer" Grace')
    await alice.sees(alice.message("good to see you!"))
    await alice.turn_to("Home")
    await alice.sees(alice.home.get_by_role("heading", name="Your recent conversations"))
    await alice.sees(alice.home.get_by_role("heading", name="Workflows (12)"))


async def stops_an_agent(bob: Window) -> None:
    """Stop an agent and ask something else, so that a Stop button shows again."""
    await bob.write("@bridge Thinker: which tea for which hour of the day?")
    root = bob.message("which tea")
    await bob.stop(root)
    await root.get_by_role("button", name="1 reply").click()
    await bob.sees(bob.in_thread("Stopped."))
    await bob.reply("only the morning, please")
    await bob.sees(bob.page.get_by_test_id("thread-panel").get_by_role("button", name="Stop", exact=True))


async def has_a_report_posted(alice: Window) -> None:
    """Schedule a report and post it at once."""
    await alice.write("/stats report weekdays 08:30 Europe/Berlin")
    await alice.ephemeral.get_by_role("button", name="Post now").click()
    report = alice.message("Mention me in the thread")
    await alice.sees(report.get_by_role("img", name="Bar chart: Tags"))
    await report.evaluate("report => report.scrollIntoView({block: 'start'})")


async def asks_about_a_message(bob: Window) -> None:
    """Open a message shortcut's form and fill it in."""
    await bob.write("Parcel 77 to Norway came with a broken cup. What do we tell the customer?")
    form = await bob.use("Ask an agent about this", bob.message("a broken cup"))
    await bob.chooses(form.get_by_label("Agent"), "Support")
    await form.get_by_label("Your question").fill("What is our rule for broken goods?")


async def shares_a_table(alice: Window) -> None:
    """Attach a table and ask an agent about it."""
    await alice.page.get_by_role("main").get_by_role("button", name="Attach", exact=True).click()
    await alice.page.get_by_role("menuitem", name="Table").click()
    await alice.page.get_by_label("Cells").fill("Product, Sold, Returned\nTeapot, 40, 2\nCup, 120, 9")
    await alice.page.get_by_test_id("fill-submit").click()
    await alice.ask("@bridge Memory: keep these numbers")
    await alice.sees(alice.in_thread("I'll remember"))
    await alice.page.get_by_role("main").get_by_role("button", name="Attach", exact=True).click()


SCENES = (
    Scene(BOB, "general", runs_a_workflow),
    Scene(ALICE, "general", talks_with_an_agent, "playground", LARGE),
    Scene(ALICE, "dm-bridge", opens_home, "home"),
    Scene(ALICE, "private", has_a_report_posted, "report", TALL),
    Scene(ALICE, "org-wide", shares_a_table, "contents", WIDE),
    Scene(BOB, "random", stops_an_agent, "stop", WIDE),
    Scene(BOB, "shared", asks_about_a_message, "form"),  # last, since its form stays open
)


if __name__ == "__main__":
    asyncio.run(take(Path(sys.argv[1])))
