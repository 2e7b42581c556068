"""The search of the documentation finds what operators ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote_plus

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Page
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from bridge.playground.wire import LocalServer
from support import docs_site

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
    """The address of the documentation, built from what is in the repository."""
    with TemporaryDirectory() as folder:
        pages = StaticFiles(directory=await docs_site.build(Path(folder)), html=True)
        server = LocalServer(Starlette(routes=[Mount("/", pages)]))
        await server.start()
        yield server.url
        await server.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(site: str, browser: BrowserContext) -> AsyncIterator[Page]:
    """The first page, with the search opened."""
    page = await browser.new_page()
    await page.goto(f"{site}/index.html")
    await page.get_by_role("button", name="Search").first.click()
    yield page
    await page.close()


@pytest.mark.parametrize("question", QUESTIONS)
async def test_the_search_leads_to_the_page(question: str, page: Page) -> None:
    await page.get_by_role("combobox", name="Search").fill(question)

    results = page.locator(f"a[href*='?h={quote_plus(question)}']")
    await results.first.wait_for()
    first = [await link.get_attribute("href") or "" for link in (await results.all())[:3]]
    assert any(f"/{QUESTIONS[question]}?" in link for link in first), first
