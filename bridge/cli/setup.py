"""`bridge setup`: from nothing to a working bot, one question at a time; every step can be repeated.

Each answer is written to .env, then checked; Enter accepts one that fails, so that setup works offline, too.

Slack's page for a new app accepts a manifest in its URL, but since July 2026 drops it for many accounts, so people
also get it to paste, which is the documented way. *Create and Install* is one step since then, and the next page shows
the tokens under *Your app credentials*.
https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests
https://github.com/vellum-ai/vellum-assistant/issues/39141
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import sys
import webbrowser
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from getpass import getpass
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote, urlsplit

import dotenv
import typer

from bridge.cli.check import check, probe
from bridge.cli.clipboard import copies
from bridge.cli.manifest import app_manifest, where_slack_sends
from bridge.cli.printing import columns, form_for, line_width, out, printable, this_program, to_json
from bridge.cli.rows import FAILURE, OK, Row, row_lines, trouble_row
from bridge.cli.running import CANNOT_RUN, WRONG_SETTINGS, complain, problems_of, slack_of
from bridge.engine.unknown_names import Lists
from bridge.errors import ConfigurationError, ProjectError, SlackError
from bridge.features.conversations.answering import configured
from bridge.logs import configure
from bridge.names.listing import Listing
from bridge.project import Catalog, ProjectClient
from bridge.project.connection import DEFAULT
from bridge.project.models import Agent
from bridge.setting_types import EMBEDDED
from bridge.settings import VARIABLES, env_example, environment, well_formed
from bridge.slack.blockkit import kit

ENV_FILE: Final = Path(".env")
MANIFEST_FILE: Final = Path("slack-manifest.json")
_SLACK: Final = "slack.com"
_MOST_AGENTS: Final = 20
_LONGEST_NAME: Final = 60
_PLAIN: Final = re.compile(r"[\w./:@%+=,?&~-]+", re.ASCII)
_PROMPTS: Final = {
    "SLACK_BOT_TOKEN": "Bot token (xoxb-…)",
    "SLACK_APP_TOKEN": "App token (xapp-…)",
    "SLACK_SIGNING_SECRET": "Signing secret",
    "PROJECT_BASE_URL": "Address (such as https://project.example.com)",
    "PROJECT_API_KEY": "API key (hidden)",
    "REDIS_URL": "Redis URL (hidden), or Enter to run an embedded Redis",
}
_GREETING: Final = (
    "Hello! The bridge is set up. Once it runs, write to me here to talk to an agent, "
    f"or type `{kit.command('/workflows')}` anywhere. "
    "To use me in a channel, type `/invite` and my name there."
)
_NO_TERMINAL: Final = """\
bridge setup asks questions, so it needs a terminal. Without one:
  1. bridge manifest --socket        prints the manifest; paste it at https://api.slack.com/apps → Create New App
  2. cp .env.example .env            fill in the lines without a leading #
  3. bridge check                    shows what's wrong and how to fix it"""


def setup(
    *,
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Use HTTP, with this public address.")] = "",
    socket: Annotated[bool, typer.Option("--socket", help="Use Socket Mode without asking.")] = False,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open Slack's page in a browser.")] = True,
) -> None:
    """Set up Slack, the project and Redis, and write .env.

    Asks one question at a time; every step can be repeated.
    """
    where_slack_sends(url, socket=socket)  # before any question, because they may be wrong
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        out(_NO_TERMINAL, err=True)
        raise typer.Exit(WRONG_SETTINGS)
    configure("console", "ERROR")  # problems are shown in rows
    try:
        with _echo(on=False):  # a token may be pasted before it's asked for
            code = _questions(url, socket=socket, open_browser=open_browser)
    except ConfigurationError as exc:
        code = complain([exc])
    except (KeyboardInterrupt, EOFError, typer.Abort):
        out("\nStopped. To continue, run bridge setup again.")
        code = CANNOT_RUN
    raise typer.Exit(code)


def _questions(url: str, *, socket: bool, open_browser: bool) -> int:
    answers = _Answers()
    _heading(1, "The Slack app")
    target = where_slack_sends(url, socket=socket) if url or socket else _ask_where_slack_sends()
    if target and not answers.drops_app_token():
        target = None
    _create_the_app(answers, target, open_browser=open_browser)
    _heading(2, "Your project")
    answers.ask("PROJECT_BASE_URL", "PROJECT_API_KEY")
    _ask_default_agent(answers)
    _heading(3, "Redis")
    answers.ask("REDIS_URL")
    _heading(4, "Check")
    try:
        check()
    except typer.Exit as ended:
        if ended.exit_code:
            out("\nFix these, then:       bridge check\nTo change an answer:   bridge setup")
            return ended.exit_code
    _heading(5, "Say hello")
    _greet(answers)
    if ENV_FILE.exists():
        out(f"\nYour settings are in {ENV_FILE.resolve()}.")
    out(
        f"\nStart the bridge:                           bridge serve\n"
        f"Check it in another shell, in this folder:  {this_program()} check"
    )
    if only_here := [name for name in VARIABLES if os.environ.get(name)]:
        out(f"\nSet only in this shell: {', '.join(only_here)}. To use them in others too, add them to .env.")
    return 0


@dataclass
class _Answers:
    """The configured *values*, from .env and the environment; *lists* is what the last check of some found.

    Raises `ConfigurationError`.
    """

    values: dict[str, str] = field(default_factory=lambda: environment(os.environ, ENV_FILE))
    lists: Lists = field(default_factory=Lists)

    def has(self, name: str) -> bool:
        """Whether the setting has a value, directly or in a file of its own."""
        return bool(self.values.get(name) or self.values.get(f"{name}_FILE"))

    def ask(self, *names: str, hint: str = "") -> None:
        """Ask for *names*, which work only together, then again for a wrong one until it works or Enter accepts it."""
        if hint and not self.has(names[0]):
            out(f"  {hint}")
        for name in names:
            self._ask(name)
        while (row := self._tried(names)) and row.state != OK:
            wrong = next((name for name in names if name in row.cure), None)  # a cure names the setting to correct
            if wrong is None:
                out("  The value may still be right. Continuing.")
                return
            problem = "doesn't work" if row.state == FAILURE else "looks wrong"
            if not self._ask(wrong, f"{wrong} {problem}. Paste another one, or press Enter to use it anyway"):
                return

    def drops_app_token(self) -> bool:
        """Whether there's no app token, or the person removes it: with one, the bridge uses Socket Mode."""
        name = "SLACK_APP_TOKEN"
        if not self.has(name):
            return True
        if self.is_elsewhere(name):
            out(f"  {name} or {name}_FILE is set elsewhere, so the bridge uses Socket Mode.")
            out("  To use HTTP, remove it there and run bridge setup again. Continuing with Socket Mode.")
            return False
        with _echo(on=True):
            removes = typer.confirm(
                f"  {name} is in .env, so the bridge would use Socket Mode. Remove it?", default=True
            )
        if not removes:
            out("  Continuing with Socket Mode.")
            return False
        dotenv.unset_key(ENV_FILE, name)
        ENV_FILE.chmod(stat.S_IRUSR | stat.S_IWUSR)
        del self.values[name]
        return True

    def is_elsewhere(self, name: str) -> bool:
        """Whether the setting comes from the environment or from a file of its own."""
        return bool(os.environ.get(name) or self.values.get(f"{name}_FILE"))

    def _ask(self, name: str, again: str = "") -> bool:
        """Ask for a setting until it's well-formed, and write it to .env. Returns whether it's new.

        *again* is the question if the setting has a value that doesn't work.
        """
        if self.is_elsewhere(name):
            out(f"  Using {name} (or {name}_FILE) from the environment.")
            return False
        while True:
            current = self.values.get(name, "")
            known = again or f"{name} is in .env. Press Enter to keep it, or paste a new one"
            question = known if current else _PROMPTS[name]
            is_shown = name == "PROJECT_BASE_URL"
            with _echo(on=is_shown):
                typed = (input if is_shown else getpass)(f"  {question}: ").strip()
            if not (typed or current) and name == "REDIS_URL":
                typed = EMBEDDED
            if not (typed or current):
                out("  This is required. Paste it, or press Ctrl-C to stop and continue later.", fg="red")
                continue
            problems = problems_of({**self.values, name: typed or current})
            own_problems = [line for line in problems if re.match(rf"{name}\b", line)]
            if not own_problems:
                break
            out(f"  {own_problems[0]}", fg="red")
        if typed:
            self.write(name, typed)
        return bool(typed)

    def write(self, name: str, value: str) -> None:
        """Write a setting to .env."""
        self.values[name] = value
        # The file is readable only by its owner; its other lines stay.
        if not ENV_FILE.exists():
            with os.fdopen(os.open(ENV_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as it:
                it.write(env_example())
        # Without quotes where it needs none: kubectl --from-env-file would make them part of the value.
        dotenv.set_key(ENV_FILE, name, value, quote_mode="never" if _PLAIN.fullmatch(value) else "always")
        ENV_FILE.chmod(stat.S_IRUSR | stat.S_IWUSR)

    def _tried(self, names: Collection[str]) -> Row | None:
        """Check *names* like `bridge check`; prints and returns the first row, which is about the values themselves."""
        wanted = {*names, "SLACK_API_URL", "BRIDGE_NAMESPACE", "BRIDGE_DATA_DIR"}
        values = {name: value for name, value in well_formed(self.values).items() if name in wanted}
        self.lists = Lists()
        rows = asyncio.run(probe(values, now=lambda: datetime.now(UTC), lists=self.lists))
        if not rows:
            return None
        out("\n".join(row_lines(rows[0], line_width())), signs=True)
        return rows[0]


@contextmanager
def _echo(*, on: bool) -> Iterator[None]:
    """Show or hide what is typed during the block; what was typed before and not read yet is discarded."""
    try:
        import termios  # noqa: PLC0415 - not on Windows, which doesn't echo unread input
    except ImportError:
        yield
        return
    before, during = termios.tcgetattr(sys.stdin), termios.tcgetattr(sys.stdin)
    during[3] = during[3] | termios.ECHO if on else during[3] & ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, during)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, before)


def _heading(number: int, words: str) -> None:
    out(f"\n{number}. {words}", bold=True)


def _ask_where_slack_sends() -> str | None:
    out(
        "  In Socket Mode the bridge connects to Slack and needs no public address.\n"
        "  Over HTTP, Slack calls the bridge at its public https:// address."
    )
    while True:
        with _echo(on=True):
            address = typer.prompt("  Public address, or Enter for Socket Mode", default="", show_default=False)
        try:
            return where_slack_sends(address, socket=not address)
        except typer.BadParameter as exc:
            out(f"  {exc.message}", fg="red")


def _create_the_app(answers: _Answers, target: str | None, *, open_browser: bool) -> None:
    """Guide the person through Slack's page, and ask for the values it shows."""
    prefix = answers.values.get("BRIDGE_COMMAND_PREFIX", "")
    # The page where apps are created; an emulated Slack has it at the same host as its API.
    api = urlsplit(answers.values.get("SLACK_API_URL", ""))
    is_slack = f".{api.hostname or _SLACK}".endswith(f".{_SLACK}")
    apps = "https://api.slack.com/apps" if is_slack else f"{api.scheme}://{api.netloc}/apps"
    if not answers.has("SLACK_BOT_TOKEN"):
        manifest = app_manifest(target, prefix)
        link = f"{apps}?new_app=1&manifest_json={quote(json.dumps(manifest, separators=(',', ':')), safe='')}"
        flag = f"--url {target}" if target else "--socket"
        where = _hand_over(to_json(manifest, indent=2), f"{this_program()} manifest {flag}")
        if open_browser:
            out(
                "  Slack's page for a new app opens in your browser. If its editor is empty, choose From a manifest,\n"
                f"  and paste the manifest there. {where}"
            )
        if open_browser and _opens(link):
            out("  If no page opens, press Ctrl-C and run: bridge setup --no-open")
        else:
            out(
                f"  Open {apps} → Create New App → From a manifest, and paste the manifest there.\n"
                f"  {where}\n\n"
                "  Or open this link, which has the manifest in it. If the page's editor is empty, paste it anyway.\n\n"
                f"{link}\n"
            )
        out(
            "  Choose your workspace, then Create and Install, then Allow.\n"
            "  Copy these from “Your app credentials” (hidden while you paste):"
        )
    answers.ask("SLACK_BOT_TOKEN")
    if target is None:
        hint = "No app token there? Basic Information → App-Level Tokens → Generate, with the scope connections:write."
        answers.ask("SLACK_APP_TOKEN", hint=hint)
    else:
        hint = "The signing secret is also under Basic Information → App Credentials."
        answers.ask("SLACK_SIGNING_SECRET", hint=hint)


def _hand_over(manifest: str, command: str) -> str:
    """Write the *manifest* to a file, copy it if possible, and say where it is; *command* prints it, too."""
    places = ["on your clipboard"] if copies(manifest) else []
    try:
        MANIFEST_FILE.write_text(manifest + "\n", encoding="utf-8")
    except OSError:  # .env can't be written here either, but the environment may have everything
        pass
    else:
        places.append(f"in {MANIFEST_FILE.resolve()}")
    known = f"It's {' and '.join(places)}. " if places else ""
    return f"{known}This prints it{', too' if places else ''}:\n  {command}"


def _opens(link: str) -> bool:
    """Open *link* in a browser, if there is one. What its launcher prints would cover the next question."""
    saved, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        return webbrowser.open(link)
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nothing)


def _ask_default_agent(answers: _Answers) -> None:
    """Ask which of several agents answers if nothing else picks one; without a list, that's for later."""
    name = "BRIDGE_DEFAULT_AGENT"
    current = answers.values.get(name, "")
    if answers.is_elsewhere(name):
        return
    agents = answers.lists.agents.get(DEFAULT)
    if agents is None or (current and agents.is_part):  # it may not be in there
        agents = asyncio.run(_agents(well_formed(answers.values), current))
    if not agents or (len(agents) == 1 and not agents.is_part):
        return
    usual = configured(current, agents)
    out(
        "  The default agent answers messages that don't name another one, such as: @bridge how do I reset my password?"
    )
    if current and not usual:
        out(f"  {name} is {current}, but no agent has this name.", fg="red")
    rows = [(str(agent.id), kit.one_line(agent.name, _LONGEST_NAME)) for agent in agents[:_MOST_AGENTS]]
    out("\n".join(f"    {columns(form_for(rows), *row)}" for row in rows))
    if more := len(agents) - len(rows):
        out(f"    and {more} more")
    default = usual or agents[0]
    question = f"  Default agent (ID or name), or Enter for {kit.one_line(default.name)}: "
    while True:
        with _echo(on=True):
            typed = input(printable(question))
        chosen = configured(typed, agents) if typed.strip() else default
        if chosen is None and agents.is_part:
            chosen = configured(typed, asyncio.run(_agents(well_formed(answers.values), typed)))
        if chosen:
            break
        out(f"  “{typed.strip()}” isn't the ID or name of exactly one of them.", fg="red")
    if chosen is not usual:
        is_clear = _PLAIN.fullmatch(chosen.name) and configured(chosen.name, agents) is chosen
        answers.write(name, chosen.name if is_clear else str(chosen.id))


async def _agents(values: Mapping[str, Any], wanted: str) -> Listing[Agent]:
    """List the project's agents, and the one whose ID is *wanted*; nothing if that fails, which a check has shown."""
    url, key = values.get("PROJECT_BASE_URL"), values.get("PROJECT_API_KEY")
    if not (url and key):
        return Listing()
    soon = timedelta(seconds=5)
    try:
        async with ProjectClient(url, key.get_secret_value(), read_timeout=soon, connect_timeout=soon) as project:
            return await Catalog(project).candidates("agent", wanted)
    except ProjectError:
        return Listing()


def _greet(answers: _Answers) -> None:
    """Send one message to the person who sets the bridge up, if they want one."""
    values = well_formed(answers.values)

    async def send(user: str) -> None:
        async with slack_of(values) as web:
            web.command_prefix = values.get("BRIDGE_COMMAND_PREFIX") or ""
            await web.call("chat.postMessage", {"channel": user, "text": _GREETING})

    question = (
        "  Your member ID (Slack: your picture → Profile → ⋮ → Copy member ID) to get a message, or Enter to skip"
    )
    while True:
        with _echo(on=True):
            user = typer.prompt(question, default="", show_default=False).strip()
        if not user:
            return
        if not re.fullmatch(r"[UW][A-Z0-9]{2,}", user):
            out(f"  “{user}” isn't a member ID such as U0123456789.", fg="red")
            continue
        try:
            asyncio.run(send(user))
        except SlackError as exc:
            row = trouble_row("message", exc, "copy your own member ID again, or press Enter to skip this")
            out("\n".join(row_lines(row, line_width())), signs=True)
        else:
            out("  Sent. Look in your direct messages in Slack.")
            return
