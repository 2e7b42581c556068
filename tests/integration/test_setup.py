"""`bridge setup` in a real terminal, between the emulated Slack's pages and the sample project."""

from __future__ import annotations

import asyncio
import html
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from dotenv import dotenv_values

from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.sample import ALICE
from bridge.playground.sample_project.server import SampleProject
from support.playground import bare_environment
from support.secrecy import API_KEY, APP_TOKEN, BOT_TOKEN, SIGNING_SECRET
from support.terminal import Terminal

SETUP = ("bridge", "setup", "--no-open")


@pytest.fixture
async def slack() -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(bot_token=BOT_TOKEN, app_token=APP_TOKEN, signing_secret=SIGNING_SECRET) as slack:
        yield slack


@pytest.fixture
async def project() -> AsyncIterator[SampleProject]:
    async with SampleProject(api_key=API_KEY) as project:
        yield project


def environ(slack: EmulatedSlack, folder: Path) -> dict[str, str]:
    return bare_environment(SLACK_API_URL=slack.api_url, BRIDGE_DATA_DIR=str(folder / "data"), NO_COLOR="1")


async def credentials(terminal: Terminal) -> dict[str, str]:
    """Follow its instructions: paste the manifest, create the app, and read the tokens from the last page."""
    await terminal.sees("Create and Install")
    address = re.search(r"Open (http://\S+/apps) ", terminal.screen)
    printing = re.search(r"bridge (manifest --\S+)", terminal.screen)
    assert address
    assert printing
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bridge", *printing[1].split(), env=bare_environment(), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await running.communicate()
    async with httpx.AsyncClient() as browser:
        assert "<textarea name=manifest_json" in (await browser.get(address[1])).text
        review = await browser.get(address[1], params={"manifest_json": printed.decode()})
        manifest = re.search(r'name=manifest value="([^"]*)"', review.text)
        assert manifest
        created = await browser.post(address[1], data={"manifest": html.unescape(manifest[1])})
    return dict(re.findall(r"<li>([\w ]+): <code>([^<]+)</code>", created.text))


async def test_setup_leads_from_nothing_to_a_greeting(
    slack: EmulatedSlack, project: SampleProject, tmp_path: Path
) -> None:
    async with Terminal(*SETUP, folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
        await terminal.answers("Enter for Socket Mode", "")
        shown = await credentials(terminal)
        await terminal.answers("Bot token", shown["Bot token"])
        await terminal.answers("App token (", shown["App token"])
        await terminal.answers("Address", project.base_url)
        await terminal.answers("API key", API_KEY)
        await terminal.answers("Redis URL", "")
        await terminal.answers("member ID", ALICE)
        code = await terminal.ends()

    assert code == 0, terminal.screen
    written = dotenv_values(tmp_path / ".env")
    assert (written["SLACK_BOT_TOKEN"], written["SLACK_APP_TOKEN"]) == (BOT_TOKEN, APP_TOKEN)
    assert (written["PROJECT_BASE_URL"], written["PROJECT_API_KEY"]) == (project.base_url, API_KEY)
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600
    assert [secret for secret in (BOT_TOKEN, APP_TOKEN, API_KEY) if secret in terminal.screen] == []
    assert [call.args["channel"] for call in slack.calls_of("chat.postMessage")] == [ALICE]
    assert "bridge serve --embedded-redis" in terminal.screen


async def test_setup_again_keeps_what_is_there(slack: EmulatedSlack, project: SampleProject, tmp_path: Path) -> None:
    lines = [f"SLACK_BOT_TOKEN={BOT_TOKEN}", f"SLACK_APP_TOKEN={APP_TOKEN}", "BRIDGE_PORT=3001"]
    lines += [f"PROJECT_BASE_URL={project.base_url}", f"PROJECT_API_KEY={API_KEY}"]
    (tmp_path / ".env").write_text("\n".join(lines), encoding="utf-8")

    async with Terminal(*SETUP, "--socket", folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
        await terminal.answers("Create a new Slack app?", "")
        for _ in range(4):
            await terminal.answers("Keep it?", "")
        await terminal.answers("Redis URL", "")
        await terminal.answers("member ID", "")
        code = await terminal.ends()

    assert code == 0, terminal.screen
    assert (tmp_path / ".env").read_text(encoding="utf-8").splitlines() == lines
    assert slack.calls_of("chat.postMessage") == []


async def test_setup_asks_again_for_a_token_of_another_kind(slack: EmulatedSlack, tmp_path: Path) -> None:
    url = ("--url", "https://bridge.example.com")
    async with Terminal(*SETUP, *url, folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
        await terminal.answers("Bot token", "xoxp-1-of-a-person")
        await terminal.sees("use the bot token")
        await terminal.answers("Bot token", BOT_TOKEN)
        await terminal.answers("Signing secret", SIGNING_SECRET)
        await terminal.sees("Your project")

    written = dotenv_values(tmp_path / ".env")
    assert (written["SLACK_BOT_TOKEN"], written["SLACK_SIGNING_SECRET"]) == (BOT_TOKEN, SIGNING_SECRET)
    assert "of-a-person" not in terminal.screen


async def test_setup_without_a_terminal_says_what_to_do_instead(tmp_path: Path) -> None:
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *SETUP,
        cwd=tmp_path, env=bare_environment(), stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, printed = await running.communicate()

    assert running.returncode == 2
    assert "bridge manifest --socket" in printed.decode()
    assert list(tmp_path.iterdir()) == []
