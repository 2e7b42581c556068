"""An agent's status in a thread: https://docs.slack.dev/reference/methods/assistant.threads.setStatus."""

from __future__ import annotations

from dataclasses import dataclass, field

from bridge.playground.emulator.entities import Json


@dataclass(frozen=True)
class StatusChange:
    """A status of an agent in a thread, set *by* a call or cleared by Slack."""

    at: float
    channel: str
    thread_ts: str
    status: str
    by: str


@dataclass
class AgentSession:
    """A thread's state of ``agents.sessions.*`` and ``assistant.threads.*``."""

    channel: str
    thread_ts: str
    status: str = ""
    title: str = ""
    set_at: float = 0.0
    lifecycle: str = "active"
    moved_at: float = 0.0
    username: str = ""  # chosen with `chat:write.customize`, until the app clears it
    icon_emoji: str = ""
    prompts: list[Json] = field(default_factory=list)
    prompts_title: str = ""
