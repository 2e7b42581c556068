"""Slack's Web API, a module for each family of methods; `METHODS` has all of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bridge.playground.emulator.web_api import (
    agents,
    apps,
    auth,
    blocks,
    channels,
    chat,
    conversations,
    files,
    functions,
    pins,
    reactions,
    scheduled,
    streams,
    team,
    usergroups,
    users,
    views,
)
from bridge.playground.emulator.web_api.method import Registered

_FAMILIES: Final = (
    *(auth, chat, streams, scheduled, conversations, channels, users, usergroups, team),
    *(reactions, pins, views, blocks, files, functions, agents, apps),
)
METHODS: Final[Mapping[str, Registered]] = MappingProxyType(
    {name: registered for module in _FAMILIES for name, registered in module.family.methods.items()}
)

FORM_ONLY: Final = frozenset(
    {
        "bots.info",
        "chat.getPermalink",
        "conversations.history",
        "conversations.info",
        "conversations.list",
        "conversations.members",
        "conversations.replies",
        "emoji.list",
        "files.getUploadURLExternal",
        "files.info",
        "files.list",
        "pins.list",
        "reactions.get",
        "reactions.list",
        "team.info",
        "usergroups.list",
        "usergroups.users.list",
        "users.conversations",
        "users.getPresence",
        "users.info",
        "users.list",
        "users.lookupByEmail",
        "users.profile.get",
    }
)
"""Methods that ignore a JSON body: "Content types" on the page of each lists only forms."""
