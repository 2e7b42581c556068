"""The kinds of incidents. Operators read their names, so they name Redis and the like."""

from __future__ import annotations

from typing import Final, NamedTuple

_NO_ANSWER: Final = "docs/how-to/no-answer.md"


class _Kind(NamedTuple):
    """What incidents of a kind are called, and the *command* and the *page* that help."""

    title: str
    command: str
    page: str


KINDS: Final = {
    "down": _Kind("The project service can't be reached", "bridge check", f"{_NO_ANSWER}#if-nobody-gets-an-answer"),
    "dead": _Kind("Some work couldn't be finished", "bridge dead list", f"{_NO_ANSWER}#work-that-couldnt-be-finished"),
    "oldest": _Kind("Messages are waiting for long", "bridge status", f"{_NO_ANSWER}#if-nobody-gets-an-answer"),
    "persistence": _Kind("Redis may lose data", "bridge check", "docs/explanation/guarantees.md"),
    "memory": _Kind("Redis is running out of memory", "bridge check", "docs/how-to/size.md"),
    "replicas": _Kind("Redis has no working replica", "bridge check", "docs/explanation/guarantees.md"),
    "store": _Kind("Redis couldn't be used", "bridge check", f"{_NO_ANSWER}#if-nobody-gets-an-answer"),
    "clock": _Kind("A machine's clock is wrong", "bridge status", f"{_NO_ANSWER}#common-problems"),
    "token": _Kind("Slack rejected the bot token", "bridge check", "docs/how-to/rotate-secrets.md"),
    "scopes": _Kind("The Slack app lacks a permission", "bridge manifest", "docs/reference/permissions.md"),
    "socket": _Kind("Slack's events don't arrive", "bridge check", "docs/how-to/socket-mode.md"),
    "paused": _Kind(
        "Something that people set up is paused", "bridge reports", "docs/how-to/let-it-watch.md#what-happens-when"
    ),
    "rows": _Kind("The project service sent data I can't read", "bridge check", f"{_NO_ANSWER}#common-problems"),
    "unauthorized": _Kind("Requests were refused with 401", "bridge check", f"{_NO_ANSWER}#common-problems"),
    "names": _Kind(
        "Part of bridge.toml has no effect", "bridge check", "docs/how-to/rules-and-approvals.md"
    ),
    "reload": _Kind(
        "bridge.toml was refused; the earlier one stays in use", "bridge config show", "docs/reference/bridge-toml.md"
    ),
}  # fmt: skip
"""Every kind of incident, by its name in Redis."""
