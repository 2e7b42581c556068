"""`bridge setup` in a real terminal, between the emulated Slack's pages and the sample project."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from dotenv import dotenv_values

from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.sample import ALICE
from bridge.playground.sample_project.server import SampleProject
from support import forks
from support.playground import bare_environment
from support.ports import NO_TLS
from support.secrecy import API_KEY, APP_TOKEN, BOT_TOKEN, SIGNING_SECRET
from support.terminal import Terminal

SETUP = ("setup", "--no-open")


@pytest.fixture
async def slack() -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(bot_token=BOT_TOKEN, app_token=APP_TOKEN, signing_secret=SIGNING_SECRET) as slack:
        yield slack


@pytest.fixture
async def project() -> AsyncIterator[SampleProject]:
    async with SampleProject(api_key=API_KEY) as project:
        yield project


def environ(slack: EmulatedSlack, folder: Path) -> dict[str, str]:
    """An environment whose clipboard is a file: ``pbcopy`` is looked for first, so nobody's own changes."""
    clipboard = program(folder, "pbcopy", 'cat > "$0.got"')
    return bare_environment(
        SLACK_API_URL=slack.api_url,
        BRIDGE_DATA_DIR=str(folder / "data"),
        NO_COLOR="1",
        PATH=f"{clipboard.parent}:{os.environ['PATH']}",
    )


def program(folder: Path, name: str, script: str) -> Path:
    """Write a shell script; what it got is in a file beside it."""
    path = folder / "programs" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o700)
    return path


async def credentials(terminal: Terminal) -> dict[str, str]:
    """Open its link, create the app, and read the tokens from the last page."""
    await terminal.sees("Create and Install")
    link = re.search(r"http://\S+new_app=1&manifest_json=\S+", terminal.screen)
    assert link
    return await installed(link[0])


async def pasted(terminal: Terminal) -> dict[str, str]:
    """Paste the output of its command on the page, as without the link."""
    address = re.search(r"Open (http://\S+/apps) ", terminal.screen)
    printing = re.search(r"bridge (manifest --\S+)", terminal.screen)
    assert address
    assert printing
    _, printed, _ = await forks.run(printing[1].split(), ".", bare_environment())
    async with httpx.AsyncClient(verify=NO_TLS) as browser:
        assert "<textarea name=manifest_json" in (await browser.get(address[1])).text
    return await installed(f"{address[1]}?manifest_json={quote(printed, safe='')}")


async def installed(link: str) -> dict[str, str]:
    """Create the app on the page at *link*, and return its credentials."""
    async with httpx.AsyncClient(verify=NO_TLS) as browser:
        review = await browser.get(link)
        manifest = re.search(r'name=manifest value="([^"]*)"', review.text)
        assert manifest
        created = await browser.post(link.partition("?")[0], data={"manifest": html.unescape(manifest[1])})
    return dict(re.findall(r"<li>([\w ]+): <code>([^<]+)</code>", created.text))


async def test_the_printed_link_and_the_printed_manifest_create_the_same_app(
    slack: EmulatedSlack, tmp_path: Path
) -> None:
    async with Terminal(*SETUP, "--socket", folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
        assert await credentials(terminal) == await pasted(terminal) != {}
        assert terminal.screen.index("From a manifest") < terminal.screen.index("manifest_json="), "the short way first"


@pytest.mark.parametrize("drops", [False, True])
async def test_an_app_can_be_created_whether_or_not_slack_drops_the_links_manifest(
    slack: EmulatedSlack, tmp_path: Path, *, drops: bool
) -> None:
    slack.app_pages.drops_manifests = drops
    browser = program(tmp_path, "browser", 'echo "$1" > "$0.got"')
    with_browser = environ(slack, tmp_path) | {"BROWSER": f"{browser} %s"}

    async with Terminal("setup", "--socket", folder=tmp_path, environ=with_browser) as terminal:
        await terminal.sees("Bot token")
    link = browser.with_suffix(".got").read_text(encoding="utf-8").strip()
    async with httpx.AsyncClient(verify=NO_TLS) as http:
        opened = (await http.get(link)).text
    copied = (tmp_path / "programs" / "pbcopy.got").read_text(encoding="utf-8")

    assert ("<textarea name=manifest_json" in opened) == drops
    assert json.loads(copied) == json.loads((tmp_path / "slack-manifest.json").read_text(encoding="utf-8"))
    assert (await installed(f"{slack.url}/apps?manifest_json={quote(copied, safe='')}"))["Bot token"] == BOT_TOKEN
    shown = " ".join(terminal.screen.split())
    assert (
        "If its editor is empty, choose From a manifest, and paste the manifest there. It's on your clipboard" in shown
    )
    assert shown.index("editor is empty") < shown.index("Create and Install")
    assert "slack-manifest.json" in shown


async def test_setup_without_a_clipboard_names_the_manifests_file(slack: EmulatedSlack, tmp_path: Path) -> None:
    without = environ(slack, tmp_path)
    for name in ("pbcopy", "wl-copy", "xclip", "xsel", "clip.exe"):
        program(tmp_path, name, "exit 1")

    async with Terminal(*SETUP, "--socket", folder=tmp_path, environ=without) as terminal:
        await terminal.sees("Bot token")

    assert "your clipboard" not in terminal.screen
    assert f"It's in {tmp_path / 'slack-manifest.json'}." in re.sub(r"\s*\n", " ", terminal.screen)


async def test_setup_asks_for_a_default_agent(slack: EmulatedSlack, project: SampleProject, tmp_path: Path) -> None:
    given = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN, "PROJECT_BASE_URL": project.base_url}
    project.operations.agents[1].name = "Customer Care"
    project.operations.agents[2].name = "\u3164"
    write_env(tmp_path, **given, PROJECT_API_KEY=API_KEY)

    async def chosen(*answers: str, default: str) -> str | None:
        async with Terminal(*SETUP, "--socket", folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
            for name in (*given, "PROJECT_API_KEY"):
                await terminal.answers(f"{name} is in .env", "")
            for answer in answers:
                await terminal.answers(f"Default agent (ID or name), or Enter for {default}", answer)
            await terminal.sees("3. Redis")
        return dotenv_values(tmp_path / ".env").get("BRIDGE_DEFAULT_AGENT")

    assert await chosen("", default="Memory") == "Memory"
    assert sum(call.path.endswith("/agents") for call in project.calls) == 1, "the check has listed them"
    assert await chosen("nobody", "customer care", default="Memory") == "2", "a name that needs quotation marks"
    assert await chosen("", default="Customer Care") == "2"
    assert await chosen("4", default="Customer Care") == "Support"
    assert await chosen("3", default="Support") == "3"
    assert await chosen("", default="Agent 3") == "3", "a name that can't be seen"


async def test_setup_ends_with_a_greeting_in_slack(
    slack: EmulatedSlack, project: SampleProject, tmp_path: Path
) -> None:
    async with Terminal(*SETUP, folder=tmp_path, environ=environ(slack, tmp_path), is_alone=True) as terminal:
        await terminal.answers("Enter for Socket Mode", "")
        shown = await credentials(terminal)
        await terminal.answers("Bot token", shown["Bot token"])
        await terminal.answers("App token (", shown["App token"])
        await terminal.answers("Address", project.base_url)
        await terminal.answers("API key", API_KEY)
        await terminal.answers("Default agent", "Support")
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
    assert written["REDIS_URL"] == "embedded"
    assert re.search(r"Start the bridge: +bridge serve\s", terminal.screen)
    assert re.search(r"in another shell, in this folder:  /\S+( -m |/)bridge check\s", terminal.screen)
    assert f"Your settings are in {tmp_path / '.env'}." in re.sub(r"\s*\n", " ", terminal.screen)
    assert "Set only in this shell: SLACK_API_URL, BRIDGE_DATA_DIR." in terminal.screen


def write_env(folder: Path, **values: str) -> list[str]:
    """Write these lines to .env; returns them."""
    lines = [f"{name}={value}" for name, value in values.items()]
    (folder / ".env").write_text("\n".join(lines), encoding="utf-8")
    return lines


async def test_repeating_setup_preserves_existing_settings(
    slack: EmulatedSlack, project: SampleProject, tmp_path: Path
) -> None:
    names = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "PROJECT_BASE_URL", "PROJECT_API_KEY")
    lines = write_env(tmp_path, **dict(zip(names, (BOT_TOKEN, APP_TOKEN, project.base_url, API_KEY), strict=True)))

    async with Terminal(*SETUP, "--socket", folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
        for name in names:
            await terminal.answers(f"{name} is in .env", "")
        await terminal.answers("Default agent", "")
        await terminal.answers("Redis URL", "")
        await terminal.answers("member ID", "")
        code = await terminal.ends()

    assert code == 0, terminal.screen
    assert (tmp_path / ".env").read_text(encoding="utf-8").splitlines() == [
        *lines,
        "BRIDGE_DEFAULT_AGENT=Memory",
        "REDIS_URL=embedded",
    ]
    assert slack.calls_of("chat.postMessage") == []
    assert [hint for hint in ("Your app credentials", "No app token there") if hint in terminal.screen] == []


async def test_a_new_token_pasted_over_a_saved_one_is_hidden(slack: EmulatedSlack, tmp_path: Path) -> None:
    write_env(tmp_path, SLACK_BOT_TOKEN="xoxb-1-revoked")

    async with Terminal(*SETUP, "--socket", folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
        await terminal.answers("SLACK_BOT_TOKEN is in .env", "")
        await terminal.sees("rejected by Slack (invalid_auth)")
        await terminal.answers("SLACK_BOT_TOKEN doesn't work. Paste another one", BOT_TOKEN)
        await terminal.sees("✓ bot token")
        await terminal.sees("App token (")

    assert dotenv_values(tmp_path / ".env")["SLACK_BOT_TOKEN"] == BOT_TOKEN
    assert [secret for secret in (BOT_TOKEN, "xoxb-1-revoked") if secret in terminal.screen] == []


async def test_a_token_is_hidden_when_it_is_pasted_too_early(slack: EmulatedSlack, tmp_path: Path) -> None:
    async with Terminal(*SETUP, "--socket", folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
        await terminal.answers("Bot token", BOT_TOKEN)
        terminal.pastes = APP_TOKEN
        await terminal.sees("2. Your project")

    assert APP_TOKEN not in terminal.screen.partition("2. Your project")[0]


async def test_setup_asks_again_for_wrong_project_settings(
    slack: EmulatedSlack, project: SampleProject, tmp_path: Path
) -> None:
    write_env(tmp_path, SLACK_BOT_TOKEN=BOT_TOKEN, SLACK_APP_TOKEN=APP_TOKEN)

    async with Terminal(*SETUP, "--socket", folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
        await terminal.answers("SLACK_BOT_TOKEN is in .env", "")
        await terminal.answers("SLACK_APP_TOKEN is in .env", "")
        await terminal.answers("Address", f"{project.base_url}/path")
        await terminal.answers("API key", "another-key")
        await terminal.sees("nothing found at this address")
        await terminal.answers("PROJECT_BASE_URL doesn't work", f"{project.base_url}/api/sdk")
        await terminal.sees("the key was rejected")
        await terminal.answers("PROJECT_API_KEY doesn't work", API_KEY)
        await terminal.sees("✓ get_project")
        await terminal.sees("Default agent")

    assert [key for key in (API_KEY, "another-key") if key in terminal.screen] == []


async def test_setup_that_is_stopped_says_how_to_continue(slack: EmulatedSlack, tmp_path: Path) -> None:
    async with Terminal(*SETUP, "--socket", folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
        await terminal.answers("Bot token", BOT_TOKEN)
        await terminal.answers("App token (", "\x03")
        code = await terminal.ends()

    assert code == 1
    assert "Stopped. To continue, run bridge setup again." in terminal.screen
    assert dotenv_values(tmp_path / ".env")["SLACK_BOT_TOKEN"] == BOT_TOKEN


async def test_setup_works_offline(tmp_path: Path) -> None:
    away = "http://127.0.0.1:9"  # a port that no test server uses
    offline = bare_environment(SLACK_API_URL=f"{away}/api/", BRIDGE_DATA_DIR=str(tmp_path / "data"), NO_COLOR="1")

    async with Terminal(*SETUP, "--socket", folder=tmp_path, environ=offline) as terminal:
        await terminal.answers("Bot token", BOT_TOKEN)
        await terminal.sees("may still be right")
        await terminal.answers("App token (", APP_TOKEN)
        await terminal.sees("may still be right")
        await terminal.answers("Address", away)
        await terminal.answers("API key", API_KEY)
        await terminal.sees("can't connect")
        await terminal.answers("PROJECT_BASE_URL doesn't work", "")
        await terminal.answers("Redis URL", "")
        code = await terminal.ends()

    assert code == 1
    assert "Fix these, then:       bridge check" in terminal.screen
    written = dotenv_values(tmp_path / ".env")
    assert (written["SLACK_BOT_TOKEN"], written["PROJECT_BASE_URL"]) == (BOT_TOKEN, away)


async def test_setup_asks_again_for_a_member_id(slack: EmulatedSlack, project: SampleProject, tmp_path: Path) -> None:
    names = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "PROJECT_BASE_URL", "PROJECT_API_KEY")
    given = dict(zip(names, (BOT_TOKEN, APP_TOKEN, project.base_url, API_KEY), strict=True))

    async with Terminal(*SETUP, "--socket", folder=tmp_path, environ={**environ(slack, tmp_path), **given}) as terminal:
        await terminal.answers("Default agent", "")
        await terminal.answers("Redis URL", "")
        await terminal.answers("Your member ID", "alice")
        await terminal.sees("“alice” isn't a member ID such as U0123456789")
        await terminal.answers("Your member ID", "U0NOBODY")
        await terminal.sees("rejected by Slack (channel_not_found)")
        await terminal.answers("Your member ID", ALICE)
        await terminal.sees("Sent.")
        assert await terminal.ends() == 0

    written = dotenv_values(tmp_path / ".env")
    assert {name for name, value in written.items() if value} == {"BRIDGE_DEFAULT_AGENT", "REDIS_URL"}, (
        "what the environment has isn't written"
    )
    assert slack.calls_of("chat.postMessage")[-1].args["channel"] == ALICE


async def test_setup_asks_again_for_a_missing_or_malformed_token(slack: EmulatedSlack, tmp_path: Path) -> None:
    url = ("--url", "https://bridge.example.com")
    async with Terminal(*SETUP, *url, folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
        await terminal.answers("Bot token", "")
        await terminal.sees("This is required. Paste it, or press Ctrl-C")
        await terminal.answers("Bot token", "xoxp-1-of-a-person")
        await terminal.sees("use the bot token")
        await terminal.answers("Bot token", BOT_TOKEN)
        await terminal.answers("Signing secret", SIGNING_SECRET)
        await terminal.sees("32 characters of 0-9 and a-f")
        await terminal.answers("SLACK_SIGNING_SECRET looks wrong", "")
        await terminal.sees("Your project")

    written = dotenv_values(tmp_path / ".env")
    assert (written["SLACK_BOT_TOKEN"], written["SLACK_SIGNING_SECRET"]) == (BOT_TOKEN, SIGNING_SECRET)
    assert [secret for secret in ("of-a-person", BOT_TOKEN, SIGNING_SECRET) if secret in terminal.screen] == []


async def test_setup_for_http_removes_the_app_token(slack: EmulatedSlack, tmp_path: Path) -> None:
    write_env(tmp_path, SLACK_APP_TOKEN=APP_TOKEN, BRIDGE_NAMESPACE="kept")

    async with Terminal(*SETUP, folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
        await terminal.answers("Enter for Socket Mode", "https://bridge.example.com")
        await terminal.answers("SLACK_APP_TOKEN is in .env, so the bridge would use Socket Mode. Remove it?", "")
        await terminal.answers("Bot token", BOT_TOKEN)
        await terminal.sees("Signing secret")

    written = dotenv_values(tmp_path / ".env")
    assert written == {"BRIDGE_NAMESPACE": "kept", "SLACK_BOT_TOKEN": BOT_TOKEN}
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600


async def test_setup_for_http_stays_with_socket_mode_if_the_app_token_does(
    slack: EmulatedSlack, tmp_path: Path
) -> None:
    write_env(tmp_path, SLACK_APP_TOKEN=APP_TOKEN)
    url = ("--url", "https://bridge.example.com")

    async with Terminal(*SETUP, *url, folder=tmp_path, environ=environ(slack, tmp_path)) as terminal:
        await terminal.answers("Remove it?", "n")
        await terminal.sees("Continuing with Socket Mode.")
        await terminal.sees("bridge manifest --socket")
        await terminal.answers("Bot token", BOT_TOKEN)
        await terminal.sees("SLACK_APP_TOKEN is in .env")

    assert dotenv_values(tmp_path / ".env")["SLACK_APP_TOKEN"] == APP_TOKEN


async def test_setup_for_http_says_that_the_environment_has_an_app_token(slack: EmulatedSlack, tmp_path: Path) -> None:
    outside = {**environ(slack, tmp_path), "SLACK_APP_TOKEN": APP_TOKEN}
    url = ("--url", "https://bridge.example.com")

    async with Terminal(*SETUP, *url, folder=tmp_path, environ=outside) as terminal:
        await terminal.sees("SLACK_APP_TOKEN or SLACK_APP_TOKEN_FILE is set elsewhere")
        await terminal.sees("To use HTTP, remove it there and run bridge setup again.")
        await terminal.sees("bridge manifest --socket")


async def test_setup_without_a_terminal_names_the_alternative(tmp_path: Path) -> None:
    code, _, printed = await forks.run(SETUP, tmp_path, bare_environment())

    assert code == 2
    assert "bridge manifest --socket" in printed
    assert "bridge check" in printed
    assert list(tmp_path.iterdir()) == []
