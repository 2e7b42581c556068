"""One window of the playground's page, and what a person does in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Locator, Page, Request, expect

PATIENCE = 20_000.0  # milliseconds: the bridge may be on its way back
LAPTOP = (1280, 800)


@dataclass
class Window:
    """A page; *went_elsewhere* are requests to other hosts, *complaints* what its scripts and the browser say."""

    page: Page
    went_elsewhere: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def listen(self) -> None:
        """Note all that must not happen."""
        self.page.on("request", self._note_request)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._note_words)

    def _note_request(self, request: Request) -> None:
        if urlsplit(request.url).hostname not in {"127.0.0.1", None}:
            self.went_elsewhere.append(request.url)

    def _note_words(self, words: ConsoleMessage) -> None:
        if words.type == "error":
            self.complaints.append(words.text)

    async def go_to(self, channel: str) -> None:
        """Open a channel by its name, or ``dm-bridge``."""
        await self.page.get_by_test_id(channel if channel == "dm-bridge" else f"channel-{channel}").click()

    async def write(self, text: str) -> None:
        """Type into the channel's composer, and Enter."""
        await _typed(self.page.get_by_test_id("composer"), text)

    async def reply(self, text: str) -> None:
        """Type into the open thread's composer, and Enter."""
        await _typed(self.page.get_by_test_id("thread-composer"), text)

    def message(self, words: str) -> Locator:
        """The newest message of the channel that has these words."""
        return self.page.get_by_test_id("message").filter(has_text=words).last

    def in_thread(self, words: str) -> Locator:
        """The newest message of the open thread that has these words."""
        return self.page.get_by_test_id("thread-message").filter(has_text=words).last

    async def ask(self, text: str) -> Locator:
        """Write a message, and open its thread once it is answered there; gives the message."""
        await self.write(text)
        root = self.message(text.partition(": ")[2] or text)
        await root.get_by_test_id("open-thread").and_(self.page.locator(".replies")).click(timeout=PATIENCE)
        await expect(self.page.get_by_test_id("thread-panel")).to_be_visible()
        return root

    async def edit(self, message: Locator, text: str) -> None:
        """Change a message of one's own."""
        ts = await message.get_attribute("data-ts")
        await message.press("e")
        editor = self.page.locator(f'[data-ts="{ts}"]').get_by_role("textbox")
        await editor.fill(text)
        await editor.press("Enter")
        await expect(editor).to_have_count(0)

    async def turn(self, fault: str) -> None:
        """Turn one of the switches in the drawer, and close it."""
        await self.page.get_by_role("button", name="Wires and faults").click()
        drawer = self.page.get_by_test_id("drawer")
        await drawer.get_by_role("tab", name="Parts and faults").click()
        await drawer.get_by_role("button", name=fault).or_(drawer.get_by_role("switch", name=fault)).click()
        await drawer.get_by_role("button", name="Close").click()

    async def sees(self, found: Locator) -> None:
        """Wait until something is on the screen."""
        await expect(found).to_be_visible(timeout=PATIENCE)

    async def does_not_see(self, found: Locator) -> None:
        """Make sure that something is not there."""
        await expect(found).to_have_count(0)


async def _typed(composer: Locator, text: str) -> None:
    await composer.fill(text)
    await composer.press("Enter")
    await expect(composer).to_have_value("")


@asynccontextmanager
async def a_window(
    browser: Browser,
    url: str,
    *,
    user: str,
    channel: str,
    picture: Path | None = None,
    size: tuple[int, int] = LAPTOP,
) -> AsyncIterator[Window]:
    """Open the page as *user*, in a browser of their own; at the end a *picture* is taken."""
    width, height = size
    context = await browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(PATIENCE)
    try:
        window = Window(await context.new_page())
        window.listen()
        await window.page.goto(f"{url}/?as={user}")
        await window.go_to(channel)
        yield window
        assert not window.went_elsewhere, f"the page asks others: {window.went_elsewhere}"
        assert not window.complaints, f"something goes wrong in the page: {window.complaints}"
    finally:
        if picture is not None:
            await window.page.screenshot(path=picture)
        await context.close()
