"""Fixtures of the browser tests: a playground and a browser per file, and windows per test."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from bridge.playground.emulator.sample import ALICE
from support.browser import NoBrowser, a_browser
from support.browser_window import Opens, Window, open_window
from support.playground import Playground

expect.set_options(timeout=30_000)  # milliseconds; Playwright's five seconds are too few on a busy machine

PICTURES = Path(__file__).parents[3] / "build" / "e2e"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def playground() -> AsyncIterator[Playground]:
    """A playground per file; each test uses its own person or channel."""
    # Not in pytest's temporary folder, whose path may be too long for Redis's socket.
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        playground = await Playground(Path(folder)).start()
        await playground.ready(ALICE)
        yield playground
        assert await playground.end() == 0
        assert "Traceback" not in playground.text


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[BrowserContext]:
    """A browser context per file; another tab costs a third of another context, a used tab half of that."""
    opened = a_browser()
    try:
        browser = await opened.__aenter__()
    except NoBrowser as exc:
        pytest.skip(f"no browser; `make browser` installs one: {exc}")
    yield await browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    await opened.__aexit__(None, None, None)


@pytest.fixture(scope="module")
def resting() -> list[Window]:
    """The windows that earlier tests of the file have closed."""
    return []


@pytest.fixture
def opens(
    browser: BrowserContext, playground: Playground, resting: list[Window], request: pytest.FixtureRequest
) -> Opens:
    """Open a window as *user* in *channel*; a failing test saves a screenshot."""
    PICTURES.mkdir(parents=True, exist_ok=True)

    def opens(user: str, channel: str) -> AbstractAsyncContextManager[Window]:
        picture = PICTURES / f"{request.node.name.removeprefix('test_')}_{user}.png"
        return open_window(browser, playground.url, user=user, channel=channel, failure=picture, resting=resting)

    return opens
