"""Runs the emulated Slack by itself.

::

    python -m bridge.playground.emulator --port 8090 --events-url http://127.0.0.1:3000/slack/events

Set ``SLACK_API_URL=http://127.0.0.1:8090/api/`` and the token and signing secret that it prints. With
``--app-token xapp-…`` it uses Socket Mode. Each line on its standard input is something a person does, with the IDs in
`bridge.playground.emulator.sample`::

    say U0ALICE C0GENERAL <@U0BRIDGE> hello
    reply U0ALICE C0GENERAL 1763700000.000100 and again
    command U0ALICE C0GENERAL /workflows list
    click U0ALICE C0GENERAL 1763700000.000100 ACTION_ID
    show C0GENERAL
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import threading
from pathlib import Path

from bridge.playground.emulator.deliver import AppDelivery
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.local_server import next_reserved, typed_port

_TOKEN = "xoxb-playground"  # noqa: S105 - opens nothing but the emulator
_SECRET = "playground-signing-secret"  # noqa: S105 - as above


def _say(line: str) -> None:
    """Print what a line asked for, without characters that a terminal obeys: messages are anyone's."""
    sys.stdout.write("".join(char if char.isprintable() or char == "\n" else "?" for char in line) + "\n")
    sys.stdout.flush()


def _outcome(delivery: AppDelivery) -> str:
    return str(delivery.status or delivery.error)


async def obey(slack: EmulatedSlack, line: str) -> str:
    """Carry out one line, and return what to print."""
    match line.split(maxsplit=3):
        case ["say", user, channel, text]:
            return await slack.people.say(user, channel, text)
        case ["reply", user, channel, rest]:
            thread, _, text = rest.partition(" ")
            return await slack.people.say(user, channel, text, thread_ts=thread)
        case ["command", user, channel, rest]:
            command, _, text = rest.partition(" ")
            return _outcome(await slack.ui.command(user, channel, command, text))
        case ["click", user, channel, rest]:
            ts, _, action_id = rest.partition(" ")
            return _outcome(await slack.ui.click(user, channel, ts, action_id))
        case ["show", channel]:
            shown = [*slack.workspace.messages.of(channel), *slack.workspace.messages.private]
            return "\n".join(f"{message.ts} {message.thread_ts} {message.user} {message.text}" for message in shown)
        case _:
            return "Unknown command. Use say, reply, command, click or show, such as: say U0ALICE C0GENERAL hello"


def _read_lines(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str]) -> None:
    for line in sys.stdin:
        loop.call_soon_threadsafe(lines.put_nowait, line)


def _greeting(asked: argparse.Namespace, api_url: str) -> str:
    second = "SLACK_APP_TOKEN", asked.app_token
    if not asked.app_token:
        second = "SLACK_SIGNING_SECRET", asked.signing_secret
    return f"Emulated Slack: {api_url}\nSLACK_BOT_TOKEN={asked.bot_token}\n{'='.join(second)}"


async def _run(asked: argparse.Namespace) -> None:
    async with EmulatedSlack(
        signing_secret=asked.signing_secret,
        bot_token=asked.bot_token,
        app_token=asked.app_token,
        events_url=asked.events_url,
        port=asked.port or next_reserved(8090),
        data_dir=asked.data_dir,
    ) as slack:
        slack.use_sockets = bool(asked.app_token)
        slack.app_pages.drops_manifests = asked.drop_manifests
        slack.scopes.add("chat:write.customize")  # no method needs it, but the bridge asks for it
        _say(_greeting(asked, slack.api_url))
        lines: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        # A daemon thread, so that waiting for a line doesn't keep the process alive.
        threading.Thread(target=_read_lines, args=(loop, lines), daemon=True).start()
        while True:
            line = await lines.get()
            try:
                _say(await obey(slack, line.strip()))
            except LookupError as exc:
                _say(f"Not found: {exc.args[0]}. IDs are such as U0ALICE, C0GENERAL and a message's 1763700000.000100")
            except ValueError as exc:
                _say(f"Error: {exc}")


def main() -> None:
    """Read the command line and serve until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m bridge.playground.emulator", description="Run an emulated Slack workspace."
    )
    add = parser.add_argument
    add("--port", type=typed_port, metavar="PORT", help="Port to serve on; by default 8090, or the next free one.")
    add(
        "--events-url",
        default="http://127.0.0.1:3000/slack/events",
        metavar="URL",
        help="Where your app receives events, commands and clicks; %(default)s by default.",
    )
    add(
        "--bot-token",
        default=os.environ.get("SLACK_BOT_TOKEN", _TOKEN),
        metavar="TOKEN",
        help=f"Your app's bot token; by default $SLACK_BOT_TOKEN, else {_TOKEN}.",
    )
    add(
        "--signing-secret",
        default=os.environ.get("SLACK_SIGNING_SECRET", _SECRET),
        metavar="SECRET",
        help=f"Signs requests to your app; by default $SLACK_SIGNING_SECRET, else {_SECRET}.",
    )
    add(
        "--app-token",
        default=os.environ.get("SLACK_APP_TOKEN", ""),
        metavar="TOKEN",
        help="Use Socket Mode with this token, such as xapp-1-test; by default $SLACK_APP_TOKEN.",
    )
    add("--data-dir", type=Path, metavar="FOLDER", help="Store the workspace here, so that it survives a restart.")
    add(
        "--drop-manifests",
        action="store_true",
        help="On the page for new apps, ignore the manifest in a link, as Slack's page does for many accounts.",
    )
    asked = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(asked))


if __name__ == "__main__":
    main()
