"""What is to be done or was done for the workspace: messages that are due later, steps of workflows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bridge.playground.emulator.entities.json import Json


@dataclass
class Scheduled:
    """A message that is to be posted at *post_at* (Unix seconds); *content* are its text, blocks and so on."""

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
    """One step of a workflow that the app carries out: https://docs.slack.dev/workflows/workflow-steps."""

    id: str
    callback_id: str
    inputs: Json
    status: str = "running"  # completed, failed
    outputs: Json = field(default_factory=dict)
    error: str = ""
