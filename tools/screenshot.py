"""Take the pictures in docs/images of the playground: ``python -m tools.screenshot``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from playwright.async_api import BrowserContext, expect

from bridge.playground.emulator.sample import ALICE, BOB
from support.browser import a_browser
from support.browser_window import open_window
from tools.apng import Film
from tools.screens import NO_FIRST_STEPS, a_playground, play, tours_in

FILM = (1120, 760)
SCENES = r"""== the README's pictures
bob general | /workflows run Daily digest friday | see green tea is running low
alice general | size 1360x850 | ask @bridge Support: where is order 1042, and what does shipping cost? | see search_docs
  | reply and if a cup arrives broken? | see Items that arrive broken are replaced | photo playground
alice dm-bridge | size 1100x820 | /workflows run "Greet a customer" Grace | see good to see you!
  | /workflows run "Send newsletter" now | see failed | tab Home | see Needs you | see Your threads | see Your runs
  | photo home
alice private | size 1100x960 | /stats report weekdays 08:30 Europe/Berlin | see First report | click Post now
  | see Mention me in the thread | photo report
alice org-wide | size 1280x720 | click first Attach | click Table…
  | fill Cells = Product, Sold, Returned\nTeapot, 40, 2\nCup, 120, 9 | click Attach table
  | ask @bridge Memory: keep these numbers | see I'll remember | click first Attach | photo contents
bob random | size 1280x720 | @bridge Thinker: which tea for which hour of the day? | click Stop | thread which tea
  | see Stopped. | reply only the morning, please | see Thinker is thinking | photo stop
bob shared | size 1100x820 | say Parcel 77 to Norway came with a broken cup. What do we tell the customer?
  | more a broken cup | click Ask an agent about this | pick Agent = Support
  | fill Your question = What is our rule for broken goods? | photo form
"""


async def take(folder: Path) -> int:
    """Play the scenes one after another in a new playground and take their pictures; return the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    [tour] = tours_in(SCENES)
    files = {name: folder / f"{name}.png" for name in tour.pictures}
    async with a_playground() as playground, a_browser() as browser:
        context = await browser.new_context()
        await context.add_init_script(NO_FIRST_STEPS)
        (folder / "kill-9.png").write_bytes(await filmed(context, playground.url))
        failed = await play(tour, playground, context, files)
    sys.stdout.write("".join(f"{line}\n" for line in failed))
    return 1 if failed else 0


async def filmed(context: BrowserContext, url: str) -> bytes:
    """Record an animated PNG: a run's card, a report and a conversation, in which the bridge is killed."""
    film = Film()
    async with open_window(context, url, user=BOB, channel="ops", size=FILM) as bob:
        await bob.write("/stats report every monday at 9 --compare 7d --only runs")
        await bob.ephemeral.get_by_role("button", name="Post now").click()
        await bob.sees(bob.message("Mention me in the thread"))
        await bob.write("/workflows run Daily digest friday")
        await bob.sees(bob.message("green tea is running low"))
    async with open_window(context, url, user=ALICE, channel="ops", size=FILM) as alice:
        await alice.ask("@bridge Memory: my name is Ada")
        await alice.sees(alice.in_thread("Nice to meet you, Ada."))
        await alice.page.mouse.move(0, 0)
        await film.shoot(alice.page, 2)
        composer = alice.page.get_by_test_id("thread-composer")
        await composer.press_sequentially("what is my name?")
        await film.shoot(alice.page, 1)
        await alice.page.get_by_role("button", name="Look inside").first.click()
        kill = alice.page.get_by_role("button", name="kill -9 the bridge")
        await kill.hover()
        await film.shoot(alice.page, 2)
        await kill.click()
        await alice.page.get_by_test_id("drawer").get_by_role("button", name="Close").click()
        await composer.press("Enter")
        await alice.sees(alice.in_thread("what is my name?"))
        await film.shoot(alice.page, 2)
        await alice.sees(alice.in_thread("Your name is Ada."))
        await expect(alice.page.locator(".part.is-down")).to_have_count(0)
        await film.shoot(alice.page, 4)
    blank = await context.new_page()
    return await film.developed(blank)


if __name__ == "__main__":
    sys.exit(asyncio.run(take(Path(__file__).parents[1] / "docs" / "images")))
