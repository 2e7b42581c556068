"""Operators' questions are one search or one click away, with the answer on the page's first screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote_plus

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Page, expect
from starlette.applications import Starlette

from bridge.playground.local_server import LocalServer
from bridge.playground.page import docs
from support import docs_site
from support.waiting import wait_until

QUESTIONS = {
    "only in some channels": "how-to/restrict-access.html",
    "default agent": "how-to/choose-agents.html",
    "redis is lost": "how-to/back-up-and-restore.html",
    "three replicas": "how-to/several-bridges.html",
    "back up": "how-to/back-up-and-restore.html",
    "rotate a token": "how-to/rotate-secrets.html",
    "upgrade": "how-to/upgrade.html",
    "statistics each monday": "how-to/schedule-reports.html",
    "no answer": "how-to/no-answer.html",
    "add a command": "contributing/where-things-go.html",
}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[str]:
    """The URL of the documentation site, built from the repository."""
    with TemporaryDirectory() as folder:
        await docs_site.build(Path(folder))
        server = LocalServer(Starlette(routes=docs.routes(checkout=Path(folder))))  # as the playground shows it
        await server.start()
        yield f"{server.url}/docs"
        await server.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(site: str, browser: BrowserContext) -> AsyncIterator[Page]:
    """The start page with its search open."""
    page = await browser.new_page()
    await page.goto(f"{site}/index.html")
    await page.get_by_role("button", name="Search").first.click()
    yield page
    await page.close()


@pytest.mark.parametrize("question", QUESTIONS)
async def test_the_search_finds_the_page_among_the_first_three(question: str, page: Page) -> None:
    await page.get_by_role("combobox", name="Search").fill(question)

    found = page.locator(f"a[href*='?h={quote_plus(question)}']")

    async def is_among_the_first() -> bool:  # the order changes while more results load
        first: list[str] = await found.evaluate_all("all => all.slice(0, 3).map(one => one.href)")
        return any(f"/{QUESTIONS[question]}?" in link for link in first)

    await wait_until(is_among_the_first, f"{QUESTIONS[question]} is among the first three results", 5)


ANSWERS = {
    "limit it to some channels?": "BRIDGE_ALLOWED_CHANNELS=",
    "the default agent?": "/agents default Support",
    "Redis loses its data?": "on an empty Redis",
    "three replicas?": "REPLICAS=3",
    "back up?": "docker compose cp --archive redis:/data",
    "rotate a token?": "Revoke All OAuth Tokens",
    "upgrade?": "docker compose up --detach --build",
    "#ops each Monday?": "/stats report every monday at 9 #ops",
    "t it answer?": "bridge trace",
    "add a command?": "@project_info.command",
}


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["desktop", "phone"])
async def test_a_start_page_link_shows_the_answer_without_scrolling(
    site: str, browser: BrowserContext, width: int, height: int
) -> None:
    page = await browser.new_page()
    await page.set_viewport_size({"width": width, "height": height})  # before a page is open: its text would move later
    await page.route("**/search.json", lambda route: route.abort())  # each page would read it, for half a second
    await page.goto(f"{site}/index.html")
    rows = [(page.locator("tr", has_text=question).locator("a"), words) for question, words in ANSWERS.items()]
    links = [(str(await link.evaluate("one => one.href")), words) for link, words in rows]

    for link, words in links:
        await page.goto(link)

        answer = page.locator(".md-content :is(p, td, pre, li)", has_text=words).first
        await expect(answer, link).to_be_in_viewport()
    await page.close()
