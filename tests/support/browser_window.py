"""One window of the playground's page, and a person's actions in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, ConsoleMessage, Locator, Page, Request, expect

PATIENCE = 30_000.0  # milliseconds: the bridge may be restarting
LAPTOP = (1280, 800)


@dataclass
class Window:
    """A page; *foreign_requests* lists requests to other hosts, *errors* errors of its scripts and the browser."""

    page: Page
    foreign_requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def listen(self) -> None:
        """Record everything that must not happen."""
        self.page.on("request", self._note_request)
        self.page.on("pageerror", lambda error: self.errors.append(f"{error} on {self.page.url}"))
        self.page.on("console", self._note_words)
        self.page.set_default_timeout(PATIENCE)

    def _note_request(self, request: Request) -> None:
        if urlsplit(request.url).hostname not in {"127.0.0.1", None}:
            self.foreign_requests.append(request.url)

    def _note_words(self, words: ConsoleMessage) -> None:
        if words.type == "error":
            self.errors.append(f"{words.text} at {words.location['url']}")

    async def leave(self, url: str) -> None:
        """Close the page at *url* and forget what the browser stored for it; another test uses the tab.

        That is half the price of a new tab, and a page that is gone asks nothing more of the server.
        """
        await self.page.goto(f"{url}/static/-/icon.svg")  # of the same origin, so the tab keeps its process
        await self.page.evaluate("sessionStorage.clear(), localStorage.clear()")

    async def go_to(self, channel: str) -> None:
        """Open a channel by its name, or ``dm-bridge``."""
        await self.page.get_by_test_id(channel if channel == "dm-bridge" else f"channel-{channel}").click()

    async def turn_to(self, tab: str) -> None:
        """Open the Home or Messages tab of the conversation with the app."""
        await self.page.get_by_role("tab", name=tab).click()

    async def write(self, text: str) -> None:
        """Write in the channel's composer and press Enter."""
        await _typed(self.page.get_by_test_id("composer"), text)

    async def reply(self, text: str) -> None:
        """Type into the open thread's composer, key by key, and press Enter."""
        composer = self.page.get_by_test_id("thread-composer")
        await composer.press_sequentially(text)
        await composer.press("Enter")
        await expect(composer).to_have_value("")

    @property
    def form(self) -> Locator:
        """The topmost form."""
        return self.page.get_by_test_id("modal")

    @property
    def home(self) -> Locator:
        """The app's Home tab."""
        return self.page.get_by_test_id("home")

    @property
    def ephemeral(self) -> Locator:
        """The newest ephemeral message."""
        return self.page.get_by_test_id("ephemeral").last

    def button_of(self, row: str, name: str) -> Locator:
        """The button of a row in Home, beside its text."""
        return self.home.locator(".block", has_text=row).get_by_role("button", name=name).first

    def message(self, words: str) -> Locator:
        """The channel's newest message with these words."""
        return self.page.get_by_test_id("message").filter(has_text=words).last

    def in_thread(self, words: str) -> Locator:
        """The open thread's newest message with these words."""
        return self.page.get_by_test_id("thread-message").filter(has_text=words).last

    async def ask(self, text: str) -> Locator:
        """Write a message and open its thread once answered; return the message."""
        await self.write(text)
        root = self.message(text.partition(": ")[2] or text)
        await root.get_by_test_id("open-thread").and_(self.page.locator(".replies")).click(timeout=PATIENCE)
        await expect(self.page.get_by_test_id("thread-panel")).to_be_visible()
        return root

    async def use(self, shortcut: str, message: Locator) -> Locator:
        """Choose a message shortcut; return the form it opens."""
        await message.hover()
        await message.get_by_role("button", name="More actions").click()
        await self.page.get_by_role("menuitem", name=shortcut).click()
        return self.form

    async def stop(self, message: Locator) -> None:
        """Press Slack's own Stop button beside the working status."""
        await message.get_by_test_id("status").get_by_role("button", name="Stop").click()

    async def edit(self, message: Locator, text: str) -> None:
        """Edit one's own message."""
        ts = await message.get_attribute("data-ts")
        await message.press("e")
        editor = self.page.locator(f'[data-ts="{ts}"]').get_by_role("textbox")
        await editor.fill(text)
        await editor.press("Enter")
        await expect(editor).to_have_count(0)

    async def turn(self, fault: str) -> None:
        """Toggle a switch in the drawer, and close it."""
        await self.page.get_by_role("button", name="Look inside").first.click()
        drawer = self.page.get_by_test_id("drawer")
        await drawer.get_by_role("tab", name="Break something").click()
        await drawer.get_by_role("button", name=fault).or_(drawer.get_by_role("switch", name=fault)).click()
        await drawer.get_by_role("button", name="Close").click()

    async def chooses(self, field: Locator, words: str) -> None:
        """Search in a form's menu and choose a match."""
        await field.fill(words)
        await self.page.get_by_role("option", name=words).click()

    async def sees(self, found: Locator) -> None:
        """Wait until something is visible."""
        await expect(found).to_be_visible(timeout=PATIENCE)

    async def does_not_see(self, found: Locator) -> None:
        """Check that something isn't visible."""
        await expect(found).to_have_count(0)


async def _typed(composer: Locator, text: str) -> None:
    await composer.fill(text)
    await composer.press("Enter")
    await expect(composer).to_have_value("")


Opens = Callable[[str, str], AbstractAsyncContextManager[Window]]
"""How a test opens a window: as whom, and in which channel."""


@asynccontextmanager
async def open_window(
    context: BrowserContext,
    url: str,
    *,
    user: str,
    channel: str,
    picture: Path | None = None,
    failure: Path | None = None,
    size: tuple[int, int] = LAPTOP,
    resting: list[Window] | None = None,
) -> AsyncIterator[Window]:
    """Open the page as *user* in a tab of its own; at the end take a *picture*, or one of a *failure*.

    *resting* are windows of earlier tests; this one joins them.
    """
    width, height = size
    if resting:
        window = resting.pop()
    else:
        window = Window(await context.new_page())
        window.listen()
    await window.page.set_viewport_size({"width": width, "height": height})
    try:
        await window.page.goto(f"{url}/?as={user}")
        await window.go_to(channel)
        yield window
        assert not window.foreign_requests, f"requests to other hosts: {window.foreign_requests}"
        assert not window.errors, f"errors in the page: {window.errors}"
        if picture is not None:
            await window.page.screenshot(path=picture)
    except BaseException:
        if failure is not None:
            await window.page.screenshot(path=failure)
        await window.page.close()
        raise
    if resting is None:
        await window.page.close()
    elif not window.page.is_closed():
        await window.leave(url)
        resting.append(window)
