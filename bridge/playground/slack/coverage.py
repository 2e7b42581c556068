"""What of Slack's Web API is emulated, and what is known to be missing in it. A test holds the list true."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

COVERED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "agents.sessions.rename": (),
        "agents.sessions.setStatus": ("no warning where agent_session_stopped is not subscribed",),
        "api.test": (),
        "apps.connections.open": ("a ticket that is not used does not run out",),
        "assistant.threads.setStatus": ("the old name of the scope is accepted beside chat:write",),
        "assistant.threads.setSuggestedPrompts": (),
        "assistant.threads.setTitle": (),
        "auth.test": ("one token, one workspace; no enterprise",),
        "chat.delete": (),
        "chat.getPermalink": (),
        "chat.postEphemeral": ("shown in a thread whether the thread is active or not",),
        "chat.postMessage": (
            "channels by id only, not by name",
            "mrkdwn is not parsed: no unfurling, no link_names, no linkifying",
            "authorship (username, icon) is ignored",
        ),
        "chat.update": ("no time window for edits", "mrkdwn is not parsed"),
        "conversations.history": ("cursors are positions: they move when messages are added",),
        "conversations.info": ("no locale",),
        "conversations.list": ("no team_id filter",),
        "conversations.members": (),
        "conversations.open": ("direct messages with one person only",),
        "conversations.replies": ("cursors are positions",),
        "files.completeUploadExternal": ("shared at once; the real one does it a moment later",),
        "files.getUploadURLExternal": ("the upload takes raw bytes, no multipart form",),
        "files.info": (),
        "reactions.add": ("any well-formed name is taken for an emoji", "no reaction_added event"),
        "reactions.get": ("messages only",),
        "reactions.remove": (),
        "usergroups.list": (),
        "usergroups.users.list": (),
        "users.info": ("one time zone, no locale",),
        "users.list": (),
        "views.open": (),
        "views.publish": (),
        "views.push": (),
        "views.update": (),
    }
)

GAPS: Final = (
    "Socket Mode: connections are refreshed on demand only, not every few hours",
    "Socket Mode: only the connection that an envelope went by can ack it; not documented",
    "Socket Mode: a connection that was told to leave gets its share until it is closed; not documented",
    "Socket Mode: a ticket that is not valid gets HTTP 403, which is a guess",
    "chat.*Stream",
    "functions.complete*",
    "blocks.validate",
    "multipart bodies",
    "carousel and container children, and rich_text elements, are not looked into",
    "replace_original by the response URL of a command shows a further message",
    "which HTTP status a response URL gives for blocks that Slack refuses is a guess (400)",
    "no app_rate_limited, and no automatic disabling of a failing request URL",
)
"""What is missing beside single methods."""
