"""Files in the emulated Slack, referenced by recorded messages."""

from __future__ import annotations

from typing import Any

from bridge.inbound import MessageFile
from bridge.playground.emulator.entities import File
from bridge.slack.contents import read_file
from support.harness import Harness
from support.store import BOT


def add_file(harness: Harness, content: bytes, recorded: dict[str, Any]) -> MessageFile:
    """Add a file that the bot can see; return its fields for a message, with its URL."""
    made = File(recorded["id"], recorded["name"], len(content), BOT, site=harness.slack.url, content=content)
    harness.slack.workspace.add_file(made)
    return read_file({**recorded, "url_private_download": made.as_json()["url_private_download"]})
