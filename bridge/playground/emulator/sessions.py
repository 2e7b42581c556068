"""What an agent shows in a thread: https://docs.slack.dev/reference/methods/assistant.threads.setStatus."""

from __future__ import annotations

from dataclasses import dataclass, field

from bridge.playground.emulator.entities import Json


@dataclass(frozen=True)
class StatusChange:
    """One call that set an agent's status in a thread, or Slack's own clearing (*by* says which)."""

    at: float
    channel: str
    thread_ts: str
    status: str
    by: str


@dataclass
class AgentSession:
    """What ``agents.sessions.*`` and ``assistant.threads.*`` keep of one thread."""

    channel: str
    thread_ts: str
    status: str = ""
    title: str = ""
    loading_messages: list[str] = field(default_factory=list)
    set_at: float = 0.0
    lifecycle: str = "active"
    moved_at: float = 0.0
    prompts: list[Json] = field(default_factory=list)
    prompts_title: str = ""
