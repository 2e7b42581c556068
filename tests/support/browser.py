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

from playwright._impl._driver import compute_driver_executable
from playwright.async_api import Browser, Error, async_playwright
from playwright.sync_api import sync_playwright

_HEADLESS = "chromium-headless-shell"
"""Chromium without a window; a tab costs a third less processor time."""

_NAMES = (_HEADLESS, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--no-sandbox",  # the sandbox doesn't work for root, as in most containers
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


class NoBrowser(Exception):
    """No browser on this machine; the message says why."""


def on_the_path() -> str | None:
    """Find a Chromium that the system has."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def of_playwright() -> str | None:
    """Find the Chromium downloaded by Playwright."""
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


@asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    """Start a headless Chromium: the system's, else Playwright's own."""
    if trouble := driver_trouble():
        raise NoBrowser(trouble)
    async with async_playwright() as playwright:
        try:
            browser = await playwright.chromium.launch(executable_path=on_the_path(), args=list(_FLAGS))
        except Error as exc:
            raise NoBrowser(exc.message.splitlines()[0]) from exc
        try:
            yield browser
        finally:
            await browser.close()


def driver_trouble() -> str:
    """Explain why Playwright's driver doesn't start here: a minimal system may lack a library."""
    node, _ = compute_driver_executable()
    try:
        done = subprocess.run((node, "--version"), check=False, capture_output=True, text=True)  # noqa: S603
    except OSError as exc:
        return f"Playwright doesn't start: {exc}"
    if done.returncode == 0:
        return ""
    return f"Playwright doesn't start: {done.stderr.strip() or f'exit code {done.returncode}'}"


def missing() -> str:
    """What this machine lacks for browser tests, if anything."""
    if trouble := driver_trouble():
        return trouble
    return "" if on_the_path() or of_playwright() else "there is no Chromium"


def install() -> None:
    """Install what is missing: by apt where allowed, and Playwright's Chromium if the system has none."""
    rights = _rights_for_apt()
    if rights is not None:
        _by_apt(*rights)
    if not driver_trouble() and not on_the_path():
        with_libraries = () if rights is None else ("--with-deps",)
        _ran(sys.executable, "-m", "playwright", "install", *with_libraries, "chromium")


def _rights_for_apt() -> tuple[str, ...] | None:
    if not shutil.which("apt-get"):
        return None
    if os.geteuid() == 0:
        return ()
    sudo = ("sudo", "--non-interactive")
    return sudo if _ran(*sudo, "true") else None


def _by_apt(*rights: str) -> None:
    packages = ["libatomic1"]  # required by Playwright's driver
    # Debian only: Ubuntu's package of that name is a snap, which doesn't run in containers
    if _distribution() == "debian" and not on_the_path():
        packages += [_HEADLESS, "fonts-noto-color-emoji"]
    apt = (*rights, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--quiet")
    _ran(*apt, "update")
    _ran(*apt, "install", "--no-install-recommends", *packages)


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("ID", "")
    except OSError:
        return ""


def _ran(*command: str) -> bool:
    try:
        return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode == 0  # noqa: S603 - our own command
    except FileNotFoundError:
        return False


def main() -> int:
    """Ensure that there is a browser; return the exit code."""
    if not missing():
        return 0
    sys.stdout.write("Installing Chromium for the end-to-end tests …\n")
    sys.stdout.flush()
    install()
    if not (trouble := missing()):
        return 0
    sys.stderr.write(
        f"Chromium can't be installed here ({trouble}). As root on Debian: apt install libatomic1 chromium\n"
    )
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
