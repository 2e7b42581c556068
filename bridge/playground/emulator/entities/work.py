"""Scheduled messages and workflow steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bridge.playground.emulator.entities.json import Json


@dataclass
class Scheduled:
    """A message to post at *post_at* (Unix seconds), with its *content*."""

    id: str
    channel: str
    post_at: int
    created: int
    content: dict[str, Any]
    thread_ts: str = ""

    def as_json(self) -> Json:
        """As ``chat.scheduledMessages.list`` shows it."""
        shown = {"id": self.id, "channel_id": self.channel, "post_at": self.post_at, "date_created": self.created}
        return shown | {"text": self.content["text"]}


@dataclass
class Execution:
    """A workflow step that the app executes: https://docs.slack.dev/workflows/workflow-steps."""

    id: str
    callback_id: str
    inputs: Json
    status: str = "running"  # completed, failed
    outputs: Json = field(default_factory=dict)
    error: str = ""
