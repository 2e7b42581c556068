"""The kinds of incidents. Operators read their names, so they name Redis and the like."""

from __future__ import annotations

from typing import Final, NamedTuple

_NO_ANSWER: Final = "Find out why there was no answer"
_NOBODY: Final = f"{_NO_ANSWER} → If nobody gets an answer"
_UNFINISHED: Final = f"{_NO_ANSWER} → Work that couldn't be finished"
_PROBLEMS: Final = f"{_NO_ANSWER} → Common problems"


class _Kind(NamedTuple):
    """What incidents of a kind are called, while they're on and afterwards (*was*), and what helps.

    That's a *command* and a *page* of the docs.
    """

    title: str
    was: str
    command: str
    page: str


KINDS: Final = {
    "down": _Kind(
        "The project service can't be reached", "the project service couldn't be reached", "bridge check", _NOBODY
    ),
    "dead": _Kind(
        "Some work couldn't be finished", "there was work that couldn't be finished", "bridge dead list", _UNFINISHED
    ),
    "oldest": _Kind("Messages are waiting for long", "messages were waiting for long", "bridge status", _NOBODY),
    "persistence": _Kind("Redis may lose data", "Redis might have lost data", "bridge check", "Guarantees"),
    "memory": _Kind(
        "Redis is running out of memory", "Redis was running out of memory", "bridge check", "How big a machine"
    ),
    "replicas": _Kind("Redis has no working replica", "Redis had no working replica", "bridge check", "Guarantees"),
    "store": _Kind("Redis couldn't be used", "Redis couldn't be used", "bridge check", _NOBODY),
    "clock": _Kind("A machine's clock is wrong", "a machine's clock was wrong", "bridge status", _PROBLEMS),
    "token": _Kind(
        "Slack rejected the bot token", "Slack rejected the bot token", "bridge check", "Rotate tokens and secrets"
    ),
    "scopes": _Kind(
        "The Slack app lacks a permission", "the Slack app lacked a permission", "bridge manifest", "Permissions"
    ),
    "socket": _Kind("Slack's events don't arrive", "Slack's events didn't arrive", "bridge check", "Use Socket Mode"),
    "paused": _Kind(
        "Something that people set up is paused", "something that people set up was paused",
        "bridge export", "Let it watch for you → What happens when",
    ),
    "rows": _Kind(
        "The project service sent data I can't read", "the project service sent data I couldn't read",
        "bridge check", _PROBLEMS,
    ),
    "unauthorized": _Kind(
        "Requests were refused with 401", "requests were refused with 401", "bridge check", _PROBLEMS
    ),
    "names": _Kind(
        "Part of bridge.toml has no effect", "part of bridge.toml had no effect", "bridge check", "Rules and approvals"
    ),
    "reload": _Kind(
        "bridge.toml was refused; the earlier one stays in use", "bridge.toml was refused",
        "bridge config show", "bridge.toml",
    ),
}  # fmt: skip
"""Every kind of incident, by its name in Redis."""
