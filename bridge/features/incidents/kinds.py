"""The kinds of incidents. Operators read their names, so they name Redis and the like."""

from __future__ import annotations

from typing import Final, NamedTuple

_NO_ANSWER: Final = "Find out why there was no answer"
_UNFINISHED: Final = f"{_NO_ANSWER} → Work that couldn't be finished"


class _Kind(NamedTuple):
    """What incidents of a kind are called, and the *command* and the *page* of the docs that help."""

    title: str
    command: str
    page: str


KINDS: Final = {
    "down": _Kind("The project service can't be reached", "bridge check", f"{_NO_ANSWER} → If nobody gets an answer"),
    "dead": _Kind("Some work couldn't be finished", "bridge dead list", _UNFINISHED),
    "oldest": _Kind("Messages are waiting for long", "bridge status", f"{_NO_ANSWER} → If nobody gets an answer"),
    "persistence": _Kind("Redis may lose data", "bridge check", "Guarantees"),
    "memory": _Kind("Redis is running out of memory", "bridge check", "How big a machine"),
    "replicas": _Kind("Redis has no working replica", "bridge check", "Guarantees"),
    "store": _Kind("Redis couldn't be used", "bridge check", f"{_NO_ANSWER} → If nobody gets an answer"),
    "clock": _Kind("A machine's clock is wrong", "bridge status", f"{_NO_ANSWER} → Common problems"),
    "token": _Kind("Slack rejected the bot token", "bridge check", "Rotate tokens and secrets"),
    "scopes": _Kind("The Slack app lacks a permission", "bridge manifest", "Permissions"),
    "socket": _Kind("Slack's events don't arrive", "bridge check", "Use Socket Mode"),
    "paused": _Kind(
        "Something that people set up is paused", "bridge reports", "Let it watch for you → What happens when"
    ),
    "rows": _Kind("The project service sent data I can't read", "bridge check", f"{_NO_ANSWER} → Common problems"),
    "unauthorized": _Kind("Requests were refused with 401", "bridge check", f"{_NO_ANSWER} → Common problems"),
    "names": _Kind(
        "Part of bridge.toml has no effect", "bridge check", "Rules and approvals"
    ),
    "reload": _Kind(
        "bridge.toml was refused; the earlier one stays in use", "bridge config show", "bridge.toml"
    ),
}  # fmt: skip
"""Every kind of incident, by its name in Redis."""

WAS: Final = {
    "down": "the project service couldn't be reached",
    "dead": "there was work that couldn't be finished",
    "oldest": "messages were waiting for long",
    "persistence": "Redis might have lost data",
    "memory": "Redis was running out of memory",
    "replicas": "Redis had no working replica",
    "store": "Redis couldn't be used",
    "clock": "a machine's clock was wrong",
    "token": "Slack rejected the bot token",
    "scopes": "the Slack app lacked a permission",
    "socket": "Slack's events didn't arrive",
    "paused": "something that people set up was paused",
    "rows": "the project service sent data I couldn't read",
    "unauthorized": "requests were refused with 401",
    "names": "part of bridge.toml had no effect",
    "reload": "bridge.toml was refused",
}
"""What each kind is called once it's over."""
