"""Operators' questions are one search or one click away, with the answer on the page's first screen.

The playground's own copy of the documentation looks like the playground, and fits on a phone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote_plus

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Page, Route, expect
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

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

STATIC = Path(docs.__file__).parent / "static"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[str]:
    """The URL of the documentation site, built from the repository."""
    with TemporaryDirectory() as folder:
        pages = StaticFiles(directory=await docs_site.build(Path(folder)), html=True)
        server = LocalServer(Starlette(routes=[Mount("/", pages)]))
        await server.start()
        yield server.url
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


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)], ids=["desktop", "phone"])
async def test_a_start_page_link_shows_the_answer_without_scrolling(
    size: tuple[int, int], site: str, browser: BrowserContext
) -> None:
    page = await browser.new_page()
    await page.set_viewport_size({"width": size[0], "height": size[1]})
    await page.goto(f"{site}/index.html")
    rows = [(page.locator("tr", has_text=question).locator("a"), words) for question, words in ANSWERS.items()]
    links = [(str(await link.evaluate("one => one.href")), words) for link, words in rows]

    for link, words in links:
        await page.goto(link)

        answer = page.locator(".md-content :is(p, td, pre, li)", has_text=words).first
        await expect(answer, link).to_be_in_viewport()
    await page.close()


@pytest_asyncio.fixture(loop_scope="module")
async def playground_docs() -> AsyncIterator[str]:
    """The URL of the documentation in the playground."""
    server = LocalServer(Starlette(routes=[*docs.routes(), Mount("/static", StaticFiles(directory=STATIC))]))
    await server.start()
    yield f"{server.url}/docs"
    await server.stop()


async def test_the_playgrounds_search_shows_results_while_typing(playground_docs: str, browser: BrowserContext) -> None:
    page = await browser.new_page()
    await page.goto(f"{playground_docs}/how-to/upgrade")
    field = page.get_by_role("searchbox", name="Search")

    await field.press_sequentially("redis los")

    first = page.locator(".found a").first
    await expect(first).to_have_text("Back up and restore: Redis is lost")
    await expect(field).to_be_focused()
    await field.fill("")
    await expect(page.get_by_role("heading", name="Upgrade and roll back")).to_be_visible()
    await page.close()


async def test_a_result_shows_its_heading_below_the_header(playground_docs: str, browser: BrowserContext) -> None:
    page = await browser.new_page()
    await page.goto(f"{playground_docs}/?q=add+a+command")

    await page.locator(".found a").first.click()

    heading = await page.get_by_role("heading", name="Add a command").bounding_box()
    header = await page.get_by_role("banner").bounding_box()
    assert heading
    assert header
    assert heading["y"] >= header["height"]
    await page.close()


async def test_going_back_from_a_result_shows_the_results_again(playground_docs: str, browser: BrowserContext) -> None:
    page = await browser.new_page()
    await page.goto(f"{playground_docs}/how-to/upgrade")
    await page.get_by_role("searchbox", name="Search").press_sequentially("tokens")
    await page.locator(".found a").first.click()
    await expect(page.get_by_role("heading", name="Rotate tokens and secrets")).to_be_visible()

    await page.go_back()

    await expect(page.locator(".found a").first).to_have_text("Rotate tokens and secrets")
    await page.close()


async def test_the_playgrounds_copy_has_its_theme_from_the_first_paint(
    playground_docs: str, browser: BrowserContext
) -> None:
    async def slowly(route: Route) -> None:
        await asyncio.sleep(0.5)
        await route.continue_()

    page = await browser.new_page()
    await page.emulate_media(color_scheme="light")
    await page.goto(f"{playground_docs}/")
    await expect(page.locator("html")).to_have_css("color-scheme", "light dark")
    await page.evaluate("localStorage.setItem('playground-theme', 'dark')")
    await page.route("**/theme.js", slowly)

    await page.goto(f"{playground_docs}/how-to/upgrade")

    await expect(page.locator("html")).to_have_css("color-scheme", "dark")
    await wait_until(lambda: page.evaluate(f"{PAINTED} !== undefined"), "the page is painted")
    assert await page.evaluate(f"{PAINTED}.startTime > {LOADED}.responseEnd")
    await page.close()


PAINTED = "performance.getEntriesByName('first-paint')[0]"
LOADED = "performance.getEntriesByType('resource').find((one) => one.name.endsWith('/theme.js'))"


@pytest.mark.parametrize("name", ["how-to/no-answer", "reference/settings", "reference/commands"])
async def test_a_page_of_the_playgrounds_copy_fits_on_a_phone(
    name: str, playground_docs: str, browser: BrowserContext
) -> None:
    page = await browser.new_page()
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.goto(f"{playground_docs}/{name}")

    field = await page.get_by_role("searchbox", name="Search").bounding_box()
    assert field
    assert field["width"] > 300
    assert await page.evaluate(WIDER) == []
    assert await page.evaluate(TORN) == []
    assert await page.evaluate(TOUCHING) == []
    await page.close()


WIDER = """() => [document.documentElement, ...document.querySelectorAll("main table")]
  .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText.slice(0, 80))"""
TORN = """() => [...document.querySelectorAll("main :not(pre) > code")].flatMap((code) => {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const torn = [];
  while (texts.nextNode()) {
    const { data } = texts.currentNode;
    for (const { 0: word, index } of data.matchAll(/--[a-z-]{1,18}(?![\\w-])/g)) {
      const range = new Range();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      if (range.getClientRects().length > 1) torn.push(word);
    }
  }
  return torn;
})"""
TOUCHING = """() => [...document.querySelectorAll("main table + table")]
  .filter((one) => one.getBoundingClientRect().top - one.previousElementSibling.getBoundingClientRect().bottom < 8)
  .map((one) => one.innerText.slice(0, 80))"""
