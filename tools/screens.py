"""Take pictures of every screen and text that people see on the playground's page, into build/screens.

``make screens`` plays the scenes in screens.txt. A scene is what one person does in one window:
``PERSON CHANNEL | STEP | STEP …``; `Player.step` knows the steps. Lines with ``==`` begin a tour: a new playground,
with the settings they name.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

from playwright.async_api import BrowserContext, Error, Locator, ViewportSize, expect

from bridge.cli.manifest import app_manifest
from bridge.playground.emulator import sample
from support.browser import a_browser
from support.browser_window import Window, open_window
from support.playground import Playground

SIZE = (1280, 900)
TALLEST = 6000  # pixels
LONGEST = 90_000  # milliseconds: alerts are evaluated once a minute
AT_ONCE = 4  # tours
FILES = {"notes.txt": b"Tea is due on Monday.", "cat.png": b"\x89PNG", "data.bin": b"\0\1", "broken.pdf": b"%PDF-1.4"}
WITHOUT = "WITHOUT"  # in a tour's title: an optional scope that was declined
CLICKABLE = ("button", "tab", "menuitem", "switch", "link", "combobox")

NO_FIRST_STEPS = "localStorage.setItem('playground-steps-hidden', 'yes')"
UNFOLDED = """
const style = new CSSStyleSheet();
style.replaceSync(`dialog { max-height: 96dvh !important }
  pre, .options, .offer ul, .forwarded { max-height: none !important }`);
document.adoptedStyleSheets.push(style);"""
UNFOLD = "menus => menus.forEach(one => { one.size = one.querySelectorAll('option:not([hidden])').length })"
NEWEST = "kinds => kinds.map(kind => [...document.querySelectorAll(`[data-testid=${kind}]`)].at(-1)?.dataset.ts ?? '')"
SHOWS = """([words, since]) => {
  const isNew = (one) => one.dataset.ts > since[one.matches(".panel *") ? 1 : 0];
  const messages = [...document.querySelectorAll("[data-ts]")].filter(isNew);
  const others = document.querySelectorAll(`.welcome, .prompts, .steps, .offer, .chosen-files, .status, .trouble, .home,
    .topbar, .sidebar, .drawer, .menu, dialog`);
  return [...messages, ...others].some((one) => one.innerText.replace(/\\s+/g, " ").includes(words));
}"""
HIDDEN_HEIGHT = """(since) => {
  const hidden = (list) => {
    list.matches(".scroll") && (list.scrollTop = list.scrollHeight);
    const all = [...list.querySelectorAll("[data-ts]")];
    const first = all.find((one) => one.dataset.ts > since[list.matches(".panel *") ? 1 : 0]);
    if (all.length && !first) return 0;
    const top = (one) => one.getBoundingClientRect().top;
    const above = first === all[0] ? 0 : top(first) - top(list) + list.scrollTop - 30;
    return list.scrollHeight - list.clientHeight - above;
  };
  const where = document.querySelector("dialog") ? ".modal-body" : ".scroll, .home, .drawer-body";
  const lists = [...document.querySelectorAll(where)].filter((one) => one.checkVisibility());
  return Math.ceil(Math.max(0, document.documentElement.scrollHeight - innerHeight, ...lists.map(hidden)));
}"""


class Tour(NamedTuple):
    """Scenes in one playground, each a person and channel, then steps; its title has settings and options."""

    title: str
    scenes: list[list[str]]

    @property
    def pictures(self) -> list[str]:
        """The pictures' names."""
        return [step.split()[1] for scene in self.scenes for step in scene if step.startswith(("shot ", "photo "))]


def tours_in(text: str) -> list[Tour]:
    """The tours in a text such as screens.txt."""
    lines = re.sub(r"\n +\|", " |", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    found = re.findall(r"^((?:== .*\n)+)((?:(?!==).*\n)+)", lines, re.MULTILINE)
    return [Tour(title, [scene.split(" | ") for scene in scenes.splitlines() if scene]) for title, scenes in found]


@dataclass
class Player:
    """Plays a scene in a window, and saves each picture in the file with its name.

    *said* are the newest messages, in the channel and in the thread, before the last words; *since* are those before
    the first words after the last picture.
    """

    window: Window
    playground: Playground
    files: Mapping[str, Path]
    said: list[str] = field(default_factory=lambda: ["", ""])
    since: list[str] = field(default_factory=lambda: ["", ""])
    is_taken: bool = True

    async def step(self, step: str) -> None:  # noqa: C901, PLR0912, PLR0915 - a case for each kind of step
        """Do a step. Its first word says what; what begins with ``/`` or ``@`` is written in the channel."""
        page, window = self.window.page, self.window
        verb, _, words = step.partition(" ") if step[0] not in "/@" else ("say", "", step)
        name, _, value = map(str.strip, words.partition(" ="))
        if verb in {"say", "ask", "reply"}:
            self.said = await page.evaluate(NEWEST, ["message", "thread-message"])
            self.since, self.is_taken = (self.said, False) if self.is_taken else (self.since, False)
        match verb:
            case "say":
                await window.write(words)
            case "ask":  # and open the thread, once answered
                await window.ask(words)
            case "reply" | "type" | "type-reply":
                composer = page.get_by_test_id("composer" if verb == "type" else "thread-composer")
                await composer.fill(words)
                if verb == "reply":
                    await composer.press("Enter")
                    await expect(composer).to_have_value("")
            case "see":  # wait for text in messages after the last words, or outside of messages
                await page.wait_for_function(SHOWS, arg=[words, self.said], polling=100, timeout=LONGEST)
            case "shot":  # a picture that leaves out nothing new
                await self._take(self.files[words], is_whole=True)
            case "photo":  # a picture of this size
                await self._take(self.files[words], is_whole=False)
            case "click":  # the last one, or “click first …”
                name = words.removeprefix("first ")
                await (self._named(name).last if name == words else self._named(name).first).click()
                if words == "Cancel":
                    await expect(page.locator("dialog")).to_have_count(0)
            case "tab":
                await page.get_by_role("tab", name=words, exact=True).click()
            case "fill":
                await self._field(name).fill(value.replace("\\n", "\n"))
            case "pick" if await self._field(name).evaluate("one => one.tagName") == "SELECT":
                option = self._field(name).locator("option:not([hidden])", has_text=value)
                await self._field(name).select_option(label=await option.first.evaluate("one => one.label"))
            case "pick":
                await window.chooses(self._field(name), value)
            case "check":
                await page.get_by_label(words).last.check()
            case "unfold":  # menus, whose choices would not be in a picture
                await page.locator(".thread select, dialog select").evaluate_all(UNFOLD)
            case "thread" | "trace":
                await expect(page.locator("dialog")).to_have_count(0)
                await window.message(words).press("t" if verb == "thread" else "w")
            case "more" | "react":
                await window.message(words).hover()
                label = "More actions" if verb == "more" else "Add a reaction"
                await window.message(words).get_by_role("button", name=label).click()
            case "edit":
                await window.edit(window.message(name), value)
            case "attach":
                async with page.expect_file_chooser() as chooser:
                    await self.step("click first Attach")
                    await self.step("click File…")
                files = [{"name": one, "mimeType": "", "buffer": FILES[one]} for one in words.split()]
                await (await chooser.value).set_files(files)
            case "fault":
                await window.turn(words)
            case "kill":  # the playground, in a tour's last scene
                await self.playground.kill()
            case "key":
                await page.keyboard.press(words)
            case "go":
                await window.go_to(words)
            case "visit":
                await page.goto(urljoin(page.url, words))
            case "size":
                width, height = map(int, words.split("x"))
                await page.set_viewport_size({"width": width, "height": height})
            case _:
                raise AssertionError("there is no such step")
        window.errors[:] = [error for error in window.errors if "Failed to load resource" not in error]

    def _field(self, label: str) -> Locator:
        return self.window.page.get_by_label(re.compile(rf"^{re.escape(label)}( \(optional\))?$")).last

    def _named(self, name: str) -> Locator:
        found, *others = (self.window.page.get_by_role(role, name=name) for role in CLICKABLE)
        for other in others:
            found = found.or_(other)
        return found.filter(visible=True)

    async def _take(self, file: Path, *, is_whole: bool) -> None:
        page, size = self.window.page, self.window.page.viewport_size or ViewportSize(width=SIZE[0], height=SIZE[1])
        height, hidden = size["height"], 0
        if is_whole and not await page.locator(".menu").count():  # which closes when the window changes
            while height < TALLEST and (hidden := await page.evaluate(HIDDEN_HEIGHT, self.since)):
                height = min(height + hidden, TALLEST)
                await page.set_viewport_size({"width": size["width"], "height": height})
        await page.mouse.move(0, 0)
        await page.screenshot(path=file)
        await page.set_viewport_size(size)
        self.is_taken = True


@asynccontextmanager
async def a_playground(title: str = "") -> AsyncIterator[Playground]:
    """A new playground, with the settings and options in *title*."""
    options, settings = re.findall(r"--\w+(?:=\w+)?", title), dict(re.findall(r"([A-Z_]+)=(\S+)", title))
    if file := settings.get("BRIDGE_CONFIG"):
        settings["BRIDGE_CONFIG"] = str(Path(__file__).parent / file)
    app, declined = app_manifest(None), settings.pop(WITHOUT, "")
    for kind, scopes in app["oauth_config"]["scopes"].items():
        app["oauth_config"]["scopes"][kind] = [scope for scope in scopes if scope != declined]
    with tempfile.TemporaryDirectory(prefix="br-") as data:
        manifest = Path(data, "playground", "manifest.json")
        manifest.parent.mkdir()
        manifest.write_text(
            json.dumps(app), encoding="utf-8"
        )  # on a busy machine, the playground may fail to make its own
        playground = Playground(Path(data), tuple(options), environ=settings)
        try:
            await (await playground.start()).ready(sample.ALICE)
            yield playground
        finally:
            await playground.end()


async def play(tour: Tour, playground: Playground, context: BrowserContext, files: Mapping[str, Path]) -> list[str]:
    """Play a tour's scenes; return a line for each one that failed."""
    failed = []
    for first, *steps in tour.scenes:
        for fault in (await playground.state(sample.ALICE))["faults"]:
            if fault["is_on"]:
                await playground.do("fault", sample.ALICE, name=fault["name"], is_on=False)
        await playground.ready(sample.ALICE)
        person, channel = first.split()
        user, step = getattr(sample, person.upper()), "open the page"
        failure = next(iter(files.values())).with_name(f"failed-{person}-{channel}-{len(failed)}.png")
        opened = open_window(context, playground.url, user=user, channel=channel, failure=failure, size=SIZE)
        try:
            async with opened as window:
                player = Player(window, playground, files)
                for step in steps:
                    await player.step(step)
        except (Error, AssertionError) as exc:
            failed.append(f"{first}: {step}: {str(exc).splitlines()[0]} See {failure}")
    return failed


async def take(folder: Path, only: str) -> int:
    """Play the tours whose titles contain *only*, and list what failed; return the exit code."""
    tours = tours_in(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8"))
    names = [name for tour in tours for name in tour.pictures]
    files = {name: folder / f"{number:03}-{name}.png" for number, name in enumerate(names, 1)}
    if not only:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    room = asyncio.Semaphore(AT_ONCE)
    async with a_browser() as browser:

        async def played(tour: Tour) -> list[str]:
            async with room, a_playground(tour.title) as playground:
                context = await browser.new_context(reduced_motion="reduce")
                await context.add_init_script(UNFOLDED + ("" if tour is tours[0] else NO_FIRST_STEPS))
                return await play(tour, playground, context, files)

        failed = await asyncio.gather(*(played(tour) for tour in tours if only in tour.title))
    lines = [f"{line}\n" for lines in failed for line in lines]
    sys.stdout.write("".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(take(Path(__file__).parents[1] / "build" / "screens", os.environ.get("ONLY", ""))))
