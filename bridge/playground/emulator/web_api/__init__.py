"""The methods of Slack's Web API that the bridge calls, a module for each family; `METHODS` has all of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bridge.playground.emulator.web_api import agents, apps, blocks, chat, conversations, files, reactions, users, views
from bridge.playground.emulator.web_api.method import Registered

METHODS: Final[Mapping[str, Registered]] = MappingProxyType(
    {
        name: registered
        for module in (agents, apps, blocks, chat, conversations, files, reactions, users, views)
        for name, registered in module.family.methods.items()
    }
)

ELSEWHERE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Arguments": "none from `text/plain` bodies or files in a form; no warnings about charsets",
        "Block Kit": (
            "the children of a carousel and the elements of rich text aren't checked; as third parties have it, a"
            " `data_table` must have rows as wide as its head, and a chart a point for each category"
        ),
        "Events": (
            "no events of channels, members, pins and people, and of files only `file_change`, also when a transcript"
            " ends (a belief); no `app_rate_limited`; whether a mention in a group message sends `app_mention` is"
            " disputed, and can be chosen"
        ),
        "Forwards and links": (
            "which of an alert's attachments a forward of it carries is a guess (the words of the first); no links are"
            " previewed"
        ),
        "Installation": (
            "the page installs the app with all permissions; it drops a link's manifest only if asked to; a manifest's"
            " lengths and unknown fields aren't checked"
        ),
        "Request URL": "a failing one is never disabled",
        "Response URLs": (
            "`replace_original` by a command's shows a further message; the HTTP status for refused blocks is a guess"
            " (400)"
        ),
        "Slack Connect": "the stub of another company's file has only what the bridge reads",
        "Socket Mode": (
            "connections are refreshed on demand only; that only the connection of an envelope can ack it, that one"
            " that was told to leave gets its share until it's closed, and HTTP 403 for a bad ticket are guesses"
        ),
    }
)
"""Parts of Slack besides methods, and how the emulator differs there."""
