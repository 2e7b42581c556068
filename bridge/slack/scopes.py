"""The bot's scopes in Slack, and what each is for. The manifest and the check read this table.

Optional ones can be declined when the app is installed; everything else works without them.
https://docs.slack.dev/reference/scopes · https://docs.slack.dev/authentication/installing-with-oauth
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope; *purpose* continues "it's needed to"."""

    name: str
    purpose: str
    is_optional: bool = False


USER_GROUPS: Final = "usergroups:read"

SCOPES: Final = (
    Scope("app_mentions:read", "receive mentions of the bot, which start conversations"),
    Scope("assistant:write", "be shown as an agent; Slack adds it to every app with an agent view"),
    Scope("chat:write", "answer, update run cards and show that an agent is working"),
    Scope("commands", "register slash commands"),
    Scope("im:history", "receive direct messages"),
    Scope("channels:history", "receive replies without a mention, and read earlier messages, in public channels", True),
    Scope("groups:history", "receive replies without a mention, and read earlier messages, in private channels", True),
    Scope("mpim:history", "receive mentions and replies in group direct messages, and read threads there", True),
    Scope("channels:read", "show and find public channels by name, and find mentions there after an outage", True),
    Scope("groups:read", "show and find private channels by name, and find mentions there after an outage", True),
    Scope("im:read", "find direct messages that were missed in an outage", True),
    Scope("mpim:read", "find mentions in group direct messages that were missed in an outage", True),
    Scope("users:read", "show names instead of IDs, and keep guests from running workflows", True),
    Scope("chat:write.customize", "show each agent's answers with its own name and face", True),
    Scope("files:read", "read the files in messages, such as text files, documents and transcripts of clips", True),
    Scope("files:write", "send long answers and outputs as files", True),
    Scope("reactions:write", "mark waiting messages with ⏳", True),
    Scope("reactions:read", "stop an agent when someone adds ❌ to their own message", True),
    Scope("usergroups:write", "give agents handles that complete as people type them", True),
    Scope(
        USER_GROUPS,
        "look up the members of user groups that may run workflows, show groups by name, and notice changed handles",
        True,
    ),
)

CUSTOMIZE: Final = "chat:write.customize"


def required_by(runners: Collection[str]) -> tuple[str, ...]:
    """List the optional scopes that *runners*, the value of BRIDGE_RUNNERS, require."""
    return (USER_GROUPS,) if any(runner.startswith("S") for runner in runners) else ()


def missing(granted: Collection[str], required: Collection[str] = ()) -> tuple[list[Scope], list[Scope]]:
    """List the scopes not *granted*: the needed ones, with those *required* by the settings, and the optional ones."""
    absent = [scope for scope in SCOPES if scope.name not in granted]
    needed = [scope for scope in absent if not scope.is_optional or scope.name in required]
    return needed, [scope for scope in absent if scope not in needed]
