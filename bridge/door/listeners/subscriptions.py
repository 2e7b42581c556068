"""The events that the app subscribes to. The manifest and the check read this table, and need no listeners for it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bridge.features.registry import features

EVENTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "app_mention": ("app_mentions:read",),
        "message.channels": ("channels:history",),
        "message.groups": ("groups:history",),
        "message.im": ("im:history",),
        "message.mpim": ("mpim:history",),  # a mention may or may not bring an app_mention there
        "agent_session_stopped": ("chat:write",),
        "reaction_added": ("reactions:read",),
        "app_uninstalled": (),
        "tokens_revoked": (),
        **{name: scopes for name, (scopes, _readers) in features.events.items()},
    }
)
"""Each event, with the scopes of which Slack requires one: those of `events`, `messages`, `token_watch` and features.

https://docs.slack.dev/reference/events
"""
