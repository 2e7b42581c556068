"""`bridge setup`: from nothing to a working bot, one question at a time; every step can be repeated.

Slack's page for a new app takes a manifest in its address. Since July 2026, *Create and Install* is one step, and the
next page shows the tokens under *Your app credentials*.
https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import webbrowser
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import quote, urlsplit

import dotenv
import typer

from bridge.cli.check import check
from bridge.cli.manifest import app_manifest, where_slack_sends
from bridge.cli.running import CANNOT_RUN, WRONG_SETTINGS, complain, problems_of, run
from bridge.errors import ConfigurationError
from bridge.settings import env_example, environment, well_formed

ENV_FILE: Final = Path(".env")
_SLACK: Final = "slack.com"
_WHERE: Final = {
    "SLACK_BOT_TOKEN": "Bot token (xoxb-…)",
    "SLACK_APP_TOKEN": "App token (xapp-…)",
    "SLACK_SIGNING_SECRET": "Signing secret",
    "PROJECT_BASE_URL": "Address, without /api/sdk (such as https://project.example.com)",
    "PROJECT_API_KEY": "API key (hidden)",
    "REDIS_URL": "Redis URL (hidden), or Enter to run an embedded one",
}
_GREETING: Final = (
    "Hello! The bridge is set up. Once it runs, write to me here to talk to an agent, or type `/workflows` anywhere. "
    "To use me in a channel, type `/invite` and my name there."
)
_NO_TERMINAL: Final = """\
bridge setup asks questions, so it needs a terminal. Without one:
  1. bridge manifest --socket        prints the manifest; paste it at https://api.slack.com/apps → Create New App
  2. cp .env.example .env            fill in SLACK_BOT_TOKEN, SLACK_APP_TOKEN, PROJECT_BASE_URL and PROJECT_API_KEY
  3. bridge check                    shows what's wrong and how to fix it"""


def setup(
    *,
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Use HTTP, with this public address.")] = "",
    socket: Annotated[bool, typer.Option("--socket", help="Use Socket Mode; don't ask.")] = False,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open Slack's page in a browser.")] = True,
) -> None:
    """Set up Slack, the project and Redis step by step, and write .env."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        typer.echo(_NO_TERMINAL, err=True)
        raise typer.Exit(WRONG_SETTINGS)
    try:
        answers = _Answers()
        _heading(1, "The Slack app")
        target = where_slack_sends(url, socket=socket) if url or socket else _ask_where_slack_sends()
        _create_the_app(answers, target, open_browser=open_browser)
    except ConfigurationError as exc:
        raise typer.Exit(complain([exc])) from None
    _heading(2, "Your project")
    answers.ask("PROJECT_BASE_URL")
    answers.ask("PROJECT_API_KEY", is_secret=True)
    _heading(3, "Redis")
    answers.ask("REDIS_URL", is_secret=True, is_needed=False)
    is_embedded = "REDIS_URL" not in answers.values
    _heading(4, "Check")
    code = CANNOT_RUN
    try:
        check(embedded_redis=is_embedded)
    except typer.Exit as ended:
        code = ended.exit_code
    if code == 0:
        _heading(5, "Say hello")
        _greet(answers)
    flag = " --embedded-redis" if is_embedded else ""
    typer.echo(f"\nStart the bridge:  bridge serve{flag}" if code == 0 else "\nFix these, then run bridge setup again.")
    raise typer.Exit(code)


@dataclass
class _Answers:
    """The configured *values*, from the file and the environment. Raises `ConfigurationError`."""

    values: dict[str, str] = field(default_factory=lambda: environment(os.environ, ENV_FILE))

    def ask(self, name: str, *, is_secret: bool = False, is_needed: bool = True) -> None:
        """Ask for a setting until it's valid, and write it to the file. An existing value may stay."""
        if os.environ.get(name) or os.environ.get(f"{name}_FILE"):
            typer.echo(f"  {name} is set in the environment, which overrides .env. Using that one.")
            return
        if self.values.get(name) and typer.confirm(f"  {name} is already in .env. Keep it?", default=True):
            return
        while True:
            default = None if is_needed else ""
            given = typer.prompt(
                f"  {_WHERE[name]}", hide_input=is_secret, default=default, show_default=False, prompt_suffix=": "
            ).strip()
            if not given:
                return
            problems = problems_of({**self.values, name: given}, embedded_redis=True)
            mine = [line for line in problems if re.match(rf"{name}\b", line)]
            if not mine:
                break
            typer.secho(f"  {mine[0]}", fg="red")
        self.values[name] = given
        # Into the file, readable only by its owner; the other lines stay.
        if not ENV_FILE.exists():
            with os.fdopen(os.open(ENV_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as it:
                it.write(env_example())
        dotenv.set_key(ENV_FILE, name, given, quote_mode="auto")
        ENV_FILE.chmod(stat.S_IRUSR | stat.S_IWUSR)


def _heading(number: int, words: str) -> None:
    typer.secho(f"\n{number}. {words}", bold=True)


def _ask_where_slack_sends() -> str | None:
    typer.echo(
        "  In Socket Mode the bridge connects to Slack and needs no public address.\n"
        "  Over HTTP, Slack calls the bridge at its public https:// address."
    )
    while True:
        given = typer.prompt("  Public address, or Enter for Socket Mode", default="", show_default=False)
        try:
            return where_slack_sends(given, socket=not given)
        except ConfigurationError as exc:
            typer.secho(f"  {exc.problems[0].removeprefix('--url ')}", fg="red")


def _create_the_app(answers: _Answers, target: str | None, *, open_browser: bool) -> None:
    """Guide through Slack's page, and ask for the values it shows."""
    prefix = answers.values.get("BRIDGE_COMMAND_PREFIX", "")
    manifest = json.dumps(app_manifest(target, prefix), separators=(",", ":"))
    # The page where apps are created; an emulated Slack has it beside its API.
    api = urlsplit(answers.values.get("SLACK_API_URL", ""))
    is_slack = f".{api.hostname or _SLACK}".endswith(f".{_SLACK}")
    apps = "https://api.slack.com/apps" if is_slack else f"{api.scheme}://{api.netloc}/apps"
    if not answers.values.get("SLACK_BOT_TOKEN") or typer.confirm("  Create a new Slack app?", default=False):
        if open_browser and webbrowser.open(f"{apps}?new_app=1&manifest_json={quote(manifest, safe='')}"):
            typer.echo("  Slack's page is open in your browser.")
        else:  # with the manifest, the address has 5,000 characters
            flag = f"--url {target}" if target else "--socket"
            typer.echo(
                f"  Open {apps} → Create New App → From a manifest.\n"
                f"  Paste the output of this command, run in another terminal:  bridge manifest {flag}"
            )
        typer.echo("  Choose your workspace, then Create and Install, then Allow.")
    typer.echo("  Copy these from “Your app credentials” (hidden while you paste):")
    answers.ask("SLACK_BOT_TOKEN", is_secret=True)
    if target is None:
        typer.echo(
            "  No app token there? Basic Information → App-Level Tokens → Generate, with the scope connections:write."
        )
        answers.ask("SLACK_APP_TOKEN", is_secret=True)
    else:
        typer.echo("  The signing secret is also under Basic Information → App Credentials.")
        answers.ask("SLACK_SIGNING_SECRET", is_secret=True)


def _greet(answers: _Answers) -> None:
    """Send one message to the person who sets the bridge up, if they want one."""
    user = typer.prompt(
        "  Your member ID, to get a message from the bot (in Slack: your profile → ⋮ → Copy member ID), or Enter",
        default="", show_default=False,
    ).strip()  # fmt: skip
    if not user:
        return
    if not re.fullmatch(r"[UW][A-Z0-9]{2,}", user):
        typer.secho(f"  “{user}” isn't a member ID such as U0123456789. Nothing was sent.", fg="red")
        return
    values = well_formed(answers.values)

    async def send() -> int:
        from bridge.metrics import Metrics  # noqa: PLC0415 - both: 300 ms
        from bridge.slack.api import opened  # noqa: PLC0415

        async with opened(values["SLACK_API_URL"], values["SLACK_BOT_TOKEN"].get_secret_value(), Metrics()) as web:
            await web.call("chat.postMessage", {"channel": user, "text": _GREETING})
        return 0

    typer.echo("  Sent. Look in Slack." if run(send) == 0 else "  The message wasn't sent. Everything else is set up.")
