"""The browser of the end-to-end tests: found on this machine, or installed by ``python -m support.browser``."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, async_playwright
from playwright.sync_api import sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--no-sandbox",  # which does not work for root, as in most containers
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def on_the_path() -> str | None:
    """Find a Chromium that the system has."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def of_playwright() -> str | None:
    """Find the Chromium that Playwright has downloaded."""
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


@asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    """Start a headless Chromium: the system's, else Playwright's own."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=on_the_path(), args=list(_FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


def install() -> bool:
    """Install one: the system's package where that is a real one and we may, else Playwright's own download."""
    return _by_apt() or _ran(sys.executable, "-m", "playwright", "install", "chromium")


def _by_apt() -> bool:
    # Debian only: Ubuntu's package of that name brings a snap, which containers cannot run.
    if not shutil.which("apt-get") or "debian" not in _distribution():
        return False
    rights = () if os.geteuid() == 0 else ("sudo", "--non-interactive")
    if rights and not _ran(*rights, "true"):
        return False
    packages = ("chromium", "fonts-noto-color-emoji")
    install = (*rights, "apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *packages)
    return _ran(*rights, "apt-get", "update", "--quiet") and _ran(*install)


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("ID", "")
    except OSError:
        return ""


def _ran(*command: str) -> bool:
    try:
        return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode == 0  # noqa: S603 - our words
    except FileNotFoundError:
        return False


def main() -> int:
    """Have a browser; gives the exit code."""
    if on_the_path() or of_playwright():
        return 0
    sys.stdout.write("Installing Chromium for the end-to-end tests …\n")
    sys.stdout.flush()
    if install() and (on_the_path() or of_playwright()):
        return 0
    sys.stderr.write("Chromium could not be installed: put chromium or google-chrome on the PATH.\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
