"""Slack's Web API, one module for each family of methods; `METHODS` is all of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bridge.playground.slack.web_api import (
    agents,
    apps,
    auth,
    chat,
    conversations,
    files,
    reactions,
    usergroups,
    users,
    views,
)
from bridge.playground.slack.web_api.method import Registered

METHODS: Final[Mapping[str, Registered]] = MappingProxyType(
    {
        name: registered
        for module in (auth, chat, conversations, users, usergroups, reactions, views, files, agents, apps)
        for name, registered in module.family.methods.items()
    }
)
